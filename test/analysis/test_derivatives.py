"""Derivatives of the dynamics, against first principles, differences and Pinocchio."""

import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from arms import joint, link, robot
from compare import (
    CASES,
    COUPLINGS,
    GRAVITY,
    arm_of,
    assert_same,
    in_pinocchio,
    reference_case,
    robot_text,
)
from public_robots import public_robot
from random_arms import random_robot, random_state
from reference import STEP, Reference, along

import flex_robot_sim as frs
from flex_robot_sim.model.friction import COULOMB, STICTION, STRIBECK_RATE
from flex_robot_sim.util.exceptions import SettingError

cases = pytest.mark.parametrize('case', CASES)
# arms, hands, legs and humanoids, some with several branches
PUBLIC_ROBOTS = [
    'panda_description/urdf/panda.urdf',
    'ur_description/urdf/ur10_robot.urdf',
    'kinova_description/robots/kinova.urdf',
    'solo_description/robots/solo12.urdf',
    'talos_data/robots/talos_reduced.urdf',
    'allegro_hand_description/urdf/allegro_right_hand.urdf',
]


def random_pushes(arm, rng, count=4):
    """Return dead loads and followers in turns."""
    bodies = [name for name, frame in arm.frames.items() if frame.body >= 0]
    return [
        frs.Push._make([rng.choice(bodies), *rng.normal(size=(3, 3)), bool(k % 2)])
        for k in range(count)
    ]


def moving_state(arm, seed):
    """Return q, v, a and effort; no joint rests, none touches a stop."""
    rng = np.random.default_rng(seed)
    q, v = random_state(arm, seed)
    v += 0.5 * np.sign(v)  # so that smoothed friction is constant
    return q, v, 5 * rng.normal(size=arm.size), rng.normal(size=len(arm.joint_names))


def columns(function, at, step):
    """Return derivatives by differences of sixth order, (m, n)."""
    return np.array(
        [along(lambda t, unit=unit: function(at + t * unit), step) for unit in np.eye(at.size)]
    ).T


def scale_of(arm, q):
    """Root of the inertia of every coordinate, (n,)."""
    return np.sqrt(np.diag(frs.mass_matrix(arm, q)))


@pytest.mark.slow
@pytest.mark.parametrize(
    'text, coupling',
    [
        (random_robot(1, 3), 'shortening'),
        (random_robot(4, 3), 'zero_order'),
        (random_robot(0, 2, kinds=('segments', 'elements')), 'shortening'),
        (robot_text('every'), 'shortening'),
    ],
    ids=['tree', 'zero_order', 'segments', 'every'],
)
def test_a_change_of_state_changes_the_forces_as_lagranges_equations_say(text, coupling):
    arm = arm_of(text, coupling)
    reference, rng = Reference(arm, GRAVITY), np.random.default_rng(5)
    q, v, a, _ = moving_state(arm, 3)
    # no larger than the state, so that differences are good to many digits
    dq, dv, along_force = rng.uniform(-1, 1, (3, arm.size)) * np.abs([q, v, q])

    def power(t):
        """Forces at a changed state times `along_force`, by energies and complex steps."""
        x, rate = q + t * dq, v + t * dv
        changing = along(lambda s: reference.kinetic_energy(x + s * rate, rate, along_force))
        slope = along(lambda s: reference.kinetic_energy(x + s * along_force, rate), 0.01)
        weight, springs = (
            function(x + STEP * 1j * along_force).imag / STEP
            for function in (reference.gravity_energy, reference.spring_energy)
        )
        return (
            2 * (reference.kinetic_energy(x, a, along_force) + changing)
            - slope
            + (weight + springs)
        )

    found = frs.inverse_dynamics_derivatives(arm, q, v, a)
    expected = along(power, 0.01)
    parts = along_force @ found.dtau_dq * dq, along_force @ found.dtau_dv * dv
    assert sum(map(sum, parts)) == pytest.approx(
        expected, abs=1e-8 * sum(abs(part).sum() for part in parts)
    )


