"""Conversion of efforts to duties and step rates, tested by Newton's law on the bench."""

import math
from dataclasses import replace

import numpy as np
import pytest
from refusals import refusal
from scipy.integrate import solve_ivp

import flex_robot_sim as frs
from flex_robot_sim.rig.bench.bench import Bench, Drive
from flex_robot_sim.rig.bench.drives import Drives, DriveSettings, Friction
from flex_robot_sim.rig.bench.effort_profile import segments_of
from flex_robot_sim.rig.bench.motors import dc_duty
from flex_robot_sim.rig.bench.parts import BenchParts
from flex_robot_sim.rig.bridge.bridge import BridgeSettings, calibration_of
from flex_robot_sim.rig.wire.profile import PROFILE_CAPACITY
from flex_robot_sim.util.exceptions import CommandError

pytestmark = pytest.mark.slow

PERIOD = 5e-3  # of set points [s]
# masses of carriage, hub and strip, and the rotor of 2e-6 kg m2 through 7853.98 rad/m
SLIDE_MASS = 0.7 + 0.048 + 0.0628 + 2e-6 * 7853.9816**2
# rotor, hub, and a rod of 0.4 m that begins 15 mm off the axis
TURN_INERTIA = 5.4e-6 + 5.4e-6 + 0.0628 * (0.4**2 / 12 + 0.215**2)


@pytest.fixture(scope='module')
def arm():
    return frs.load('rig')


@pytest.fixture
def calibration(arm):
    return calibration_of(BridgeSettings(), arm)


def speed_after(time, effort, inertia, viscous, coulomb):
    """Closed form of m v' = F - b v - c from rest."""
    return (effort - coulomb) / viscous * (1 - math.exp(-viscous * time / inertia))


def drive_bench(bench, drives, effort, seconds):
    """Drive a bench by efforts; return the counts of clipped efforts."""
    steps, rate = 0.0, 0.0
    for _ in range(round(seconds / PERIOD)):
        wanted = drives.set_point(effort, bench.simulation.velocity, rate, PERIOD)
        rate = wanted.step_rate
        steps += rate * PERIOD
        bench.advance(Drive(wanted.duty, True, steps, rate, True), PERIOD)
    return wanted


def test_force_on_the_slide_obeys_newtons_law(arm, calibration):
    bench, drives = Bench(arm), Drives(arm, calibration)
    wanted = drive_bench(bench, drives, (30.0, 0.0), 0.3)
    free = frs.Simulation(arm)
    free.effort = [30.0, 0.0]
    free.advance_to(0.3)
    # the back-EMF over 1 ms, the offset from the middle of a set point
    assert bench.simulation.velocity[0] == pytest.approx(free.velocity[0], rel=0.005)
    # below 10 mm/s the friction of the simulated arm grows with the speed; (1) neglects this
    expected = speed_after(0.3, 30.0, SLIDE_MASS, 40.0, 8.0)
    assert bench.simulation.velocity[0] == pytest.approx(expected, rel=0.04)
    assert wanted.effort[0] == 30.0 and drives.clipped == [0, 0]


def test_moment_on_the_turn_obeys_newtons_law(arm, calibration):
    bench, drives = Bench(arm), Drives(arm, calibration)
    wanted = drive_bench(bench, drives, (0.0, 0.02), 0.3)
    expected = speed_after(0.3, 0.02, TURN_INERTIA, 0.0005, 0.005)
    # one implicit step of 5 ms equals the exponential up to (b T / J)^2 / 2
    assert drives.turn.inertia == pytest.approx(TURN_INERTIA, rel=1e-4)  # digits of the URDF
    assert wanted.step_rate / 3200 * 2 * math.pi == pytest.approx(expected, rel=1e-3)
    # the stepper lags half a set point on average, and the vibrating strip moves it
    assert bench.simulation.velocity[1] == pytest.approx(expected, rel=0.05)


def test_without_force_the_slide_decelerates_by_friction_alone(arm, calibration):
    bench, drives = Bench(arm), Drives(arm, calibration)
    bench.simulation.set_state((0.15, 0.0), (0.05, 0.0))
    drive_bench(bench, drives, (0.0, 0.0), 0.1)
    # m v' = -b v - c from 0.05 m/s
    b, c, m = 40.0, 8.0, SLIDE_MASS
    expected = (0.05 + c / b) * math.exp(-b * 0.1 / m) - c / b
    # above 10 mm/s the friction of the simulated arm equals the closed form
    assert bench.simulation.velocity[0] == pytest.approx(expected, rel=0.005)


