"""Drift watch of an arm's frequency: closed forms, a softened simulation, false alarms."""

import importlib
import math

import numpy as np
import pytest
from project_files import ROOT
from refusals import refusal
from rig_lockstep import Lab
from scipy.integrate import solve_ivp

import flex_robot_sim as frs
from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.description.robot_parameters import with_parameters
from flex_robot_sim.identification.drift_settings import DriftSettings
from flex_robot_sim.identification.drift_watch import DriftWatch
from flex_robot_sim.identification.held_payload import held_payload
from flex_robot_sim.identification.vibration_at_rest import (
    VibrationModel,
    fit_vibration,
    vibration_model,
)
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.model.payload import with_payload
from flex_robot_sim.rig.bridge.bench_comparison import states_of
from flex_robot_sim.rig.bridge.bridge import BridgeSettings, calibration_of
from flex_robot_sim.rig.bridge.experiment_log import Experiment
from flex_robot_sim.rig.estimation.shape_tracker import ShapeTracker
from flex_robot_sim.rig.wire.profile import segment
from flex_robot_sim.util.exceptions import SettingError

pytestmark = pytest.mark.slow

BAND = 25.0  # of the noise of samples at 50 Hz                                  [Hz]
TIME = np.arange(0.0, 4.0, 0.02)


