"""Rows of ArmArrays for stations: sections of flexible links that carry something."""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from flex_robot_sim.model.arm_arrays import ArmArrays


class StationSize(NamedTuple):
    """Sizes that the rows of all stations of an arm are padded to."""

    n: int  # elastic coordinates of a body
    width: int  # columns of the shortening, see `Beam.width`
    setback: int  # rows of the setback
    elastic: int  # coordinates of a spatial beam


def station_size(arm: ArmArrays) -> StationSize:
    """Return the StationSize of ArmArrays."""
    n, width = arm.station_H.shape[1:]
    return StationSize(n, width, arm.station_setback.shape[1], arm.station_U.shape[1])


def station_row(beam: Any, x: float, size: StationSize, coupling: str) -> dict[str, Any]:
    """Row of every station array at x [m] of a Beam or SpatialBeam, padded to a StationSize."""
    shape, slope = np.zeros((2, size.n))
    H, setback = np.zeros((size.n, size.width)), np.zeros((size.setback, size.n))
    home_R, home_p = np.eye(3), np.zeros(3)
    U, Q = np.zeros((size.elastic, 6)), np.zeros((size.elastic, size.elastic, 6))
    n = beam.size
    if beam.is_spatial:
        fields = beam.station(x)
        home_R, home_p, U[:n] = fields.R, fields.p, fields.U
        if coupling == 'shortening':
            Q[:n, :n] = fields.Q
    else:
        turn = beam.turn(x)
        shape[:n] = beam.shape(x).sum(axis=0) + turn[0]  # each coordinate acts along one axis only
        slope[:n] = turn[2] - turn[1]
        home_p[0] = x
        if coupling == 'shortening':
            band = beam.shortening_band([x])[0]
            H[:n, : band.shape[1]] = band
            if beam.is_segment:
                setback[:, :n] = beam.setback(x)
    return {
        'station_x': float(x),
        'station_shape': shape,
        'station_slope': slope,
        'station_H': H,
        'station_setback': setback,
        'station_home_R': home_R,
        'station_home_p': home_p,
        'station_U': U,
        'station_Q': Q,
    }


def station_rows(
    beams: Sequence[Any],
    stations: Sequence[tuple[int, float]],
    slides: Collection[int],
    size: StationSize,
    coupling: str,
) -> dict[str, np.ndarray]:
    """
    Return the arrays of all stations.

    :param beams: Beam or SpatialBeam by body.
    :param stations: body and x [m] of each.
    :param slides: bodies of sliding links.
    """
    rows = [station_row(beams[body], x, size, coupling) for body, x in stations]
    for row, (body, _) in zip(rows, stations):
        if body in slides:  # of a unit beam
            row['station_slope'] = beams[body].length * row['station_slope']
    n, width, k, elastic = size
    shapes = {
        'station_x': (),
        'station_shape': (n,),
        'station_slope': (n,),
        'station_H': (n, width),
        'station_setback': (k, n),
        'station_home_R': (3, 3),
        'station_home_p': (3,),
        'station_U': (elastic, 6),
        'station_Q': (elastic, elastic, 6),
    }
    return {
        name: np.array([row[name] for row in rows], float).reshape(len(rows), *shape)
        for name, shape in shapes.items()
    }
