"""Integral action of the joint controller: stability in all poses, accuracy, no wind-up."""

from dataclasses import replace

import numpy as np
import pytest
from arms import joint, link, robot
from controlled import INERTIA, NOTHING, POSE, feed, rigid_arm, see, started

import flex_robot_sim as frs
from flex_robot_sim.analysis.joint_space_inertia import poses_within
from flex_robot_sim.analysis.mode_table import loaded
from flex_robot_sim.control.controller_settings import ControllerSettings
from flex_robot_sim.control.joint_controller import JointController
from flex_robot_sim.control.servo import ServoFit
from flex_robot_sim.description import read_description
from flex_robot_sim.feedback.pose_model import pose_model
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.motion.trajectory import Trajectory
from flex_robot_sim.simulation.loop_timing import LoopTiming

SETTINGS = ControllerSettings(integral_action=0.2)
WITHOUT = ControllerSettings(feed_forward='none', position_gain=(10.0,))


@pytest.fixture(scope='module')
def two_link():
    return frs.load('two_link')


def growth(model, servo):
    """Largest rate [1/s] of the linear arm with PID, in continuous time, by its own equations."""
    p, joints = len(model.M), model.actuation.shape[1]
    K, D, I = (
        np.diag(gain)
        for gain in (servo.stiffness, servo.damping, servo.integral * servo.stiffness)
    )
    seen, push = model.encoders, model.actuation
    mass = np.linalg.inv(model.M)
    A = np.zeros((2 * p + joints, 2 * p + joints))
    A[:p, p : 2 * p] = np.eye(p)
    A[p : 2 * p, :p] = -mass @ (model.K + push @ K @ seen)
    A[p : 2 * p, p : 2 * p] = -mass @ (model.D + push @ D @ seen)
    A[p : 2 * p, 2 * p :] = mass @ push
    A[2 * p :, :p] = -I @ seen
    return np.linalg.eigvals(A).real.max()


@pytest.mark.parametrize('name', ['two_link', 'single_link', 'rcm'])
def test_it_is_stable_in_random_poses_with_any_payload(name):
    arm, rng = frs.load(name), np.random.default_rng(3)
    servo = JointController(arm, SETTINGS).servo
    assert servo.warning == '' and servo.integral is not None and (servo.integral > 0.0).all()
    poses = poses_within(arm, 6)
    for _ in range(8):
        pose = poses[0] + rng.uniform(0, 1, len(poses[0])) * (
            poses[rng.integers(len(poses))] - poses[0]
        )
        for mass in (0.0, 0.2 * rng.uniform()):
            assert growth(pose_model(loaded(arm, ('tool', mass)), pose), servo) < 0.0


def test_less_is_taken_where_the_arm_does_not_bear_it():
    # J s^3 + D s^2 + K s + s w K: stable for s w K J < D K, so s < 2 ratio (Routh), and with room
    # for an arm that is 1.7 times heavier, s < 2 ratio / 1.7
    arm = rigid_arm()
    fit = ServoFit(arm, LoopTiming(0.0, 0.0))
    stiffness = np.array([INERTIA * 100.0])
    for ratio, share, part in ((0.5, 0.55, 1.0), (0.5, 0.8, 0.7), (0.1, 1.0, 0.1), (0.01, 1.0, 0)):
        servo = fit.with_integral(
            fit.evaluate(stiffness, np.array([2 * ratio * INERTIA * 10.0])), share
        )
        taken = 0.0 if servo.integral is None else servo.integral[0]
        assert taken == pytest.approx(part * share * 10.0)
        assert bool(servo.warning) == (part == 0)


@pytest.mark.long(after=1)
@pytest.mark.slow
@pytest.mark.parametrize('share', [0.0, 0.2])
def test_integral_action_lifts_an_unknown_payload(two_link, share):
    simulation = frs.Simulation(two_link)
    simulation.set_payload('tool', 0.3)
    controller = started(two_link, ControllerSettings(integral_action=share))
    controller.set_target(POSE)
    feed(controller, simulation, 15.0)
    # the controller controls the motor side of the joints
    away = np.abs(simulation.motor_position - POSE).max()
    assert away < 1e-3 if share else away > 0.02
    assert np.abs(simulation.velocity).max() < 1e-3


