"""
Symmetric eigenvalue problems of two matrices, A v = lambda B v.

Natural modes are such a problem, with stiffness and inertia. SciPy has the same function. But
importing its linear algebra takes a fifth of the time from the start of Python to the first step
of an arm. That step needs nothing else of SciPy.
"""

import numpy as np


def eigh(A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Eigenvalues, ascending, (n,), and vectors, (n, n) by columns, for which v^T B v = 1.

    :param A: symmetric, (n, n); B: symmetric and positive definite, (n, n).
    """
    # with B = L L^T: L^-1 A L^-T y = lambda y, and v = L^-T y
    L = np.linalg.cholesky(B)
    values, y = np.linalg.eigh(reduced(A, L))
    return values, np.linalg.solve(L.T, y)


def eigvalsh(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Eigenvalues, ascending, (n,), of the same problem."""
    return np.linalg.eigvalsh(reduced(A, np.linalg.cholesky(B)))


def reduced(A: np.ndarray, L: np.ndarray) -> np.ndarray:
    """Return L^-1 A L^-T, symmetric to the last digit, (n, n)."""
    product = np.linalg.solve(L, np.linalg.solve(L, A).T)
    return (product + product.T) / 2


def block_diagonal(*blocks: np.ndarray) -> np.ndarray:
    """Return a matrix (n, n) with square blocks along its diagonal."""
    ends = np.cumsum([0, *map(len, blocks)])
    matrix = np.zeros((ends[-1], ends[-1]))
    for start, end, block in zip(ends, ends[1:], blocks):
        matrix[start:end, start:end] = block
    return matrix
