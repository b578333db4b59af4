"""Velocities and shapes from telemetry, against the true state of the emulated bench."""

import math

import numpy as np
import pytest
from refusals import refusal
from rig_lockstep import Lab

import flex_robot_sim as frs
from flex_robot_sim.rig.bench.parts import BenchParts
from flex_robot_sim.rig.bridge.bench_comparison import states_of
from flex_robot_sim.rig.bridge.bridge import BridgeSettings, calibration_of
from flex_robot_sim.rig.bridge.experiment_log import Experiment
from flex_robot_sim.rig.calibration.calibration import nominal
from flex_robot_sim.rig.estimation.estimator_settings import EstimatorSettings
from flex_robot_sim.rig.estimation.joint_tracker import MAX_READING_GAP, Tracker
from flex_robot_sim.rig.estimation.shape_tracker import ShapeTracker
from flex_robot_sim.rig.wire.profile import segment
from flex_robot_sim.util.exceptions import SettingError

PERIOD = 2e-3  # of telemetry [s]


def fed(tracker, values, changes=None):
    for k, value in enumerate(values):
        tracker.take(value, PERIOD, 0.0 if changes is None else changes[k])
    return tracker


def test_a_constant_speed_is_tracked_without_error():
    times = PERIOD * np.arange(500)
    tracker = fed(Tracker(20.0), 0.3 * times)
    # both poles at exp(-w T) after 1 s: exp(-126) of the start remains
    assert tracker.rate == pytest.approx(0.3, rel=1e-9)
    assert tracker.value == pytest.approx(0.3 * times[-1], rel=1e-9)


def test_an_acceleration_is_tracked_with_a_delay_of_two_over_w():
    times = PERIOD * np.arange(500)
    tracker = fed(Tracker(20.0), 0.5 * times**2)
    late = times[-1] - tracker.rate
    assert late == pytest.approx(2 / (2 * math.pi * 20.0), abs=PERIOD)  # continuous formula


def test_a_known_speed_change_is_tracked_without_delay():
    times = PERIOD * np.arange(500)
    tracker = fed(Tracker(20.0), 0.5 * times**2, [0.0, *np.diff(times)])
    assert tracker.rate == pytest.approx(times[-1], rel=1e-9)  # rounding


def test_the_poles_are_at_their_design_values():
    tracker = fed(Tracker(20.0), [0.0, 0.0])
    tracker.take(1.0, PERIOD)
    place, rate = tracker.value, tracker.rate * PERIOD
    z = math.exp(-2 * math.pi * 20.0 * PERIOD)
    # the matrix of the error of (1) has the double eigenvalue z
    error = np.array([[1 - place, 1 - place], [-rate, 1 - rate]])
    assert np.trace(error) == pytest.approx(2 * z, rel=1e-12)
    assert np.linalg.det(error) == pytest.approx(z * z, rel=1e-12)


@pytest.mark.parametrize(
    'value, duration', [(5.0, PERIOD), (0.0, 2 * MAX_READING_GAP), (0.0, 0.0), (math.nan, PERIOD)]
)
def test_a_jump_and_a_gap_restart_the_tracker(value, duration):
    tracker = fed(Tracker(20.0, jump=0.1), 0.01 * np.arange(50))
    assert not tracker.has_restarted
    tracker.take(value, duration)
    assert tracker.has_restarted and tracker.rate == 0.0
    tracker.take(1.0, PERIOD)
    assert math.isfinite(tracker.rate)


@pytest.fixture(scope='module')
def vibrating_bench():
    """Return data of the bench: half a second of motion, then a second of vibration."""
    lab = Lab(frs.load('rig'))
    truth = {}
    exchange = lab.host.back_end.exchange

    def watched(data, milliseconds):
        out = exchange(data, milliseconds)
        simulation = lab.bench.simulation
        truth[lab.host.back_end.rig.steps] = (
            simulation.deflection['strip'][1],
            simulation.velocity,
        )
        return out

    lab.host.back_end.exchange = watched
    moves = [segment(0.25, 0.5, 500.0), segment(0.25, -0.5, -500.0), segment(1.0, 0.0, 0.0)]
    lab.play(moves, 1600)
    return lab, truth