def test_a_motor_at_its_limit_does_not_wind_it_up():
    arm = rigid_arm('<limit effort="1" velocity="9"/>')
    controller = started(arm, replace(WITHOUT, integral_action=0.5))
    controller.set_target([2.0])
    for k in range(1, 5000):  # held in place for 10 s
        effort = see(controller, 2e-3 * k)
    assert effort[0] == 1.0
    controller.set_target([0.0])
    effort = see(controller, 10.0)
    # only the integral before the limit was reached
    assert abs(effort[0]) <= 0.2


def test_hold_keeps_the_integral_and_a_reset_clears_it():
    controller = started(rigid_arm(), replace(WITHOUT, integral_action=0.2))
    controller.set_target([0.015])
    for k in range(1, 500):
        effort = float(see(controller, 2e-3 * k)[0])
    assert effort > 0.15
    controller.hold()  # the payload is still there
    assert see(controller, 1.0)[0] == pytest.approx(effort - 0.15, rel=1e-2)
    see(controller, 1.002, [1.0])  # a reset
    assert see(controller, 1.004, [1.0])[0] == 0.0


def test_switched_off_it_fades_and_a_change_of_its_rate_is_no_bump():
    controller = started(rigid_arm(), replace(WITHOUT, integral_action=0.2))
    controller.set_target([0.015])
    efforts = [see(controller, 2e-3 * k)[0] for k in range(1, 500)]
    controller.change(replace(WITHOUT, integral_action=0.1))
    efforts += [see(controller, 2e-3 * k)[0] for k in range(500, 700)]
    controller.change(WITHOUT)
    efforts += [see(controller, 2e-3 * k)[0] for k in range(700, 4000)]
    # the change of the integral within 2 ms
    assert np.abs(np.diff(efforts)).max() < 2e-3 / 0.5 * max(efforts)
    assert efforts[-1] == pytest.approx(0.15, abs=1e-6)


def test_without_it_nothing_changes():
    assert JointController(rigid_arm(), NOTHING).servo.integral is None


@pytest.mark.long
def test_dry_friction_is_overcome_by_default_and_no_joint_hunts():
    # a wrist of 1e-3 kg m2 has 0.04 N m/rad at 1 Hz: 0.2 N m hold it anywhere within 5 rad
    limit = '<limit lower="-2" upper="2" effort="90" velocity="3"/><dynamics friction="0.2"/>'
    parts, parent = [], 'base'
    for name, axis, place, mass, centre, moment in (
        ('upper', '0 0 1', 0.1, 4.0, 0.3, 0.3),
        ('fore', '0 1 0', 0.3, 2.0, 0.25, 0.1),
        ('hand', '1 0 0', 0.3, 0.5, 0.05, 1e-3),
    ):
        inside = f'<origin xyz="{place} 0 0"/><axis xyz="{axis}"/>{limit}'
        parts += [
            joint(f'{name}_joint', 'revolute', parent, name, inside),
            link(name, mass, f'{centre} 0 0', (moment,) * 3),
        ]
        parent = name
    arm = build_arm(read_description(robot(*parts)))
    simulation, controller = frs.Simulation(arm), JointController(arm)
    assert controller.servo.integral is not None and (controller.servo.integral > 0.0).any()
    goal, places = np.array([0.6, 0.4, 0.5]), []

    def run(until):
        while simulation.time < until - 1e-9:
            simulation.effort = controller.update(
                simulation.time, simulation.position, simulation.velocity
            )
            simulation.step(2)
            places.append(simulation.position)

    run(0.1)
    controller.follow(
        Trajectory(arm.joint_names, [1.0], [goal], [np.zeros(3)], [np.zeros(3)]), simulation.time
    )
    run(40.0)
    # the remaining error needs no integral action, or is too small for it
    assert np.abs(places[-1] - goal).max() < 5e-3 + 1e-6
    places.clear()
    run(100.0)
    assert np.ptp(places, axis=0).max() < 1e-3


@pytest.mark.slow
def test_default_integral_action_is_for_joints_that_friction_or_weight_holds_back():
    arm = frs.load('two_link')  # without friction
    assert JointController(arm).servo.integral is None
    settings = ControllerSettings(feed_forward='none')
    integral = JointController(arm, settings).servo.integral
    assert integral is not None and (integral[1:] > 0.0).all()
    assert JointController(arm, replace(settings, bandwidth=1.0)).servo.integral is None
