"""
Rows of ArmArrays for sliding links; dynamics/sliding_body.py has their equations.

A material point keeps X, and its xi changes by (1 - xi) ds/s. So a shape phi(xi) of a unit beam
changes by chi ds/s, with the second rate zeta (ds/s)^2. The slope phi'/s has psi/s and omega/s:

    chi = (1 - xi) phi',           zeta = (1 - xi)^2 phi'' - 2 (1 - xi) phi'
    psi = (1 - xi) phi'' - phi',   omega = (1 - xi)^2 phi''' - 4 (1 - xi) phi'' + 2 phi'    (T119)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flex_robot_sim.elastic.beam import Beam, Load
from flex_robot_sim.elastic.quadrature import gauss_stations
from flex_robot_sim.elastic.section import STIFFNESS_OF
from flex_robot_sim.model.slide_columns import (
    INERTIA,
    LENGTH,
    MASS_PER_LENGTH,
    OFFSET,
    SLIDE_COLUMNS,
    TIME,
)
from flex_robot_sim.util.eigenproblem import eigh

# pairs of the turn of a section (0), its rate (1) and second rate (2) by ds/s
PAIRS = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2))
MASS = len(PAIRS)  # row of slide_gram for the shapes with themselves
TURN_AXES = {'bending_y': (2, 1.0), 'bending_z': (1, -1.0), 'torsion': (0, 1.0)}


def sliding_rows(
    beams: list[Any], slides: dict[int, tuple[int, float, float]], n: int, coupling: str
) -> dict[str, np.ndarray]:
    """
    Rows of ArmArrays by body, padded to n coordinates; without rows if no link slides.

    :param slides: by body: joint, free length where it is at zero [m], damping time [s].
    """
    bodies = len(beams) if slides else 0
    most = max((max(s.stations for s in beams[i].shapes.values()) for i in slides), default=1)
    xi, weights = gauss_stations(np.array([0.0, 1.0]), most)
    g = xi.size
    rows = {
        'slide': np.full(len(beams), -1),
        'slide_data': np.zeros((bodies, SLIDE_COLUMNS)),
        'slide_xi': xi,
        'slide_weight': weights,
        'slide_shape': np.zeros((bodies, g, 4, n)),
        'slide_H': np.zeros((bodies, g, n, n)),
        'slide_turn': np.zeros((bodies, 3, n)),
        'slide_gram': np.zeros((bodies, MASS + 1, n, n)),
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
        rows['slide'][i] = joint
        if coupling == 'shortening':
            rows['slide_H'][i, :, :m, :m] = L * beam.shortening(L * xi)
            rows['slide_tip_H'][i, :m, :m] = L * beam.shortening(L)
        for name in beam.shapes:
            part = beam.columns(name)
            block = np.ix_(range(part.start, part.stop), range(part.start, part.stop))
            phi = [L**k * beam.shapes[name].at(L * xi, k) for k in range(4)]
            away = (1.0 - xi)[:, None]
            # by ds/s: the field and its first and second rates
            fields = phi[0], away * phi[1], away**2 * phi[2] - 2.0 * away * phi[1]
            slopes = (
                phi[1],
                away * phi[2] - phi[1],
                away**2 * phi[3] - 4.0 * away * phi[2] + 2.0 * phi[1],
            )
            bends = name != 'torsion'
            if bends:
                rows['slide_shape'][i, :, :3, part] = np.stack(fields, axis=1)
                if coupling == 'shortening':
                    rows['slide_shape'][i, :, 3, part] = phi[1]
                mass = _products(weights, fields[0], fields[0])
                rows['slide_gram'][i, MASS][block] = data[MASS_PER_LENGTH] * mass
            axis, sign = TURN_AXES[name]
            turns, inertia = slopes if bends else fields, data[INERTIA + axis]
            rows['slide_turn'][i, :, part] = (
                sign * inertia * np.stack([weights @ t for t in turns])
            )
            for row, (a, b) in enumerate(PAIRS):
                rows['slide_gram'][i, row][block] = inertia * _products(
                    weights, turns[a], turns[b]
                )
            order = 2 if bends else 1  # of the strain
            by_s = away * phi[order + 1] - order * phi[order]
            stiffness = getattr(beam.section, STIFFNESS_OF[name]) / L ** (2 * order - 1)
            rows['slide_root'][i, part] = L**order * beam.shapes[name].at(np.zeros(1), order)[0]
            rows['slide_G'][i][block] = stiffness * _products(weights, phi[order], by_s)
            rows['slide_Q'][i][block] = stiffness * _products(weights, by_s, by_s)
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


def _products(weights, rows, others):
    """Integral of products of rows (g, m) at Gauss points, (m, m)."""
    return rows.T @ (weights[:, None] * others)
