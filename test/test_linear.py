"""Equilibrium, modes and linear models of whole arms."""

from math import pi

import numpy as np
import pytest
from arms import flexibility, joint, link, robot
from compare import CASES, arm_of, forward, judged
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from flex_robot_sim import read_description
from flex_robot_sim.assembly import build_arm
from flex_robot_sim.exceptions import SettingError
from flex_robot_sim.linear import frequencies, linearise, modes, tip_deflection
from flex_robot_sim.loads import Push, make_loads, set_loads
from flex_robot_sim.mass import mass_matrix
from flex_robot_sim.model import make_workspace
from flex_robot_sim.statics import equilibrium

cases = pytest.mark.parametrize('case', CASES)


@pytest.fixture(scope='module')
def two_link():
    return build_arm(read_description('two_link'))


def drive(stiffness=8.0, rotor=0.02, gear_damping=0.3, friction=0.1):
    """Return a rigid link of 0.5 kg m2 behind a gear that gives; friction is in the drive."""
    inside = f'<axis xyz="0 0 1"/><dynamics damping="{friction}"/>'
    return arm_of(robot(
        link(mass=1.0, centre='0 0 0', inertia=(0.5, 0.5, 0.5)), joint(inside=inside),
        flexibility(f'<joint name="hinge" stiffness="{stiffness}" damping="{gear_damping}" '
                    f'rotor_inertia="{rotor}" gear_ratio="2"/>')))


PENDULUM = robot(link(mass=2.0, centre='0 0 -0.4', inertia=(0.1, 0.1, 0.1)),
                 joint(inside='<axis xyz="0 1 0"/>'))


@cases
def test_mass_matrix_is_that_of_the_kinetic_energy(case):
    judge = judged(case)
    np.testing.assert_allclose(mass_matrix(judge.arm.arrays, judge.q), judge.M, rtol=1e-9,
                               atol=1e-12 * abs(judge.M).max())


def test_a_drive_with_a_gear_has_the_matrices_of_two_masses():
    k, d, friction, I, J = 8.0, 0.3, 0.1, 0.5, 0.02 * 2**2
    system = linearise(drive())
    np.testing.assert_allclose(system.A, [
        [0, 0, 1, 0], [0, 0, 0, 1],
        [-k / I, k / I, -d / I, d / I], [k / J, -k / J, d / J, -(d + friction) / J]], atol=1e-9)
    np.testing.assert_allclose(system.B, [[0], [0], [0], [1 / J]], atol=1e-12)
    np.testing.assert_array_equal(system.C, np.eye(4))
    np.testing.assert_array_equal(system.D, np.zeros((4, 1)))
    assert system.states == ('hinge', 'hinge/motor', 'hinge/rate', 'hinge/motor/rate')
    assert system.inputs == ('hinge',)
    assert system.outputs == system.states


@pytest.mark.parametrize('joints, gains, matrices', [
    ('locked', None, ([[0.5]], [[0.3]], [[8]])),
    ('free', None, (np.diag([0.5, 0.08]), [[0.3, -0.3], [-0.3, 0.4]], [[8, -8], [-8, 8]])),
    ('locked', (3.0, 0.2), (np.diag([0.5, 0.08]), [[0.3, -0.3], [-0.3, 0.6]],
                            [[8, -8], [-8, 11]]))])
def test_modes_with_damping_are_roots_of_the_characteristic_polynomial(joints, gains, matrices):
    M, D, K = (np.array(matrix, float) for matrix in matrices)
    # det(M s^2 + D s + K) by its values at five points
    points = np.linspace(-2.0, 2.0, 2 * len(M) + 1)
    roots = np.roots(np.polyfit(points, [np.linalg.det(M * s**2 + D * s + K) for s in points],
                                2 * len(M)))
    roots = sorted(roots[roots.imag > -1e-9], key=abs)
    found = modes(drive(), joints=joints, gains=gains)
    np.testing.assert_allclose(2 * pi * found.frequencies, np.abs(roots), rtol=1e-6, atol=1e-6)
    for ratio, root in zip(found.damping_ratios, roots):
        assert ratio == pytest.approx(-root.real / abs(root) if abs(root) > 1e-6 else 0, abs=1e-6)
    assert found.names == ('hinge', 'hinge/motor')
    assert (np.abs(found.shapes).max(axis=0) == pytest.approx(1.0))


