"""Free bases: against Pinocchio, closed forms, and the conservation of momentum and energy."""

import copy
import re

import numpy as np
import pytest
from compare import GRAVITY, arm_of, assert_same, forward, inverse
from free_arms import SPACE_ARM, freed
from random_arms import random_robot, random_state
from scipy.spatial.transform import Rotation
from sliding_arms import telescope

import flex_robot_sim as frs
from flex_robot_sim.dynamics.mass_matrix import mass_matrix
from flex_robot_sim.simulation.quantities import labels_of
from flex_robot_sim.util.exceptions import SettingError

ORDER = {'floating': (3, 4, 5, 0, 1, 2), 'planar': (1, 2, 0)}  # of Pinocchio's rates, among ours


def in_pinocchio(pin, arm, text, q, pose):
    """Return the arm in Pinocchio: model, data, configuration, and our index of each rate."""
    model, kind = pin.buildModelFromXML(text), arm.description.free_joint.kind
    theirs, index = pin.neutral(model), np.zeros(model.nv, int)
    base = model.joints[model.getJointId('anchor')]
    if kind == 'floating':
        theirs[base.idx_q : base.idx_q + 7] = pose
    else:
        turn = 2 * np.arctan2(pose[5], pose[6])
        theirs[base.idx_q : base.idx_q + 4] = [*pose[:2], np.cos(turn), np.sin(turn)]
    index[base.idx_v : base.idx_v + base.nv] = arm.base_q.start + np.array(ORDER[kind])
    for k, name in enumerate(arm.joint_names):
        joint = model.joints[model.getJointId(name)]
        values = [q[k]] if joint.nq == 1 else [np.cos(q[k]), np.sin(q[k])]
        theirs[joint.idx_q : joint.idx_q + joint.nq] = values
        index[joint.idx_v] = k
    model.gravity.linear = np.array(GRAVITY)
    return model, model.createData(), theirs, index


def cayley(x):
    """Pose (7,) of the Cayley map of a screw (6,), from its matrices."""
    X = np.zeros((4, 4))
    X[:3, :3], X[:3, 3] = np.cross(np.eye(3), x[:3]), x[3:]
    T = np.linalg.solve(np.eye(4) - X / 2, np.eye(4) + X / 2)
    return np.concatenate([T[:3, 3], Rotation.from_matrix(T[:3, :3]).as_quat()])


@pytest.mark.parametrize(
    ('kind', 'decade'), [*(('floating', k) for k in range(10)), ('planar', 0), ('planar', 1)]
)
def test_random_trees_with_a_free_base_move_as_in_pinocchio(kind, decade):
    pin = pytest.importorskip('pinocchio')
    for seed in range(10 * decade, 10 * decade + 10):
        text = freed(random_robot(seed, 5, kinds=('rigid',), gears=False), kind)
        arm = arm_of(text)
        q, v = random_state(arm, seed)
        a, effort = np.random.default_rng(seed).normal(size=(2, arm.nv))
        q[arm.base_q] = x = np.random.default_rng(seed).normal(size=len(arm.arrays.base))
        screw = np.zeros(6)
        screw[arm.arrays.base[:, 1]] = x
        model, data, theirs, index = in_pinocchio(pin, arm, text, q, cayley(screw))
        M = np.zeros((arm.nv, arm.nv))
        M[np.ix_(index, index)] = pin.crba(model, data, theirs)
        M = np.triu(M[np.ix_(index, index)])
        M = (M + np.triu(M, 1).T)[np.ix_(np.argsort(index), np.argsort(index))]
        scale = np.sqrt(np.diag(M))
        for ours in (mass_matrix(arm.arrays, q), frs.mass_matrix(arm, q)):
            assert_same(ours, M, np.outer(scale, scale), 1e-12)
        force = np.zeros(arm.nv)
        force[index] = pin.rnea(model, data, theirs, v[index], a[index])
        assert_same(inverse(arm, q, v, a), force, scale, 1e-12)
        effort[arm.base_q] = 0.0
        expected = np.zeros(arm.nv)
        expected[index] = pin.aba(model, data, theirs, v[index], effort[index])
        joints = len(arm.joint_names)
        assert_same(forward(arm, q, v, effort[:joints]), expected, 1 / scale, 1e-12)


