"""Linear models at the samples of a control loop."""

import numpy as np


def zero_order_hold(A: np.ndarray, B: np.ndarray, period: float) -> tuple[np.ndarray, np.ndarray]:
    """Matrices of a step of x' = A x + B u during which u is constant."""
    from scipy.linalg import expm  # late: a fifth of a start

    n, joints = B.shape
    both = np.zeros((n + joints, n + joints))
    both[:n, :n], both[:n, n:] = A, B
    both = expm(both * period)
    return both[:n, :n], both[:n, n:]
