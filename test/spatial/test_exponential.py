"""Exponential, logarithm and their derivatives against general matrix functions and mpmath."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm, logm
from test_screws import hat, result

from flex_robot_sim.spatial import exponential as ex

ANGLES = [0.0, 1e-200, 1e-12, 1e-8, 1e-4, 0.1, 0.499, 0.501, 0.707, 1.0, 3.0, 3.1622, 3.1623, 5.0]

vectors = st.lists(st.floats(-1.8, 1.8), min_size=3, max_size=3).map(np.array)
"""Rotation vectors of at most pi."""


def random_vectors(angle, count, seed=5):
    """Vectors (3,), the first of which is a turn of that angle."""
    phi = np.random.default_rng(seed).normal(size=(count, 3))
    phi[0] *= angle / np.linalg.norm(phi[0])
    return phi


def dexp(phi):
    """Sum of (-[phi])^k / (k + 1)!, the definition of dexp in the body, by an exponential."""
    block = np.block([[-hat(phi), np.eye(3)], [np.zeros((3, 6))]])
    return expm(block)[:3, 3:]


def rate(function, x, dx):
    """Take the derivative along dx by finite differences of eighth order, good to about 1e-12."""
    h = 0.02
    weights = [4 / 5, -1 / 5, 4 / 105, -1 / 280]
    return sum(
        w / h * (function(x + k * h * dx) - function(x - k * h * dx))
        for k, w in enumerate(weights, 1)
    )


@pytest.mark.parametrize(
    'angle', [1e-9, 1e-5, 0.01, 0.3, 0.49, 0.51, 0.7, 0.72, 1.0, 2.0, 3.0, 3.16, 3.17, 4.0, 6.0]
)
def test_stumpff_functions_have_their_last_digits(angle):
    mpmath = pytest.importorskip('mpmath')
    with mpmath.workdps(50):
        t = mpmath.mpf(angle * angle)
        exact = [
            float(
                mpmath.nsum(
                    lambda j, k=k: (-t) ** int(j) / mpmath.factorial(k + 2 * int(j)), [0, 60]
                )
            )
            for k in range(1, 6)
        ]
    # c1 and c2 pass through zero at pi and 2 pi: there they are good to the last digit of one
    allowed = 1e-14 * np.abs(exact) + 2e-16 * (np.arange(5) < 2)
    assert (np.abs(np.array(ex.stumpff(angle**2)) - exact) < allowed).all()
    assert (np.abs(np.array(ex.stumpff_123(angle**2)) - exact[:3]) < allowed[:3]).all()


@pytest.mark.parametrize('angle', ANGLES)
def test_exponential_is_that_of_the_matrix(angle):
    (phi,) = random_vectors(angle, 1)
    np.testing.assert_allclose(
        result(ex.set_rotation, phi, shape=(3, 3)),
        expm(hat(phi)),
        rtol=0,
        atol=2e-15 * (1 + 4 * angle),
    )


@given(vectors)
def test_logarithm_undoes_the_exponential(phi):
    R = result(ex.set_rotation, phi, shape=(3, 3))
    if np.linalg.norm(phi) < 3.14:
        np.testing.assert_allclose(
            result(ex.set_rotation_vector, R, shape=3), phi, rtol=0, atol=1e-13
        )
    np.testing.assert_allclose(R @ R.T, np.eye(3), rtol=0, atol=2e-15)


@pytest.mark.parametrize('gap', [0.0, 1e-15, 1e-12, 1e-9, 1e-7, 1e-4])
@pytest.mark.parametrize('axis', [(1, 0, 0), (0, -1, 0), (0, 0, 1), (1, 1, 1), (-3, 1e-9, 2)])
def test_logarithm_near_half_a_turn(axis, gap):
    phi = np.array(axis, float) / np.linalg.norm(axis) * (np.pi - gap)
    back = result(ex.set_rotation_vector, result(ex.set_rotation, phi, shape=(3, 3)), shape=3)
    # at pi itself, phi and -phi are the same turn; 1e-15 in R is 1e-15 in phi
    error = min(abs(back - phi).max(), abs(back + phi).max() + 2 * gap)
    assert error < 2e-14
    assert np.linalg.norm(back) <= np.pi + 1e-15


def test_logarithm_of_small_turns_keeps_relative_accuracy():
    phi = np.array([1.0, -2.0, 0.5])
    for size in [1e-300, 1e-160, 1e-20, 1e-9, 1e-5]:
        R = np.eye(3) + hat(size * phi) + hat(size * phi) @ hat(size * phi) / 2
        np.testing.assert_allclose(
            result(ex.set_rotation_vector, R, shape=3), size * phi, rtol=max(4e-15, size**2)
        )


@pytest.mark.parametrize('angle', [0.3, 1.5, 3.0])
def test_logarithm_agrees_with_the_general_matrix_logarithm(angle):
    R = expm(hat(random_vectors(angle, 1)[0]))
    np.testing.assert_allclose(
        hat(result(ex.set_rotation_vector, R, shape=3)), logm(R).real, rtol=0, atol=1e-12
    )


@pytest.mark.parametrize('angle', ANGLES)
def test_turn_gives_rotation_dexp_and_rate_at_once(angle):
    phi, dphi = random_vectors(angle, 2)
    R, G, alpha = np.full((3, 3), 7.0), np.full((3, 3), 7.0), np.full(3, 7.0)
    ex.set_turn(phi, dphi, R, G, alpha)
    np.testing.assert_allclose(R, result(ex.set_rotation, phi, shape=(3, 3)), rtol=0, atol=1e-14)
    np.testing.assert_allclose(G, R @ dexp(phi), rtol=0, atol=3e-14)  # expm's own error
    expected = R @ rate(dexp, phi, dphi) @ dphi
    np.testing.assert_allclose(alpha, expected, rtol=0, atol=1e-11 * max(1.0, abs(expected).max()))


@pytest.mark.parametrize('angle', [*ANGLES[4:], 3.3])
def test_dexp_has_these_rates_and_derivatives(angle):
    phi, dphi, ddphi, y = random_vectors(angle, 4)
    first, second, slopes = np.full((3, 3, 3), 7.0)
    ex.set_turn_rates(phi, dphi, ddphi, first, second)
    ex.set_turn_curvature(phi, y, slopes)

    def rate_at(t):
        return rate(dexp, phi + t * dphi + t**2 / 2 * ddphi, dphi + t * ddphi).T

    np.testing.assert_allclose(first, rate_at(0.0), rtol=0, atol=1e-11)
    np.testing.assert_allclose(second, rate(rate_at, 0.0, 1.0), rtol=0, atol=1e-8)
    expected = [rate(dexp, phi, unit) @ y for unit in np.eye(3)]
    np.testing.assert_allclose(slopes, expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize('angle', [0.0, 0.4, 1.2, 3.0])
def test_dexp_is_the_velocity_of_the_exponential(angle):
    phi, dphi = random_vectors(angle, 2)
    R, G, alpha = np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    ex.set_turn(phi, dphi, R, G, alpha)
    turning = rate(lambda x: expm(hat(x)), phi, dphi) @ R.T
    np.testing.assert_allclose(hat(G @ dphi), turning, rtol=0, atol=1e-11)  # finite differences


@pytest.mark.parametrize('angle', [1e-5, 0.4, 2.0, 3.0])
def test_pinocchio_agrees(angle):
    pin = pytest.importorskip('pinocchio')
    phi, dphi = random_vectors(angle, 2)
    R, G, alpha = np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    ex.set_turn(phi, dphi, R, G, alpha)
    np.testing.assert_allclose(R, pin.exp3(phi), rtol=0, atol=1e-14)
    np.testing.assert_allclose(result(ex.set_rotation_vector, R, shape=3), pin.log3(R), atol=1e-13)
    np.testing.assert_allclose(G, R @ pin.Jexp3(phi), rtol=0, atol=1e-13)
