"""Equilibria, modes and linear models of arms."""

from math import pi

import numpy as np
import pytest
from arms import SECTION, beam, flexibility, joint, link, robot
from compare import CASES, arm_of, forward, reference_case
from random_arms import random_state
from refusals import refusal
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

import flex_robot_sim as frs
from flex_robot_sim import read_description
from flex_robot_sim.analysis.deflection import tip_deflection
from flex_robot_sim.analysis.equations import actuated_coordinates
from flex_robot_sim.analysis.flex_sensors import curvatures
from flex_robot_sim.analysis.linear import linearise
from flex_robot_sim.analysis.natural_modes import frequencies, modes
from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.dynamics.loads import Push, make_loads, set_loads
from flex_robot_sim.dynamics.mass_matrix import mass_matrix
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.model.workspace import make_workspace
from flex_robot_sim.util.exceptions import SettingError

pytestmark = pytest.mark.slow

cases = pytest.mark.parametrize('case', CASES)


@pytest.fixture(scope='module')
def two_link():
    return build_arm(read_description('two_link'))


def drive(stiffness=8.0, rotor=0.02, gear_damping=0.3, friction=0.1):
    """Return a rigid link of 0.5 kg m2 behind a flexible gear; friction is in the drive."""
    inside = f'<axis xyz="0 0 1"/><dynamics damping="{friction}"/>'
    return arm_of(
        robot(
            link(mass=1.0, centre='0 0 0', inertia=(0.5, 0.5, 0.5)),
            joint(inside=inside),
            flexibility(
                f'<joint name="hinge" stiffness="{stiffness}" damping="{gear_damping}" '
                f'rotor_inertia="{rotor}" gear_ratio="2"/>'
            ),
        )
    )


PENDULUM = robot(
    link(mass=2.0, centre='0 0 -0.4', inertia=(0.1, 0.1, 0.1)), joint(inside='<axis xyz="0 1 0"/>')
)


def test_a_drive_with_a_gear_has_the_matrices_of_two_masses():
    k, d, friction, I, J = 8.0, 0.3, 0.1, 0.5, 0.02 * 2**2
    system = linearise(drive())
    np.testing.assert_allclose(
        system.A,
        [
            [0, 0, 1, 0],
            [0, 0, 0, 1],
            [-k / I, k / I, -d / I, d / I],
            [k / J, -k / J, d / J, -(d + friction) / J],
        ],
        atol=1e-9,
    )
    np.testing.assert_allclose(system.B, [[0], [0], [0], [1 / J]], atol=1e-12)
    np.testing.assert_array_equal(system.C, np.eye(4))
    np.testing.assert_array_equal(system.D, np.zeros((4, 1)))
    assert system.states == ('hinge/q', 'hinge/motor/q', 'hinge/v', 'hinge/motor/v')
    assert system.inputs == ('hinge/effort',)
    assert system.outputs == (
        'hinge/position',
        'hinge/motor/position',
        'hinge/velocity',
        'hinge/motor/velocity',
    )


@pytest.mark.parametrize(
    'joints, gains, matrices',
    [
        ('locked', None, ([[0.5]], [[0.3]], [[8]])),
        ('free', None, (np.diag([0.5, 0.08]), [[0.3, -0.3], [-0.3, 0.4]], [[8, -8], [-8, 8]])),
        (
            None,
            (3.0, 0.2),
            (np.diag([0.5, 0.08]), [[0.3, -0.3], [-0.3, 0.6]], [[8, -8], [-8, 11]]),
        ),
    ],
)
def test_modes_with_damping_are_roots_of_the_characteristic_polynomial(joints, gains, matrices):
    M, D, K = (np.array(matrix, float) for matrix in matrices)
    # det(M s^2 + D s + K) from its values at five points
    points = np.linspace(-2.0, 2.0, 2 * len(M) + 1)
    roots = np.roots(
        np.polyfit(points, [np.linalg.det(M * s**2 + D * s + K) for s in points], 2 * len(M))
    )
    roots = sorted(roots[roots.imag > -1e-9], key=abs)
    found = modes(drive(), joints=joints, gains=gains)
    np.testing.assert_allclose(2 * pi * found.frequencies, np.abs(roots), rtol=1e-6, atol=1e-6)
    for ratio, root in zip(found.damping_ratios, roots):
        assert ratio == pytest.approx(-root.real / abs(root) if abs(root) > 1e-6 else 0, abs=1e-6)
    assert found.names == ('hinge', 'hinge/motor')
    assert np.abs(found.shapes).max(axis=0) == pytest.approx(1.0)