@pytest.mark.parametrize('kind', ORDER)
def test_straight_sliding_links_on_a_free_base_are_rigid_ones_of_pinocchio(kind):
    pin = pytest.importorskip('pinocchio')
    text = freed(telescope(), kind)
    arm = arm_of(text)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x, (q, v, a) = rng.normal(size=len(arm.arrays.base)), rng.normal(size=(3, arm.nv))
        arm.set_joints(q, rng.uniform(0.0, 0.7, size=len(arm.joint_names)))
        q[arm.base_q] = x
        q[arm.elastic_q] = v[arm.elastic_q] = a[arm.elastic_q] = 0.0
        screw = np.zeros(6)
        screw[arm.arrays.base[:, 1]] = x
        model, data, theirs, index = in_pinocchio(pin, arm, text, q, cayley(screw))
        M = pin.crba(model, data, theirs)
        M = np.triu(M) + np.triu(M, 1).T
        scale = np.sqrt(np.diag(M))
        ours = frs.mass_matrix(arm, q)[np.ix_(index, index)]
        assert_same(ours, M, np.outer(scale, scale), 1e-12)
        force = pin.rnea(model, data, theirs, v[index], a[index])
        assert_same(inverse(arm, q, v, a)[index], force, scale, 1e-12)


def tumbling(arm, seed=0, **settings):
    """Return a Simulation whose base and joints have random rates."""
    sim, v = frs.Simulation(arm, frs.SimulationSettings(**settings)), np.zeros(arm.nv)
    v[: arm.base_q.stop] = np.random.default_rng(seed).normal(size=arm.base_q.stop)
    sim.set_state(v=v)
    return sim


def momentum_by_links(arm, sim):
    """Momentum (6,) of a rigid arm about its centre of mass, from the twists of its links."""
    mass, first, moment, linear = 0.0, np.zeros(3), np.zeros(3), np.zeros(3)
    for link in arm.description.links:
        if link.inertial is not None:
            T, V = sim.pose(link.name), sim.twist(link.name, representation='hybrid')
            m, R = link.inertial.mass, T[:3, :3]
            arm_of_centre = R @ link.inertial.centre
            c, u = T[:3, 3] + arm_of_centre, V[3:] + np.cross(V[:3], arm_of_centre)
            mass, first, linear = mass + m, first + m * c, linear + m * u
            moment += R @ link.inertial.inertia @ R.T @ V[:3] + m * np.cross(c, u)
    return np.concatenate([moment - np.cross(first / mass, linear), linear]), first / mass


@pytest.mark.parametrize('seed', range(3))
def test_the_momentum_of_a_rigid_tree_is_that_of_its_links(seed):
    arm = arm_of(freed(random_robot(seed, 5, kinds=('rigid',), gears=False)))
    sim = tumbling(arm)
    momentum, centre = momentum_by_links(arm, sim)
    np.testing.assert_allclose(sim.momentum(), momentum, rtol=0, atol=1e-12 * abs(momentum).max())
    np.testing.assert_allclose(sim.centre_of_mass, centre, rtol=0, atol=1e-13)


@pytest.mark.parametrize('steps', [1000, pytest.param(100_000, marks=pytest.mark.long)])
def test_a_floating_flexible_arm_keeps_momentum_and_energy(steps):
    arm = arm_of(SPACE_ARM, gravity=(0.0, 0.0, 0.0))
    sim = tumbling(arm)
    momentum, centre, start = sim.momentum(), sim.centre_of_mass, sim.energy()
    sim.step(steps)
    # each step rounds once; the bound is that of issue 44 for 1e5 steps
    assert abs(sim.momentum() - momentum).max() <= 1e-12 * abs(momentum).max()
    travel = momentum[3:] / 23.0 * steps * 1e-3
    np.testing.assert_allclose(sim.centre_of_mass - centre, travel, rtol=1e-11)
    assert abs(sim.energy().balance) <= 1e-12 * start.kinetic
    assert abs(np.linalg.norm(sim.base_pose[3:]) - 1.0) <= 1e-15


def test_motors_of_a_space_arm_at_rest_exchange_no_momentum():
    arm = arm_of(SPACE_ARM, gravity=(0.0, 0.0, 0.0))
    sim = frs.Simulation(arm)
    centre = sim.centre_of_mass
    sim.hold([1.0, -1.0], 50.0, 10.0)
    sim.step(500)
    exchanged = 2.0 * abs(sim.velocity).max() + 1.0  # angular momentum of the links [N m s]
    assert abs(sim.position).max() > 0.3 and abs(sim.base_pose[3:6]).max() > 1e-3
    assert abs(sim.momentum()).max() <= 1e-12 * exchanged
    np.testing.assert_allclose(sim.centre_of_mass, centre, rtol=0, atol=1e-13)


