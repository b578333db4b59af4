"""
Symmetric eigenvalue problems of two matrices, A v = lambda B v.

Modes are one: stiffness against inertia. SciPy has the same function, but to import its linear
algebra takes a fifth of the time from the start of Python to the first step of an arm, in which
nothing else of SciPy is needed.
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
    """Eigenvalues alone, ascending, (n,), of such matrices."""
    return np.linalg.eigvalsh(reduced(A, np.linalg.cholesky(B)))


def reduced(A: np.ndarray, L: np.ndarray) -> np.ndarray:
    """Return L^-1 A L^-T, symmetric to the last digit, (n, n)."""
    inside = np.linalg.solve(L, np.linalg.solve(L, A).T)
    return (inside + inside.T) / 2


def block_diagonal(*blocks: np.ndarray) -> np.ndarray:
    """Square blocks along the diagonal of a matrix, (n, n)."""
    ends = np.cumsum([0, *map(len, blocks)])
    whole = np.zeros((ends[-1], ends[-1]))
    for start, end, block in zip(ends, ends[1:], blocks):
        whole[start:end, start:end] = block
    return whole
