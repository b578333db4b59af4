"""Operations on poses, twists, wrenches and inertias against their matrices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm

from flex_robot_sim.spatial import screws

pytestmark = pytest.mark.slow

TIGHT: dict = {'rtol': 0.0, 'atol': 1e-13}  # a few roundings of numbers of order one to ten


def hat(a):
    return np.cross(np.eye(3), a)


def twist_matrix(xi):
    """Matrix (4, 4) of a twist, whose exponential is a pose."""
    return np.block([[hat(xi[:3]), xi[3:, None]], [np.zeros((1, 4))]])


def adjoint(R, p):
    return np.block([[R, np.zeros((3, 3))], [hat(p) @ R, R]])


def bracket(V):
    return np.block([[hat(V[:3]), np.zeros((3, 3))], [hat(V[3:]), hat(V[:3])]])


def pose(rng):
    T = expm(twist_matrix(rng.normal(size=6)))
    return T[:3, :3].copy(), T[:3, 3].copy()


def result(operation, *arguments, shape=(6,)):
    """Return the output of an operation that overwrites other contents."""
    out = np.full(shape, 7.0)
    operation(*arguments, out)
    return out


def added(operation, *arguments, shape=(6,)):
    """Return what an operation adds to its output, independently of the previous contents."""
    return result(operation, *arguments, shape=shape) - 7.0


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def test_products_of_vectors_and_matrices(rng):
    a, b = rng.normal(size=(2, 3))
    A, x = rng.normal(size=(6, 4)), rng.normal(size=4)
    assert screws.dot(a, b) == pytest.approx(a @ b, rel=1e-14)
    np.testing.assert_array_equal(result(screws.set_copy, a, shape=3), a)
    np.testing.assert_allclose(added(screws.add_scaled, 2.0, a, shape=3), 2 * a, **TIGHT)
    np.testing.assert_allclose(result(screws.set_product, A, x), A @ x, **TIGHT)
    np.testing.assert_allclose(added(screws.add_product, A, x), A @ x, **TIGHT)


def test_poses_compose_and_invert(rng):
    (R1, p1), (R2, p2) = pose(rng), pose(rng)
    R, p = np.empty((3, 3)), np.empty(3)
    screws.set_composed(R1, p1, R2, p2, R, p)
    x = rng.normal(size=3)
    np.testing.assert_allclose(R @ x + p, R1 @ (R2 @ x + p2) + p1, **TIGHT)
    screws.set_inverse(R1, p1, R, p)
    np.testing.assert_allclose(R @ (R1 @ x + p1) + p, x, **TIGHT)


@given(st.floats(-7.0, 7.0), st.integers(0, 10**6), st.sampled_from(['turns', 'slides', 'screws']))
def test_a_joint_moves_along_its_screw(q, seed, kind):
    rng = np.random.default_rng(seed)
    (home_R, home_p), A = pose(rng), rng.normal(size=6)
    if kind == 'slides':
        A[:3] = 0.0
        A /= np.linalg.norm(A)
    else:
        A[:3] /= np.linalg.norm(A[:3])
        A[3:] = np.cross(A[3:], A[:3]) if kind == 'turns' else A[3:]
    R, p = np.empty((3, 3)), np.empty(3)
    screws.set_pose(home_R, home_p, A, q, R, p)
    T = expm(twist_matrix(A * q))
    np.testing.assert_allclose(R, home_R @ T[:3, :3], rtol=0, atol=1e-12)  # expm's own error
    np.testing.assert_allclose(p, home_R @ T[:3, 3] + home_p, rtol=0, atol=1e-12)


def test_twists_and_wrenches_change_frames(rng):
    (R, p), V, F = pose(rng), rng.normal(size=6), rng.normal(size=6)
    Ad = adjoint(R, p)
    np.testing.assert_allclose(result(screws.set_Ad, R, p, shape=(6, 6)), Ad, **TIGHT)
    np.testing.assert_allclose(
        result(screws.set_in_child, R, p, V), np.linalg.solve(Ad, V), **TIGHT
    )
    np.testing.assert_allclose(
        added(screws.add_to_parent, R, p, F), np.linalg.solve(Ad.T, F), **TIGHT
    )


def test_bracket(rng):
    V, W = rng.normal(size=(2, 6))
    np.testing.assert_allclose(added(screws.add_bracket, -3.0, V, W), -3 * bracket(V) @ W, **TIGHT)


def body_inertia(rng):
    """Mass, centre and inertia of a cloud of points, and its (6, 6) inertia from their speeds."""
    points, masses = rng.normal(size=(9, 3)), rng.uniform(0.1, 1.0, 9)
    speeds = [np.hstack([-hat(x), np.eye(3)]) for x in points]  # of a point: v + omega x r
    G = sum(m * S.T @ S for m, S in zip(masses, speeds))
    centre = masses @ points / masses.sum()
    inertia = sum(m * hat(x - centre).T @ hat(x - centre) for m, x in zip(masses, points))
    return masses.sum(), centre, inertia, G


def test_inertia_of_a_cloud_of_points(rng):
    mass, centre, inertia, G = body_inertia(rng)
    np.testing.assert_allclose(
        result(screws.set_body_inertia, mass, centre, inertia, shape=(6, 6)), G, **TIGHT
    )


def test_wrench_of_a_moving_body_is_the_rate_of_its_momentum(rng):
    G, V = body_inertia(rng)[3], rng.normal(size=6)
    F = added(screws.add_turning_wrench, G, V)
    np.testing.assert_allclose(F, -bracket(V).T @ G @ V, **TIGHT)
    assert F @ V == pytest.approx(0.0, abs=1e-12)  # turning changes no energy


@pytest.mark.parametrize('kind', ['rigid', 'articulated'])
def test_inertia_moves_to_the_parent(rng, kind):
    R, p = pose(rng)
    G = body_inertia(rng)[3]
    if kind == 'articulated':  # any symmetric matrix
        G = rng.normal(size=(6, 6))
        G = G + G.T
    X = np.linalg.inv(adjoint(R, p))
    moved = added(screws.add_inertia_to_parent, R, p, G, shape=(6, 6))
    np.testing.assert_allclose(moved, X.T @ G @ X, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(moved, moved.T)
