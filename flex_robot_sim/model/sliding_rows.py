"""Rows of ArmArrays for sliding links; dynamics/sliding_body.py has their equations."""

from __future__ import annotations

from typing import Any

import numpy as np

from flex_robot_sim.elastic.beam import Beam, Load
from flex_robot_sim.elastic.quadrature import gauss_stations
from flex_robot_sim.elastic.section import DIRECTIONS, STIFFNESS_OF
from flex_robot_sim.model.slide_columns import (
    INERTIA,
    LENGTH,
    MASS_PER_LENGTH,
    OFFSET,
    SHORTENS,
    SLIDE_COLUMNS,
    TIME,
)
from flex_robot_sim.util.eigenproblem import eigh

MORE_POINTS = 3  # Gauss points more than a fixed beam needs: (1 - xi) phi' and its square
ORDERS = range(4)  # derivatives of the shapes


def sliding_rows(
    beams: list[Any], slides: dict[int, tuple[int, float, float]], n: int, coupling: str
) -> dict[str, np.ndarray]:
    """
    Rows of ArmArrays by body, padded to n coordinates; without rows if no link slides.

    :param slides: by body: joint, free length where it is at zero [m], damping time [s].
    """
    bodies = len(beams) if slides else 0
    most = max((max(s.stations for s in beams[i].shapes.values()) for i in slides), default=1)
    xi, weights = gauss_stations(np.array([0.0, 1.0]), most + MORE_POINTS)
    g = xi.size
    rows = {
        'slide': np.full(len(beams), -1),
        'slide_data': np.zeros((bodies, SLIDE_COLUMNS)),
        'slide_xi': xi,
        'slide_weight': weights,
        'slide_shape': np.zeros((bodies, g, len(ORDERS), n)),
        'slide_H': np.zeros((bodies, g, n, n)),
        'slide_tip_H': np.zeros((bodies, n, n)),
        'slide_root': np.zeros((bodies, n)),
        'slide_G': np.zeros((bodies, n, n)),
        'slide_Q': np.zeros((bodies, n, n)),
    }
    for i, (joint, offset, time) in slides.items():
        beam, L = beams[i], beams[i].length
        m = beam.size
        data = rows['slide_data'][i]
        data[OFFSET], data[LENGTH], data[TIME] = offset, L, time
        data[MASS_PER_LENGTH] = beam.section.mass_per_length
        data[INERTIA : INERTIA + 3] = beam.section.inertia
        data[SHORTENS] = coupling == 'shortening'
        rows['slide'][i] = joint
        for order in ORDERS:
            rows['slide_shape'][i, :, order, :m] = _values(beam, L * xi, order)
        if coupling == 'shortening':
            rows['slide_H'][i, :, :m, :m] = L * beam.shortening(L * xi)
            rows['slide_tip_H'][i, :m, :m] = L * beam.shortening(L)
        for name, stiffness, part, order in _directions(beam):
            shapes = beam.shapes[name]
            rows['slide_root'][i, part] = L**order * shapes.at(np.array([0.0]), order)[0]
            c = L**order * shapes.at(L * xi, order)
            slope = L ** (order + 1) * shapes.at(L * xi, order + 1)
            by_s = (1.0 - xi)[:, None] * slope - order * c
            weighted = stiffness / L ** (2 * order - 1) * weights[:, None] * by_s
            block = np.ix_(range(part.start, part.stop), range(part.start, part.stop))
            rows['slide_G'][i][block] = c.T @ weighted
            rows['slide_Q'][i][block] = by_s.T @ weighted
    return rows


def block_rows(
    modes: np.ndarray, first: np.ndarray, slide: np.ndarray, n: int
) -> dict[str, np.ndarray]:
    """Number and indices of the coordinates of each body: elastic ones, then the free length."""
    own = np.zeros((modes.size, n), int)
    for i, (count, start, joint) in enumerate(zip(modes, first, slide)):
        own[i, :count] = start + np.arange(count)
        if joint >= 0:
            own[i, count] = joint
    return {'block': modes + (slide >= 0), 'own': own}


def ratio_damping(beam: Beam, ratio: float, load: Load) -> np.ndarray:
    """Damping (m, m) with the same ratio in all modes of a beam with a load at its tip (T4)."""
    if not ratio:
        return np.zeros_like(beam.stiffness)
    move, turn = beam.at_end.shape, beam.at_end.turn
    swing = np.cross(turn.T, load.centre).T  # of the centre, by the turn of the tip
    coupling = load.mass * move.T @ swing
    M = beam.modal_mass + turn.T @ load.inertia @ turn + load.mass * move.T @ move
    squares, shapes = eigh(beam.stiffness, M + coupling + coupling.T)
    forces = beam.stiffness @ shapes / np.sqrt(squares)  # of psi^T K psi = 1
    return 2.0 * ratio * (forces / np.sqrt(squares)) @ forces.T


def _values(beam, x, order):
    """Shapes of all coordinates of a unit beam, or a derivative, (g, m)."""
    values = np.zeros((x.size, beam.size))
    for name in DIRECTIONS:
        if name in beam.shapes:
            values[:, beam.columns(name)] = beam.length**order * beam.shapes[name].at(x, order)
    return values


def _directions(beam):
    """Name, stiffness, columns, and order of the strain, of each direction of a beam."""
    for name in beam.shapes:
        yield (
            name,
            getattr(beam.section, STIFFNESS_OF[name]),
            beam.columns(name),
            2 if name.startswith('bending') else 1,
        )
