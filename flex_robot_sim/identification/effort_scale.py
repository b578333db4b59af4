"""
Scale of the logged efforts, from the masses that stay as described (I32).

Efforts that are too large by a factor make masses, stiffnesses and friction too large by this
factor. A fast clock makes inertias too large. A free mass can hide both. The other masses do not
change, so that a fit with a common factor of all efforts shows them.
"""

from collections.abc import Callable
from collections.abc import Sequence as Rows
from dataclasses import replace

import numpy as np

from flex_robot_sim.identification.fit import COARSE_TOLERANCE, Fit, Problem, solve
from flex_robot_sim.identification.prediction import MAX_STEP_S
from flex_robot_sim.identification.prior_widths import prior_deviation
from flex_robot_sim.identification.sequences import Sequence
from flex_robot_sim.identification.uncertainty import uncertainty
from flex_robot_sim.identification.unknown import Unknown

MIN_SHIFT = np.log(1.03)  # of the scale, that matters
SCALE = Unknown('efforts', '', 1.0, 0.01, 100.0, 0.0, 'torque_constant')  # of all joints


def scale_lines(
    problem: Problem,
    fit: Fit,
    sequences: Rows[Sequence],
    watch: Callable[[str], object] = lambda line: None,
) -> tuple[list[str], list[str]]:
    """
    Return notes and objections, one line each, on masses that efforts or the clock may explain.

    :param problem: of the fit, with the final model and step; sequences: samples for this check.
    """
    masses = [(x, one) for x, one in zip(fit.z, problem.unknowns) if one.kind == 'mass']
    if (
        not masses
        or problem.setup.has_prescribed_motion
        or any(unknown.kind == 'torque_constant' for unknown in problem.unknowns)
    ):
        return [], []
    watch('fitting the scale of the efforts, to check masses')
    shift, half_width = effort_scale(problem, fit, sequences)
    if abs(shift) > max(MIN_SHIFT, half_width):
        return [], [
            f'efforts, clock and masses disagree: {_times(shift)} the efforts suit the log '
            f'(--free torque_constants), or a clock that is {_clock(shift)}, or other values of '
            'the masses that are not fitted'
        ]
    change, mass = max(masses, key=lambda row: abs(row[0]) * (row[1].scale == 0.0))
    if (
        mass.scale == 0.0
        and abs(change) > prior_deviation(mass)
        and half_width > 0.5 * abs(change)
    ):
        return [
            f'{mass.path} is {_times(change)} its described value. This log does not show whether '
            f'that is so, or efforts of {_times(change)} their true value or a clock that is '
            f'{_clock(-change)} cause it'
        ], []
    return [], []


def effort_scale(problem: Problem, fit: Fit, sequences: Rows[Sequence]) -> tuple[float, float]:
    """
    Return the logarithm of a common factor of all efforts that suits a log best.

    The second value is half of its confidence interval.
    """
    row = len(problem.unknowns)
    unknowns = [*problem.unknowns, SCALE]

    def made(step, coarse=None):
        setup = replace(problem.setup, finer=problem.finer, time_step=step)
        return Problem(setup, unknowns, problem.servo, sequences, problem.starts, coarse)

    scaled = made(problem.step, made(max(problem.step, MAX_STEP_S)))
    z = np.insert(fit.z, row, 0.0)
    found = solve(scaled, z, fit.deviations, rounds=1, tolerance=COARSE_TOLERANCE)
    uncertainties = uncertainty(found, [len(sequence.time) for sequence in sequences])
    return float(found.z[row]), float(uncertainties.factor[row] * uncertainties.deviations[row])


def _times(shift):
    return f'{np.exp(shift):.3g} times'


def _clock(shift):
    """Return how wrong a clock is that has the effect of a factor exp(shift) of efforts."""
    error = np.exp(-0.5 * shift) - 1
    return f'{100 * abs(error):.2g} % {"fast" if error > 0 else "slow"}'
