"""Rows of ArmArrays for elastic bodies, from the integrals of their fields."""

from collections.abc import Sequence

import numpy as np

from flex_robot_sim.elastic.elastic_integrals import ElasticIntegrals


def elastic_rows(bodies: Sequence[ElasticIntegrals | None], size: int) -> dict[str, np.ndarray]:
    """
    Return the rows `elastic_...` of ArmArrays.

    :param bodies: integrals by body; None: of another kind.
    :param size: number of coordinates that the rows are padded to.
    """
    gram = max([len(body.G) for body in bodies if body is not None], default=0)
    rows = {
        'elastic_constant': np.zeros((len(bodies), size, 12)),
        'elastic_slope': np.zeros((len(bodies), size, size, 15)),
        'elastic_X': np.zeros((len(bodies), size, size, size)),
        'elastic_G': np.zeros((len(bodies), gram, size, size)),
    }
    for i, body in enumerate(bodies):
        if body is None:
            continue
        n = slice(len(body.E0))
        rows['elastic_constant'][i, n] = np.hstack([body.S1, body.J1, body.h0])
        rows['elastic_slope'][i, n, n] = np.concatenate(
            [body.S2, body.J2, body.h1, np.swapaxes(body.h1, 0, 1)], axis=2
        )
        rows['elastic_X'][i, n, n, n] = body.X
        rows['elastic_G'][i, : len(body.G), n, n] = body.G
    return rows
