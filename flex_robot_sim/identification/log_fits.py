"""
Fits to each log alone, and the scatter of the parameters between logs.

Logs of one arm have the same parameters. If fits to each of them differ by more than their
standard deviations, the model misses something that changes from log to log, such as a clamp that
yields. Then the intervals of the joint fit include the scatter (I29) to (I31).
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Rows
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.stats import f as fisher
from scipy.stats import t as student

from flex_robot_sim.identification.fit import Fit, Problem, solve
from flex_robot_sim.identification.identifiability import identifiable_from_covariance
from flex_robot_sim.identification.identification import LogEstimate
from flex_robot_sim.identification.long_fit import LongFit
from flex_robot_sim.identification.prediction import MAX_STEP_S
from flex_robot_sim.identification.uncertainty import (
    CONFIDENCE_LEVEL,
    Uncertainty,
    inverse_information,
    uncertainty,
)

MAX_VARIANCE_RATIO = 25.0  # of one log over an equal share of all, to determine an unknown
SIGNIFICANCE = 0.01  # chance of a remark about logs that differ by noise only
TOLERANCE = 1e-4  # relative reduction of the cost in the last step


class LogFit(NamedTuple):
    """The fit to one log alone, from the joint fit."""

    name: str
    z: np.ndarray  # (p,)  of the unknowns
    deviations: np.ndarray  # (p,)  inf: not determined, z is that of the joint fit
    freedom: np.ndarray  # (p,)  degrees of freedom of the deviations


class Scatter(NamedTuple):
    """Scatter of the unknowns between logs."""

    variance: np.ndarray  # (p,)  between logs, beyond that of each; 0 if it may be chance
    joint_variance: np.ndarray  # (p,)  that this adds to the joint fit
    counts: np.ndarray  # (p,)  logs that determine the unknown
    ratio: np.ndarray  # (p,)  of the scatter to that by the deviations of the logs


class _LogProblem(Problem):
    """A problem with one log, which moves only the unknowns that this log determines."""

    is_fixed: np.ndarray  # (p,)

    def slopes(self, z):
        return np.where(self.is_fixed, 0.0, super().slopes(z))


def fits_of_logs(
    problem: Problem | LongFit, fit: Fit, watch: Callable[[str], object] = lambda line: None
) -> list[LogFit]:
    """Return the fit to each log; none for a single log."""
    sequences = (problem.problem if isinstance(problem, LongFit) else problem).sequences
    names = list(dict.fromkeys(row.name for row in sequences))
    if len(names) < 2:
        return []
    fits = []
    for name in names:
        watch(f'fitting {name} alone')
        is_of_log = [row.name == name for row in sequences]
        fits.append(_fit_of_log(problem, fit, name, is_of_log, len(names)))
    return fits


def _fit_of_log(problem, fit, name, is_of_log, log_count):
    long_fit = problem if isinstance(problem, LongFit) else None
    whole = problem.problem if long_fit else problem
    rows = [k for k, is_row in enumerate(is_of_log) if is_row]
    columns = _columns(whole, rows)
    lengths = long_fit.lengths if long_fit else [len(row.time) for row in whole.sequences]
    is_sample = np.repeat(is_of_log, lengths)
    part = fit._replace(
        z=fit.z[columns],
        residuals=fit.residuals[is_sample],
        jacobian=fit.jacobian[is_sample][:, :, columns],
        weights=fit.weights[is_sample],
    )
    is_fixed = _undetermined(part, _variances(fit)[0][columns], log_count)
    if long_fit:
        alone = long_fit.of_sequences(rows, is_sample, columns, is_fixed)
        found, uncertainties = alone.solve(part.z)
        alone_problem = alone.problem
    else:
        alone_problem = _log_problem(whole, rows, is_fixed)
        found = solve(alone_problem, part.z, fit.deviations, rounds=1, tolerance=TOLERANCE)
        uncertainties = uncertainty(found, [lengths[k] for k in rows])
    count = len(whole.unknowns)
    is_determined = np.array(identifiable_from_covariance(alone_problem, found, uncertainties))
    is_determined &= ~is_fixed[:count]
    return LogFit(
        name,
        np.where(is_determined, found.z[:count], fit.z[:count]),
        np.where(is_determined, uncertainties.deviations[:count], np.inf),
        uncertainties.freedom[:count],
    )


def _columns(problem, rows):
    """Return the columns of z of the unknowns, and of the initial states of sequences."""
    columns = list(range(len(problem.unknowns)))
    start = len(columns)
    for k, shapes in enumerate(problem.starts):
        if k in rows:
            columns += range(start, start + shapes.shape[1])
        start += shapes.shape[1]
    return columns


def _log_problem(problem, rows, is_fixed):
    """Return the problem of some sequences; the long step yields its slopes, as in the fit."""
    sequences, starts = ([table[k] for k in rows] for table in (problem.sequences, problem.starts))

    def made(step, coarse=None):
        setup = replace(problem.setup, finer=problem.finer, time_step=step)
        return _LogProblem(setup, problem.unknowns, problem.servo, sequences, starts, coarse)

    coarse = made(max(problem.step, MAX_STEP_S))
    out = made(problem.step, coarse)
    out.is_fixed = coarse.is_fixed = is_fixed
    return out


def _variances(fit):
    """Return the variances (p,) for white residuals, and whether they are determined."""
    inverse, undetermined = inverse_information(fit)
    is_determined = np.ones(fit.z.size, dtype=bool)
    is_determined[undetermined] = False
    return np.diag(inverse), is_determined


def _undetermined(part, joint_variance, log_count):
    """Return flags (p,) of what a log alone does not determine."""
    variance, is_determined = _variances(part)
    limit = MAX_VARIANCE_RATIO * log_count * joint_variance
    return ~is_determined | ~(variance <= limit)


def chance(values: np.ndarray, deviations: np.ndarray, freedom: np.ndarray) -> float:
    """
    Return the probability of so different values (l,) if their means are equal (I29).

    This is Welch's test.

    :param freedom: degrees of freedom (l,) of the standard deviations.
    """
    count, share = len(values), _shares(deviations)
    squares = _squares(values, deviations) / (count - 1)
    lost = float(((1 - share) ** 2 / freedom).sum()) / (count**2 - 1)
    return float(fisher.sf(squares / (1 + 2 * (count - 2) * lost), count - 1, 1 / (3 * lost)))


def excess_variance(values: np.ndarray, deviations: np.ndarray) -> float:
    """Return the variance of values (l,) beyond that by their standard deviations (I30)."""
    excess = _squares(values, deviations) - (len(values) - 1)
    shares = _shares(deviations)
    return max(0.0, excess / float((deviations**-2).sum()) / float(1 - shares @ shares))


def _shares(deviations):
    weights = deviations**-2
    return weights / weights.sum()


def _squares(values, deviations):
    """Return the sum of squares about the weighted mean, over the variances."""
    return float((((values - _shares(deviations) @ values) / deviations) ** 2).sum())


def scatter(fits: Rows[LogFit]) -> Scatter:
    """Return the Scatter between logs, 0 where it may be chance."""
    z, deviations, freedom = (
        np.array([getattr(one, name) for one in fits]) for name in LogFit._fields[1:]
    )
    is_determined = np.isfinite(deviations)
    counts = is_determined.sum(axis=0)
    variance, joint_variance, ratio = np.zeros((3, z.shape[1]))
    compared = np.flatnonzero(counts > 1)
    for k in compared:
        rows = is_determined[:, k]
        values, own = z[rows, k], deviations[rows, k]
        if chance(values, own, freedom[rows, k]) < SIGNIFICANCE / len(compared):
            variance[k] = excess_variance(values, own)
            joint_variance[k] = variance[k] * float((_shares(own) ** 2).sum())
            ratio[k] = np.sqrt(_squares(values, own) / (counts[k] - 1))
    return Scatter(variance, joint_variance, counts, ratio)


def with_scatter(uncertainties: Uncertainty, found: Scatter) -> Uncertainty:
    """Return the Uncertainty with the scatter between logs in it (I31)."""
    added = np.zeros(len(uncertainties.deviations))
    added[: len(found.joint_variance)] = found.joint_variance
    freedom = np.ones_like(added)
    freedom[: len(found.counts)] = np.maximum(found.counts - 1, 1)
    half = student.ppf(0.5 + CONFIDENCE_LEVEL / 2, freedom)
    with np.errstate(invalid='ignore'):
        width = np.sqrt((uncertainties.factor * uncertainties.deviations) ** 2 + half**2 * added)
        total = uncertainties._replace(covariance=uncertainties.covariance + np.diag(added))
        factor = np.where(added > 0, width / total.deviations, uncertainties.factor)
    return total._replace(factor=factor)


class LogComparison(NamedTuple):
    """What the logs say alone, and the Uncertainty of the joint fit with their scatter."""

    uncertainties: Uncertainty
    estimates: dict[str, dict[str, LogEstimate]]  # by log and path
    notes: list[str]


def compare_logs(
    problem: Problem | LongFit,
    fit: Fit,
    uncertainties: Uncertainty,
    watch: Callable[[str], object] = lambda line: None,
) -> LogComparison:
    """
    Fit each of several logs alone, and include the scatter of the parameters in their intervals.

    :param fit: to all logs; watch: receives progress messages.
    """
    fits = fits_of_logs(problem, fit, watch)
    if not fits:
        return LogComparison(uncertainties, {}, [])
    unknowns, found = problem.unknowns, scatter(fits)
    estimates = {
        one.name: {
            unknown.path: LogEstimate(
                unknown.value(z), deviation * abs(unknown.slope(z)), (z - joint) / deviation
            )
            for unknown, z, deviation, joint in zip(
                unknowns, one.z.tolist(), one.deviations.tolist(), fit.z.tolist()
            )
            if unknown.kind != 'offset' and np.isfinite(deviation)
        }
        for one in fits
    }
    return LogComparison(with_scatter(uncertainties, found), estimates, _notes(unknowns, found))


def _notes(unknowns, found):
    """Return a line on the unknowns that scatter, the worst first, if there are any."""
    excess = found.ratio
    rows = sorted(np.flatnonzero(found.variance > 0), key=lambda k: -excess[k])
    names = [f'{unknowns[k].path} ({excess[k]:.1f})' for k in rows]
    if not names:
        return []
    return [
        'logs differ: these parameters scatter more than the residuals of each log explain, by '
        f'the factor in brackets: {", ".join(names)}. The intervals include the scatter'
    ]
