"""Symmetric eigenproblems of two matrices, against SciPy's LAPACK and by their definition."""

import numpy as np
import pytest
import scipy.linalg

from flex_robot_sim.util.eigenproblem import block_diagonal, eigh, eigvalsh


@pytest.mark.parametrize('size', [1, 2, 7, 40])
def test_modes_are_those_of_lapack(size):
    random = np.random.default_rng(size)
    A, B = (part @ part.T + size * np.eye(size) for part in random.normal(size=(2, size, size)))
    values, vectors = eigh(A, B)
    expected = scipy.linalg.eigh(A, B, eigvals_only=True)
    np.testing.assert_allclose(values, expected, rtol=1e-11)  # rounding
    np.testing.assert_allclose(eigvalsh(A, B), expected, rtol=1e-11)
    np.testing.assert_allclose(vectors.T @ B @ vectors, np.eye(size), atol=1e-11)
    np.testing.assert_allclose(vectors.T @ A @ vectors, np.diag(values), atol=1e-9)


def test_a_matrix_that_is_not_positive_definite_is_refused_as_scipy_does():
    for solve in (eigh, scipy.linalg.eigh):
        with pytest.raises(np.linalg.LinAlgError):
            solve(np.eye(2), np.diag([1.0, -1.0]))


def test_blocks_lie_along_the_diagonal_as_scipy_puts_them():
    blocks = [np.full((n, n), float(n)) for n in (2, 0, 3, 1)]
    np.testing.assert_array_equal(block_diagonal(*blocks), scipy.linalg.block_diag(*blocks))
    assert block_diagonal().shape == (0, 0)