@pytest.mark.parametrize('kind', ORDER)
@pytest.mark.parametrize('steps', [300, pytest.param(100_000, marks=pytest.mark.long)])
def test_a_prescribed_drive_exchanges_no_momentum(kind, steps):
    text = SPACE_ARM.replace('type="floating">', f'type="{kind}"><axis xyz="0 0 1"/>')
    arm = arm_of(text, gravity=(0.0, 0.0, 0.0))
    sim = frs.Simulation(arm)
    momentum, centre = sim.momentum(), sim.centre_of_mass
    sim.prescribe('shoulder', lambda t: (1.0 - np.cos(t), np.sin(t)))
    sim.step(steps)
    assert abs(sim.base_twist).max() > 1e-3
    # the links turn with up to 1 rad/s and 1 N m s; a plane guides some components
    change = sim.momentum() - momentum
    if kind == 'planar':
        normal = Rotation.from_quat(sim.base_pose[3:]).apply([0.0, 0.0, 1.0])
        change = np.array([change[:3] @ normal, *np.cross(change[3:], normal)])
    assert abs(change).max() <= 1e-12
    if kind == 'floating':
        np.testing.assert_allclose(sim.centre_of_mass, centre, rtol=0, atol=1e-12)


def test_drives_that_follow_samples_exchange_no_momentum():
    sim = frs.Simulation(arm_of(SPACE_ARM, gravity=(0.0, 0.0, 0.0)))
    t = np.arange(301) * 1e-3
    places = np.column_stack([1.0 - np.cos(t), np.sin(t) - t])
    sim.follow(places, np.column_stack([np.sin(t), np.cos(t) - 1.0]))
    assert abs(sim.base_twist).max() > 1e-3
    assert abs(sim.momentum()).max() <= 1e-12


def test_loads_and_gravity_change_momentum_as_newton_says():
    arm = arm_of(SPACE_ARM, gravity=(1.0, 0.5, -9.81))
    sim = tumbling(arm)
    momentum, centre = sim.momentum(), sim.centre_of_mass
    force, duration = np.array([3.0, -2.0, 1.0]), 0.2
    sim.push('fore', force=force, point=(0.3, 0.0, 0.1))
    sim.step(200)
    due = momentum[3:] + duration * (force + 23.0 * np.array([1.0, 0.5, -9.81]))
    np.testing.assert_allclose(sim.momentum()[3:], due, rtol=1e-12)
    # a parabola, which the trapezoidal rule integrates exactly
    travel = duration / 23.0 * (momentum[3:] + due) / 2
    np.testing.assert_allclose(sim.centre_of_mass - centre, travel, rtol=1e-11)
    energy = sim.energy()
    assert abs(energy.balance) <= 1e-11 * (abs(energy.gravity) + energy.kinetic)


def test_an_arm_from_code_has_a_free_base():
    builder = frs.ArmBuilder('platform').add_rigid('bus', mass=2.0, inertia=(1.0, 1.0, 1.0))
    builder.add_joint('anchor', parent='base', child='bus', type='planar', axis='y')
    sim = frs.Simulation(builder.build(gravity=(1.0, 0.0, -9.81)))
    log = sim.record('base_pose', 'momentum', 'centre_of_mass', 'base_twist')
    sim.step(100)
    # free fall in the plane of x and z
    np.testing.assert_allclose(sim.base_pose[:3], [0.005, 0.0, -0.04905], atol=1e-15)
    np.testing.assert_allclose(log.base_pose[-1], sim.base_pose)
    assert labels_of(sim.arm, 'base_pose', (7,))[-1] == 'base_pose/quaternion_w'
    builder.add_rigid('other', mass=1.0)
    with pytest.raises(SettingError) as caught:
        builder.add_joint('other', parent='bus', child='other', type='floating', effort=1.0)
    assert str(caught.value) == (
        'joint "other" is floating: leave out its limits, friction and spring, or give another '
        'type'
    )


TOP = """<robot name="top"><link name="world"/><link name="top">
<inertial><mass value="2"/>
<inertia ixx="0.3" iyy="0.3" izz="0.5" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="free" type="floating"><parent link="world"/><child link="top"/></joint></robot>"""


