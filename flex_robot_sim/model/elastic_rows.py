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
    tables = [(np.zeros(0), np.zeros((0, 0))) if one is None else _tables(one) for one in bodies]
    width = max([slope.shape[1] for _, slope in tables], default=0)
    is_cubic = any(beam.cubic.any() for beam in beams if beam is not None)
    rows = {
        'elastic_gram': np.array([0 if one is None else len(one.G) for one in bodies], int),
        'elastic_constant': np.zeros((len(bodies), 12 * size)),
        'elastic_slope': np.zeros((len(bodies), size, width)),
        'elastic_C': np.zeros((len(bodies), *(size if is_cubic else 0,) * 3)),
    }
    for i, (beam, (constant, slope)) in enumerate(zip(beams, tables)):
        rows['elastic_constant'][i, : constant.size] = constant
        rows['elastic_slope'][i, : len(slope), : slope.shape[1]] = slope
        if beam is not None and is_cubic:
            n = slice(beam.size)
            rows['elastic_C'][i, n, n, n] = beam.cubic
    return rows


def _tables(body):
    """Constants (12 n,) and slopes (n, w) of one body, see dynamics/elastic_inertia.py."""
    n = len(body.E0)
    constant = np.hstack([body.S1, body.J1, body.h0]).T.ravel()
    # the last index of all is that of the coordinate whose slope it is
    columns = [np.moveaxis(part, -1, 0) for part in (body.S2, body.J2, body.h1)]
    columns += [body.X, np.moveaxis(body.G, 0, 1), np.moveaxis(np.swapaxes(body.h1, 0, 1), -1, 0)]
    return constant, np.vstack([part.reshape(-1, n) for part in columns]).T


def integrals_of(beam: Any, coupling: str) -> Any:
    """Return the ElasticIntegrals of a spatial beam."""
    return beam.integrals if coupling == 'shortening' else beam.linear_integrals