def estimates(lab, **settings):
    arm = frs.load('rig')
    calibration = calibration_of(BridgeSettings(), arm)
    shapes = ShapeTracker(arm, calibration, EstimatorSettings(**settings))
    for state in states_of(Experiment(arm, calibration, lab.readings)):
        shapes.take(state)
        yield state, shapes.link_state


def compared(lab, truth, **settings):
    """Return tips (k, 2), speeds (k, 2, 2), estimated and true, and times of readings [s]."""
    rows = []
    for state, shape in estimates(lab, **settings):
        # the board reads its pins before the step in the telemetry
        step = round(state.reading.message.time / 1000) - 1
        if step in truth:
            tip, velocity = truth[step]
            rows.append((state.reading.stamp, shape.tip[1], tip, *state.velocity, *velocity))
    table = np.array(rows)
    return table[:, 0] - table[0, 0], table[:, 1:3], table[:, 3:]


@pytest.mark.slow
@pytest.mark.parametrize('estimator, share', [('least_squares', 0.05), ('kalman', 0.02)])
def test_the_tip_of_the_vibrating_strip_is_correct(vibrating_bench, estimator, share):
    lab, truth = vibrating_bench
    time, tips, _ = compared(lab, truth, estimator=estimator)
    vibrates = (time > 0.75) & (time < 1.5)
    error = tips[vibrates, 0] - tips[vibrates, 1]
    amplitude = np.abs(tips[vibrates, 1]).max()
    assert amplitude > 2e-3
    # the target of the project; least squares adds the noise of one reading, 0.07 mm
    noise = 7e-5 if estimator == 'least_squares' else 0.0
    assert np.sqrt(np.mean(error**2)) < math.hypot(share * amplitude, noise)


def test_velocities_are_correct(vibrating_bench):
    lab, truth = vibrating_bench
    _, _, speeds = compared(lab, truth)
    slide, turn = speeds[:, 0] - speeds[:, 2], speeds[:, 1] - speeds[:, 3]
    # 2 / w = 16 ms late at most
    assert np.abs(slide).max() < 0.016 * np.abs(np.diff(speeds[:, 2])).max() / PERIOD
    # without the rotor vibration in its field during the last second, which has no pulses
    shaking = speeds[-400:, 3]
    assert np.sqrt(np.mean(turn**2)) < np.sqrt(np.mean(shaking**2))


def test_the_shape_has_a_correct_deviation(vibrating_bench):
    lab, truth = vibrating_bench
    shapes = [shape for _, shape in estimates(lab)]
    at_rest = np.array([shape.tip[1] for shape in shapes[:40]])
    assert at_rest.std() == pytest.approx(shapes[0].tip_deviation[1], rel=0.35)  # 40 readings


def test_a_sensor_failure_makes_the_shape_unknown_until_it_recovers():
    lab = Lab(frs.load('rig'))
    lab.wait(50)
    lab.bench.faults.open_sensors.add(1)
    lab.wait(50)
    lab.bench.clear_faults()
    lab.wait(50)
    known = [shape.is_known for _, shape in estimates(lab)]
    off = [bool(np.isnan(shape.curvature[1])) for _, shape in estimates(lab)]
    assert known == [not is_off for is_off in off]
    assert 20 <= sum(off) <= 30 and known[0] and known[-1]
    assert all(np.isfinite(shape.curvature[0]) for _, shape in estimates(lab))


def test_a_calibration_of_other_sensors_is_rejected():
    arm = frs.load('rig')
    other = nominal(BenchParts(), {'strip/root': 0.1, 'strip/middle': 0.1})
    assert refusal(SettingError, ShapeTracker, arm, other) == (
        'the calibration is of the sensors strip/root, strip/middle, and '
        'the robot has strip/root, strip/tip'
    )
