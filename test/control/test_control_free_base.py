"""Controllers and shapers of arms on free bases, against closed forms and Pinocchio."""

import numpy as np
import pytest
from compare import arm_of
from free_arms import SPACE_ARM, freed
from random_arms import random_robot

import flex_robot_sim as frs
from flex_robot_sim.analysis.joint_space_inertia import rigid_inertia
from flex_robot_sim.control.feed_forward import make_feed_forward

NO_GRAVITY = (0.0, 0.0, 0.0)


def wheel(gravity=NO_GRAVITY, stiffness=50.0):
    """Return a bus with a wheel on an elastic gear, all centres of mass on its axis."""
    builder = frs.ArmBuilder('reaction_wheel')
    builder.add_rigid('bus', mass=10.0, inertia=(2.0, 2.5, 3.0))
    builder.add_rigid('wheel', mass=1.0, inertia=(0.1, 0.1, 0.2))
    builder.add_joint('anchor', parent='base', child='bus', type='floating')
    builder.add_joint('axle', parent='bus', child='wheel', axis='z', xyz=(0, 0, 0.3))
    builder.add_rigid('tip', mass=1e-9, inertia=(1e-12, 1e-12, 1e-12))
    builder.add_joint('rim', parent='wheel', child='tip', type='fixed', xyz=(0.2, 0, 0))
    builder.add_gear('axle', stiffness=stiffness, gear_ratio=1, rotor_inertia=1e-3)
    return builder.build(gravity=gravity)


def test_a_drive_turns_the_wheel_and_the_bus_against_each_other():
    inertia = rigid_inertia(wheel(), np.zeros(1))
    np.testing.assert_allclose(inertia, [[1 / (1 / 3.0 + 1 / 0.2) + 1e-3]], rtol=1e-8)
    servo = frs.control.design_servo(wheel(), frequency=1.0)
    assert servo.stiffness[0] == pytest.approx((2 * np.pi) ** 2 * inertia[0, 0], rel=1e-6)


@pytest.mark.parametrize('gravity', [NO_GRAVITY, (1.0, 2.0, -9.81)])
def test_a_shaper_has_the_half_period_of_wheel_and_bus(gravity):
    shaper = frs.shaping.design_for_pose(wheel(gravity), [0.0], kind='zv')
    period = 2 * np.pi / np.sqrt(50.0 * (1 / 3.0 + 1 / 0.2))
    assert shaper.duration == pytest.approx(period / 2, rel=1e-6)


def test_computed_torque_gives_the_wanted_acceleration_of_rigid_joints():
    """By forward dynamics; the base moves without momentum."""
    arm = arm_of(freed(random_robot(2, 5, kinds=('rigid',), gears=False)))
    n = len(arm.joint_names)
    rng = np.random.default_rng(0)
    q, v = np.zeros(arm.nq), np.zeros(arm.nv)
    q[:n], v[:n], wanted = rng.uniform(-0.3, 0.3, (3, n))
    M, base = frs.mass_matrix(arm, q), arm.base_q
    v[base] = -np.linalg.solve(M[base, base], M[base, :n] @ v[:n])
    law = frs.control.ComputedTorque(
        arm, reference=lambda t: (q[:n], v[:n], wanted), limits=np.full(n, 1e6)
    )
    sim = frs.Simulation(arm)
    sim.set_state(q, v)
    effort = law.step(frs.feedback.measure(sim))
    a = frs.forward_dynamics(arm, q, v, effort)
    np.testing.assert_allclose(a[:n], wanted, rtol=0, atol=1e-10 * abs(a).max())


@pytest.mark.parametrize('kind', ['gravity', 'sag'])
def test_joints_of_a_falling_arm_carry_no_weight(kind):
    arm = arm_of(SPACE_ARM)
    feed = make_feed_forward(arm, kind)
    feed.update(np.array([0.3, -0.5]))
    assert not feed.effort.any()


def test_a_servo_moves_a_satellite_arm_and_exchanges_no_momentum():
    arm = arm_of(SPACE_ARM, gravity=NO_GRAVITY)
    servo = frs.control.design_servo(arm, period=2e-3)
    assert not servo.warning
    sim = frs.Simulation(arm)
    sim.hold([0.5, -0.5], *servo.gains)
    sim.step(4000)
    np.testing.assert_allclose(sim.position, [0.5, -0.5], rtol=0, atol=2e-2)
    assert abs(sim.momentum()).max() <= 1e-12  # of some N m s in between
    assert abs(sim.base_pose[3:6]).max() > 1e-3