def test_a_force_beyond_the_supply_is_clipped_and_counted(arm, calibration):
    drives, parts = Drives(arm, calibration), BenchParts()
    wanted = drives.set_point((90.0, 0.0), (0.05, 0.0), 0.0, 1e-9)
    per_metre = parts.motor_turn_per_metre * parts.back_emf
    left = 0.3 * per_metre * (12.0 - per_metre * 0.05) / parts.resistance
    assert wanted.duty == 1.0
    assert wanted.effort[0] == pytest.approx(left, rel=1e-6)  # Ohm's law, after 1 ns of motion
    assert drives.clipped == [1, 0] and drives.limited == [True, False]


def test_a_lower_duty_limit_of_the_board_applies(arm, calibration):
    drives = Drives(arm, calibration, DriveSettings(duty_limit=0.8))
    drives.set_board_limits(0.5, 6400.0, 32000.0)
    assert drives.set_point((90.0, 0.0), (0.0, 0.0), 0.0, PERIOD).duty == 0.5
    drives.set_board_limits(1.0, 6400.0, 32000.0)
    assert drives.set_point((-90.0, 0.0), (0.0, 0.0), 0.0, PERIOD).duty == -0.8


def test_the_turn_model_stays_near_constant_pulses(arm, calibration):
    drives = Drives(arm, calibration)
    drives.set_board_limits(1.0, 6400.0, 2000.0)
    rates = [drives.set_point((0.0, 0.4), (0.0, 0.0), 0.0, PERIOD).step_rate for _ in range(200)]
    assert max(rates) == pytest.approx(2000.0 * 0.02)  # acceleration times lead time
    assert drives.clipped[1] > 100
    # and reverses immediately
    assert drives.set_point((0.0, -0.4), (0.0, 0.0), 0.0, PERIOD).step_rate < 0.0


def test_missing_set_points_do_not_accumulate(arm, calibration):
    drives = Drives(arm, calibration)
    assert (
        drives.set_point((0.0, 0.02), (0.0, 0.0), 0.0, 5.0).step_rate
        == Drives(arm, calibration).set_point((0.0, 0.02), (0.0, 0.0), 0.0, 0.02).step_rate
    )


def test_a_bench_with_reversed_wiring_gets_opposite_signs(arm, calibration):
    turned = replace(
        calibration,
        slide=replace(calibration.slide, scale=-300000.0),
        steps_per_radian=-calibration.steps_per_radian,
    )
    one, other = (
        Drives(arm, each).set_point((30.0, 0.02), (0.01, 0.1), 0.0, PERIOD)
        for each in (calibration, turned)
    )
    assert (other.duty, other.step_rate) == (-one.duty, -one.step_rate)
    assert other.effort == one.effort


@pytest.mark.parametrize('effort', [0.0, 7.9, -7.9])
def test_friction_holds_against_a_smaller_force(effort):
    assert Friction(120.0, 40.0, 8.0).velocity_after(0.0, effort, 1.0) == 0.0


def test_friction_stops_a_motion_without_reversing_it():
    assert Friction(120.0, 40.0, 8.0).velocity_after(0.01, -5.0, 10.0) == 0.0


def test_the_effort_for_a_speed_change_produces_that_change():
    friction = Friction(120.0, 40.0, 8.0)
    for before, effort in ((0.02, 50.0), (-0.02, -30.0)):
        after = friction.velocity_after(before, effort, 0.01)
        assert friction.effort(before, after, 0.01) == pytest.approx(effort, rel=1e-9)  # rounding


def test_a_profile_changes_its_inputs_at_exact_times(arm, calibration):
    segments = segments_of(
        Drives(arm, calibration), [0.123457, 0.4], [[60.0, 0.02], [-60.0, -0.02]]
    )
    ends = np.cumsum([piece.duration for piece in segments])
    # each segment of 20 ms is rounded to 1 us
    assert np.abs(ends - 123457).min() <= len(segments) / 2
    assert abs(ends[-1] - 400000) <= len(segments) / 2


