"""
Models of trees with universal and spherical joints, which have no motor.

References: the compound pendulum, and the motion of `Simulation`.
"""

import numpy as np
import pytest
from arms import flexibility, joint, link, robot
from refusals import refusal

import flex_robot_sim as frs

G = 9.81
DOWN = '<origin rpy="0 1.5707963267948966 0"/>'  # x, along the link, points down
PASSIVE = '"wrist_x" must be 0: it is passive'


def hanging(more='', kind='spherical'):
    """Return a link of 1 m on a hinge, and a rod of 1 m that hangs on its end by a ball joint."""
    inertia = (1e-2, 1 / 6, 1 / 6)
    return frs.load(
        robot(
            link('arm', 2.0, '0.5 0 0', inertia),
            link('rod', 2.0, '0.5 0 0', inertia),
            joint(inside=f'{DOWN}<axis xyz="0 1 0"/>'),
            joint('wrist', 'fixed', 'arm', 'rod', '<origin xyz="1 0 0"/>'),
            flexibility(f'<joint name="wrist" type="{kind}" {more}/>'),
        )
    )


def test_a_rod_on_a_ball_joint_is_a_pendulum_while_the_motor_is_locked():
    found = frs.modes(hanging())
    pendulum = np.sqrt(2.0 * G * 0.5 / (1 / 6 + 2.0 * 0.25)) / (2 * np.pi)
    assert found.frequencies == pytest.approx([0.0, pendulum, pendulum], rel=1e-9, abs=1e-9)
    assert np.abs(found.shapes[0]).max() == 0.0  # the hinge


def test_a_spring_across_a_ball_joint_adds_to_its_frequencies():
    found = frs.frequencies(hanging('spring_stiffness="30" viscous_friction="0"'))
    swing, spin = 30.0 + 2.0 * G * 0.5, 30.0
    assert found == pytest.approx(
        np.sqrt([swing / (2 / 3), swing / (2 / 3), spin / 1e-2]) / (2 * np.pi), rel=1e-9
    )


def test_a_ball_joint_has_no_servo_no_effort_and_no_input():
    arm = hanging('spring_stiffness="30"')
    model = frs.linearise(arm, gains=(40.0, 4.0))
    assert model.inputs == ('hinge/effort', 'hinge/target')
    for call in (
        lambda: frs.equilibrium(arm, effort=[0.0, 1.0, 0.0, 0.0], joints='free'),
        lambda: frs.Simulation(arm).hold(np.zeros(4), [9.0, 9.0, 0.0, 0.0], 1.0),
    ):
        assert PASSIVE in refusal(frs.SettingError, call)
    simulation = frs.Simulation(arm)
    with pytest.raises(frs.SettingError, match=PASSIVE):
        simulation.effort = [0.0, 1.0, 0.0, 0.0]
        simulation.step()


def test_the_rod_comes_to_rest_at_its_equilibrium():
    arm = hanging('spring_stiffness="1" viscous_friction="3"', 'universal')
    rest = frs.equilibrium(arm, [0.7, 0.0, 0.0])
    simulation = frs.Simulation(arm)
    simulation.prescribe('hinge', lambda t: (0.7, 0.0))
    simulation.advance_to(8.0)
    assert simulation.position == pytest.approx(rest.q, abs=1e-6)
    # the sum of moments about the ball joint
    assert 1.0 * rest.q[2] == pytest.approx(-2.0 * G * 0.5 * np.sin(0.7 + rest.q[2]), rel=1e-9)
    J = frs.static_jacobian(arm, [0.7, 0.0, 0.0])
    step = 1e-4
    ends = [frs.equilibrium(arm, [0.7 + s * step, 0.0, 0.0]).q for s in (1, -1)]
    turn = 1.0 + (ends[0][2] - ends[1][2]) / (2 * step)
    assert J[:3] == pytest.approx(np.array([[0, 0, 0], [turn, 0, 0], [0, 0, 0]]), abs=1e-6)


def test_gains_are_designed_for_the_motors_while_the_rod_swings():
    arm = hanging('spring_stiffness="1" viscous_friction="3"')
    servo = frs.control.design_servo(arm)
    assert (servo.stiffness[1:] == 0.0).all() and (servo.damping[1:] == 0.0).all()
    target = [0.5, 0.0, 0.0, 0.0]
    rest, simulation = frs.equilibrium(arm, target, gains=servo.gains), frs.Simulation(arm)
    simulation.hold(target, *servo.gains)
    simulation.advance_to(15.0)
    assert simulation.q == pytest.approx(rest.q, abs=1e-5)
    assert (frs.feedback.Lqr(arm, target).poles.real < 0.0).all()
