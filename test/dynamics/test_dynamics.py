"""The recursion against first principles, Pinocchio and closed forms."""

import re
from dataclasses import replace

import numpy as np
import pytest
from arms import flexibility, joint, link, robot
from compare import (
    CASES,
    COUPLINGS,
    GRAVITY,
    WEIGHTLESS,
    arm_of,
    assert_same,
    forward,
    in_pinocchio,
    inverse,
    mass_matrix,
    motor_forces,
    reference_case,
    robot_text,
)
from random_arms import random_robot, random_state
from reference import along

from flex_robot_sim.dynamics.forward_dynamics import implicit_dynamics
from flex_robot_sim.model.friction import COULOMB
from flex_robot_sim.model.workspace import make_workspace
from flex_robot_sim.util.share import shipped_robots

pytestmark = pytest.mark.slow

cases = pytest.mark.parametrize('case', CASES)
couplings = pytest.mark.parametrize('coupling', COUPLINGS)


@cases
@couplings
def test_the_mass_matrix_is_the_second_derivative_of_the_kinetic_energy(case, coupling):
    sample = reference_case(case, coupling)
    q, qd, scale = sample.q, sample.qd, np.outer(sample.scale, sample.scale)
    M = mass_matrix(sample.text, q, coupling)
    assert_same(M, sample.M, scale)
    assert_same(M, M.T, scale)
    assert np.linalg.eigvalsh(M / scale)[0] > 0.0
    assert qd @ M @ qd / 2 == pytest.approx(sample.reference.kinetic_energy(q, qd), rel=1e-10)


@pytest.mark.long(after=5)
@cases
@couplings
def test_the_bias_force_equals_that_of_lagranges_equations(case, coupling):
    sample = reference_case(case, coupling)
    bias = inverse(sample.arm, sample.q, sample.qd, np.zeros(sample.arm.size))
    # differences of the sixth order with steps of 1e-3 lose 1e-13 to rounding, less to truncation
    assert_same(bias, sample.bias, sample.scale)


@pytest.mark.long(after=5)
@cases
@couplings
def test_forward_dynamics_solves_lagranges_equations(case, coupling):
    sample = reference_case(case, coupling)
    effort = np.arange(1.0, 1.0 + len(sample.arm.joint_names))
    force = (
        motor_forces(sample.arm, effort)
        - sample.bias
        + sample.reference.potential_force(sample.reference.spring_energy, sample.q)
    )
    M = sample.M / np.outer(sample.scale, sample.scale)
    expected = np.linalg.solve(M, force / sample.scale)
    # the condition number of M, 1e3 to 1e5, amplifies the 1e-13 that differences lose
    assert_same(
        forward(sample.arm, sample.q, sample.qd, effort) * sample.scale, expected, tolerance=1e-8
    )


@pytest.mark.parametrize('source', [*CASES, *shipped_robots()])
def test_inverse_dynamics_inverts_forward_dynamics(source):
    text = source if source in shipped_robots() else robot_text(source, damping=True)
    arm = arm_of(text)
    work = make_workspace(arm.arrays)
    for k in range(5):
        q, qd = random_state(arm, k, turn=1.0)
        qdd = forward(arm, q, qd, np.ones(len(arm.joint_names)), work)
        force = work.force.copy()
        scale = np.sqrt(np.diag(mass_matrix(text, q)))
        assert_same(inverse(arm, q, qd, qdd, work), force, scale, 1e-9)


@cases
def test_an_implicit_step_includes_the_slopes_of_all_forces(case):
    text = robot_text(case, damping=True)
    arm, work = arm_of(text), make_workspace(arm_of(text).arrays)
    friction = arm.arrays.friction.copy()
    friction[:, COULOMB] = 0.0  # dry friction has no slope, see test_friction.py
    arm = replace(arm, arrays=arm.arrays._replace(friction=friction))
    q, qd = random_state(arm, 4)
    h, effort = 3e-3, np.ones(len(arm.joint_names))
    guess = np.random.default_rng(4).normal(size=arm.size)
    work.servo_stiffness[:], work.servo_damping[:] = 500.0, 20.0

    def force(position, rate):
        forward(arm, position, rate, effort, work)
        return work.force.copy()

    units = np.eye(arm.size)
    K = -np.column_stack([along(lambda t, u=u: force(q + t * u, qd)) for u in units])
    D = -np.column_stack([along(lambda t, u=u: force(q, qd + t * u), 1e-4) for u in units])
    shared = np.zeros((arm.size, arm.arrays.shared.shape[1]))
    shared[arm.size - len(arm.arrays.shared) :] = arm.arrays.shared
    D -= shared @ shared.T  # dampers between bodies use the rates of the guess
    M, added = mass_matrix(text, q), h / 2 * D + h**2 / 4 * K  # (T40)
    bias = inverse(arm, q, qd, np.zeros(arm.size))
    scale = np.sqrt(np.diag(M + added))
    expected = np.linalg.solve(
        (M + added) / np.outer(scale, scale), (force(q, qd) + added @ guess - bias) / scale
    )
    qdd = np.zeros(arm.size)
    implicit_dynamics(arm.arrays, q, qd, effort, h, guess, work, qdd)
    # finite differences with steps of 1e-4: friction smoothed over 1e-2 rad/s, stiff springs
    assert_same(qdd * scale, expected, tolerance=1e-7)


