"""The joint controller of an arm with a closed loop: it commands motors only."""

import numpy as np
import pytest
from refusals import refusal

import flex_robot_sim as frs
from flex_robot_sim.control.controller_settings import ControllerSettings
from flex_robot_sim.control.joint_controller import JointController
from flex_robot_sim.control.loop_gravity import LoopGravity
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


def test_gravity_efforts_are_the_slopes_of_the_potential_energy(arm):
    simulation, gravity, h = frs.Simulation(arm), LoopGravity(arm), 1e-5

    def potential(turn):
        simulation.set_state([turn, *simulation.position[1:]])  # on the same branch
        return simulation.energy().gravity

    for turn in 0.3 * np.arange(22):  # a whole turn
        gravity.update(np.array([turn, 0.0, 0.0]))
        slope = (potential(turn + h) - potential(turn - h)) / (2 * h)
        assert gravity.effort == pytest.approx([slope, 0.0, 0.0], abs=1e-6)


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


@pytest.mark.parametrize(
    'settings, line',
    [
        (
            {'velocity_gain': ()},
            'the controller of "four_bar" needs position_gain and velocity_gain, because gains '
            'are designed for trees only',
        ),
        (
            {'feed_forward': 'sag'},
            'feed_forward = sag works on trees only, and "four_bar" has closed loops: take '
            'gravity',
        ),
        (
            {'position_gain': (20.0, 1.0, 0.0)},
            'position_gain of joint "coupler_joint" must be 0: it is passive',
        ),
    ],
)
def test_unusable_settings_are_refused(arm, settings, line):
    assert refusal(SettingError, controlled, arm, **settings) == line


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