@pytest.mark.parametrize(('scheme', 'tolerance'), [('implicit_midpoint', 2e-5), ('rk4', 1e-9)])
def test_a_symmetric_top_without_torque_precesses_as_eulers_equations_say(scheme, tolerance):
    # Goldstein, Classical Mechanics (1980), section 5-6
    arm, duration = arm_of(TOP, gravity=(0.0, 0.0, 0.0)), 1.0
    sim = frs.Simulation(arm, frs.SimulationSettings(scheme=scheme, time_step=1e-3))
    twist = np.array([0.6, 0.0, 2.0, 0.1, 0.2, 0.3])
    sim.set_state(base_twist=twist)
    sim.step(1000)
    rate = (0.5 - 0.3) / 0.3 * twist[2]  # of omega in the body, about its axis
    expected = Rotation.from_rotvec([0.0, 0.0, rate * duration]).apply(twist[:3])
    np.testing.assert_allclose(sim.base_twist[:3], expected, rtol=0, atol=tolerance)
    # the body turns about the constant angular momentum at |L| / I1, and about its own axis
    L = np.array([0.3 * twist[0], 0.0, 0.5 * twist[2]])
    spin = Rotation.from_rotvec([0.0, 0.0, -rate * duration])
    turn = Rotation.from_rotvec(L / 0.3 * duration) * spin
    difference = (turn.inv() * Rotation.from_quat(sim.base_pose[3:])).magnitude()
    assert difference <= tolerance
    np.testing.assert_allclose(sim.base_pose[:3], twist[3:] * duration, rtol=0, atol=tolerance)


def test_a_planar_base_stays_in_its_plane_and_turns_about_its_normal():
    text = SPACE_ARM.replace('type="floating">', 'type="planar"><axis xyz="0.6 0 0.8"/>')
    arm = arm_of(text, gravity=(1.0, 0.5, -9.81))
    sim = tumbling(arm)
    start, force = sim.base_pose, sim.momentum()
    normal = Rotation.from_quat(start[3:]).apply([0.6, 0.0, 0.8])
    sim.step(300)
    assert abs(normal @ (sim.base_pose[:3] - start[:3])) <= 1e-14
    turn = Rotation.from_quat(sim.base_pose[3:]) * Rotation.from_quat(start[3:]).inv()
    assert np.linalg.norm(np.cross(turn.as_rotvec(), normal)) <= 1e-14
    change, gravity = sim.momentum()[3:] - force[3:], 0.3 * 23.0 * np.array([1.0, 0.5, -9.81])
    # the plane takes only what is along its normal
    np.testing.assert_allclose(np.cross(change - gravity, normal), 0.0, atol=1e-11)
    assert abs(sim.energy().balance) <= 1e-11 * abs(sim.energy().gravity)


@pytest.mark.parametrize('kind', ORDER)
def test_the_implicit_scheme_converges_to_the_reference_with_order_two(kind):
    text = SPACE_ARM.replace('type="floating">', f'type="{kind}"><axis xyz="0.6 0 0.8"/>')
    arm = arm_of(re.sub('<flexibility>.*</flexibility>', '', text, flags=re.DOTALL))
    misses = []
    reference = tumbling(arm, scheme='reference', time_step=0.02)
    reference.step(10)
    for step in (4e-3, 2e-3):
        sim = tumbling(arm, time_step=step)
        sim.step(round(0.2 / step))
        misses.append(abs(sim.base_pose - reference.base_pose).max())
    assert 3.8 < misses[0] / misses[1] < 4.2
    sim = tumbling(arm, scheme='rk4', time_step=1e-3)
    sim.step(200)
    np.testing.assert_allclose(sim.base_pose, reference.base_pose, rtol=0, atol=1e-11)


def test_a_copy_of_a_free_arm_continues_bit_for_bit():
    sim = tumbling(arm_of(SPACE_ARM))
    sim.step(20)
    other, state = copy.copy(sim), sim.save_state()
    sim.step(20)
    other.step(20)
    pose, q, v = sim.base_pose, sim.q, sim.v
    for one in (other, sim):
        np.testing.assert_array_equal([*one.base_pose, *one.q, *one.v], [*pose, *q, *v])
        one.restore_state(state)
        one.step(20)
    np.testing.assert_array_equal(sim.base_pose, pose)