def test_a_bench_with_a_profile_moves_like_the_simulated_arm(arm, calibration):
    drives = Drives(arm, calibration)
    efforts = [[25.0, 0.015], [-25.0, -0.015]]
    segments = segments_of(drives, [0.4, 0.8], efforts)
    assert drives.clipped == [0, 0]
    bench, steps = Bench(arm), 0.0
    for piece in segments:
        for _ in range(round(piece.duration * 1e-3)):
            steps += piece.step_rate * 1e-3
            bench.advance(Drive(piece.duty, True, steps, piece.step_rate, True))
    free, turn = frs.Simulation(arm), np.zeros(2)
    free.set_state((0.15, 0.0))
    for effort in efforts:
        free.effort = [effort[0], 0.0]
        free.advance_to(free.time + 0.4)
        turn = solve_ivp(
            lambda _, y, moment=effort[1]: (
                y[1],
                (moment - 0.0005 * y[1] - 0.005 * np.tanh(y[1] / 1e-3)) / TURN_INERTIA,
            ),
            (0.0, 0.4),
            turn,
            rtol=1e-8,
            method='Radau',
        ).y[:, -1]
    # (1) assumes 8 N of friction from the start; the simulated arm has less below 10 mm/s: 0.25 s
    # at 2 mm/s, and as much on the way back
    assert bench.simulation.position[0] == pytest.approx(free.position[0], abs=0.002)
    # half a segment of the speed change, because each segment has the mean rate
    assert steps / 3200 * 2 * math.pi == pytest.approx(turn[0], abs=0.01 * 0.6)


@pytest.mark.parametrize(
    'times, efforts, message',
    [
        ([0.1], [[1.0]], 'a profile needs two efforts, of slide and turn, for each time'),
        ([], np.zeros((0, 2)), f'a profile has 1 to {PROFILE_CAPACITY} pieces; this one has 0'),
        (
            [0.2, 0.1],
            [[1, 0], [0, 0]],
            'the times of a profile must rise by 0.001 s at least, to 7680 s at most',
        ),
        ([0.1], [[math.nan, 0]], 'times and efforts of a profile must be finite'),
    ],
)
def test_an_unusable_profile_is_rejected(arm, calibration, times, efforts, message):
    assert refusal(CommandError, segments_of, Drives(arm, calibration), times, efforts) == message


def test_a_profile_limits_the_stepper_ramp_and_counts_the_excess(arm, calibration):
    drives = Drives(arm, calibration)
    segments = segments_of(drives, [0.1, 0.2], [[0.0, 0.4], [0.0, -0.4]])
    # 0.4 N m would need a ramp of 53,000 steps/s2; the board permits 32,000
    assert 0.395 / TURN_INERTIA * 3200 / (2 * math.pi) > 52e3
    rates = np.array([piece.step_rate for piece in segments])
    assert np.abs(np.diff(rates)).max() == pytest.approx(32000 * 0.02)
    assert drives.clipped == [0, len(segments)]


def test_a_long_profile_fits_into_the_board_memory(arm, calibration):
    segments = segments_of(Drives(arm, calibration), [30.0, 60.0], [[20, 0.01], [-20, -0.01]])
    assert PROFILE_CAPACITY / 2 < len(segments) <= PROFILE_CAPACITY


@pytest.mark.parametrize(
    'effort, length',
    [(10.0, 150.0), (20.0, 300.0), (60.0, 60.0), (60.0, 150.0), (-60.0, 600.0), (1e9, 3600.0)],
)
def test_a_long_profile_moves_the_slide_without_reversing(arm, calibration, effort, length):
    drives = Drives(arm, calibration)
    segments = segments_of(drives, [length], [[effort, 0.0]])
    duties, ends = (
        np.array(row) for row in zip(*((piece.duty, piece.duration) for piece in segments))
    )
    ends = np.cumsum(ends) * 1e-6
    parts, (inertia, viscous, coulomb) = calibration.parts, drives.slide

    def needed(speed):
        return dc_duty(parts, effort, speed)

    def motion(_, state):
        duty, force = needed(state[0])
        slip = math.tanh(state[0] / 1e-6)
        return (force - viscous * state[0] - coulomb * slip) / inertia, duty

    # duty over time from an ordinary differential equation, and its mean over each segment
    course = solve_ivp(
        motion, (0.0, ends[-1]), [0.0, 0.0], method='Radau', rtol=1e-8, atol=1e-10, t_eval=ends
    ).y[1]
    means = np.diff(course, prepend=0.0) / np.diff(ends, prepend=0.0)
    assert np.sign(duties).tolist() == [np.sign(effort)] * len(segments)
    # first order in the steps of 20 ms; the speed rises within some tenths of a second
    assert duties == pytest.approx(means, abs=0.02)