@pytest.mark.long(after=5)
@cases
@pytest.mark.parametrize('coupling', COUPLINGS)
def test_inverse_dynamics_has_these_derivatives(case, coupling):
    arm = arm_of(robot_text(case, damping=True), coupling)
    q, v, a, _ = moving_state(arm, 2)
    pushes = random_pushes(arm, np.random.default_rng(3))
    found, scale = frs.inverse_dynamics_derivatives(arm, q, v, a, pushes=pushes), scale_of(arm, q)
    required = partial(frs.inverse_dynamics, arm, pushes=pushes)
    by_coordinate = columns(lambda x: required(x, v, a), q, 3e-3)
    by_rate = columns(lambda x: required(q, x, a), v, 0.1)
    assert_same(found.dtau_dq, by_coordinate, np.outer(scale, scale), 1e-8)
    assert_same(found.dtau_dv, by_rate, np.outer(scale, scale), 1e-8)
    assert_same(found.dtau_da, frs.mass_matrix(arm, q), np.outer(scale, scale), 1e-12)
    np.testing.assert_array_equal(found.dtau_da, found.dtau_da.T)
    assert found.is_smooth is True


@pytest.mark.long(after=3)
@cases
def test_forward_dynamics_has_these_derivatives(case):
    arm = arm_of(robot_text(case, damping=True))
    arm = frs.with_payload(arm, [*arm.frames][-1], 0.7, centre=(0.05, 0.1, -0.1))
    q, v, _, effort = moving_state(arm, 4)
    pushes = random_pushes(arm, np.random.default_rng(6))
    found, scale = frs.derivatives(arm, q, v, effort, pushes=pushes), scale_of(arm, q)
    accelerations = partial(frs.forward_dynamics, arm, pushes=pushes)
    assert_same(found.a, accelerations(q, v, effort), 1 / scale)
    by_coordinate = columns(lambda x: accelerations(x, v, effort), q, 1e-3)
    by_rate = columns(lambda x: accelerations(q, x, effort), v, 0.1)
    by_effort = columns(lambda x: accelerations(q, v, x), effort, 1.0)
    assert_same(found.da_dq, by_coordinate, np.outer(1 / scale, scale), 1e-8)
    assert_same(found.da_dv, by_rate, np.outer(1 / scale, scale), 1e-8)
    assert_same(found.da_deffort, by_effort, 1 / np.outer(scale, scale[arm.motor_q]), 1e-8)
    assert found.is_smooth is True


@cases
def test_both_derivatives_are_those_of_inverse_functions(case):
    arm = reference_case(case).arm
    q, v, _, effort = moving_state(arm, 8)
    forward = frs.derivatives(arm, q, v, effort)
    inverse = frs.inverse_dynamics_derivatives(arm, q, v, forward.a)
    scale = np.outer(*2 * [scale_of(arm, q)])
    assert_same(inverse.dtau_da @ forward.da_dq, -inverse.dtau_dq, scale)
    assert_same(inverse.dtau_da @ forward.da_dv, -inverse.dtau_dv, scale)
    np.testing.assert_allclose(
        inverse.dtau_da @ forward.da_deffort, np.eye(arm.size)[:, arm.motor_q], atol=1e-9
    )


def assert_as_in_pinocchio(pin, arm, model, data, theirs, order):
    """Compare both functions in the states (q, v, a, effort) of a rigid arm without friction."""
    model.gravity.linear = np.array(GRAVITY)
    q, v, a, effort = moving_state(arm, 7)
    back, scale = np.argsort(order), scale_of(arm, q)

    def assert_equal(found, theirs, scales):
        by_coordinate, by_rate, M = (
            matrix[np.ix_(back, back)]
            for matrix in (*theirs[:2], np.triu(theirs[2]) + np.triu(theirs[2], 1).T)
        )
        for value, expected, scale in zip(found, (by_coordinate, by_rate, M), scales):
            assert_same(value, expected, scale)

    assert_equal(
        frs.inverse_dynamics_derivatives(arm, q, v, a),
        pin.computeRNEADerivatives(model, data, theirs, v[order], a[order]),
        3 * [np.outer(scale, scale)],
    )
    assert_equal(
        frs.derivatives(arm, q, v, effort)[1:],
        pin.computeABADerivatives(model, data, theirs, v[order], effort[order]),
        [*2 * [np.outer(1 / scale, scale)], 1 / np.outer(scale, scale)],
    )


