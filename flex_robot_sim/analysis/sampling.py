"""Discretization of linear models."""

import numpy as np


def zero_order_hold(A: np.ndarray, B: np.ndarray, period: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the matrices of a step of x' = A x + B u with constant u."""
    from scipy.linalg import expm  # late: a fifth of a start

    n, joints = B.shape
    augmented = np.zeros((n + joints, n + joints))
    augmented[:n, :n], augmented[:n, n:] = A, B
    augmented = expm(augmented * period)
    return augmented[:n, :n], augmented[:n, n:]
