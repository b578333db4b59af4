"""Rows of ArmArrays for beams: elastic coordinates, mass points, and inertia of their sections."""

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from flex_robot_sim.elastic.discretise import BEAM_CACHE_SIZE
from flex_robot_sim.model.elastic_rows import elastic_rows, integrals_of
from flex_robot_sim.model.mass_points import MAX_REDUCIBLE_POINTS, MassPoints, reduced_points
from flex_robot_sim.model.station_rows import StationSize


def beam_rows(
    beams: Sequence[Any], slides: Collection[int], size: StationSize, coupling: str
) -> dict[str, np.ndarray]:
    """
    Return the rows of elastic coordinates and mass points.

    :param beams: Beam or SpatialBeam by body; None: a rigid one.
    :param slides: bodies of sliding links, which have no mass points.
    :param size: that the rows are padded to.
    """
    n, width, bodies = size.n, size.width, len(beams)
    rows = {
        'count': np.zeros((bodies, 4), int),
        'reach': np.zeros(bodies, int),
        'stiffness': np.zeros((bodies, n, n)),
        'modal_mass': np.zeros((bodies, n, n)),
        'rotary': np.zeros((bodies, 3, n)),
        **elastic_rows(
            [beam if beam and beam.is_spatial else None for beam in beams], coupling, size.elastic
        ),
    }
    start, points = [0], []
    for i, beam in enumerate(beams):
        if beam is not None and beam.is_spatial:
            m = beam.size
            rows['stiffness'][i, :m, :m] = beam.stiffness
            rows['modal_mass'][i, :m, :m] = integrals_of(beam, coupling).E0
        elif beam is not None:
            m = beam.size
            rows['count'][i], rows['reach'][i] = beam.count, beam.reach
            rows['stiffness'][i, :m, :m] = beam.stiffness
            rows['modal_mass'][i, :m, :m] = beam.modal_mass
            rows['rotary'][i, :, :m] = beam.rotary
            make = _cached_points if len(beam.stations) <= MAX_REDUCIBLE_POINTS else _points
            if i not in slides:
                points.append(make(beam, n, width, coupling))
        start.append(sum(len(part.mass) for part in points))
    no_points = MassPoints(np.zeros(0), np.zeros(0), np.zeros((0, n)), np.zeros((0, n, width)))
    return {
        **rows,
        'point_start': np.array(start),
        **{
            f'point_{name}': np.concatenate(parts)
            for name, *parts in zip(MassPoints._fields, no_points, *points)
        },
    }


def _points(beam, n, width, coupling):
    """Fewest MassPoints of a beam, padded to n coordinates."""
    H = np.zeros((beam.stations.size, n, width))
    if coupling == 'shortening':
        band = beam.shortening_band(beam.stations)
        H[:, : band.shape[1], : band.shape[2]] = band
    # every coordinate displaces a point along one axis only
    return reduced_points(
        MassPoints(beam.station_mass, beam.stations, _padded(beam.Phi.sum(axis=1), n), H),
        always=beam.profile is not None,
    )


_cached_points = lru_cache(maxsize=BEAM_CACHE_SIZE)(_points)  # the beams are cached, too


def _padded(values, n):
    """Rows (k, m) or one row (m,) with zeros up to n columns."""
    rows = np.atleast_2d(values)
    return np.pad(rows, [(0, 0), (0, n - rows.shape[1])])


def inertia_rows(
    inertias: Sequence[np.ndarray], beams: Sequence[Any], coupling: str
) -> np.ndarray:
    """Inertia (i, 6, 6) of the rigid part of every body, and of the sections of its beam."""
    rows = [
        inertia if beam is None else inertia + _beam_inertia(beam, coupling)
        for inertia, beam in zip(inertias, beams)
    ]
    return np.array(rows).reshape(-1, 6, 6)


def _beam_inertia(beam, coupling):
    """Inertia (6, 6) of an undeformed spatial beam, or of the sections of a beam."""
    if beam.is_spatial:
        return integrals_of(beam, coupling).inertia
    matrix = np.zeros((6, 6))
    matrix[range(3), range(3)] = beam.section_moments
    return matrix