@pytest.mark.parametrize('seed', range(10))
def test_a_rigid_arm_moves_as_in_pinocchio(seed):
    pin = pytest.importorskip('pinocchio')
    text = random_robot(seed, 9, kinds=('rigid',), gears=False)
    arm = arm_of(text)
    q, qd = random_state(arm, seed)
    qdd, effort = np.random.default_rng(seed).normal(size=(2, arm.size))
    model, data, theirs, order = in_pinocchio(pin, arm, text, q)
    model.gravity.linear = np.array(GRAVITY)
    back = np.argsort(order)
    M = np.triu(pin.crba(model, data, theirs))
    M = (M + np.triu(M, 1).T)[np.ix_(back, back)]
    scale = np.sqrt(np.diag(M))
    assert_same(mass_matrix(text, q), M, np.outer(scale, scale))
    assert_same(
        inverse(arm, q, qd, qdd), pin.rnea(model, data, theirs, qd[order], qdd[order])[back], scale
    )
    assert_same(
        forward(arm, q, qd, effort),
        pin.aba(model, data, theirs, qd[order], effort[order])[back],
        1 / scale,
    )


@pytest.mark.parametrize('seed', [0, 1, 2, 3, 5])
def test_the_difference_to_a_rigid_arm_scales_with_the_inverse_stiffness(seed):
    text = random_robot(seed, 5, kinds=('modes', 'elements', 'rigid'), gears=False)
    rigid = arm_of(re.sub('<flexibility>.*</flexibility>', '', text))
    joints = len(rigid.joint_names)
    start, rates = random_state(rigid, seed, turn=1.0)
    effort = np.random.default_rng(seed).normal(size=joints)
    expected = forward(rigid, start, rates, effort)
    misses = []
    for factor in (1e3, 1e4):

        def stiffer(found, factor=factor):
            return f'{found[1]}="{float(found[2]) * factor}"'

        arm = arm_of(re.sub('(EIy|EIz|GJ|EA)="([^"]*)"', stiffer, text))
        q, qd, qdd = np.zeros((3, arm.size))
        q[:joints], qd[:joints], qdd[:joints] = start, rates, expected
        for _ in range(6):
            bend_as_loaded(arm, q, inverse(arm, q, qd, qdd))
            needed = inverse(arm, q, qd, qdd)
            columns = [inverse(arm, q, qd, qdd + unit) - needed for unit in np.eye(arm.size)]
            qdd[:joints] += np.linalg.solve(
                np.array(columns)[:joints, :joints], effort - needed[:joints]
            )
        found = forward(arm, q, qd, effort)
        misses.append(abs(found[:joints] - expected).max() / abs(expected).max())
    assert misses[0] < 1e-3
    assert misses[0] / misses[1] == pytest.approx(10, rel=0.02)  # up to second order, 1e-3


def bend_as_loaded(arm, q, load):
    """Set the deflections at which the beam forces balance inertia and weight."""
    for i, n in enumerate(arm.arrays.modes):
        part = slice(arm.arrays.first[i], arm.arrays.first[i] + n)
        q[part] = np.linalg.solve(arm.arrays.stiffness[i, :n, :n], -load[part])


LINK = 2 / 3  # inertia of the default link, 2 kg and 1 m, about its end       [kg m2]
ROTOR = 1e-4 * 80**2


