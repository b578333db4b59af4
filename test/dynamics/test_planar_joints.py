"""Planar joints within the tree move as Pinocchio, MuJoCo and closed forms say."""

import numpy as np
import pytest
from arms import flexibility, joint, link, robot
from compare import arm_of, assert_same, forward, inverse
from moved_bases import Roll, on_a_joint
from planar_arms import InPinocchio, planar_at, random_tree
from public_robots import public_robot
from random_arms import random_state
from scipy.spatial.transform import Rotation

import flex_robot_sim as frs

G = 9.81
ROUND = (0.02, 0.02, 0.03)  # moments of a puck with its centre in its frame [kg m2]


def assert_as_in_pinocchio(text, seed, tolerance):
    pin = pytest.importorskip('pinocchio')
    arm = arm_of(text)
    q, v = random_state(arm, seed)
    a, effort = np.random.default_rng(seed).normal(size=(2, arm.size))
    theirs = InPinocchio(pin, arm, text, q, v)
    model, data, S = theirs.model, theirs.data, theirs.S
    upper = np.triu(pin.crba(model, data, theirs.q))
    M = S.T @ (upper + np.triu(upper, 1).T) @ S
    scale = np.sqrt(np.diag(M))
    assert_same(frs.mass_matrix(arm, q), M, np.outer(scale, scale), tolerance)
    force = S.T @ pin.rnea(model, data, theirs.q, theirs.v, S @ a + theirs.bias)
    assert_same(inverse(arm, q, v, a), force, scale, tolerance)
    rates = pin.aba(model, data, theirs.q, theirs.v, np.linalg.solve(S.T, effort))
    expected = np.linalg.solve(S, rates - theirs.bias)
    assert_same(forward(arm, q, v, effort), expected, 1 / scale, tolerance)


def test_random_trees_with_planar_joints_move_as_in_pinocchio():
    for seed in range(20):
        assert_as_in_pinocchio(random_tree(seed), seed, 1e-12)


def test_a_public_arm_with_a_planar_joint_moves_as_in_pinocchio():
    text = public_robot('ur_description/urdf/ur5_robot.urdf').read_text('utf-8')
    assert_as_in_pinocchio(planar_at(text, 'elbow_joint', 'wrist_2_joint'), 3, 1e-12)


@pytest.mark.parametrize(
    ('normal', 'x', 'y'),
    [('1 0 0', [0, 1, 0], [0, 0, 1]), ('0 -1 0', [1, 0, 0], [0, 0, 1]), ('0 0 -1', None, None)],
)
def test_any_normal_spans_a_right_handed_plane(normal, x, y):
    n = np.array(normal.split(), float)
    arm = frs.load(on_plate(f'<axis xyz="{normal}"/>'))
    moved = frs.pose(arm, [0.2, 0.3, 0.4])
    x = np.array([1.0, 0.0, 0.0] if x is None else x)
    y = np.cross(n, x) if y is None else np.array(y)
    np.testing.assert_allclose(moved[:3, 3], 0.2 * x + 0.3 * y, atol=1e-15)
    np.testing.assert_allclose(
        moved[:3, :3], Rotation.from_rotvec(0.4 * n).as_matrix(), atol=1e-15
    )


def on_plate(inside, elements='', plate=''):
    """Return a puck of 2 kg that slides on a plate, which is fixed."""
    return robot(
        '<link name="plate"/>',
        link('puck', 2.0, '0 0 0', ROUND),
        joint('mount', 'fixed', 'base', 'plate', plate),
        joint('slide', 'planar', 'plate', 'puck', inside),
        *([flexibility(elements)] if elements else []),
    )


