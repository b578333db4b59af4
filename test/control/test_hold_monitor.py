"""Monitor of an arm that should stand still, at irregular times."""

import numpy as np
import pytest
from controlled import POSE, feed, started

import flex_robot_sim as frs
from flex_robot_sim.control.controller_settings import ControllerSettings
from flex_robot_sim.control.gains import Servo
from flex_robot_sim.control.hold_monitor import HoldMonitor
from flex_robot_sim.control.joint_controller import JointController
from flex_robot_sim.description.robot_parameters import with_parameters
from flex_robot_sim.model.assembly import build_arm

NAMES = ('waist', 'shoulder', 'elbow')


@pytest.fixture(scope='module')
def arm():
    return frs.load('two_link')


def looked(arm, error, rate, times=None, frequency=1.0):
    """Return a HoldMonitor after a first update for three joints with the target POSE."""
    holding = HoldMonitor(arm)
    for t in np.arange(0.0, 8.0, 0.1) if times is None else times:
        holding.update(
            t,
            False,
            POSE,
            POSE + error(t) * np.array([0, 0, 1]),
            rate(t) * np.array([0, 1, 0]),
            frequency,
        )
    return holding


def test_an_arm_near_its_target_and_at_rest_is_held(arm):
    holding = looked(arm, lambda t: 0.02, lambda t: 0.1 * np.sin(t))
    assert (holding.state, holding.line) == ('holding', '')


@pytest.mark.parametrize(
    'error, rate, line',
    [
        (lambda t: 0.2, lambda t: 0.0, '"elbow" is not held: 0.2 rad from its target, at 0 rad/s'),
        (
            lambda t: 1e-6 * np.exp(3 * t),
            lambda t: 0.0,  # e^23.7 millionths at the end
            '"elbow" is not held: 2e+04 rad from its target, at 0 rad/s',
        ),
        (
            lambda t: 0.0,
            lambda t: 4.0 * np.sin(100 * t),
            '"shoulder" is not held: 0 rad from its target, at 4 rad/s',
        ),
    ],
    ids=['away', 'falls over', 'shakes'],
)
def test_an_arm_that_is_away_or_falls_or_shakes_is_not(arm, error, rate, line):
    holding = looked(arm, error, rate)
    assert holding.state == 'not holding'
    assert holding.line == line


def test_it_may_take_three_periods_of_its_slowest_joint_to_settle(arm):
    for frequency, state in ((1.0, 'not holding'), (0.5, 'settling')):
        holding = looked(arm, lambda t: 0.2, lambda t: 0.0, np.arange(0.0, 4.5, 0.1), frequency)
        assert holding.state == state


def test_a_new_target_begins_anew_and_a_motion_is_no_hold(arm):
    holding = looked(arm, lambda t: 0.0, lambda t: 0.0)
    holding.update(9.0, True, POSE, POSE, np.zeros(3), 1.0)
    assert holding.state == 'moving'
    holding.update(9.1, False, POSE + 0.5, POSE, np.zeros(3), 1.0)
    assert holding.state == 'settling'


@pytest.mark.parametrize(
    'integral, remedy',
    [
        (
            None,
            'is more than its stiffness of 10 N m/rad overcomes: set integral_action to 0.2, or '
            'position_gain to 80',
        ),
        (
            (0.0, 0.0, 1.2),
            'holds it until integral action overcomes it: wait, or raise position_gain',
        ),
    ],
    ids=['without', 'with integral action'],
)
def test_dry_friction_that_holds_a_joint_is_named_with_the_remedy(integral, remedy):
    arm = build_arm(with_parameters(frs.read_description('two_link'), {'elbow.coulomb': 4.0}))
    servo = Servo(np.full(3, 10.0), np.ones(3), 1.0, integral=integral and np.array(integral))
    holding = HoldMonitor(arm)
    for error, line in (
        (
            0.3,
            f'"elbow" is not held: 0.3 rad from its target, at 0 rad/s. Its dry '
            f'friction of 4 N m {remedy}',
        ),
        (0.5, '"elbow" is not held: 0.5 rad from its target, at 0 rad/s'),
    ):
        for t in np.arange(0.0, 8.0, 0.1):
            holding.update(
                t, False, POSE, POSE + error * np.array([0, 0, 1]), np.zeros(3), 1.0, servo
            )
        assert holding.line == line  # 10 N m/rad x 0.5 rad would overcome 4 N m


def test_an_arm_too_heavy_for_its_motors_is_reported_at_once():
    arm = frs.load('canadarm2')
    controller = started(arm, ControllerSettings())
    controller.update_hold_monitor()
    assert len(controller.reports) == 1
    assert controller.reports[0].endswith(
        'of "shoulder_pitch", whose motor has 2.33e+03: it sinks. Take another pose or stronger '
        'motors, or an arm for orbit without gravity'
    )
    controller.update_hold_monitor()
    assert len(controller.reports) == 1


@pytest.mark.slow
def test_holding_is_said_of_an_arm_that_holds_and_not_of_one_that_is_too_soft():
    arm = frs.load('rcm')
    pose = np.array([0.1, 0.2, 0.3, -0.2, 0.1])
    for bandwidth, state in ((0.0, 'holding'), (1.0, 'not holding')):
        simulation = frs.Simulation(arm)
        simulation.set_state(pose)
        controller = JointController(arm, ControllerSettings(bandwidth=bandwidth))
        assert (controller.servo.warning == '') == (state == 'holding')
        feed(controller, simulation, 0.002)
        simulation.set_state(pose + 1e-3)
        for end in np.arange(0.1, 5.0, 0.1):
            feed(controller, simulation, end)
            controller.update_hold_monitor()
        assert controller.hold_monitor.state == state