@pytest.mark.parametrize('seed', range(6))
def test_a_random_rigid_tree_has_the_derivatives_of_pinocchio(seed):
    pin = pytest.importorskip('pinocchio')
    text = random_robot(seed, 9, kinds=('rigid',), gears=False)
    arm = arm_of(text)
    assert_as_in_pinocchio(pin, arm, *in_pinocchio(pin, arm, text, moving_state(arm, 7)[0]))


@pytest.mark.parametrize('path', PUBLIC_ROBOTS)
def test_a_public_robot_has_the_derivatives_of_pinocchio(path):
    pin = pytest.importorskip('pinocchio')
    text = re.sub('<(mimic|dynamics) [^>]*>', '', public_robot(path).read_text('utf-8'))
    arm = frs.load(text, gravity=GRAVITY)
    free = np.full(len(arm.joint_names), np.inf)
    arm = replace(arm, arrays=arm.arrays._replace(lower=-free, upper=free))
    assert_as_in_pinocchio(pin, arm, *in_pinocchio(pin, arm, text, moving_state(arm, 7)[0]))


def test_the_last_joint_of_a_long_arm_keeps_its_digits():
    # a wrist of 1 kg at 20 m, so that moments about the base are 1e8 times as large
    text = robot(
        link('boom', 300.0, '10 0 0', (1.0, 1e4, 1e4)),
        link('hand', 1.0, '0.02 0.01 0', (1e-4, 2e-4, 2e-4)),
        joint('hinge', child='boom'),
        joint(
            'wrist',
            parent='boom',
            child='hand',
            inside='<origin xyz="20 0 0"/><axis xyz="1 0 0"/>',
        ),
    )
    arm = arm_of(text, gravity=GRAVITY)
    found = frs.inverse_dynamics_derivatives(arm, [0.3, -0.8], [0.0, 0.0])
    y, z = np.array([[np.cos(-0.8), -np.sin(-0.8)], [np.sin(-0.8), np.cos(-0.8)]]) @ [0.01, 0.0]
    down, side = GRAVITY[2], -np.sin(0.3) * GRAVITY[0] + np.cos(0.3) * GRAVITY[1]
    assert found.dtau_dq[1, 1] == pytest.approx(y * side + z * down, rel=1e-14)
    assert found.dtau_da[1, 1] == pytest.approx(2e-4, rel=1e-14)


def pendulum(inside='', limit='<limit lower="-1" upper="2" effort="5" velocity="9"/>'):
    """Return a rigid pendulum of 2 kg and 0.5 m, with inertia 0.8 about its horizontal axis."""
    return arm_of(
        robot(
            link(inertia=(1e-3, 0.3, 0.3)),
            joint(kind='revolute', inside=f'<axis xyz="0 1 0"/>{limit}{inside}'),
        ),
        gravity=(0.0, 0.0, -9.81),
    )


FRICTION = '<dynamics damping="0.3" friction="0.2"/>'


