"""The emulated bench against closed forms of its parts."""

import math

import numpy as np
import pytest
from refusals import refusal

import flex_robot_sim as frs
from flex_robot_sim.rig.bench.bench import Bench, Drive
from flex_robot_sim.rig.bench.motors import (
    dc_current,
    dc_duty,
    dc_force,
    divider_counts,
    flex_resistance,
    pull_out_torque,
    stepper_lag,
    stepper_torque,
)
from flex_robot_sim.rig.bench.parts import SLIDE, TURN, BenchParts
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.share import share_folder

pytestmark = pytest.mark.slow

PARTS = BenchParts()
QUIET = BenchParts(adc_noise=0.0)
HOLD = Drive(stepper=True)
EI, LENGTH = 206e9 * 0.02 * 0.001**3 / 12, 0.4  # of the strip in urdf/rig.urdf


@pytest.fixture(scope='module')
def arm():
    return frs.load('rig')


def run(bench, drive, seconds):
    for _ in range(round(seconds * 1000)):
        bench.advance(drive)


def test_slide_reaches_the_speed_at_which_motor_and_friction_balance(arm):
    bench = Bench(arm, PARTS, start=(0.02, 0.0))
    run(bench, Drive(duty=0.5, bridge=True), 2.0)
    gain = PARTS.efficiency * PARTS.motor_turn_per_metre * PARTS.back_emf / PARTS.resistance
    slope = gain * PARTS.back_emf * PARTS.motor_turn_per_metre
    speed = (gain * 0.5 * PARTS.supply - 8.0) / (slope + 40.0)
    # exp(-2 s / 0.1 s) of the start remains, and the arm still vibrates a little
    assert bench.simulation.velocity[SLIDE] == pytest.approx(speed, rel=1e-3)


def test_motor_at_stall_has_the_force_of_its_data_sheet():
    force = dc_force(PARTS, dc_current(PARTS, 12.0, 0.0), 0.0)
    assert force == pytest.approx(0.04 * PARTS.motor_turn_per_metre * 0.3, rel=1e-3)  # of 0.04 N m


@pytest.mark.parametrize('voltage', [-12.0, -3.0, 0.0, 5.0, 12.0])
@pytest.mark.parametrize('speed', [-0.08, -1e-4, 0.0, 3e-3, 0.1])
def test_motor_never_outputs_more_power_than_its_input(voltage, speed):
    current = dc_current(PARTS, voltage, speed)
    taken = voltage * current - PARTS.resistance * current**2
    # the smoothing about standstill permits x (1 - tanh x) <= 0.279
    ideal = PARTS.back_emf * PARTS.motor_turn_per_metre * abs(current)
    slack = 0.279 * (1 - PARTS.efficiency) * ideal * PARTS.drive_rate
    assert dc_force(PARTS, current, speed) * speed <= taken + slack + 1e-12  # rounding


@pytest.mark.parametrize('force', [-40.0, -1.0, 0.0, 5.0, 60.0])
@pytest.mark.parametrize('speed', [-0.03, 0.0, 0.02])
def test_duty_for_a_force_produces_this_force(force, speed):
    duty, given = dc_duty(PARTS, force, speed)
    made = dc_force(PARTS, dc_current(PARTS, duty * PARTS.supply, speed), speed)
    assert abs(duty) <= 1
    assert made == pytest.approx(given, abs=1e-9)  # rounding
    if abs(duty) < 1:
        assert given == force


def test_motor_with_its_bridge_off_coasts(arm):
    bench = Bench(arm, PARTS)
    bench.simulation.set_state([0.15, 0.0], [0.05, 0.0])
    run(bench, Drive(duty=1.0, bridge=False), 0.1)
    assert bench.current == 0.0
    # 8 N and 40 N s/m decelerate 123.4 kg of rotor and 0.8 kg of carriage
    assert bench.simulation.velocity[SLIDE] == pytest.approx(0.05 - 0.1 * 10.0 / 124.2, abs=2e-3)