@pytest.fixture
def watched(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module('benchmarks.drift_watch').watched


def model_of(frequency, ratio, shaken):
    return VibrationModel(
        np.array([frequency]),
        np.array([ratio]),
        np.array([[1.0], [0.4]]),
        np.array([[shaken]]),
        np.zeros((2, 1)),
    )


def test_the_frequency_of_a_decay_is_found_within_its_deviation():
    random, off = np.random.default_rng(0), []
    for _ in range(60):
        frequency, ratio = random.uniform(1.8, 2.2), random.uniform(0.005, 0.03)
        w = 2 * math.pi * frequency
        decay = np.exp(-ratio * w * TIME) * np.cos(w * math.sqrt(1 - ratio**2) * TIME + 1.0)
        signals = np.outer(decay, [1.0, 0.4]) + random.normal(0.0, 0.05, (len(TIME), 2)) + 3.0
        found = fit_vibration(
            TIME, signals, np.zeros((len(TIME), 1)), model_of(2.0, 0.01, 1.0), BAND
        )
        assert found.share == pytest.approx(frequency / 2.0, abs=5 * found.deviation)
        off.append((found.share - frequency / 2.0) / found.deviation)
    # reported standard deviations are twice those of white noise, to cover model errors
    assert 0.3 < np.std(off) < 0.8 and abs(np.mean(off)) < 0.3


def test_the_response_of_a_drive_to_the_vibration_is_removed():
    """Simulate a pendulum on a driven pivot that follows its vibration, with another solver."""
    w, ratio, shaken = 2 * math.pi * 2.0, 0.01, 1.5

    def drive(state):  # a servo that yields to the load
        z, _, y, v = state
        return -60.0 * y - 9.0 * v + 8.0 * z

    def rates(_, state):
        z, dz, _, v = state
        pushed = drive(state)
        return dz, -w * w * z - 2 * ratio * w * dz - shaken * pushed, v, pushed

    found = solve_ivp(rates, (0.0, 4.0), (0.1, 0.0, 0.02, 0.0), t_eval=TIME, rtol=1e-9, atol=1e-12)
    z, y = found.y[0], found.y[2]
    signals = np.outer(z, [1.0, 0.4])
    alone = fit_vibration(TIME, signals, 0 * y[:, None], model_of(2.0, ratio, shaken), BAND)
    residual = fit_vibration(TIME, signals, y[:, None], model_of(2.0, ratio, shaken), BAND)
    # linear interpolation with 25 samples per period
    assert residual.share == pytest.approx(1.0, abs=2e-3) and residual.explained > 0.999
    assert abs(alone.share - 1.0) > 0.02


def test_the_vibration_model_has_the_modes_with_locked_drives():
    arm, pose = frs.load('two_link'), [0.2, 0.4, -0.7]
    model = vibration_model(arm, np.array(pose), 3.0)
    expected = frs.frequencies(arm, pose, joints='locked')
    # dampers of gears couple modes; a fit of undamped shapes neglects this
    assert model.frequencies == pytest.approx(expected[: len(model.frequencies)], rel=2e-4)


def test_the_payload_follows_from_efforts_or_else_from_gauges():
    arm, pose = frs.load('two_link'), np.array([0.1, 0.4, -0.6])
    rest = equilibrium(with_payload(arm, 'tool', 0.3), pose)
    gauges = frs.Simulation(arm)
    gauges.set_state(q=rest.q)
    strains = np.array(list(gauges.curvature.values()))
    nothing = np.full(3, np.nan), np.full(len(strains), np.nan)
    for efforts, seen in (
        (rest.effort, nothing[1]),
        (nothing[0], strains),
        (0 * rest.effort, strains),
    ):
        found = held_payload(arm, pose, efforts, seen, 1e-4, 'tool', np.zeros(3))
        # gravity bends the links more than in proportion
        assert found.mass == pytest.approx(0.3, rel=0.03) and found.deviation < 0.1
    assert held_payload(arm, pose, *nothing, 1e-4, 'tool', np.zeros(3)).deviation == math.inf


def test_there_is_no_payload_estimate_without_a_gravity_loaded_joint():
    rig = frs.load('rig')
    found = held_payload(
        rig, np.array([0.1, 0.2]), np.zeros(2), np.zeros(2), 0.02, 'tool', np.zeros(3)
    )
    assert not found.deviation < 1.0


def test_a_healthy_arm_raises_no_alarm_and_its_payload_is_estimated(watched):
    found = watched(stops=24, seed=7)
    assert not found.warned and len(found.stops) >= 12
    off = np.array([(stop.share - 1) / stop.deviation for _, stop, _ in found.stops])
    assert np.abs(off).max() < 3.0
    for number, stop, mass in found.stops:
        if number % 4 > 1:  # estimated at two stops
            assert stop.payload.mass == pytest.approx(mass, abs=0.02)


@pytest.mark.long
@pytest.mark.parametrize('robot, carries', [('two_link', True), ('rig', False)])
def test_a_softer_link_is_detected_within_some_stops(watched, robot, carries):
    found = watched(robot, 0.9, stops=12, seed=5, carries=carries)
    assert found.warned and found.warned[0] < 9
    share = np.median([stop.share for _, stop, _ in found.stops])
    # all links are equally softer, so frequencies scale with the square root
    assert share == pytest.approx(math.sqrt(0.9), abs=0.01)


@pytest.mark.long
@pytest.mark.parametrize('soft', [1.0, 0.9])
def test_the_strip_of_the_emulated_bench_is_watched_with_counts_and_gauges(soft):
    """Use encoders with counts of 2.6 mrad, gauges with their converter, a rotor in a field."""
    arm = frs.load('rig')
    lab = Lab(build_arm(with_parameters(arm.description, {'strip.stiffness': soft})))
    turns = [
        segment(duration, 0.0, rate)
        for sign in (1, -1, 1)
        for duration, rate in ((0.25, sign * 500.0), (2.5, 0.0))
    ]
    lab.play(turns, 8300)
    run = Experiment(arm, calibration_of(BridgeSettings(), arm), lab.readings)
    shapes, time = ShapeTracker(arm, run.calibration), 0.0
    watch = DriftWatch(arm, DriftSettings(drift_stops=3))
    for state in states_of(run):
        time += state.duration
        watch.take(
            time, np.array(state.position), np.array(shapes.curvatures(state.reading.message))
        )
        watch.look()
    # friction holds the rotor for small vibration; for large vibration it yields by some per mille
    assert [stop.share for stop in watch.stops] == pytest.approx(3 * [math.sqrt(soft)], abs=0.012)
    assert watch.verdict()[0] == ('ok' if soft == 1.0 else 'warning')


def test_samples_at_1_khz_need_little_cpu_time(watched):
    found = watched(stops=2, rate=1000)
    # `python -m benchmarks.drift_watch` prints 0.5 to 1.5 % of a core; shared cores double it
    assert found.taking < 0.05 * found.seconds


def test_no_samples_and_no_vibration_are_stale():
    arm = frs.load('rig')
    watch = DriftWatch(arm, DriftSettings(drift_patience=5.0))
    assert watch.verdict() == ('stale', 'no vibration measured yet')
    still = np.array([0.1, 0.2])
    for k in range(1000):
        watch.take(k * 0.01, still, np.zeros(2))
        assert watch.look() is None
    assert watch.verdict() == (
        'stale',
        'no vibration measured yet: 1 stops were too quiet or too short',
    )


def test_a_gap_or_a_clock_jump_restarts_the_watch():
    watch = DriftWatch(frs.load('rig'))
    for time in (0.0, 0.01, 0.02, 5.0, 5.01, 1.0, 1.01, 1.01):
        watch.take(time, np.array([0.1, 0.2]), np.zeros(2))
    assert watch.look() is None and watch.last == 1.01


@pytest.mark.parametrize(
    'robot, settings, said',
    [
        (
            'single_link',
            {},
            'single_link: has no flex sensor to watch it by. Give its links a <flex_sensor>',
        ),
        (
            'rig',
            {'drift_payload_link': 'hook'},
            'no link "hook" that carries a payload. Known: carriage, hub, strip, tool',
        ),
    ],
)
def test_an_arm_that_cannot_be_watched_is_a_one_line_error(robot, settings, said):
    arm = frs.load(robot)
    if robot == 'single_link':
        text = '\n'.join(
            line for line in arm.description.text.splitlines() if '<flex_sensor' not in line
        )
        arm = frs.load(text)
    assert refusal(SettingError, DriftWatch, arm, DriftSettings(**settings)) == said
