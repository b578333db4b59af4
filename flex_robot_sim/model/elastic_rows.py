"""Rows of ArmArrays for elastic bodies, from the integrals of their fields."""

from collections.abc import Sequence
from typing import Any

import numpy as np


def elastic_rows(beams: Sequence[Any], coupling: str, size: int) -> dict[str, np.ndarray]:
    """
    Return the rows `elastic_...` of ArmArrays.

    :param beams: spatial beam by body; None: a body of another kind.
    :param size: number of coordinates that the rows are padded to.
    """
    bodies = [None if beam is None else integrals_of(beam, coupling) for beam in beams]
    gram = max([len(body.G) for body in bodies if body is not None], default=0)
    is_cubic = any(beam.cubic.any() for beam in beams if beam is not None)
    cubic_size = size if is_cubic else 0
    rows = {
        'elastic_constant': np.zeros((len(bodies), size, 12)),
        'elastic_slope': np.zeros((len(bodies), size, size, 15)),
        'elastic_X': np.zeros((len(bodies), size, size, size)),
        'elastic_G': np.zeros((len(bodies), gram, size, size)),
        'elastic_C': np.zeros((len(bodies), *(cubic_size,) * 3)),
    }
    for i, (beam, body) in enumerate(zip(beams, bodies)):
        if body is None:
            continue
        n = slice(len(body.E0))
        rows['elastic_constant'][i, n] = np.hstack([body.S1, body.J1, body.h0])
        rows['elastic_slope'][i, n, n] = np.concatenate(
            [body.S2, body.J2, body.h1, np.swapaxes(body.h1, 0, 1)], axis=2
        )
        rows['elastic_X'][i, n, n, n] = body.X
        rows['elastic_G'][i, : len(body.G), n, n] = body.G
        if cubic_size:
            rows['elastic_C'][i, n, n, n] = beam.cubic
    return rows


def integrals_of(beam: Any, coupling: str) -> Any:
    """Return the ElasticIntegrals of a spatial beam."""
    return beam.integrals if coupling == 'shortening' else beam.linear_integrals