def test_stepper_deflects_under_a_load_by_the_arcsine_of_its_ratio(arm):
    bench = Bench(arm, PARTS)
    bench.simulation.push('tool', force=(0.0, 0.1, 0.0))
    run(bench, HOLD, 6.0)
    torque = 0.1 * bench.simulation.pose('tool')[:3, 3][0] - 0.1 * bench.simulation.position[0]
    lag = math.asin(torque / PARTS.holding_torque) / 50
    # bearing friction, 0.005 N m, holds it within 0.25 mrad
    assert bench.simulation.position[TURN] == pytest.approx(lag, abs=0.005 / 20)


def steps_turned(bench):
    """Microsteps of the rotor since the start in the zero pose."""
    return round(bench.simulation.position[TURN] / (2 * math.pi) * PARTS.steps_per_turn)


def test_stepper_follows_its_steps(arm):
    bench = Bench(arm, PARTS)
    rate = 400.0  # microsteps per second: 45 degrees in a second
    for k in range(1000):
        bench.advance(Drive(steps=round((k + 1) * rate / 1000), step_rate=rate, stepper=True))
    run(bench, Drive(steps=400, stepper=True), 4.0)
    assert bench.simulation.position[TURN] == pytest.approx(math.pi / 4, abs=3e-4)  # friction
    assert abs(steps_turned(bench) - 400) <= 1


def test_overloaded_stepper_slips_by_whole_pitches_of_its_field(arm):
    bench = Bench(arm, PARTS)
    bench.faults.weak_stepper = 0.02
    bench.simulation.push('tool', force=(0.0, 0.3, 0.0))
    run(bench, HOLD, 0.1)
    bench.simulation.push('tool')
    bench.faults.weak_stepper = 1.0
    run(bench, HOLD, 4.0)
    assert steps_turned(bench) >= 64 - 1
    assert abs(math.remainder(steps_turned(bench), 4 * PARTS.microsteps)) <= 1


def test_torque_of_the_stepper_repeats_after_four_full_steps():
    pitch = 4 * 2 * math.pi / 200
    lag = stepper_lag(PARTS, 0.01 + 3 * pitch, 0)
    assert lag == pytest.approx(0.01, abs=1e-12)  # rounding
    assert stepper_torque(PARTS, lag, 0.0) == pytest.approx(-0.4 * math.sin(0.5), rel=1e-9)


def test_torque_of_the_stepper_falls_beyond_its_corner():
    assert pull_out_torque(PARTS, 500 * 16) == 0.4
    assert pull_out_torque(PARTS, -4000 * 16) == pytest.approx(0.1)


def test_encoders_count_to_the_nearest_count(arm):
    bench = Bench(arm, PARTS, start=(0.1, 0.0))
    bench.simulation.set_state([0.1 + 0.0123456, -0.321])
    counts = bench.read().encoders
    assert abs(counts[SLIDE] - 0.0123456 * 300e3) <= 0.5
    assert abs(counts[TURN] + 0.321 * 2400 / (2 * math.pi)) <= 0.5


def test_dead_encoder_is_constant_and_a_jump_persists(arm):
    bench = Bench(arm, PARTS, start=(0.1, 0.0))
    bench.faults.dead_encoders.add(SLIDE)
    bench.faults.encoder_jump[TURN] = 700
    bench.simulation.set_state([0.2, 0.0])
    assert bench.read().encoders == (0, 700)


def test_flat_sensor_reads_the_middle_of_the_converter_range():
    assert divider_counts(PARTS, flex_resistance(PARTS, 0.0)) == 4095 / 2
    assert flex_resistance(PARTS, math.pi) > 110e3  # 110 kohm [P], plus the curve


def test_curvature_at_the_sensors_under_a_tip_force_is_of_a_cantilever(arm):
    bench = Bench(arm, QUIET)
    force = 0.05
    bench.simulation.push('tool', force=(0.0, force, 0.0), follows=True)
    run(bench, HOLD, 20.0)
    for curvature, (start, end) in zip(bench.curvatures, [(0.01, 0.10525), (0.29475, 0.39)]):
        exact = force / EI * (LENGTH - (start + end) / 2)
        # the turn sticks; 1 % damping leaves exp(-0.01 2 pi 5 20) = 0.2 % of the vibration. Cubic
        # shapes contain the static deflection exactly, and gravity does not act in the horizontal
        # plane
        assert curvature == pytest.approx(exact, rel=5e-3)
    bend = 0.09525 * bench.curvatures[0]
    expected = divider_counts(QUIET, flex_resistance(QUIET, bend))
    assert bench.read().adc[0] == pytest.approx(16 * expected, abs=8)  # half a count each


