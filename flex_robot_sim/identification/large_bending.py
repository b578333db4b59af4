"""
Links that bend far: more segments for the fit, or the bias that their lack may cause (I33).

The model has the terms of second order of the bending of each segment. Where a link bends far, a
model with twice as many segments predicts other outputs. The share of this change that the log
contains is an additional parameter, with a standard deviation (I34). It decides between both
models. If it does not, the intervals include the difference of the parameters. No further fit is
necessary.
"""

from collections.abc import Sequence as Rows
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
from scipy.stats import norm

from flex_robot_sim.analysis.linear import tip_slopes
from flex_robot_sim.identification.fit import Fit, Problem
from flex_robot_sim.identification.prediction import MAX_STEP_S
from flex_robot_sim.identification.sequences import Sequence
from flex_robot_sim.identification.uncertainty import (
    CONFIDENCE_LEVEL,
    Uncertainty,
    inverse_information,
    uncertainty,
)
from flex_robot_sim.util.exceptions import FlexRobotSimError

MAX_DEFLECTION_RATIO = 0.05  # of the tip of a segment over its length, with one model only
SHARE_DISTANCE = 0.5  # of the share of the change from 0, or from 1 to 4 / 3
BEAM_SHARE = 4 / 3  # errors fall with segments squared: two of them remove 3/4
NORMAL_QUANTILE = float(norm.ppf(0.5 + CONFIDENCE_LEVEL / 2))


class LargeBending(NamedTuple):
    """Links that bend far in a log, and what that log shows about more segments for them."""

    links: tuple[str, ...] = ()
    ratio: float = 0.0  # largest deflection over the length of a segment
    finding: Literal['needed', 'wrong', 'open', 'unknown'] = 'wrong'

    @property
    def notes(self) -> list[str]:
        """A line on links that bend far."""
        lines = {
            'needed': 'The fit has twice as many segments there; so should the description',
            'open': 'Intervals include what twice as many segments there would change, as this '
            'log does not show whether they are needed',
            'unknown': 'Intervals lack the bias by that. Give the link more segments',
        }
        if self.finding not in lines:
            return []
        names, percent = ', '.join(self.links), 100 * self.ratio
        return [f'{names}: bends by up to {percent:.2g} % of its length. {lines[self.finding]}']


def large_bending(problem: Problem, fit: Fit) -> LargeBending:
    """Return the LargeBending of a log at the z of a Fit."""
    ratios = deflection_ratios(problem, fit.z)
    links = tuple(link for link, ratio in ratios.items() if ratio > MAX_DEFLECTION_RATIO)
    if not links or problem.setup.segmented:
        return LargeBending()
    found = LargeBending(links, max(ratios.values()))
    change = _change(problem, fit, links)
    if change is None:
        return found._replace(finding='unknown')
    share, std = share_of_change(fit, change, [len(row.time) for row in problem.sequences])
    margin = NORMAL_QUANTILE * std
    if 1 - SHARE_DISTANCE < share < BEAM_SHARE + SHARE_DISTANCE and share > margin:
        return found._replace(finding='needed')
    if abs(share) < SHARE_DISTANCE and share < 1 - margin:
        return found._replace(finding='wrong')
    return found._replace(finding='open')


def share_of_change(fit: Fit, change: np.ndarray, lengths: Rows[int]) -> tuple[float, float]:
    """
    Return the share of a change that the residuals need, and its standard deviation (I34).

    :param change: of the residuals (r, c), by more segments; lengths: rows of each sequence.
    """
    jacobian = np.concatenate((fit.jacobian, change[:, :, None]), axis=2)
    extended = fit._replace(z=np.append(fit.z, 0.0), jacobian=jacobian)
    inverse, _ = inverse_information(extended)
    z = -inverse @ np.einsum('tcp,tc->p', jacobian, fit.weights * fit.residuals, optimize=True)
    extended = extended._replace(z=z, residuals=fit.residuals + jacobian @ z)
    return float(z[-1]), float(uncertainty(extended, lengths).deviations[-1])


def with_segments(problem: Problem, links: Rows[str]) -> Problem:
    """Return the problem with twice as many segments of some links; its slopes stay."""
    setup = replace(problem.setup, segmented=tuple(links))
    return Problem(
        setup, problem.unknowns, problem.servo, problem.sequences, coarse=problem.coarse
    )


def with_bending_bias(
    problem: Problem,
    fit: Fit,
    uncertainties: Uncertainty,
    found: LargeBending,
    sequences: Rows[Sequence],
) -> Uncertainty:
    """
    Return the Uncertainty with the change of z by more segments in it, if they may be needed.

    :param problem: of the fit, with the final model; sequences: samples for this check.
    """
    if found.finding != 'open':
        return uncertainties
    setup = replace(problem.setup, finer=problem.finer, time_step=max(problem.step, MAX_STEP_S))
    bias = bending_bias(
        Problem(setup, problem.unknowns, problem.servo, sequences), fit, found.links
    )
    if bias is None:
        return uncertainties
    covariance = uncertainties.covariance + np.outer(bias, bias)
    total = uncertainties._replace(covariance=covariance)
    with np.errstate(invalid='ignore'):
        width = np.sqrt(
            (uncertainties.factor * uncertainties.deviations) ** 2 + (NORMAL_QUANTILE * bias) ** 2
        )
        factor = np.where(np.isfinite(width), width / total.deviations, uncertainties.factor)
    return total._replace(factor=factor)


def deflection_ratios(problem: Problem, z: np.ndarray) -> dict[str, float]:
    """Return the largest tip deflection of each flexible beam, in segments, by length."""
    arm = problem.setup.arm(problem.arm_values(z))
    motions = problem.motions(z)
    ratios = {}
    for link in arm.tips:
        beam = arm.description.beam(link)
        if beam.reduced is not None:  # it has one segment
            continue
        rows = tip_slopes(arm, link, np.zeros(arm.size))[1:3]
        deflection = max(
            np.linalg.norm(motion.coordinates[: motion.reached] @ rows.T, axis=1).max()
            for motion in motions
        )
        # each of n segments bends by 1 / n^2 of that, and has 1 / n of the length
        ratios[link] = float(deflection / beam.length / beam.segments)
    return ratios


def bending_bias(problem: Problem, fit: Fit, links: Rows[str]) -> np.ndarray | None:
    """Return the change (p,) of z of a Fit by more segments; None: it is not known."""
    change = _change(problem, fit, links)
    if change is None:
        return None
    if len(fit.residuals) != len(change):  # thinned
        slopes = problem.slopes(fit.z) / fit.deviations[:, None]
        fit = fit._replace(jacobian=slopes, weights=np.ones(change.shape))
    inverse, _ = inverse_information(fit)
    gradient = np.einsum('tcp,tc->p', fit.jacobian, fit.weights * change, optimize=True)
    return -inverse @ gradient


def _change(problem, fit, links):
    """Return the change (r, c) of the residuals by more segments; None: no such motion."""
    setup = replace(
        problem.setup, finer=problem.finer, time_step=problem.step, segmented=tuple(links)
    )
    segmented = Problem(setup, problem.unknowns, problem.servo, problem.sequences)
    if segmented.size != problem.size:
        return None
    try:
        change = segmented.residuals(fit.z, fit.deviations)
    except FlexRobotSimError:  # it buckles
        return None
    change -= problem.residuals(fit.z, fit.deviations)
    return change if np.isfinite(change).all() else None