def test_a_pendulum_is_stable_when_hanging_and_unstable_when_upright():
    arm = build_arm(read_description(PENDULUM))
    rate = (2.0 * 9.81 * 0.4 / (0.1 + 2.0 * 0.4**2)) ** 0.5
    below, above = modes(arm, joints='free'), modes(arm, [pi], joints='free')
    np.testing.assert_allclose(2 * pi * below.frequencies, [rate], rtol=1e-12)
    assert below.damping_ratios == [0.0]
    assert below.shape(0) == {'hinge': 1.0}
    np.testing.assert_allclose(2 * pi * above.frequencies, [rate, rate], rtol=1e-12)
    assert sorted(above.damping_ratios) == [-1.0, 1.0]
    held = modes(arm, [pi], gains=(50.0, 0.0))
    stiffness = 50.0 - 2.0 * 9.81 * 0.4
    np.testing.assert_allclose(2 * pi * held.frequencies, [(stiffness / 0.42) ** 0.5], rtol=1e-12)
    np.testing.assert_allclose(equilibrium(arm, [pi / 2]).effort, [2.0 * 9.81 * 0.4], rtol=1e-12)


@cases
@pytest.mark.parametrize('share', [0.1, 1.0])
def test_trees_in_equilibrium_under_gravity_and_pushes_do_not_accelerate(case, share):
    arm, rng = reference_case(case).arm, np.random.default_rng([7, int(10 * share)])
    position = random_state(arm, rng.integers(100))[0][: len(arm.joint_names)]
    bodies = [name for name, frame in arm.frames.items() if frame.body >= 0]
    pushes = [Push(rng.choice(bodies), share * rng.normal(size=3), share * rng.normal(size=3))]
    rest = equilibrium(arm, position, pushes=pushes)
    work, M = make_workspace(arm.arrays), mass_matrix(arm.arrays, rest.q)
    set_loads(arm.arrays, make_loads(arm, pushes), rest.q, work)
    qdd = forward(arm, rest.q, rest.v, rest.effort, work)
    pull = sum(arm.arrays.point_mass) + sum(arm.arrays.inertia[:, 3, 3])
    np.testing.assert_allclose(M @ qdd, 0.0, atol=1e-9 * max(1.0, 9.81 * pull))


def test_a_fine_mesh_has_beam_frequencies():
    arm = arm_of(
        robot(link(), joint(), flexibility(beam(f'{SECTION}<elements count="20" torsion="0"/>'))),
        gravity=(0.0, 0.0, 0.0),
    )
    # cos x cosh x = -1; the beam includes rotary inertia of the sections, the equation does not
    root = 1.875104068711961, 4.694091132974175
    ideal = sorted(r**2 * (EI / 2.0) ** 0.5 / (2 * pi) for r in root for EI in (20.0, 30.0))
    np.testing.assert_allclose(modes(arm).frequencies[:4], ideal, rtol=2e-3)


