"""Messages about joints that rest away from their targets, with the reason."""

import re

import numpy as np
import pytest

import flex_robot_sim as frs
from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.control.gains import Servo
from flex_robot_sim.control.joint_controller import JointController
from flex_robot_sim.control.servo import servo_line
from flex_robot_sim.control.steady_state_error import friction_band, steady_state_error
from flex_robot_sim.description.robot_parameters import with_parameters
from flex_robot_sim.model.assembly import build_arm

TARGET = np.array([0.1, 0.2, 0.3])
ZERO = np.zeros(3)


@pytest.fixture(scope='module')
def arm():
    return frs.load('two_link')


def with_friction(arm, friction):
    return build_arm(with_parameters(arm.description, {'elbow.coulomb': friction}))


def line_of(arm, off, motor_off, speed=0.0, stiffness=100.0, integral=None):
    """Message about an elbow that is `off` from its target, and its motor `motor_off`."""
    elbow = np.array([0.0, 0.0, 1.0])
    servo = Servo(np.full(3, stiffness), np.ones(3), 1.0, integral=integral)
    return steady_state_error(
        arm, servo, TARGET, TARGET + off * elbow, TARGET + motor_off * elbow, speed * elbow
    )


def test_an_arm_at_its_target_has_no_line(arm):
    assert line_of(arm, 0.9e-3, 0.9e-3) == ''


@pytest.mark.parametrize(
    'friction, arguments, reason',
    [
        (0.0, (-0.007, -0.001), ': its elastic joint deflects by 0.006 rad'),
        (
            0.5,
            (0.004, 0.004),
            ': its dry friction of 0.5 N m holds it against a stiffness of 100 N m/rad',
        ),
        (0.5, (0.004, 0.004, 0.01), ' and still moves, at 0.01 rad/s'),
        (0.1, (0.004, 0.004), ': the weight of the deflected arm differs from the feed-forward'),
        (
            0.5,
            (0.004, 0.004, 0.0, 100.0, np.ones(3)),
            ': its dry friction of 0.5 N m holds it against a stiffness of 100 N m/rad, until '
            'integral '
            'action overcomes it',
        ),
    ],
    ids=['sag', 'friction', 'motion', 'weight', 'integral action'],
)
def test_the_line_names_the_reason(arm, friction, arguments, reason):
    line = line_of(with_friction(arm, friction), *arguments)
    assert line == f'"elbow" is {abs(arguments[0]):g} rad from its target{reason}'


def test_gains_say_where_dry_friction_may_stop_a_joint(arm):
    servo = Servo(np.full(3, 50.0), np.ones(3), 1.0)
    assert friction_band(with_friction(arm, 0.04), servo) == ''  # 0.8 mrad
    line = 'dry friction may stop elbow 0.02 rad from its target'
    assert friction_band(with_friction(arm, 1.0), servo) == line  # 1 N m / 50 N m/rad
    assert servo_line(with_friction(arm, 1.0), servo).endswith(f'; {line}')


def test_a_controller_that_holds_a_sagging_arm_notes_the_sag_by_its_closed_form(arm):
    simulation, controller = frs.Simulation(arm), JointController(arm)
    pose = np.array([0.0, 0.4, -0.2])
    simulation.set_state(q=equilibrium(arm, pose).q)
    for k in range(1500):  # steps of 2 ms; efforts a period late, as over ROS
        effort = controller.update(
            simulation.time,
            simulation.position,
            simulation.velocity,
            simulation.motor_position,
            simulation.motor_velocity,
        )
        simulation.step(2)
        simulation.effort = effort
        if k % 50 == 0:
            controller.update_hold_monitor()
    assert controller.hold_monitor.state == 'holding'
    note = controller.hold_monitor.note
    name, sag = re.match(
        r'"(\w+)" is [\d.]+ rad from its target: its elastic joint deflects by '
        r'([\d.]+) rad$',
        note,
    ).groups()
    # a spring at rest deflects by its torque, which equals that of the motor behind it
    torque = abs(simulation.applied_effort[arm.joint_names.index(name)])
    assert float(sag) == pytest.approx(torque / arm.description.joint(name).stiffness, rel=0.02)
