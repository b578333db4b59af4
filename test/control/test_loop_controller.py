"""The joint controller of an arm with a closed loop: it commands motors only."""

import re

import numpy as np
import pytest
from cassie import cassie_leg
from pinocchio_loops import pinocchio_loops
from refusals import refusal

import flex_robot_sim as frs
from flex_robot_sim.analysis.joint_space_inertia import poses_within
from flex_robot_sim.control.controller_settings import ControllerSettings
from flex_robot_sim.control.gains import carrying_efforts
from flex_robot_sim.control.joint_controller import JointController
from flex_robot_sim.control.loop_feed_forward import LoopFeedForward
from flex_robot_sim.control.servo import design_servo
from flex_robot_sim.motion.trajectory import Trajectory
from flex_robot_sim.util.exceptions import SettingError

pytestmark = pytest.mark.slow

GAINS = {'position_gain': (20.0, 0.0, 0.0), 'velocity_gain': (1.0, 0.0, 0.0)}


@pytest.fixture(scope='module')
def arm():
    return frs.load('four_bar')


def controlled(arm, **settings):
    """Return a simulation, and a controller that has seen its first state."""
    simulation = frs.Simulation(arm)
    controller = JointController(arm, ControllerSettings(**{**GAINS, **settings}))
    controller.update(0.0, simulation.position, simulation.velocity)
    return simulation, controller


def sprung():
    """Return the four-bar with springs across its joints."""
    springs = ''.join(
        f'<joint name="{name}_joint" spring_stiffness="{k}" spring_reference="0.3"/>'
        for name, k in (('crank', 2.0), ('coupler', 0.0), ('rocker', 3.0))
        if k
    )
    text = frs.load('four_bar').description.text
    return frs.load(text.replace('</flexibility>', f'{springs}</flexibility>'))


@pytest.mark.parametrize('make', [lambda: frs.load('four_bar'), sprung])
def test_gravity_efforts_are_the_slopes_of_the_potential_energy(make):
    arm = make()
    simulation, gravity, h = frs.Simulation(arm), LoopFeedForward(arm, 'gravity'), 1e-5

    def potential(turn):
        simulation.set_state([turn, *simulation.position[1:]])  # on the same branch
        return simulation.energy().gravity + simulation.energy().strain

    for turn in 0.3 * np.arange(22):  # a whole turn
        gravity.update(np.array([turn, 0.0, 0.0]))
        slope = (potential(turn + h) - potential(turn - h)) / (2 * h)
        assert gravity.effort == pytest.approx([slope, 0.0, 0.0], abs=1e-6)
        efforts = carrying_efforts(arm, [turn, *simulation.position[1:]])
        assert efforts == pytest.approx([slope, 0.0, 0.0], abs=1e-6)


def test_a_crank_follows_a_trajectory_and_is_held_at_its_end(arm):
    simulation, controller = controlled(arm)
    controller.follow(Trajectory(['crank_joint'], [0.4], [[0.5]], [[0.0]], [[0.0]]), 0.0)
    for k in range(700):
        effort = controller.update(simulation.time, simulation.position, simulation.velocity)
        assert not effort[1:].any()
        simulation.effort = effort
        simulation.step()
        if k % 100 == 99:
            controller.update_hold_monitor()
    assert simulation.position[0] == pytest.approx(0.5, abs=0.02)
    assert not controller.is_moving and controller.reports == []


def test_gravity_efforts_hold_the_leg_of_cassie_in_pinocchio():
    pin = pytest.importorskip('pinocchio')
    arm = cassie_leg()
    theirs, gravity = pinocchio_loops(pin, arm), LoopFeedForward(arm, 'gravity')
    theirs.model.gravity.linear = -arm.arrays.base_acceleration[3:]
    loops = theirs.constraints, theirs.constraint_data, theirs.settings
    for pose in poses_within(arm, count=3):
        gravity.update(pose)
        turns = pose[theirs.order]  # of continuous joints, as cosine and sine
        q = np.column_stack([np.cos(turns), np.sin(turns)]).ravel()
        with_efforts, without = (
            np.abs(
                pin.constraintDynamics(
                    theirs.model, theirs.data, q, 0.0 * turns, effort[theirs.order], *loops
                )
            ).max()
            for effort in (gravity.effort, 0.0 * pose)
        )
        assert with_efforts < 1e-10 * without


@pytest.mark.parametrize('name', ['four_bar', 'palletiser', 'delta_flexible'])
def test_the_sag_is_that_of_the_equilibrium(name):
    arm = frs.load(name)
    feed, pose = LoopFeedForward(arm, 'sag'), poses_within(arm)[4]
    for _ in range(6):
        feed.update(pose)
    assert feed.is_settled
    assert feed.effort == pytest.approx(frs.equilibrium(arm, pose).effort, rel=1e-9, abs=1e-9)