@pytest.mark.parametrize('velocity', [(0.0, 0.0, 0.0), (2.0, 0.0, 0.0)])
def test_an_equilibrium_does_not_accelerate(two_link, velocity):
    # an arm can rotate steadily about a vertical axis, with gravity and friction
    push = Push('payload', (3.0, -2.0, 4.0)) if not any(velocity) else Push('payload')
    position = [0.3, 0.5, -0.4]
    rest = equilibrium(two_link, position, velocity, pushes=[push])
    system = linearise(two_link, position, velocity, pushes=[push])
    np.testing.assert_array_equal(system.effort, rest.effort)
    driven = [two_link.coordinate_names.index(f'{name}/motor') for name in two_link.motor_names]
    np.testing.assert_array_equal(rest.q[driven], position)
    np.testing.assert_array_equal(rest.v[driven], velocity)
    work = make_workspace(two_link.arrays)
    set_loads(two_link.arrays, make_loads(two_link, [push]), rest.q, work)
    qdd = forward(two_link, rest.q, rest.v, rest.effort, work)
    # rounding, relative to forces of some 10 N m
    M = mass_matrix(two_link.arrays, rest.q)
    np.testing.assert_allclose(M @ qdd, 0.0, atol=1e-9)


def slopes_of_dynamics(arm, q, qd, effort, step=1e-3):
    """Return derivatives of accelerations by differences of sixth order."""

    def accelerations(x):
        return forward(arm, *np.split(x, 2), effort)

    state, columns = np.concatenate([q, qd]), []
    for k in range(state.size):
        d = step * np.eye(state.size)[k]
        columns.append(
            sum(
                weight * (accelerations(state + m * d) - accelerations(state - m * d))
                for m, weight in ((1, 45), (2, -9), (3, 1))
            )
            / (60 * step)
        )
    return np.array(columns).T


@pytest.mark.long(after=5)
@cases
@pytest.mark.parametrize('moving', [False, True])
def test_a_linear_model_is_the_derivative_of_the_dynamics_in_any_state(case, moving):
    sample = reference_case(case)
    q, qd = 0.3 * sample.q, 0.3 * sample.qd * moving
    effort = np.arange(1.0, 1.0 + len(sample.arm.joint_names))
    system = linearise(sample.arm, q, qd, effort)
    n = sample.arm.size
    np.testing.assert_array_equal(system.A[:n], np.eye(2 * n)[n:])
    A = slopes_of_dynamics(sample.arm, q, qd, effort)
    # coordinates are scaled by the root of mass, see compare.assert_same. With half and twice
    # the step the error changes by a factor of 64: up to 1e-9 is the error of the reference
    scale = np.sqrt(np.diag(sample.M))
    weigh = scale[:, None] / np.concatenate([scale, scale])
    assert abs((system.A[n:] - A) * weigh).max() < 1e-8 * abs(A * weigh).max()
    B = np.array(
        [
            forward(sample.arm, q, qd, effort + unit) - forward(sample.arm, q, qd, effort)
            for unit in np.eye(effort.size)
        ]
    ).T
    np.testing.assert_allclose(system.B[n:], B, rtol=1e-8, atol=1e-9 * abs(B).max())


@pytest.mark.parametrize('velocity', [(0.0, 0.0, 0.0), (2.0, 0.0, 0.0)])
def test_a_small_disturbance_follows_the_linear_model(two_link, velocity):
    system = linearise(two_link, [0.3, 0.5, -0.4], velocity)
    n, time = two_link.size, 5e-3
    start = np.concatenate([system.q, system.v])

    def run(x):
        def rate(_, x):
            return np.concatenate([x[n:], forward(two_link, *np.split(x, 2), system.effort)])

        return solve_ivp(rate, (0, time), x, 'DOP853', rtol=1e-10, atol=1e-13).y[:, -1]

    rng = np.random.default_rng(0)
    for size in (np.repeat([1e-4, 1e-3], n), np.repeat([0.0, 1e-2], n)):
        change = size * rng.normal(size=2 * n)
        # the central difference has an error of third order in the change
        moved, expected = (
            (run(start + change) - run(start - change)) / 2,
            expm(system.A * time) @ change,
        )
        for part in np.split(np.arange(2 * n), 2):
            assert abs(moved - expected)[part].max() < 1e-4 * abs(expected[part]).max()


