"""
Bounded step of iterative learning: the change of the weights after a trial.

The change dw minimises |e + G dw|^2 + R |dw|^2 under A dw <= b, where dw = 0 is feasible. With the
Cholesky factor H = L L' of the Hessian and y = L' (dw - dw_0), this is a least distance problem,
which non-negative least squares solve (Lawson & Hanson, Solving Least Squares Problems, 1974,
chapter 23). Constraints are added when a solution violates them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

FEASIBILITY_TOLERANCE = 1e-9  # violation of a constraint, over the norm of its row
MAX_ROUNDS = 30  # of added constraints


def constrained_step(
    gain: np.ndarray, errors: np.ndarray, regularization: float, rows: np.ndarray, room: np.ndarray
) -> np.ndarray:
    """
    Change (w,) of the weights that leaves the least predicted error.

    :param gain: G (e, w); errors: of the trial (e,); regularization: R.
    :param rows: A (c, w); room: b (c,), at least 0.
    """
    from scipy.linalg import cho_factor, solve_triangular  # imported late: slow

    hessian = gain.T @ gain + regularization * np.eye(gain.shape[1])
    lower = np.tril(cho_factor(hessian, lower=True)[0])
    free = -np.linalg.solve(hessian, gain.T @ errors)
    step, chosen = free, np.zeros(len(rows), bool)
    scaled = solve_triangular(lower, rows.T, lower=True).T if len(rows) else rows
    tolerance = FEASIBILITY_TOLERANCE * (np.abs(rows).sum(axis=1) * np.abs(free).max(initial=1e-9))
    for _ in range(MAX_ROUNDS):
        violated = rows @ step - room > tolerance
        if not (violated & ~chosen).any():
            break
        chosen |= violated
        offset = least_distance(-scaled[chosen], rows[chosen] @ free - room[chosen])
        step = free + solve_triangular(lower.T, offset)
    reached = rows @ step
    beyond = reached > room
    return step * (room[beyond] / reached[beyond]).min(initial=1.0)


def least_distance(rows: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Shortest y with rows @ y >= bounds."""
    from scipy.optimize import nnls  # as above

    scale = max(float(np.abs(bounds).max()), 1e-300)
    matrix = np.vstack([rows.T, bounds / scale])
    target = np.zeros(len(matrix))
    target[-1] = 1.0
    residual = matrix @ nnls(matrix, target)[0] - target
    return -scale * residual[:-1] / residual[-1]


def bounded_share(
    step: np.ndarray, errors: np.ndarray, gains: Sequence[np.ndarray], largest: float
) -> float:
    """
    Largest share s <= 1 of a step (w,) for which |errors + s G step| <= `largest` for all gains.

    :param largest: norm of the error, at least that of `errors`.
    """
    share = 1.0
    room = max(largest**2 - errors @ errors, 0.0)
    for gain in gains:
        change = gain @ step
        a, b = change @ change, errors @ change
        if a + 2 * b > room:  # the whole step exceeds the bound
            share = min(share, (np.sqrt(b * b + a * room) - b) / a)
    return share