def test_a_damped_disc_slides_down_a_slope_and_stops_turning():
    slope, c, spin_c, t = 0.3, 3.0, 0.05, 0.5
    text = on_plate(
        '<axis xyz="0 0 1"/>',
        f'<joint name="slide_x" viscous_friction="{c}"/>'
        f'<joint name="slide_theta" viscous_friction="{spin_c}"/>',
        f'<origin rpy="0 {slope} 0"/>',
    )
    simulation = frs.Simulation(frs.load(text))
    simulation.set_state(v=[0.4, -0.2, 5.0])
    simulation.advance_to(t)
    m, pull = 2.0, 2.0 * G * np.sin(slope)
    fall, decay = pull / c, np.exp(-c * t / m)
    expected = [fall * t + (0.4 - fall) * (1 - decay) * m / c, -0.2 * t]
    expected.append(5.0 * ROUND[2] / spin_c * (1 - np.exp(-spin_c * t / ROUND[2])))
    # the scheme has second order: h^2 times the third derivative / 12
    np.testing.assert_allclose(simulation.position, expected, rtol=0, atol=1e-6)


def test_a_puck_on_a_turntable_moves_straight_in_the_room():
    text = robot(
        link('table', 5.0, '0 0 0', (1.0, 1.0, 1.0)),
        link('puck', 2.0, '0 0 0', ROUND),
        joint('hinge', child='table'),
        joint('slide', 'planar', 'table', 'puck', '<origin xyz="0.3 0 0.1"/><axis xyz="0 0 1"/>'),
    )
    omega, t, simulation = 4.0, 0.3, frs.Simulation(frs.load(text))
    simulation.prescribe('hinge', lambda time: (omega * time, omega))
    simulation.set_state(v=[omega, 0.5, -0.2, 0.0])
    simulation.advance_to(t)
    start, rate = np.array([0.3, 0.0, 0.1]), np.array([0.5, 0.3 * omega - 0.2, 0.0])
    T = simulation.pose('puck')
    # Coriolis and centrifugal forces of 10 m/s2 cancel; the rest is h^2 times their derivatives
    np.testing.assert_allclose(T[:3, 3], start + rate * t, rtol=0, atol=2e-6)
    turn = Rotation.from_rotvec([0.0, 0.0, omega * t]).as_matrix()
    np.testing.assert_allclose(T[:3, :3], turn, rtol=0, atol=1e-12)


def carried(elements=''):
    """Return an arm that carries a puck on a tilted plane, and a hand on the puck."""
    return robot(
        link('arm', 2.0, '0.5 0 0', (0.01, 0.2, 0.2)),
        link('puck', 1.0, '0.1 0.02 0.03', ROUND),
        link('hand', 0.5, '0.1 0 0.05', (0.003, 0.002, 0.001)),
        joint(inside='<axis xyz="0 1 0"/>'),
        joint(
            'slide',
            'planar',
            'arm',
            'puck',
            '<origin xyz="0.8 0.1 0" rpy="0.1 0.2 0.3"/><axis xyz="0 0 1"/>',
        ),
        joint(
            'wrist',
            'continuous',
            'puck',
            'hand',
            '<origin xyz="0.2 0 0" rpy="0 0.4 0"/><axis xyz="1 0 0"/>',
        ),
        *([flexibility(elements)] if elements else []),
    )


START = [0.3, 0.05, -0.1, 0.5, 0.2], [1.0, -0.5, 0.4, 2.0, -1.0]


