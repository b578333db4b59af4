"""Rest position of the emulated bench with controller, drives and trackers in lockstep."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from project_files import ROOT

import flex_robot_sim as frs
from flex_robot_sim.analysis.joint_space_inertia import joint_space_inertia
from flex_robot_sim.control.controller_settings import ControllerSettings
from flex_robot_sim.control.joint_controller import JointController
from flex_robot_sim.model.friction import static_frictions, without_dry_friction
from flex_robot_sim.rig.bench.bench import Bench, Drive
from flex_robot_sim.rig.bench.drives import Drives
from flex_robot_sim.rig.bridge.bridge import BridgeSettings, calibration_of
from flex_robot_sim.rig.estimation.estimator_settings import EstimatorSettings
from flex_robot_sim.rig.estimation.joint_tracker import JointTracker
from flex_robot_sim.rig.wire.vocabulary import State

pytestmark = pytest.mark.slow

READING = 2e-3  # between readings; every third one has a set point                 [s]
START_POSITIONS = np.array([0.15, 0.0])  # start of slide and turn          [m, rad]
CONFIG = ROOT / 'config' / 'rig.yaml'
SHIPPED = yaml.safe_load(CONFIG.read_text('utf-8'))['/**/controller']['ros__parameters']


@pytest.fixture(scope='module')
def arm():
    return frs.load('rig')


def motion_to(target, arm, model=None, **estimator):
    """
    Return the positions (k, 2) [m, rad] in the last of six seconds after a target is set.

    :param model: arm of the drives, default: that of the bench; estimator: EstimatorSettings.
    """
    calibration = calibration_of(BridgeSettings(), arm)
    bench, tracker = Bench(arm), JointTracker(calibration, EstimatorSettings(**estimator))
    drives = Drives(model or arm, calibration)
    drives.set_board_limits(1.0, 6400.0, 32000.0)
    controller = JointController(arm, ControllerSettings(**SHIPPED))
    origin = [
        round(place * encoder.scale)
        for place, encoder in zip(START_POSITIONS, (calibration.slide, calibration.turn))
    ]
    wanted, steps, rate, places = None, 0.0, 0.0, []
    for k in range(3000):
        slide, turn = np.add(bench.read().encoders, origin).tolist()
        tracker.take(
            SimpleNamespace(
                slide_counts=slide, turn_counts=turn, step_rate=rate, state=State.ARMED
            ),
            READING,
        )
        efforts = controller.update(
            k * READING, np.array(tracker.position), np.array(tracker.velocity)
        )
        if k == 0:
            controller.set_target(target)
        if k % 3 == 0:
            wanted = drives.set_point(efforts.tolist(), tracker.velocity, rate, 3 * READING)
            rate = wanted.step_rate
        steps += rate * READING
        bench.advance(Drive(wanted.duty, True, steps, rate, True), READING)
        places.append(bench.simulation.position)
    return np.array(places[2500:])


@pytest.mark.parametrize('target', [(0.17, 0.3), (0.12, -0.6)])
def test_the_bench_rests_off_its_target_by_the_effect_of_friction(arm, target):
    places = motion_to(target, arm)
    stiffness = joint_space_inertia(arm).largest * (2 * np.pi * SHIPPED['bandwidth']) ** 2
    # and by a count of the encoder, within which the controller measures no error
    friction = static_frictions(arm.arrays.friction)[:2]
    bounds = friction / stiffness + (0.008 / 2400, 2 * np.pi / 2400)
    assert (np.abs(places - target) < bounds).all()


def without_friction(arm):
    return replace(
        arm, arrays=arm.arrays._replace(friction=without_dry_friction(arm.arrays.friction))
    )


def test_the_turn_comes_to_rest_without_friction(arm):
    places = motion_to((0.17, 0.3), arm, model=without_friction(arm))
    # it oscillates within a count of the encoder
    assert np.ptp(places[:, 1]) < 2 * np.pi / 2400


def test_a_velocity_estimate_with_the_link_vibration_excites_it(arm):
    places = motion_to((0.17, 0.3), arm, turn_velocity_bandwidth=20.0)
    # by many counts: the reason for a turn_velocity_bandwidth below the 5 Hz of the strip
    assert np.ptp(places[:, 1]) > 0.05