def test_a_pendulum_swings_about_its_lowest_place_and_falls_from_its_highest():
    arm = build_arm(read_description(PENDULUM))
    rate = (2.0 * 9.81 * 0.4 / (0.1 + 2.0 * 0.4**2))**0.5
    below, above = modes(arm, joints='free'), modes(arm, [pi], joints='free')
    np.testing.assert_allclose(2 * pi * below.frequencies, [rate], rtol=1e-12)
    assert below.damping_ratios == [0.0]
    assert below.shape(0) == {'hinge': 1.0}
    np.testing.assert_allclose(2 * pi * above.frequencies, [rate, rate], rtol=1e-12)
    assert sorted(above.damping_ratios) == [-1.0, 1.0]
    held = modes(arm, [pi], gains=(50.0, 0.0))
    stiffness = 50.0 - 2.0 * 9.81 * 0.4
    np.testing.assert_allclose(2 * pi * held.frequencies, [(stiffness / 0.42)**0.5], rtol=1e-12)
    np.testing.assert_allclose(equilibrium(arm, [pi / 2]).effort, [2.0 * 9.81 * 0.4], rtol=1e-12)


@pytest.mark.parametrize('velocity', [(0.0, 0.0, 0.0), (2.0, 0.0, 0.0)])
def test_an_equilibrium_does_not_accelerate(two_link, velocity):
    # about the vertical axis an arm can turn steadily, with gravity and friction
    push = Push('payload', (3.0, -2.0, 4.0)) if not any(velocity) else Push('payload')
    position = [0.3, 0.5, -0.4]
    rest = equilibrium(two_link, position, velocity, [push])
    system = linearise(two_link, position, velocity, pushes=[push])
    np.testing.assert_array_equal(system.effort, rest.effort)
    driven = [two_link.coordinate_names.index(f'{name}/motor') for name in two_link.motor_names]
    np.testing.assert_array_equal(rest.coordinates[driven], position)
    np.testing.assert_array_equal(rest.rates[driven], velocity)
    work = make_workspace(two_link.arrays)
    set_loads(two_link.arrays, make_loads(two_link, [push]), rest.coordinates, rest.rates, work)
    qdd = forward(two_link, rest.coordinates, rest.rates, rest.effort, work)
    # rounding, over the forces at work: some 10 N m
    M = mass_matrix(two_link.arrays, rest.coordinates)
    np.testing.assert_allclose(M @ qdd, 0.0, atol=1e-9)


def slopes_of_dynamics(arm, q, qd, effort, step=1e-3):
    """Slopes of accelerations with coordinates and rates by differences of the sixth order."""
    def accelerations(x):
        return forward(arm, *np.split(x, 2), effort)
    state, columns = np.concatenate([q, qd]), []
    for k in range(state.size):
        d = step * np.eye(state.size)[k]
        columns.append(sum(weight * (accelerations(state + m * d) - accelerations(state - m * d))
                           for m, weight in ((1, 45), (2, -9), (3, 1))) / (60 * step))
    return np.array(columns).T


@cases
@pytest.mark.parametrize('moving', [False, True])
def test_a_linear_model_is_the_slope_of_the_dynamics_in_any_state(case, moving):
    judge = judged(case)
    q, qd = 0.3 * judge.q, 0.3 * judge.qd * moving
    effort = np.arange(1.0, 1.0 + len(judge.arm.joint_names))
    system = linearise(judge.arm, q, qd, effort)
    n = judge.arm.size
    np.testing.assert_array_equal(system.A[:n], np.eye(2 * n)[n:])
    A = slopes_of_dynamics(judge.arm, q, qd, effort)
    # a coordinate matters as the root of its mass, see compare.assert_same; with half and twice
    # the step the judge changes by a factor of 64: what is left, up to 1e-9, is the judge's error
    scale = np.sqrt(np.diag(judge.M))
    weigh = scale[:, None] / np.concatenate([scale, scale])
    assert abs((system.A[n:] - A) * weigh).max() < 1e-8 * abs(A * weigh).max()
    B = np.array([forward(judge.arm, q, qd, effort + unit) - forward(judge.arm, q, qd, effort)
                  for unit in np.eye(effort.size)]).T
    np.testing.assert_allclose(system.B[n:], B, rtol=1e-8, atol=1e-9 * abs(B).max())


@pytest.mark.parametrize('velocity', [(0.0, 0.0, 0.0), (2.0, 0.0, 0.0)])
def test_a_small_disturbance_moves_as_the_linear_model_says(two_link, velocity):
    system = linearise(two_link, [0.3, 0.5, -0.4], velocity)
    n, time = two_link.size, 5e-3
    start = np.concatenate([system.coordinates, system.rates])

    def run(x):
        def rate(_, x):
            return np.concatenate([x[n:], forward(two_link, *np.split(x, 2), system.effort)])
        return solve_ivp(rate, (0, time), x, 'DOP853', rtol=1e-10, atol=1e-13).y[:, -1]

    rng = np.random.default_rng(0)
    for size in (np.repeat([1e-4, 1e-3], n), np.repeat([0.0, 1e-2], n)):
        change = size * rng.normal(size=2 * n)
        # the difference of both sides leaves an error of third order in the change
        moved, expected = (run(start + change) - run(start - change)) / 2, expm(
            system.A * time) @ change
        for part in np.split(np.arange(2 * n), 2):
            assert abs(moved - expected)[part].max() < 1e-4 * abs(expected[part]).max()


