"""
Central differences by the coordinates of an arm.

Where a function of the coordinates has no derivative of its own, a central difference of sixth
order replaces it. A step rotates no section by more than 0.03 rad, so truncation and rounding
errors are some 1e-13                                                                        (T51).
"""

from collections.abc import Callable

import numpy as np

from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.body_kinds import SLIDING
from flex_robot_sim.model.free_base import coordinate_rates
from flex_robot_sim.model.slide_columns import LENGTH, OFFSET

DIFFERENCE_STEP = 0.01  # over the scale of the coordinate
DIFFERENCE_WEIGHTS = (3 / 4, -3 / 20, 1 / 60)  # at 1, 2, 3 steps


def scales(model: ArmModel) -> np.ndarray:
    """Return changes (n,) of coordinates that rotate sections by about one radian at most."""
    result = np.ones(model.size)
    for i, beam in model.beams.items():
        rotation = np.abs(beam.Theta).max(axis=(0, 1))
        result[model.elastic_coordinates(i)] = 1 / np.maximum(rotation, 1 / beam.length)
    return result


def difference_steps(arm: ArmModel) -> np.ndarray:
    """Return steps (n,), which are small for the shortest free length of a sliding link, too."""
    steps, arrays = DIFFERENCE_STEP * scales(arm), arm.arrays
    for i in map(int, np.flatnonzero(arrays.kind == SLIDING)):
        joint, data = arrays.slide[i], arrays.slide_data[i]
        shortest = data[OFFSET] + arrays.lower[joint]
        steps[joint] *= min(shortest, 1.0)
        steps[arm.elastic_coordinates(i)] *= shortest / data[LENGTH]
    return steps


def difference(
    function: Callable[[np.ndarray], np.ndarray], at: np.ndarray, step: np.ndarray
) -> np.ndarray:
    """Return the change of a function along `step`, per step, by the difference of (T51)."""
    return sum(
        weight * (function(at + (m + 1) * step) - function(at - (m + 1) * step))
        for m, weight in enumerate(DIFFERENCE_WEIGHTS)
    )


def slopes(
    arm: ArmModel, function: Callable[[np.ndarray], np.ndarray], q: np.ndarray
) -> np.ndarray:
    """
    Return the derivatives (m, n) of a function (m,) of the coordinates q (n,).

    Those by the coordinates of a free base are by small motions in its own axes (T113).
    """
    steps = np.diag(difference_steps(arm))
    found = np.array([difference(function, q, step) / step.sum() for step in steps]).T
    if q[arm.base_q].any():
        found[:, arm.base_q] = found[:, arm.base_q] @ coordinate_rates(arm, q[arm.base_q])
    return found


def symmetric_stiffness(arm: ArmModel, matrix: np.ndarray) -> np.ndarray:
    """
    Return the symmetric part of derivatives (n, n) of forces with a potential.

    That of the base coordinates is not symmetric, because its axes move.
    """
    out = (matrix + matrix.T) / 2
    out[arm.base_q, arm.base_q] = matrix[arm.base_q, arm.base_q]
    return out