def test_a_state_has_a_pose_and_a_twist_of_the_base():
    arm = arm_of(SPACE_ARM)
    sim = frs.Simulation(arm)
    np.testing.assert_allclose(sim.base_pose[:3], [1.0, 2.0, 3.0])
    pose = [0.1, 0.2, 0.3, *Rotation.from_rotvec([0.4, 0.5, 0.6]).as_quat()]
    twist = np.arange(6.0)
    sim.set_state([0.3, -0.2], base_pose=pose, base_twist=twist)
    np.testing.assert_allclose(sim.base_pose, pose, atol=1e-15)
    np.testing.assert_allclose(sim.twist('bus'), twist, atol=1e-15)
    np.testing.assert_allclose(sim.base_twist, twist, atol=1e-15)
    np.testing.assert_allclose(sim.pose('bus')[:3, 3], pose[:3])
    q = np.zeros(arm.nq)
    q[arm.base_q] = [0.1, -0.2, 0.3, 0.5, 0.6, 0.7]
    sim.set_state(q)
    home = frs.Simulation(arm).pose('bus')
    move = cayley(q[arm.base_q])
    np.testing.assert_allclose(sim.base_pose[:3], home[:3, 3] + home[:3, :3] @ move[:3])
    np.testing.assert_allclose(sim.q, q, rtol=0, atol=1e-14)
    np.testing.assert_allclose(sim.pose(), frs.pose(arm, q), atol=1e-14)
    sim.reset()
    np.testing.assert_allclose(sim.base_pose[:3], [1.0, 2.0, 3.0])


@pytest.mark.parametrize('kind', ORDER)
@pytest.mark.parametrize('turn', [0.3, 3.0, np.pi, np.pi - 1e-9, 4.0])
def test_coordinates_of_a_simulation_give_its_pose_after_any_turn(kind, turn):
    text = SPACE_ARM.replace('type="floating">', f'type="{kind}"><axis xyz="0 0 1"/>')
    arm = arm_of(text)
    sim, axis = frs.Simulation(arm), [0.0, 0.0, 1.0] if kind == 'planar' else [0.6, 0.0, 0.8]
    start = Rotation.from_quat(sim.base_pose[3:])
    way = [2.0, -3.0, 0.0 if kind == 'planar' else 1.0]
    pose = [
        *(sim.base_pose[:3] + start.apply(way)),
        *(start * Rotation.from_rotvec(np.multiply(turn, axis))).as_quat(),
    ]
    sim.set_state([0.3, -0.2], base_pose=pose)
    # coordinates are infinite at half a turn
    bound = 1e-6 if abs(turn - np.pi) < 1e-3 else 1e-13
    np.testing.assert_allclose(frs.pose(arm, sim.q), sim.pose(), rtol=0, atol=bound)
    other = frs.Simulation(arm)
    other.set_state(sim.q, sim.v)
    np.testing.assert_allclose(other.pose(), sim.pose(), rtol=0, atol=bound)


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (
            {'base_pose': [0.0] * 7},
            'base_pose must be seven finite numbers: position x y z [m] and unit quaternion '
            'x y z w',
        ),
        (
            {'base_pose': [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]},
            'base_pose is outside the plane of the joint "anchor": give a pose in it',
        ),
        (
            {'base_twist': [0.0, 0.0, 1.0, 0.0, 0.0, 1.0]},
            'base_twist leaves the plane of the joint "anchor": give one within it',
        ),
        (
            {'base_twist': [0.0]},
            'base_twist must be six finite numbers, in the axes of the base link: angular [rad/s] '
            'and linear [m/s]',
        ),
    ],
)
def test_a_wrong_pose_or_twist_of_the_base_is_refused(arguments, message):
    text = re.sub('<origin xyz="1 2 3"[^>]*>', '<axis xyz="0 0 1"/>', SPACE_ARM)
    sim = frs.Simulation(arm_of(text.replace('floating', 'planar')))
    with pytest.raises(SettingError) as caught:
        sim.set_state(**arguments)
    assert str(caught.value) == message


def test_a_fixed_base_has_no_pose_to_set():
    sim = frs.Simulation(frs.load('single_link'))
    for use in (lambda: sim.base_pose, lambda: sim.set_state(base_twist=np.zeros(6))):
        with pytest.raises(SettingError) as caught:
            use()
        assert str(caught.value) == (
            'the base of "single_link" is not free: give it a floating or planar joint at the '
            'root, or prescribe its motion by Simulation.move_base'
        )


