"""
Terms of the sensors that are linear in their parameters, and need no simulation (I4).

A gauge reads a gain times its curvature, a share of the curvature at the other gauge of its link
(cross talk), a term with the sign of the drive rate, and an offset.
"""

from collections.abc import Sequence as Rows

import numpy as np

from flex_robot_sim.identification.sequences import Sequence, noise_of
from flex_robot_sim.identification.unknown import Unknown

LINEAR_KINDS = 'crosstalk', 'rate_sign', 'offset'
SENSOR_KINDS = 'gain', *LINEAR_KINDS
SIGN_NOISE_STDS = 4.0  # a slower rate has a share of the sign


def rate_signs(sequences: Rows[Sequence]) -> np.ndarray:
    """Return the signs of the drive rates (k, joints); below their noise they are continuous."""
    return np.concatenate(
        [
            np.clip(
                row.velocities / (SIGN_NOISE_STDS * noise_of(row.velocities) + 1e-9), -1.0, 1.0
            )
            for row in sequences
        ]
    )


def read(
    outputs: np.ndarray, signs: np.ndarray, unknowns: Rows[Unknown], z: np.ndarray
) -> np.ndarray:
    """
    Return the predicted log (k, c) of model outputs (k, c).

    :param signs: of the drive rates, (k, joints), see `rate_signs`.
    """
    values = outputs * gains(unknowns, z, outputs.shape[1])
    for unknown, x in zip(unknowns, z):
        if unknown.kind in LINEAR_KINDS:
            values[:, unknown.channel] += unknown.value(x) * _regressor(unknown, outputs, signs)
    return values


def gains(unknowns: Rows[Unknown], z: np.ndarray, count: int) -> np.ndarray:
    """Return the gains of so many channels."""
    gain = np.ones(count)
    for unknown, x in zip(unknowns, z):
        if unknown.kind == 'gain':
            gain[unknown.channel] = unknown.value(x)
    return gain


def reading_matrix(unknowns: Rows[Unknown], z: np.ndarray, count: int) -> np.ndarray:
    """Return the matrix (c, c) from the outputs to their readings; its diagonal has the gains."""
    matrix = np.diag(gains(unknowns, z, count))
    for unknown, x in zip(unknowns, z):
        if unknown.kind == 'crosstalk':
            matrix[unknown.channel, unknown.source] += unknown.value(x)
    return matrix


def slope(unknown: Unknown, x: float, outputs: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """Return the derivative (k,) of the reading of a sensor by the z of one of its terms."""
    if unknown.kind == 'gain':
        return unknown.value(x) * outputs[:, unknown.channel]
    return unknown.scale * _regressor(unknown, outputs, signs)


def _regressor(unknown, outputs, signs):
    if unknown.kind == 'crosstalk':
        return outputs[:, unknown.source]
    return signs[:, unknown.source] if unknown.kind == 'rate_sign' else np.ones(len(outputs))