@pytest.mark.parametrize('case', ['every', 2])
def test_outputs_are_joints_and_tips(case):
    judge = judged(case)
    arm, q, step = judge.arm, judge.q, 1e-4
    system = linearise(arm, q, judge.qd)
    joints = [*arm.joint_names, *(f'{name}/motor' for name in arm.motor_names)]
    tips = [f'{name}/tip_{part}' for name in arm.tips
            for part in ('x', 'y', 'z', 'turn_x', 'turn_y', 'turn_z')]
    assert system.outputs == (*joints, *(f'{name}/rate' for name in joints), *tips)
    assert system.states[:arm.size] == arm.coordinate_names

    def outputs(x):
        q, qd = np.split(x, 2)
        return np.concatenate([q[:len(joints)], qd[:len(joints)],
                               *(tip_deflection(arm, name, q) for name in arm.tips)])

    state = np.concatenate([q, judge.qd])
    C = np.array([(outputs(state + d) - outputs(state - d)) / (2 * step)
                  for d in step * np.eye(state.size)]).T
    np.testing.assert_allclose(system.C, C, atol=1e-5 * abs(C).max())


@pytest.mark.parametrize('case', ['every', 2])
def test_the_tip_of_a_flexible_link_is_where_first_principles_have_it(case):
    judge = judged(case)
    for name, bodies in judge.arm.segments.items():
        beam = judge.arm.description.link(name).beam
        found, roots = tip_deflection(judge.arm, name, judge.q), judge.reference.place(judge.q)[1]
        last = name, len(bodies) - 1
        turned, moved = judge.reference.pieces[last].section(judge.q, beam.length / beam.segments)
        R, p = roots[name, 0]
        place = R.T @ (roots[last][0] @ moved + roots[last][1] - p)
        np.testing.assert_allclose(found[:3], place - [beam.length, 0, 0], atol=1e-12)
        vector = Rotation.from_matrix(R.T @ roots[last][0] @ turned).as_rotvec()
        np.testing.assert_allclose(found[3:], vector, atol=1e-12)


def test_some_joints_may_be_locked(two_link):
    system = linearise(two_link, joints=['waist', 'elbow'])
    assert system.inputs == ('shoulder',)
    assert 'waist/motor' not in system.states
    assert 'waist' in system.states
    np.testing.assert_allclose(frequencies(two_link, joints=two_link.joint_names),
                               frequencies(two_link, joints='locked'), rtol=1e-12)
    rates = np.sort(np.abs(np.linalg.eigvals(linearise(two_link, joints='locked').A)))
    np.testing.assert_allclose(frequencies(two_link)[0] * 2 * pi, rates[0], rtol=1e-6)


def test_what_cannot_be_computed_is_refused_in_one_line(two_link):
    wrong = 'must be 3 finite numbers, in this order: waist, shoulder, elbow'
    for call, message in (
            (lambda: equilibrium(two_link, [0.0]), f'position {wrong}'),
            (lambda: frequencies(two_link, [0.0, np.nan, 0.0]), f'position {wrong}'),
            (lambda: linearise(two_link, velocity=['a', 0, 0]), f'velocity {wrong}'),
            (lambda: linearise(two_link, effort=[1.0, np.inf, 0.0]), f'effort {wrong}'),
            (lambda: frequencies(two_link, joints='lost'),
             "joints = 'lost' must be 'locked', 'free', or names of joints"),
            (lambda: frequencies(two_link, joints=['wast']),
             'no joint "wast" to lock. Known: waist, shoulder, elbow'),
            (lambda: frequencies(two_link, gains=(1.0, -1.0)),
             'gains must be (stiffness, damping), each a finite number >= 0 or one per joint'),
            (lambda: frequencies(two_link, gains=3.0),
             'gains must be (stiffness, damping), each a finite number >= 0 or one per joint'),
            (lambda: tip_deflection(two_link, 'hand', np.zeros(two_link.size)),
             'no flexible link "hand". Known: upper_arm, forearm'),
            (lambda: frequencies(two_link, pushes=[Push('hand')]),
             f'no link "hand" to push at. Known: {", ".join(two_link.frames)}')):
        with pytest.raises(SettingError) as error:
            call()
        assert str(error.value) == message


def test_a_rigid_arm_with_locked_joints_has_no_modes():
    arm = build_arm(read_description(PENDULUM))
    assert frequencies(arm).shape == (0,)
    assert linearise(arm, joints='locked').A.shape == (0, 0)