def test_a_motion_is_that_of_slides_and_a_hinge_in_mujoco():
    mujoco = pytest.importorskip('mujoco')
    springs = (
        '<joint name="slide_x" spring_stiffness="80" viscous_friction="2"/>'
        '<joint name="slide_y" spring_stiffness="50" spring_reference="0.1"/>'
        '<joint name="slide_theta" spring_stiffness="3" viscous_friction="0.1"/>'
    )
    model = mujoco.MjModel.from_xml_string("""<mujoco><compiler eulerseq="XYZ" angle="radian"/>
      <option timestep="1e-3" integrator="RK4" gravity="0 0 -9.81"/><worldbody><body>
        <joint axis="0 1 0"/><inertial pos="0.5 0 0" mass="2" diaginertia="0.01 0.2 0.2"/>
        <body pos="0.8 0.1 0" euler="0.1 0.2 0.3">
          <joint type="slide" axis="1 0 0" stiffness="80" damping="2"/>
          <joint type="slide" axis="0 1 0" stiffness="50" springref="0.1"/>
          <joint axis="0 0 1" stiffness="3" damping="0.1"/>
          <inertial pos="0.1 0.02 0.03" mass="1" diaginertia="0.02 0.02 0.03"/>
          <body pos="0.2 0 0" euler="0 0.4 0"><joint axis="1 0 0"/>
            <inertial pos="0.1 0 0.05" mass="0.5" diaginertia="0.003 0.002 0.001"/></body>
        </body></body></worldbody></mujoco>""")
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = START
    simulation = frs.Simulation(
        frs.load(carried(springs)), frs.SimulationSettings(time_step=1e-3, scheme='rk4')
    )
    simulation.set_state(*START)
    mujoco.mj_step(model, data, nstep=300)
    simulation.step(300)
    # both have the fourth order and the same step
    np.testing.assert_allclose(simulation.position, data.qpos, rtol=0, atol=1e-9)
    np.testing.assert_allclose(simulation.velocity, data.qvel, rtol=0, atol=1e-8)


STOPS = (
    '<joint name="slide_x" lower="-0.1" upper="0.1" coulomb_friction="0.5"/>'
    '<joint name="slide_y" lower="-0.2" upper="0.2" viscous_friction="1"/>'
    '<joint name="slide_theta" coulomb_friction="0.1"/>'
)


@pytest.mark.parametrize('elements', ['', STOPS])
def test_energy_stays_without_friction_and_never_rises_with_it(elements):
    simulation = frs.Simulation(frs.load(carried(elements)))
    simulation.set_state(*START)
    start = last = sum(simulation.energy()[:3])
    for _ in range(300):
        simulation.step()
        now = sum(simulation.energy()[:3])
        assert now <= last + 1e-10 * (1.0 + abs(start))
        last = now
        if elements:
            assert abs(simulation.position[1]) < 0.11 and abs(simulation.position[2]) < 0.21
    if not elements:
        assert now == pytest.approx(start, abs=1e-9)


def test_a_planar_joint_on_a_moved_base_equals_one_on_a_prescribed_joint():
    motion, text = Roll((0.6, 0.0, 0.8)), random_tree(3)
    moved, driven = (
        frs.Simulation(arm_of(one), frs.SimulationSettings(iterations=12))
        for one in (text, on_a_joint(text, motion.axis))
    )
    moved.move_base(motion.base)
    driven.prescribe('roll', motion.drive)
    for sim in (moved, driven):
        sim.step(100)
    index = [driven.arm.coordinate_names.index(name) for name in moved.arm.coordinate_names]
    assert abs(moved.q).max() > 1e-2
    np.testing.assert_allclose(moved.q, driven.q[index], rtol=0, atol=1e-9)


@pytest.mark.parametrize('seed', range(3))
def test_a_batch_starts_with_the_accelerations_of_pinocchio(seed):
    pin, h = pytest.importorskip('pinocchio'), 1e-6
    text, rng = random_tree(seed), np.random.default_rng(seed)
    arm = arm_of(text)
    q, v = rng.normal(size=(2, 2, arm.size))
    batch = frs.Batch(arm, 2, frs.SimulationSettings(time_step=h))
    batch.set_state(q, v)
    batch.step()
    for k in range(2):
        other = InPinocchio(pin, arm, text, q[k], v[k])
        force = pin.nonLinearEffects(other.model, other.data, other.q, other.v)
        M = pin.crba(other.model, other.data, other.q)
        M = np.triu(M) + np.triu(M, 1).T
        S, a = other.S, (batch.v[k] - v[k]) / h
        residual = S.T @ (M @ (S @ a + other.bias) + force)
        assert abs(residual).max() < 1e-3 * abs(S.T @ force).max()
