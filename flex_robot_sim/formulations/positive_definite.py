"""Linear systems with a symmetric positive definite matrix, such as a mass matrix."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve


def solve_positive_definite(matrix: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    """
    Return the solution x (n,) of matrix x = rhs, by a Cholesky factorisation.

    :raises numpy.linalg.LinAlgError: if the matrix is not positive definite or not finite.
    """
    # for a matrix that is not finite, SciPy raises ValueError, as for a wrong shape
    if not np.isfinite(matrix).all():
        raise np.linalg.LinAlgError('the matrix is not finite')
    return cho_solve(cho_factor(matrix, check_finite=False), rhs, check_finite=False)
