"""Terms of the equations of motion, against first principles; arms with a payload."""

import re

import numpy as np
import pytest
from compare import CASES, GRAVITY, arm_of, reference_case
from public_robots import public_robot
from random_arms import random_robot, random_state

import flex_robot_sim as frs
from flex_robot_sim.dynamics.mass_matrix import mass_matrix
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.share import shipped_robots

pytestmark = pytest.mark.slow

cases = pytest.mark.parametrize('case', CASES)


@pytest.mark.long(after=3)
@cases
def test_terms_agree_with_first_principles(case):
    sample = reference_case(case)
    arm, q, qd = sample.arm, sample.q, sample.qd
    M, h = frs.mass_matrix(arm, q), frs.nonlinear_effects(arm, q, qd)
    np.testing.assert_allclose(M, sample.M, rtol=1e-9, atol=1e-12 * abs(sample.M).max())
    # scaled by the square root of inertia, so forces of different units are comparable
    error = abs((h - sample.bias) / sample.scale).max()
    assert error < 1e-8 * abs(sample.bias / sample.scale).max()
    np.testing.assert_array_equal(
        frs.gravity_forces(arm, q), frs.nonlinear_effects(arm, q, 0 * qd)
    )


def assert_same_mass_matrix(arm, q):
    """By composite bodies, and from the Jacobians of all bodies."""
    M, expected = frs.mass_matrix(arm, q), mass_matrix(arm.arrays, q)
    scale = np.sqrt(np.diag(expected))
    np.testing.assert_array_equal(M, M.T)
    np.testing.assert_allclose((M - expected) / np.outer(scale, scale), 0.0, atol=1e-12)


@pytest.mark.parametrize('seed', range(5))
def test_both_mass_matrices_of_a_random_arm_are_equal(seed):
    arm = arm_of(random_robot(seed, 7))
    assert_same_mass_matrix(arm, random_state(arm, seed)[0])


@pytest.mark.parametrize('robot', shipped_robots())
def test_both_mass_matrices_of_a_shipped_robot_are_equal(robot):
    arm = frs.load(robot)
    for seed in range(3):
        assert_same_mass_matrix(arm, random_state(arm, seed)[0])


@pytest.mark.parametrize(
    'path', ['ur_description/urdf/ur5_robot.urdf', 'talos_data/robots/talos_left_arm.urdf']
)
def test_both_mass_matrices_of_a_public_robot_are_equal(path):
    arm = frs.load(public_robot(path))
    assert_same_mass_matrix(arm, random_state(arm, 0)[0])


@cases
def test_gravity_forces_are_the_gradient_of_potential_energy(case):
    sample = reference_case(case)
    simulation, force = frs.Simulation(sample.arm), frs.gravity_forces(sample.arm, sample.q)

    def height(q):
        simulation.set_state(q=q)
        return simulation.energy().gravity

    slopes = [
        sum(
            weight * (height(sample.q + m * d) - height(sample.q - m * d))
            for m, weight in ((1, 45), (2, -9), (3, 1))
        )
        / 0.06
        for d in 1e-3 * np.eye(sample.arm.size)
    ]
    np.testing.assert_allclose(force, slopes, atol=1e-7 * abs(force).max())


@cases
@pytest.mark.parametrize('seed', [0, 1])
def test_forward_and_inverse_dynamics_are_inverse_functions(case, seed):
    arm, rng = reference_case(case).arm, np.random.default_rng(seed)
    q, qd = random_state(arm, 7 + seed)
    bodies = [name for name, frame in arm.frames.items() if frame.body >= 0]
    pushes = [frs.Push(rng.choice(bodies), rng.normal(size=3), rng.normal(size=3))]
    effort = rng.normal(size=len(arm.joint_names))
    qdd = frs.forward_dynamics(arm, q, qd, effort, pushes=pushes)
    found = frs.inverse_dynamics(arm, q, qd, qdd, pushes=pushes)
    expected, scale = np.zeros(arm.size), np.sqrt(np.diag(frs.mass_matrix(arm, q)))
    expected[frs.actuated_coordinates(arm)] = effort
    pulled = max(abs(qdd * scale).max(), 1.0)
    np.testing.assert_allclose((found - expected) / scale, 0.0, atol=1e-8 * pulled)