def test_noise_of_the_converter_averages_out(arm):
    bench = Bench(arm, PARTS, seed=3)
    readings = np.array([bench.read().adc for _ in range(2000)]) / 16
    spread = math.hypot(PARTS.adc_noise, 1 / math.sqrt(12)) / 4  # 16 conversions, each rounded
    assert readings.std(axis=0) == pytest.approx(spread, rel=0.1)  # 2000 values: 1.6 %
    assert readings.mean(axis=0) == pytest.approx(4095 / 2, abs=5 * spread / math.sqrt(2000))


@pytest.mark.parametrize('fault, reading', [('open_sensors', 4095), ('shorted_sensors', 0)])
def test_broken_sensor_reads_a_rail(arm, fault, reading):
    bench = Bench(arm, PARTS)
    getattr(bench.faults, fault).add(1)
    assert abs(bench.read().adc[1] / 16 - reading) < 2
    assert abs(bench.read().adc[0] / 16 - 2047.5) < 2


def test_switches_close_at_the_ends_of_the_travel(arm):
    bench = Bench(arm, PARTS)
    assert bench.read().lower_switches == bench.read().upper_switches == (False, False)
    bench.simulation.set_state([0.0015, 1.51])
    assert bench.read().lower_switches == (True, False)
    assert bench.read().upper_switches == (False, True)
    bench.simulation.set_state([0.2985, -1.51])
    assert bench.read().lower_switches == (False, True)
    assert bench.read().upper_switches == (True, False)


def test_stop_button_disconnects_the_supply(arm):
    bench = Bench(arm, PARTS)
    bench.faults.stop_button = True
    run(bench, Drive(duty=1.0, bridge=True, stepper=True), 0.2)
    assert bench.read().stop_button
    assert bench.current == 0.0
    assert abs(bench.simulation.velocity[SLIDE]) < 1e-6


def test_jammed_slide_draws_the_stall_current_and_does_not_move(arm):
    bench = Bench(arm, PARTS)
    bench.faults.jammed = True
    run(bench, Drive(duty=1.0, bridge=True, stepper=True), 0.5)
    assert bench.current == pytest.approx(PARTS.supply / PARTS.resistance, rel=1e-3)
    assert abs(bench.simulation.position[SLIDE] - 0.15) < 2 * 94 / 1e7  # force / stiffness
    bench.faults.jammed = False
    run(bench, Drive(duty=1.0, bridge=True, stepper=True), 0.5)
    assert bench.simulation.position[SLIDE] > 0.16


def test_hand_moves_the_joints_to_a_position_and_releases_them(arm):
    bench = Bench(arm, PARTS)
    bench.move_by_hand(SLIDE, 0.05)
    bench.move_by_hand(TURN, 0.7)
    run(bench, Drive(), 12.0)
    # the hand releases within 0.1 mrad and mm; bearing friction stops the residual vibration
    assert bench.simulation.position == pytest.approx([0.05, 0.7], abs=2e-3)
    assert bench.read().encoders[SLIDE] == pytest.approx(-0.1 * 300e3, abs=100)


def test_same_calls_give_the_same_bench(arm):
    readings = []
    for _ in range(2):
        bench = Bench(arm, PARTS, seed=5)
        run(bench, Drive(duty=0.7, bridge=True, steps=10, step_rate=100.0, stepper=True), 0.3)
        readings.append((bench.read(), *bench.simulation.q))
    assert readings[0] == readings[1]


def test_another_robot_is_rejected():
    with pytest.raises(SettingError, match='is no bench: it needs a prismatic joint'):
        Bench(frs.load('two_link'))


def test_a_flexible_joint_is_rejected_with_the_reason(tmp_path):
    file = tmp_path / 'bench.urdf'
    file.write_text(
        (share_folder() / 'urdf' / 'rig.urdf')
        .read_text('utf-8')
        .replace('<joint name="turn" rotor', '<joint name="turn" stiffness="40" rotor'),
        'utf-8',
    )
    assert refusal(SettingError, Bench, frs.load(file)) == (
        f'{file} is no bench: joint "turn" is flexible, and the one encoder of a joint cannot '
        'tell its two sides apart. Leave out its stiffness'
    )
