"""
Robust least squares where slopes cost as much as many residuals; see (I5) and (I8).

Steps are those of Levenberg and Marquardt, in a box that grows and shrinks. Slopes are simulated
anew where the old ones no longer tell what a step does; between, what a step has shown goes into
them by the rule of Broyden.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

BOX = 1.0               # longest first step: numbers change by a factor of e
SMALLER, LARGER = 0.25, 2.0     # box after a step that fails, over that step; after a good one
LEAST_DAMPING = 1e-6    # share of the diagonal, always: slopes are known to a thousandth
IDLE = 1e-7             # effect over the largest, below which a number has none
DAMPING = 1e-3          # share of the diagonal, from which a step that fails is damped
GOOD, POOR = 0.75, 0.25     # share of what was promised that a step keeps
KEPT = 1e-3             # least share with which a step is taken
ENOUGH = 0.02           # half the squares saved: 0.2 deviations, if residuals were white
SMOOTH = 0.2            # likewise, below which the sum is no longer smooth: steps are halved
WORST = 4               # steps in a row that fail


class Descent(NamedTuple):
    """Where a descent has ended."""

    z: np.ndarray           # (p,)
    residuals: np.ndarray   # (r,)
    cost: float             # see `loss`


def loss(residuals: np.ndarray, robust: float) -> float:
    """Return half the sum of squares, in which residuals beyond `robust` count less."""
    return float(robust**2 * np.sum(np.sqrt(1 + (residuals / robust)**2) - 1))


def descend(residual: Callable[[np.ndarray], np.ndarray],
            slopes: Callable[[np.ndarray, bool], np.ndarray], z: np.ndarray,
            bounds: tuple[np.ndarray, np.ndarray], units: np.ndarray, robust: float,
            tolerance: float, most: int) -> Descent:
    """
    Return the Descent from z (p,), where residuals are finite.

    :param residual: of z, (r,); not finite where there is none.
    :param slopes: (r, p) near z, the same ones as long as they are near enough; with True as
        second argument, at z.
    :param bounds: least and largest z, (p,) each; units: of z in the box, (p,).
    :param robust: residual from which one counts less.
    :param tolerance: share of the sum that a last step would save.
    :param most: evaluations of residuals.
    """
    r, count, damping, box, failed = residual(z), 1, 0.0, BOX, 0
    cost = loss(r, robust)
    J = base = slopes(z, False)
    is_near, is_here = True, False
    while count < most and failed < WORST:
        weight = 1 / np.sqrt(1 + (r / robust)**2)
        A, g = (J * weight[:, None]).T @ J, J.T @ (weight * r)
        step, tried = np.full(z.size, np.inf), damping
        while (np.abs(step) > box * units).any():
            step = best_step(A, g, tried, bounds[0] - z, bounds[1] - z)
            tried = max(10 * tried, DAMPING)
        promised = -(g @ step + 0.5 * step @ A @ step)
        if promised <= max(tolerance * cost, ENOUGH):
            old, base = base, slopes(z, False)
            if base is old:     # what was learned on the way from there is worth more
                break
            J, is_near = base, True
            continue
        there = np.clip(z + step, *bounds)
        new = residual(there)
        count += 1
        new_cost = loss(new, robust) if np.isfinite(new).all() else np.inf
        share, size = (cost - new_cost) / promised, float(np.max(np.abs(step) / units))
        if share > KEPT:
            scale = np.diag(A) * step
            J = J + np.outer(new - r - J @ step, scale / (step @ scale))
            z, r, cost, failed, is_near, is_here = there, new, new_cost, 0, False, False
            damping = 0.1 * damping if damping > DAMPING else 0.0
            box = max(box, LARGER * size) if share > GOOD else box
            if share < POOR:
                J = base = slopes(z, True)
                is_near = is_here = True
        elif is_near and promised <= SMOOTH:
            break
        elif not is_here:
            is_near, is_here = True, promised > SMOOTH
            J = base = slopes(z, is_here)
            box = min(box, size)
        else:
            damping, box, failed = max(10 * damping, DAMPING), SMALLER * size, failed + 1
    return Descent(z, r, cost)


def best_step(A: np.ndarray, g: np.ndarray, damping: float, low: np.ndarray,
              high: np.ndarray) -> np.ndarray:
    """
    Return the step (p,) that makes g s + s A s / 2 least, from low to high.

    :param damping: share of the diagonal of A that is added to it.
    """
    size = np.sqrt(np.diag(A))
    size = np.maximum(size, max(IDLE * size.max(), 1e-150))     # what has no effect stays
    scaled = A / np.outer(size, size)
    scaled[np.diag_indices(len(g))] = 1 + damping + LEAST_DAMPING
    free, step = np.ones(len(g), bool), np.zeros(len(g))
    while free.any():
        step[free] = 0.0
        rest = (g / size + scaled @ (step * size))[free]
        step[free] = np.linalg.lstsq(scaled[np.ix_(free, free)], -rest,
                                     rcond=1e-13)[0] / size[free]
        beyond = free & ((step < low) | (step > high))
        if not beyond.any():
            break
        step = np.where(beyond, np.clip(step, low, high), step)
        free &= ~beyond
    return step
