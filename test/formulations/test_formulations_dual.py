"""Dual numbers, the groups G1 and G2, and dual screws obey their axioms."""

import numpy as np
import pytest

from flex_robot_sim.formulations.dual_groups import (
    g1,
    g1_inverse,
    g2,
    g2_adjoint,
    g2_inverse,
    g2_parts,
    rotation,
)
from flex_robot_sim.formulations.dual_lines import (
    N,
    joint_line,
    mode_screws,
    screw_basis,
    screw_matrix,
    screw_rates,
    shift_screws,
)
from flex_robot_sim.formulations.dual_numbers import dual_cross, dual_hat, dual_matrix, hat

pytestmark = pytest.mark.slow

ROUNDING = 1e-12  # of a few products of numbers of the size 1


def random_g1(rng, turn=1.0):
    return g1(rotation(turn * rng.normal(size=3)), rng.normal(size=3))


def random_g2(rng):
    return g2(random_g1(rng), rng.normal(size=6))


def reference_matrix(p):
    """U of (60): moves the point of reference; p points from the new one to the old one."""
    return np.block([[np.eye(6), np.zeros((6, 6))], [dual_hat(p), np.eye(6)]])


def differentiation_matrix(w, y):
    """Matrix d of (77)."""
    return np.block([[dual_hat(w), np.zeros((6, 6))], [-dual_hat(y), dual_hat(w)]])


def g2_hat(t):
    """Element of the Lie algebra of G2 (55)."""
    return np.block([[dual_hat(t[:6]), t[6:, None]], [np.zeros((1, 7))]])


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def test_product_of_dual_matrices_drops_the_square_of_eps(rng):
    A, B, C, D = rng.normal(size=(4, 3, 3))
    product = dual_matrix(A, B) @ dual_matrix(C, D)
    assert np.allclose(product[:3, :3], A @ C, rtol=0, atol=ROUNDING)
    assert np.allclose(product[3:, :3], A @ D + B @ C, rtol=0, atol=ROUNDING)


def test_product_of_dual_vectors_equals_that_of_their_matrices(rng):
    a, b = rng.normal(size=(2, 6))
    assert np.allclose(dual_hat(a) @ b, -dual_hat(b) @ a, rtol=0, atol=ROUNDING)  # (13)
    assert np.allclose(
        dual_cross(a[:, None], b[:, None])[:, 0], dual_hat(a) @ b, rtol=0, atol=ROUNDING
    )


def test_g1_and_g2_are_groups(rng):
    for make, inverse in ((random_g1, g1_inverse), (random_g2, g2_inverse)):
        X, Y, Z = make(rng), make(rng), make(rng)
        one = np.eye(len(X))
        assert np.allclose((X @ Y) @ Z, X @ (Y @ Z), rtol=0, atol=10 * ROUNDING)
        assert np.allclose(inverse(X) @ X, one, rtol=0, atol=ROUNDING)
        assert np.allclose(X @ inverse(X), one, rtol=0, atol=ROUNDING)
        assert np.allclose(inverse(X @ Y), inverse(Y) @ inverse(X), rtol=0, atol=10 * ROUNDING)


def test_product_in_g1_rotates_the_second_small_rotation(rng):
    (A, a), (B, b) = ((rotation(rng.normal(size=3)), rng.normal(size=3)) for _ in range(2))
    assert np.allclose(g1(A, a) @ g1(B, b), g1(A @ B, a + A @ b), rtol=0, atol=ROUNDING)


def test_g1_is_the_first_order_of_a_slightly_larger_rotation(rng):
    A, theta = rotation(rng.normal(size=3)), rng.normal(size=3)
    h = 1e-6
    slope = (rotation(h * theta) - rotation(-h * theta)) @ A / (2 * h)
    assert np.allclose(g1(A, theta)[3:, :3], slope, rtol=0, atol=1e-9)  # central difference


@pytest.mark.parametrize(
    'make, size, adjoint, hatted',
    [(random_g1, 6, lambda X: X, dual_hat), (random_g2, 12, g2_adjoint, g2_hat)],
)
def test_adjoint_conjugates_the_algebra(rng, make, size, adjoint, hatted):
    X, Y, t = make(rng), make(rng), rng.normal(size=size)
    assert np.allclose(
        hatted(adjoint(X) @ t), X @ hatted(t) @ np.linalg.inv(X), rtol=0, atol=10 * ROUNDING
    )  # (12), (18)
    assert np.allclose(adjoint(X @ Y), adjoint(X) @ adjoint(Y), rtol=0, atol=10 * ROUNDING)


def test_parts_of_g2_are_recovered(rng):
    X, v = random_g1(rng), rng.normal(size=6)
    assert all(np.array_equal(a, b) for a, b in zip(g2_parts(g2(X, v)), (X, v)))


def test_screw_matrix_combines_reference_and_coordinates(rng):
    Y = random_g2(rng)
    X, p = g2_parts(Y)
    back = g1_inverse(X)
    # from the parent: first to the origin of the child, then to its coordinates      (59), (62)
    expected = np.kron(np.eye(2), back) @ reference_matrix(-p)
    assert np.allclose(screw_matrix(Y), expected, rtol=0, atol=10 * ROUNDING)
    screws = rng.normal(size=(12, 4))
    assert np.allclose(
        shift_screws(screws, -p), reference_matrix(-p) @ screws, rtol=0, atol=ROUNDING
    )


def test_line_of_a_joint_agrees_with_the_paper():
    line = joint_line(np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0]))
    assert np.array_equal(line, np.eye(12)[2])  # (115)


def test_forms_of_a_mode_differ_by_swapping_real_and_dual(rng):
    jacobian, projecting = mode_screws(rng.normal(size=(6, 3)))
    assert np.array_equal(N @ N, np.eye(12))
    assert not np.any(jacobian[[0, 1, 2, 6, 7, 8]])
    assert np.array_equal(N @ jacobian, projecting)


def test_wrench_of_a_force_keeps_it_and_its_moment_about_another_point(rng):
    force, moment, p = rng.normal(size=(3, 3))
    wrench, moved = np.r_[force, moment], np.r_[force, moment + np.cross(p, force)]
    there = reference_matrix(np.r_[p, np.zeros(3)]) @ screw_basis() @ wrench
    assert np.allclose(there, screw_basis() @ moved, rtol=0, atol=ROUNDING)
    assert np.array_equal(screw_basis()[:, 0], np.eye(12)[0])  # (72)


def test_rate_of_a_line_is_its_differentiation_matrix_times_the_line(rng):
    carrier, point, line = rng.normal(size=(3, 12))
    d = differentiation_matrix(carrier[:6] - point[:6], point[6:] - carrier[6:])
    rate = screw_rates(carrier[:, None], point, line[:, None])[:, 0]
    assert np.allclose(rate, d @ line, rtol=0, atol=ROUNDING)


def test_hat_equals_the_cross_product(rng):
    a, b = rng.normal(size=(2, 3))
    assert np.allclose(hat(a) @ b, np.cross(a, b), rtol=0, atol=ROUNDING)