def test_a_joint_that_sticks_has_the_slopes_of_all_other_forces():
    arm = pendulum(FRICTION)
    gravity = 2.0 * 9.81 * 0.5 * np.sin(0.4)  # at q = 0 it is level
    slow, fast = (frs.derivatives(arm, [0.4], [v], [1.0]) for v in (0.009, 0.5))
    for found in slow, fast:
        assert found.da_dq == pytest.approx(-gravity / 0.8)
        assert found.da_dv == pytest.approx(-0.3 / 0.8)
        assert found.da_deffort == pytest.approx(1 / 0.8)
    assert (slow.is_smooth, fast.is_smooth) == (False, True)
    assert not frs.inverse_dynamics_derivatives(arm, [0.4], [0.0]).is_smooth
    assert frs.inverse_dynamics_derivatives(arm, [0.4], [-0.5]).is_smooth


@pytest.mark.parametrize(
    'q, is_smooth', [(-1.0, False), (-0.999, True), (1.9, True), (2.0, False), (2.01, False)]
)
def test_a_joint_at_a_stop_has_the_slopes_of_all_other_forces(q, is_smooth):
    arm = pendulum()
    found = frs.derivatives(arm, [q], [0.2])
    assert found.is_smooth is is_smooth
    assert found.a == pytest.approx(frs.forward_dynamics(arm, [q], [0.2]))  # with the stop
    assert found.da_dq == pytest.approx(-2.0 * 9.81 * 0.5 * np.sin(q) / 0.8)
    assert found.da_dv == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize('effort, is_smooth', [(4.9, True), (5.0, False), (-7.0, False)])
def test_an_effort_at_the_limit_of_its_motor_is_not_smooth(effort, is_smooth):
    found = frs.derivatives(pendulum(), [0.4], [0.2], [effort])
    assert found.is_smooth is is_smooth
    assert found.da_deffort == pytest.approx(1 / 0.8)


def test_friction_that_falls_with_the_rate_is_negative_damping():
    arm = pendulum(FRICTION)
    rows = arm.arrays.friction.copy()
    rows[0, COULOMB], rows[0, STICTION], rows[0, STRIBECK_RATE] = 0.2, 1.5, 0.1
    arm = replace(arm, arrays=arm.arrays._replace(friction=rows))
    for v in (0.03, -0.08, 0.3):
        expected = along(lambda t, v=v: frs.forward_dynamics(arm, [0.4], [v + t]), 1e-3)
        np.testing.assert_allclose(frs.derivatives(arm, [0.4], [v]).da_dv[0], expected, rtol=1e-7)
        n = frs.linearise(arm, [0.4], [v], joints='free').A
        np.testing.assert_allclose(n[1:, 1], expected, rtol=1e-7)
    assert frs.derivatives(arm, [0.4], [0.06]).da_dv > 0


def test_a_tree_takes_no_derivative_between_its_branches():
    arm = arm_of(random_robot(11, 8, gears=False))
    q, v, a, _ = moving_state(arm, 0)
    found = frs.inverse_dynamics_derivatives(arm, q, v, a)
    apart = frs.mass_matrix(arm, q) == 0.0
    assert apart.any()
    assert not found.dtau_da[apart].any()


def test_invalid_states_are_one_line_errors():
    arm = frs.load('two_link')
    wrong = f'must be {arm.size} finite numbers, in this order: '
    q = np.zeros(arm.size)
    for call, message in (
        (lambda: frs.derivatives('two_link', q, q, [0, 0, 0]), "'two_link' is no arm"),
        (lambda: frs.derivatives(arm, q[:3], q), f'q {wrong}'),
        (lambda: frs.derivatives(arm, q, [np.nan]), f'v {wrong}'),
        (lambda: frs.derivatives(arm, q, q, [1.0]), 'effort must be 3 finite numbers'),
        (lambda: frs.derivatives(arm, q, q, pushes=['tool']), 'must be a list of Push'),
        (lambda: frs.inverse_dynamics_derivatives(arm, q, q, 'fast'), f'a {wrong}'),
        (
            lambda: frs.inverse_dynamics_derivatives(arm, q, pushes=[frs.Push('hand')]),
            'no link "hand" to push at',
        ),
    ):
        with pytest.raises(SettingError, match=re.escape(message)):
            call()
