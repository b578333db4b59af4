"""Which numbers a log tells, by how a fit ended and by what a fit without them leaves."""

from __future__ import annotations

import numpy as np

from flex_robot_sim.identification import uncertainty
from flex_robot_sim.identification.fit import ROBUST, Fit, Problem, solve
from flex_robot_sim.identification.uncertainty import Uncertainty

ROUGHLY = 0.7           # deviation of a number of which at least the order is told, over it
SURELY = 2.0            # of these, by which it is another one than before
BARELY = 0.05           # deviation of a number, over it, from which its interval may be crooked
CERTAIN = 3.0           # deviations by which what a log says speaks against what was before


def squares(problem: Problem, z: np.ndarray, deviations: np.ndarray) -> float:
    """Return twice the sum of (I5): squares, where residuals are small."""
    r = problem.residuals(z, deviations) / ROBUST
    return float(2 * ROBUST**2 * np.sum(np.sqrt(1 + r**2) - 1))


def identifiable_from_covariance(problem: Problem, fit: Fit, spread: Uncertainty) -> list[bool]:
    """Return whether the log tells each of the unknowns, by deviations where the fit ended."""
    out = []
    for k, one in enumerate(problem.unknowns):
        deviation, (low, high) = spread.deviations[k], one.bounds
        at_end = min(fit.z[k] - low, high - fit.z[k]) < 1e-6
        if one.scale == 0.0:
            # told roughly, if the value before is further off than that
            is_other = deviation < ROUGHLY and abs(fit.z[k]) > SURELY * deviation
            out.append(bool((deviation < uncertainty.TOLD or is_other) and not at_end))
        else:       # it may well be zero: then it is told how far from it it may be
            size = max(abs(one.value(fit.z[k])), abs(one.scale))
            out.append(bool(deviation * one.scale < max(uncertainty.TOLD * size, 3 * one.scale)))
    return out


def identifiable_from_refit(problem: Problem, fit: Fit, spread: Uncertainty,
                     told: list[bool]) -> list[bool]:
    """
    Return whether the log tells each, where what was before explains less, too (I24).

    A deviation is that of slopes where the fit ended; a stiffness that hardly shows where it was
    may show where noise has led it.
    """
    out = list(told)
    for k, one in enumerate(problem.unknowns):
        deviation = spread.deviations[k]
        if not (out[k] and one.scale == 0.0 and BARELY < deviation < uncertainty.TOLD
                and abs(fit.z[k]) > CERTAIN * deviation):
            continue
        others = [row for row in range(problem.size) if row != k]
        without = Problem(problem.setup, [problem.unknowns[row] for row in others
                                          if row < len(problem.unknowns)], problem.servo,
                          problem.sequences)
        refit = solve(without, fit.z[others], fit.deviations, rounds=1)
        saved = (squares(without, refit.z, fit.deviations)
                 - squares(problem, fit.z, fit.deviations))
        out[k] = bool(saved > (CERTAIN * deviation / uncertainty.white_deviations(fit)[k])**2)
    return out
