"""Exponential, logarithm and their derivatives against general matrix functions and mpmath."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm, logm
from test_screws import adjoint, bracket, hat, result, twist_matrix

from flex_robot_sim import exponential as ex

SIDES = pytest.mark.parametrize('side', [ex.BODY, ex.SPACE], ids=['body', 'space'])
ANGLES = [0.0, 1e-200, 1e-12, 1e-8, 1e-4, 0.1, 0.499, 0.501, 0.707, 1.0, 3.0, 3.1622, 3.1623, 5.0]

vectors = st.lists(st.floats(-1.8, 1.8), min_size=6, max_size=6).map(np.array)
"""Rotation vectors of at most pi, and translations."""


def random_vectors(angle, count, seed=5):
    """Vectors (6,), the first of which begins with a rotation vector of that angle."""
    xi = np.random.default_rng(seed).normal(size=(count, 6))
    xi[0, :3] *= angle / np.linalg.norm(xi[0, :3])
    return xi


def dexp(ad, side):
    """Sum of (side ad)^k / (k + 1)!, the definition of dexp, through an exponential."""
    n = len(ad)
    block = np.block([[side * ad, np.eye(n)], [np.zeros((n, 2 * n))]])
    return expm(block)[:n, n:]


def rate(function, x, dx):
    """Take the derivative along dx by finite differences of eighth order, good to about 1e-12."""
    h = 0.02
    weights = [4 / 5, -1 / 5, 4 / 105, -1 / 280]
    return sum(w / h * (function(x + k * h * dx) - function(x - k * h * dx))
               for k, w in enumerate(weights, 1))


@pytest.mark.parametrize('angle', [1e-9, 1e-5, 0.01, 0.3, 0.49, 0.51, 0.7, 0.72, 1.0, 2.0, 3.0,
                                   3.16, 3.17, 4.0, 6.0])
def test_stumpff_functions_have_their_last_digits(angle):
    mpmath = pytest.importorskip('mpmath')
    with mpmath.workdps(50):
        t = mpmath.mpf(angle * angle)
        exact = [float(mpmath.nsum(lambda j, k=k: (-t)**int(j) / mpmath.factorial(k + 2 * int(j)),
                                   [0, 60])) for k in range(1, 9)]
    # c1 and c2 pass through zero at pi and 2 pi: there they are good to the last digit of one
    allowed = 1e-14 * np.abs(exact) + 2e-16 * (np.arange(8) < 2)
    assert (np.abs(np.array(ex.stumpff(angle**2)) - exact) < allowed).all()
    assert (np.abs(np.array(ex.stumpff_123(angle**2)) - exact[:3]) < allowed[:3]).all()


@pytest.mark.parametrize('angle', ANGLES)
def test_exponential_of_so3_and_se3(angle):
    xi, = random_vectors(angle, 1)
    T = expm(twist_matrix(xi))
    R, p = np.empty((3, 3)), np.empty(3)
    ex.set_exp(xi, R, p)
    np.testing.assert_allclose(R, T[:3, :3], rtol=0, atol=2e-15 * (1 + 4 * angle))
    np.testing.assert_allclose(p, T[:3, 3], rtol=0, atol=2e-14)
    np.testing.assert_allclose(result(ex.set_rotation, xi[:3], shape=(3, 3)), R, rtol=0, atol=0)


@settings(deadline=None)      # the first call compiles
@given(vectors)
def test_logarithm_undoes_the_exponential(xi):
    R, p = np.empty((3, 3)), np.empty(3)
    ex.set_exp(xi, R, p)
    angle = np.linalg.norm(xi[:3])
    if angle < 3.14:
        np.testing.assert_allclose(result(ex.set_log, R, p), xi, rtol=0, atol=1e-13)
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
        np.testing.assert_allclose(result(ex.set_rotation_vector, R, shape=3), size * phi,
                                   rtol=max(4e-15, size**2))


@pytest.mark.parametrize('angle', [0.3, 1.5, 3.0])
def test_logarithm_agrees_with_the_general_matrix_logarithm(angle):
    xi, = random_vectors(angle, 1)
    T = expm(twist_matrix(xi))
    back = result(ex.set_log, T[:3, :3].copy(), T[:3, 3].copy())
    np.testing.assert_allclose(twist_matrix(back), logm(T).real, rtol=0, atol=1e-12)


@SIDES
@pytest.mark.parametrize('angle', ANGLES)
def test_dexp_is_its_series(angle, side):
    xi, = random_vectors(angle, 1)
    phi = xi[:3].copy()
    three, six = dexp(hat(phi), side), dexp(bracket(xi), side)
    tight = {'rtol': 0.0, 'atol': 3e-14}        # expm's own error
    np.testing.assert_allclose(result(ex.set_dexp3, side, phi, shape=(3, 3)), three, **tight)
    np.testing.assert_allclose(result(ex.set_dexp6, side, xi, shape=(6, 6)), six, **tight)
    np.testing.assert_allclose(result(ex.set_dexp3_inverse, side, phi, shape=(3, 3)) @ three,
                               np.eye(3), **tight)
    np.testing.assert_allclose(result(ex.set_dexp6_inverse, side, xi, shape=(6, 6)) @ six,
                               np.eye(6), rtol=0, atol=1e-13)


@SIDES
@pytest.mark.parametrize('angle', [0.0, 1e-6, 0.2, 1.0, 2.0, 3.0, 3.15, 4.5])
@pytest.mark.parametrize('name', ['set_dexp3', 'set_dexp3_inverse', 'set_dexp6',
                                  'set_dexp6_inverse'])
def test_rates_of_dexp(name, angle, side):
    size = int(name[8])
    xi, dxi = random_vectors(angle, 2)[:, :size].copy()
    value, slope = getattr(ex, name), getattr(ex, f'{name}_rate')
    expected = rate(lambda x: result(value, side, x, shape=(size, size)), xi, dxi)
    found = result(slope, side, xi, dxi, shape=(size, size))
    # finite differences: 1e-13 from rounding, more near a full turn, where the inverse is singular
    tolerance = 1e-10 if 'inverse' in name and angle > 4 else 1e-11
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * abs(expected).max())


@SIDES
def test_dexp_is_the_velocity_of_the_exponential(side):
    xi, dxi = random_vectors(1.2, 2)

    def pose(x):
        return expm(twist_matrix(x))

    T, dT = pose(xi), rate(pose, xi, dxi)
    V = np.linalg.solve(T, dT) if side == ex.BODY else dT @ np.linalg.inv(T)
    np.testing.assert_allclose(twist_matrix(result(ex.set_dexp6, side, xi, shape=(6, 6)) @ dxi), V,
                               rtol=0, atol=1e-11)      # finite differences


@settings(deadline=None)      # the first call compiles
@given(vectors, vectors)
def test_turn_gives_rotation_dexp_and_rate_at_once(xi, dxi):
    phi, dphi = xi[:3].copy(), dxi[:3].copy()
    R, J, dJ = np.full((3, 3, 3), 7.0)
    ex.set_turn(phi, dphi, R, J, dJ)
    for found, expected in [
            (R, result(ex.set_rotation, phi, shape=(3, 3))),
            (J, result(ex.set_dexp3, ex.BODY, phi, shape=(3, 3))),
            (dJ, result(ex.set_dexp3_rate, ex.BODY, phi, dphi, shape=(3, 3)))]:
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)


@settings(deadline=None)      # the first call compiles
@given(vectors)
def test_body_and_space_differ_by_the_adjoint(xi):
    R, p = np.empty((3, 3)), np.empty(3)
    ex.set_exp(xi, R, p)
    body = result(ex.set_dexp6, ex.BODY, xi, shape=(6, 6))
    space = result(ex.set_dexp6, ex.SPACE, xi, shape=(6, 6))
    np.testing.assert_allclose(adjoint(R, p) @ body, space, rtol=0, atol=1e-13)


@pytest.mark.parametrize('angle', [1e-5, 0.4, 2.0, 3.0])
def test_pinocchio_agrees(angle):
    pin = pytest.importorskip('pinocchio')
    order = [3, 4, 5, 0, 1, 2]          # Pinocchio's motions are (linear, angular)
    xi, = random_vectors(angle, 1)
    T = pin.exp6(xi[order])
    R, p = np.empty((3, 3)), np.empty(3)
    ex.set_exp(xi, R, p)
    np.testing.assert_allclose(R, T.rotation, rtol=0, atol=1e-14)
    np.testing.assert_allclose(p, T.translation, rtol=0, atol=1e-14)
    np.testing.assert_allclose(result(ex.set_log, R, p), pin.log6(T).vector[order], atol=1e-13)
    np.testing.assert_allclose(result(ex.set_dexp6, ex.BODY, xi, shape=(6, 6)),
                               pin.Jexp6(xi[order])[np.ix_(order, order)], rtol=0, atol=1e-13)