def test_the_joint_of_a_free_base_cannot_be_prescribed():
    with pytest.raises(SettingError) as caught:
        frs.Simulation(arm_of(SPACE_ARM)).prescribe('anchor', lambda time: (0.0, 0.0))
    assert str(caught.value) == (
        'the joint "anchor" of a free base has no drive: push the base, or make the joint fixed '
        'and prescribe the motion of the base by move_base'
    )


@pytest.mark.parametrize(
    'use',
    [
        lambda arm: frs.feedback.Lqr(arm, np.zeros(2)),
        lambda arm: frs.inverse_kinematics(arm, np.eye(4)),
        lambda arm: frs.static_jacobian(arm, np.zeros(2)),
    ],
)
def test_what_needs_a_fixed_base_refuses_a_free_one_in_one_line(use):
    with pytest.raises(SettingError) as caught:
        use(arm_of(SPACE_ARM))
    assert str(caught.value) == (
        '"space_arm" has a free base, the floating joint "anchor", and this needs a fixed base. A '
        'table in docs/architecture.md lists what supports free bases, as Simulation does; or '
        'make the joint fixed'
    )


@pytest.mark.parametrize('kind', ORDER)
def test_derivatives_of_rigid_trees_are_those_of_pinocchio(kind):
    pin = pytest.importorskip('pinocchio')
    for seed in range(5):
        text = freed(random_robot(seed, 5, kinds=('rigid',), gears=False), kind)
        arm = arm_of(text)
        q, v = random_state(arm, seed)
        a, effort = np.random.default_rng(seed).normal(size=(2, arm.nv))
        effort[arm.base_q] = 0.0
        q[arm.base_q] = x = np.random.default_rng(seed).normal(size=len(arm.arrays.base))
        screw = np.zeros(6)
        screw[arm.arrays.base[:, 1]] = x
        model, data, theirs, index = in_pinocchio(pin, arm, text, q, cayley(screw))
        # (by q, by v) of Pinocchio, in our order
        place = np.empty(arm.nv, int)
        place[index] = np.arange(arm.nv)
        ours = frs.inverse_dynamics_derivatives(arm, q, v, a)
        scale = np.sqrt(np.diag(ours.dtau_da))
        pair = pin.computeRNEADerivatives(model, data, theirs, v[index], a[index])
        for mine, their in zip((ours.dtau_dq, ours.dtau_dv), pair):
            assert_same(mine, their[np.ix_(place, place)], np.outer(scale, scale), 1e-11)
        ours = frs.derivatives(arm, q, v, effort[: len(arm.joint_names)])
        pair = pin.computeABADerivatives(model, data, theirs, v[index], effort[index])
        for mine, their in zip((ours.da_dq, ours.da_dv), pair):
            assert_same(mine, their[np.ix_(place, place)], np.outer(1 / scale, scale), 1e-10)


@pytest.mark.parametrize('kind', ORDER)
def test_derivatives_of_flexible_arms_are_differences_of_the_accelerations(kind):
    text = SPACE_ARM.replace('type="floating">', f'type="{kind}"><axis xyz="0.6 0 0.8"/>')
    arm = arm_of(text, gravity=(1.0, 0.5, -9.81))
    rng = np.random.default_rng(3)
    q, v = 0.02 * rng.normal(size=arm.nq), 0.1 * rng.normal(size=arm.nv)
    q[arm.base_q] = 0.0  # where coordinates and small motions are the same
    pushes = [
        frs.Push('fore', (1.0, 2.0, -3.0), (0.1, 0.2, 0.3)),
        frs.Push('bus', (0.0, 5.0, 1.0)),
    ]
    found = frs.derivatives(arm, q, v, [0.3, -0.2], pushes=pushes)

    def a(q, v):
        return frs.forward_dynamics(arm, q, v, [0.3, -0.2], pushes=pushes)

    def slopes(function, h):
        """Differences of fourth order; accelerations of stiff shapes round to 1e-9."""
        return [
            (8 * (function(h * e) - function(-h * e)) - function(2 * h * e) + function(-2 * h * e))
            / (12 * h)
            for e in np.eye(arm.nq)
        ]

    by_q, by_v = slopes(lambda x: a(q + x, v), 1e-3), slopes(lambda x: a(q, v + x), 1e-2)
    for exact, rows in ((found.da_dq, by_q), (found.da_dv, by_v)):
        difference = np.array(rows).T
        scale = np.abs(difference).max(axis=1, keepdims=True) * np.ones_like(difference)
        assert_same(exact, difference, scale, 1e-6)