@pytest.mark.parametrize('stiffness', [1e-9, 1.0, 1e3, 1e9])
def test_a_geared_joint_is_a_two_mass_oscillator(stiffness):
    arm = arm_of(
        robot(
            link(),
            joint(),
            flexibility(
                '<joint name="hinge" rotor_inertia="1e-4" gear_ratio="80" '
                f'stiffness="{stiffness}" '
                'damping="0.3"/>'
            ),
        ),
        gravity=WEIGHTLESS,
    )
    still, nothing, wound = np.zeros(2), np.zeros(1), np.array([0.2, 0.3])
    together, inertias = 1 / LINK + 1 / ROTOR, np.array([LINK, ROTOR])
    for q, qd, force in ((wound, still, 0.1 * stiffness), (still, wound, 0.1 * 0.3)):
        qdd = forward(arm, q, qd, nothing)
        assert qdd[1] - qdd[0] == pytest.approx(-together * force, rel=1e-12)
        assert abs(inertias @ qdd) < 1e-12 * force
    assert inertias @ forward(arm, still, still, np.array([5.0])) == pytest.approx(5.0, rel=1e-14)


def test_a_rotor_behind_a_rigid_gear_adds_to_the_joint_inertia():
    arm = arm_of(
        robot(
            link(),
            joint(),
            flexibility('<joint name="hinge" rotor_inertia="1e-4" gear_ratio="80"/>'),
        ),
        gravity=WEIGHTLESS,
    )
    qdd = forward(arm, np.zeros(1), np.zeros(1), np.array([5.0]))
    assert qdd[0] == pytest.approx(5.0 / (LINK + ROTOR), rel=1e-13)


@cases
def test_every_wrench_is_the_momentum_rate_of_the_distal_links_less_their_weight(case):
    sample = reference_case(case)
    assert_wrenches_are_balanced(
        sample, sample.q, sample.qd, 10 * np.random.default_rng(0).normal(size=sample.arm.size)
    )


@cases
def test_at_rest_every_wrench_balances_the_weight_of_the_distal_links(case):
    sample = reference_case(case)
    assert_wrenches_are_balanced(sample, sample.q, *np.zeros((2, sample.arm.size)))


def assert_wrenches_are_balanced(sample, q, qd, qdd):
    """Compare the wrench of every joint with that on the distal links, about the base."""
    arm, reference, work = sample.arm, sample.reference, make_workspace(sample.arm.arrays)
    inverse(arm, q, qd, qdd, work)
    poses = reference.place(q)[0]
    carriers = [
        joint_
        for joint_ in arm.description.joints
        if joint_.moves or arm.description.link(joint_.parent).beam is not None
    ]
    assert carriers
    for joint_ in carriers:
        links = reference.beyond(joint_.child)
        rate = along(
            lambda t, links=links: reference.momentum(
                q + t * qd + t**2 / 2 * qdd, qd + t * qdd, links
            )
        )
        found = in_base(work.F, arm.frames[joint_.child], *poses[joint_.child])
        # finite differences of a fast motion, with steps of 1e-3
        assert_same(found, rate - reference.weight(q, links), tolerance=1e-9)


def in_base(wrenches, frame, R, p):
    """Wrench on the body of a link, moved to the origin of the base; R, p: pose of the link."""
    R = R @ frame.R.T
    p = p - R @ frame.p
    moment, force = R @ wrenches[frame.body, :3], R @ wrenches[frame.body, 3:]
    return np.concatenate([moment + np.cross(p, force), force])


@cases
def test_an_external_wrench_does_the_work_of_its_virtual_displacement(case):
    sample = reference_case(case)
    arm, work = sample.arm, make_workspace(sample.arm.arrays)
    still = inverse(arm, sample.q, sample.qd, np.zeros(arm.size))
    rng = np.random.default_rng(0)
    for name, frame in arm.frames.items():
        if frame.body < 0:
            continue
        moment, force = rng.normal(size=(2, 3))
        work.load[:] = 0.0
        work.load[frame.body] = [
            *(frame.R @ moment + np.cross(frame.p, frame.R @ force)),
            *(frame.R @ force),
        ]
        generalised = still - inverse(arm, sample.q, sample.qd, np.zeros(arm.size), work)
        J = sample.reference.jacobian(sample.q, name)
        # a difference of two biases that are larger than the result
        np.testing.assert_allclose(
            generalised,
            J.T @ np.concatenate([moment, force]),
            atol=1e-13 * abs(still).max(),
            rtol=1e-9,
        )