@pytest.mark.parametrize('case', ['every', 2])
def test_outputs_are_joints_tips_and_gauges_with_their_rates(case):
    sample = reference_case(case)
    arm, q, step = sample.arm, sample.q, 1e-4
    system = linearise(arm, q, sample.qd)
    joints = [*arm.joint_names, *(f'{name}/motor' for name in arm.motor_names)]
    tips = [
        f'{name}/tip_{part}'
        for name in arm.tips
        for part in ('x', 'y', 'z', 'turn_x', 'turn_y', 'turn_z')
    ]
    gauges = [*curvatures(arm, q)]
    assert system.outputs == (
        *(f'{name}/{part}' for part in ('position', 'velocity') for name in joints),
        *(
            name
            for group in (tips, gauges)
            for name in (*group, *(f'{name}/rate' for name in group))
        ),
    )
    assert system.states == tuple(
        f'{name}/{part}' for part in 'qv' for name in arm.coordinate_names
    )
    names = (*system.states, *system.inputs, *system.outputs)
    assert len(set(names)) == len(names)  # signals that are connected by name stay apart

    def tip(q):
        return np.concatenate([tip_deflection(arm, name, q) for name in arm.tips])

    def gauge(q):
        return np.array([*curvatures(arm, q).values()])

    def outputs(x):
        q, qd = np.split(x, 2)
        rates = [
            (function(q + 1e-5 * qd) - function(q - 1e-5 * qd)) / 2e-5 for function in (tip, gauge)
        ]
        return np.concatenate(
            [q[: len(joints)], qd[: len(joints)], tip(q), rates[0], gauge(q), rates[1]]
        )

    state = np.concatenate([q, sample.qd])
    C = np.array(
        [(outputs(state + d) - outputs(state - d)) / (2 * step) for d in step * np.eye(state.size)]
    ).T
    for row, expected in zip(system.C, C):
        np.testing.assert_allclose(row, expected, atol=2e-5 * max(abs(expected).max(), 1.0))


@pytest.mark.parametrize('case', ['every', 2])
def test_the_tip_position_of_a_flexible_link_agrees_with_first_principles(case):
    sample = reference_case(case)
    for name, bodies in sample.arm.segments.items():
        beam = sample.arm.description.link(name).beam
        found = tip_deflection(sample.arm, name, sample.q)
        roots = sample.reference.place(sample.q)[1]
        last = name, len(bodies) - 1
        turned, moved = sample.reference.pieces[last].section(
            sample.q, beam.length / beam.segments
        )
        R, p = roots[name, 0]
        place = R.T @ (roots[last][0] @ moved + roots[last][1] - p)
        np.testing.assert_allclose(found[:3], place - [beam.length, 0, 0], atol=1e-12)
        vector = Rotation.from_matrix(R.T @ roots[last][0] @ turned).as_rotvec()
        np.testing.assert_allclose(found[3:], vector, atol=1e-12)


def test_single_joints_can_be_locked(two_link):
    system = linearise(two_link, joints=['waist', 'elbow'])
    assert system.inputs == ('shoulder/effort',)
    assert 'waist/motor/q' not in system.states
    assert 'waist/q' in system.states
    np.testing.assert_allclose(
        frequencies(two_link, joints=two_link.joint_names),
        frequencies(two_link, joints='locked'),
        rtol=1e-12,
    )
    rates = np.sort(np.abs(np.linalg.eigvals(linearise(two_link, joints='locked').A)))
    np.testing.assert_allclose(frequencies(two_link)[0] * 2 * pi, rates[0], rtol=1e-6)