def test_the_lead_of_an_elastic_gear_in_a_loop_brings_its_link_side_to_the_target():
    text = frs.load('four_bar').description.text
    gear = '<joint name="crank_joint" stiffness="40" rotor_inertia="1e-4" gear_ratio="20"/>'
    arm = frs.load(text.replace('</flexibility>', f'{gear}</flexibility>'))
    feed, pose = LoopFeedForward(arm, 'sag'), poses_within(arm)[4]
    for _ in range(6):
        feed.update(pose)
    found = frs.equilibrium(arm, pose + feed.motor_offset)
    assert found.q[0] == pytest.approx(pose[0], abs=1e-9)
    assert abs(feed.motor_offset[0]) > 1e-3


@pytest.mark.parametrize('name', ['cassie_leg', 'delta', 'palletiser', 'stewart'])
def test_default_gains_hold_a_loop_with_late_states(name):
    arm = cassie_leg() if name == 'cassie_leg' else frs.load(name)
    pose = poses_within(arm)[3]
    simulation = frs.Simulation(arm)
    simulation.set_state(pose)
    controller = JointController(arm)
    assert controller.servo.warning == ''
    late = np.zeros(pose.size)
    for _ in range(1500):
        effort = controller.update(simulation.time, simulation.position, simulation.velocity)
        simulation.effort, late = late, effort.copy()
        simulation.step(2)
    assert simulation.position == pytest.approx(pose, abs=0.02)
    assert np.abs(simulation.velocity).max() < 0.01


def test_integral_action_lifts_an_unknown_payload_on_a_loop():
    arm = frs.load('delta')
    simulation, controller = controlled(
        arm, position_gain=(), velocity_gain=(), integral_action=0.2
    )
    simulation.set_payload('platform', 0.1)
    start = simulation.position.copy()
    for _ in range(3000):
        simulation.effort = controller.update(
            simulation.time, simulation.position, simulation.velocity
        )
        simulation.step(2)
    assert simulation.position[arm.actuated] == pytest.approx(start[arm.actuated], abs=1e-3)


@pytest.mark.parametrize('name', ['delta', 'stewart'])
def test_errors_of_computed_torque_on_a_rigid_loop_obey_their_equation(name):
    text = re.sub('<dynamics [^>]*/>', '', frs.load(name).description.text)  # no friction
    arm, rate = frs.load(text), 2 * np.pi * 2.0
    pose = frs.Simulation(arm).position
    goal = pose + np.where(arm.actuated, 0.03 * np.arange(1.0, 1.0 + pose.size) / pose.size, 0.0)
    law = frs.control.ComputedTorque(arm, reference=goal, frequency=2.0)
    simulation = frs.Simulation(arm, frs.SimulationSettings(time_step=5e-4))
    simulation.set_state(pose)
    for _ in range(400):
        simulation.effort = law.step(frs.feedback.measure(simulation))
        simulation.step()
    t = simulation.time
    left = (1 + rate * t) * np.exp(-rate * t)  # critically damped
    expected = (goal - pose) * left
    error = (goal - simulation.position)[arm.actuated]
    # efforts are constant within a step
    assert error == pytest.approx(expected[arm.actuated], rel=2e-2)


def test_gains_of_passive_joints_are_refused(arm):
    line = 'position_gain of joint "coupler_joint" must be 0: it is passive'
    assert refusal(SettingError, controlled, arm, position_gain=(20.0, 1.0, 0.0)) == line


def test_default_gains_of_passive_joints_are_zero():
    arm = frs.load('delta')
    servo = design_servo(arm, frequency=2.0, period=2e-3, delay=2e-3)
    for gains in servo.gains:
        assert (gains[arm.actuated] > 0.0).all() and not gains[~arm.actuated].any()


def test_only_motors_have_targets_and_those_must_be_in_reach(arm):
    simulation, controller = controlled(arm)
    line = 'joint "rocker_joint" is passive and has no target. Joints with a motor: crank_joint'
    passive = Trajectory(['rocker_joint'], [1.0], [[0.5]])
    assert refusal(SettingError, controller.follow, passive, 0.0) == line
    assert refusal(SettingError, controller.set_target, [0.5], None, ['rocker_joint']) == line
    controller.set_target([0.4, 9.0, 9.0])
    assert controller.target.tolist() == [0.4, *simulation.position[1:]]
    text = arm.description.text.replace('effort="5"', 'effort="0"')
    head, name, tail = text.partition('<joint name="rocker_joint"')
    driven = frs.load(head + name + tail.replace('effort="0"', 'effort="5"'))
    _, controller = controlled(
        driven, position_gain=(0.0, 0.0, 20.0), velocity_gain=(0.0, 0.0, 1.0)
    )
    line = refusal(SettingError, controller.set_target, [1.5], None, ['rocker_joint'])
    assert line.startswith('the target is out of reach: constraint "coupler_end" does not close')
    assert 'It closes with "rocker_joint" at ' in line