@pytest.mark.parametrize('robot', ['two_link', 'dual_screw_arm', 'canadarm2'])
def test_a_payload_of_the_analysis_equals_that_of_the_simulation(robot):
    arm, rng = frs.load(robot, gravity=GRAVITY), np.random.default_rng(5)
    link = [*arm.frames][-1]
    body = {
        'mass': 0.7,
        'centre': rng.normal(size=3) * 0.1,
        'inertia': np.diag([0.01, 0.012, 0.015]),
    }
    simulation = frs.Simulation(arm)
    simulation.set_payload(link, **body)
    carrying = frs.with_payload(arm, link, **body)
    q, qd = random_state(arm, 3)
    simulation.set_state(q=q, v=qd)
    kinetic = 0.5 * qd @ frs.mass_matrix(carrying, q) @ qd
    assert simulation.energy().kinetic == pytest.approx(kinetic, rel=1e-12)
    # the arm itself has no payload
    assert 0.5 * qd @ frs.mass_matrix(arm, q) @ qd < kinetic
    # two payloads are equivalent to their sum
    twice = frs.with_payload(carrying, link, **body)
    np.testing.assert_allclose(
        frs.mass_matrix(twice, q) - frs.mass_matrix(carrying, q),
        frs.mass_matrix(carrying, q) - frs.mass_matrix(arm, q),
        atol=1e-12 * abs(frs.mass_matrix(twice, q)).max(),
    )


@pytest.mark.parametrize('number', [np.nan, np.inf, -np.inf])
def test_a_number_that_is_not_finite_is_an_error_that_names_its_argument(number):
    arm, rng = frs.load('two_link'), np.random.default_rng(4)
    functions: dict = {
        frs.forward_dynamics: ('q', 'v', 'effort'),
        frs.mass_matrix: ('q',),
        frs.pose: ('q',),
        frs.jacobian: ('q',),
        frs.twist: ('q', 'v'),
        frs.inverse_dynamics: ('q', 'v', 'a'),
        frs.nonlinear_effects: ('q', 'v'),
    }
    for function, names in functions.items():
        arguments = {name: rng.normal(size=3 if name == 'effort' else arm.nq) for name in names}
        result = function(arm, **arguments)
        for name in names:
            wrong = {**arguments, name: arguments[name].copy()}
            wrong[name][rng.integers(wrong[name].size)] = number
            with pytest.raises(SettingError, match=rf'^{name} must be \d+ finite numbers'):
                function(arm, **wrong)
        np.testing.assert_array_equal(function(arm, **arguments), result)


def test_arguments_may_be_any_arrays_and_stay_as_they_are():
    arm, rng = frs.load('two_link'), np.random.default_rng(5)
    q, v, a = rng.integers(-8, 8, (3, arm.nq)) / 16  # the same in single precision
    effort = np.array([1.0, -2.0, 3.0])
    expected = [
        frs.forward_dynamics(arm, q, v, effort),
        frs.inverse_dynamics(arm, q, v, a),
        frs.nonlinear_effects(arm, q, v),
        frs.mass_matrix(arm, q),
        frs.pose(arm, q),
        frs.jacobian(arm, q),
        frs.twist(arm, q, v),
    ]

    def unaligned(x):
        return np.frombuffer(b'.' + x.tobytes(), np.uint8)[1:].view(float)

    for convert in (
        list,
        np.float32,
        lambda x: np.repeat(x, 3)[::3],
        lambda x: x.astype('>f8'),
        lambda x: x[::-1].copy()[::-1],
        unaligned,
    ):
        given = [convert(x) for x in (q, v, a, effort)]
        for array in given:
            if isinstance(array, np.ndarray):
                array.flags.writeable = False
        x, y, z, u = given
        for result, value in zip(
            (
                frs.forward_dynamics(arm, x, y, u),
                frs.inverse_dynamics(arm, x, y, z),
                frs.nonlinear_effects(arm, x, y),
                frs.mass_matrix(arm, x),
                frs.pose(arm, x),
                frs.jacobian(arm, x),
                frs.twist(arm, x, y),
            ),
            expected,
        ):
            np.testing.assert_array_equal(result, value)
            result[:] = 0.0  # the array of the caller


def test_invalid_queries_are_one_line_errors():
    arm = frs.load('two_link')
    wrong = f'must be {arm.size} finite numbers, in this order: {", ".join(arm.coordinate_names)}'
    q = np.zeros(arm.size)
    for call, message in (
        (lambda: frs.mass_matrix(arm, [0.0]), f'q {wrong}'),
        (lambda: frs.nonlinear_effects(arm, q, [np.nan]), f'v {wrong}'),
        (lambda: frs.inverse_dynamics(arm, q, q, 'fast'), f'a {wrong}'),
        (lambda: frs.forward_dynamics(arm, q, q, [1.0]), 'effort must be 3 finite numbers'),
        (lambda: frs.with_payload(arm, 'hand', 1.0), 'no link "hand" that carries a payload'),
        (lambda: frs.with_payload(arm, 'base', 1.0), 'no link "base" that carries a payload'),
        (lambda: frs.with_payload(arm, 'payload', -1.0), 'payload of "payload" needs a mass'),
    ):
        with pytest.raises(SettingError, match=re.escape(message)):
            call()