def test_gains_apply_to_drives_that_are_not_locked(two_link):
    # a drive with a very stiff servo is equivalent to a locked one
    stiff = modes(two_link, gains=([1e9, 50.0, 1e9], 0.0))
    some = modes(two_link, joints=['waist', 'elbow'], gains=(50.0, 0.0))
    assert not some.shapes[
        [two_link.coordinate_names.index(f'{name}/motor') for name in ('waist', 'elbow')]
    ].any()
    np.testing.assert_allclose(some.frequencies[:4], stiff.frequencies[:4], rtol=1e-4)


def test_servo_gains_close_the_loop_of_the_linear_model(two_link):
    stiffness, damping = np.array([60.0, 50.0, 20.0]), np.array([4.0, 3.0, 1.0])
    free = linearise(two_link, [0.2, 0.4, -0.7])
    held = linearise(two_link, [0.2, 0.4, -0.7], gains=(stiffness, damping))
    motors = [free.states.index(f'{name}/motor/q') for name in two_link.joint_names]
    rates = [free.states.index(f'{name}/motor/v') for name in two_link.joint_names]
    A = free.A.copy()
    A[:, motors] -= free.B * stiffness
    A[:, rates] -= free.B * damping
    scale = abs(free.B).max() * stiffness.max()
    np.testing.assert_allclose(held.A, A, atol=1e-9 * scale)
    np.testing.assert_allclose(held.B, np.hstack([free.B, free.B * stiffness]), atol=1e-9 * scale)
    assert held.inputs[3:] == ('waist/target', 'shoulder/target', 'elbow/target')
    found = np.sort(abs(np.linalg.eigvals(held.A)))
    expected = 2 * pi * modes(two_link, [0.2, 0.4, -0.7], gains=(stiffness, damping)).frequencies
    np.testing.assert_allclose(found[[0, -1]], expected[[0, -1]], rtol=1e-6)


def test_a_drive_on_a_servo_sags_in_proportion_to_its_compliance(two_link):
    stiffness, target = [200.0, 150.0, 80.0], [0.4, 0.3, -0.5]
    found = equilibrium(two_link, target, gains=(stiffness, 0.0))
    motors = actuated_coordinates(two_link)
    np.testing.assert_allclose(
        stiffness * (target - found.q[motors]), found.effort, rtol=1e-9, atol=1e-9
    )
    # with the motors locked there, the equilibrium is the same
    there = equilibrium(two_link, found.q[motors])
    np.testing.assert_allclose(there.q, found.q, atol=1e-9)
    np.testing.assert_allclose(there.effort, found.effort, atol=1e-7)
    assert abs(found.q[motors] - target).max() > 1e-3


def test_linear_models_convert_to_scipy_and_python_control(two_link):
    system = linearise(two_link, [0.2, 0.4, -0.7], gains=(50.0, 2.0))
    seen = system.part(['elbow/target'], ['elbow/position', 'forearm/tip_z', 'forearm/tip_z/rate'])
    rates = np.array([0.3, 2.0, 11.0])
    response = np.array(
        [seen.C @ np.linalg.solve(1j * w * np.eye(len(seen.A)) - seen.A, seen.B) for w in rates]
    )[:, :, 0]
    scipys = seen.to_scipy()
    for name in 'ABCD':
        np.testing.assert_array_equal(getattr(scipys, name), getattr(seen, name))
    control = pytest.importorskip('control')
    theirs = seen.to_control()
    np.testing.assert_allclose(
        [[control.evalfr(theirs, 1j * w)[row, 0] for row in range(3)] for w in rates],
        response,
        rtol=1e-6,
        atol=1e-9 * abs(response).max(),
    )
    assert [*theirs.input_labels] == ['elbow/target']
    assert [*theirs.output_labels] == ['elbow/position', 'forearm/tip_z', 'forearm/tip_z/rate']


def test_an_impossible_computation_is_a_one_line_error(two_link):
    wrong = 'must be 3 finite numbers, in this order: waist, shoulder, elbow'
    for message, call in {
        f'v {wrong}; or all 16 coordinates': lambda: linearise(two_link, v=['a', 0, 0]),
        f'effort {wrong}': lambda: linearise(two_link, effort=[1.0, np.inf, 0.0]),
        "joints = 'lost' must be 'locked', 'free', or names of joints": lambda: frequencies(
            two_link, joints='lost'
        ),
        'no joint "wast" to lock. Known: waist, shoulder, elbow': lambda: frequencies(
            two_link, joints=['wast']
        ),
        'damping must be >= 0': lambda: frequencies(two_link, gains=(1.0, -1.0)),
        'gains must be (stiffness, damping)': lambda: frequencies(two_link, gains=3.0),
        f'damping {wrong}': lambda: frequencies(two_link, gains=(1.0, [1.0])),
        'stiffness must be >= 0': lambda: equilibrium(two_link, gains=(-1.0, 0.0)),
        f'no output "hand". Known: {", ".join(linearise(two_link).outputs)}': lambda: linearise(
            two_link
        ).part(outputs=['hand']),
        'no flexible link "hand". Known: upper_arm, forearm': lambda: tip_deflection(
            two_link, 'hand', np.zeros(two_link.size)
        ),
        f'no link "hand" to push at. Known: {", ".join(two_link.frames)}': lambda: frequencies(
            two_link, pushes=[Push('hand')]
        ),
    }.items():
        assert refusal(SettingError, call) == message
    for analyse, q in ((equilibrium, [0.0]), (frequencies, [0.0, np.nan, 0.0])):
        said = refusal(SettingError, analyse, two_link, q)
        assert said == f'q {wrong}; or all 16 coordinates'
        assert refusal(SettingError, analyse, two_link, joints='locked', gains=(1.0, 1.0)) == (
            "gains hold drives that are not locked, and joints = 'locked' leaves none. Leave "
            'joints out, or name those that are locked'
        )


def test_a_rigid_arm_with_locked_joints_has_no_modes():
    arm = build_arm(read_description(PENDULUM))
    assert frequencies(arm).shape == (0,)
    assert linearise(arm, joints='locked').A.shape == (0, 0)


@pytest.mark.parametrize('robot', ['two_link', 'ella', 'rcm'])
def test_free_drives_hang_where_nothing_accelerates_and_every_change_costs_energy(robot):
    arm = frs.load(robot)
    simulation = frs.Simulation(arm)
    rest = equilibrium(arm, joints='free')
    simulation.set_state(rest.q)

    def potential(q):
        simulation.set_state(q)
        return simulation.energy().strain + simulation.energy().gravity

    assert abs(frs.forward_dynamics(arm, rest.q)).max() < 1e-6
    lowest, random = potential(rest.q), np.random.default_rng(4)
    for change in 1e-3 * random.standard_normal((20, arm.size)):
        assert potential(rest.q + change) >= lowest - 1e-9


def test_a_free_pendulum_hangs_against_the_torque_of_its_motor():
    mass, length, torque = 2.0, 0.5, 4.0
    arm = frs.load(f"""<robot name="pendulum"><link name="base"/>
      <link name="bob"><inertial><origin xyz="0 0 -{length}"/><mass value="{mass}"/>
        <inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="pivot" type="continuous"><parent link="base"/><child link="bob"/>
        <axis xyz="0 1 0"/></joint></robot>""")
    for start in (0.1, 1.5, 3.0):
        rest = equilibrium(arm, [start], effort=[torque], joints='free')
        # G sin(q) m l = torque, in the branch where it is stable
        assert rest.q[0] % (2 * pi) == pytest.approx(
            np.arcsin(torque / (mass * 9.81 * length)) % (2 * pi), abs=1e-9
        )
    with pytest.raises(SettingError, match='no stable equilibrium from here'):
        equilibrium(arm, [0.1], effort=[2 * mass * 9.81 * length], joints='free')
