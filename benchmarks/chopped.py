"""
An arm with flexible links divided into rigid pieces, for libraries without flexible links.

A beam of length L becomes n hinges, each in the middle of one of n equal parts. A hinge has the
stiffness of its part, EI n/L and GJ n/L. Rigid pieces connect them, half as long at the ends. This
is the most accurate of the simple divisions: the tip error of a loaded cantilever is 1/(4 n^2).
With the hinges at the ends of the parts it is 1/(2 n^2).
"""

from typing import NamedTuple

import numpy as np


class Lump(NamedTuple):
    """A rigid body fixed to a piece; all in the frame of the piece."""

    mass: float  # [kg]
    centre: np.ndarray  # (3,)    [m]
    inertia: np.ndarray  # (3, 3)  about the centre [kg m2]


class Piece(NamedTuple):
    """A rigid piece on hinges that share its origin, the first one nearest to the base."""

    parent: int  # -1: the base
    R: np.ndarray  # (3, 3)  its pose in the parent with all hinges at zero
    p: np.ndarray  # (3,)                                                      [m]
    axes: np.ndarray  # (k, 3)  of its hinges
    stiffness: np.ndarray  # (k,)    [N m/rad]
    damping: np.ndarray  # (k,)    [N m s/rad]
    rest: np.ndarray  # (k,)    angle of the springs without load [rad]
    start: np.ndarray  # (k,)    [rad]
    lumps: list  # Lump


def chop(description, count, servos):
    """
    Return the pieces of a robot, and the frame (piece, R, p) of each of its links.

    :param count: hinges in each flexible link; its children must be fixed to its tip.
    :param servos: joint -> (stiffness, damping, target, start).
    """
    pieces, frames, seats = [], {}, {}
    root = description.links[0].name
    frames[root] = seats[root] = (-1, np.eye(3), np.zeros(3))
    for link, joint in zip(description.links[1:], description.joints):
        piece, R, p = seats[joint.parent]
        p, R = p + R @ joint.position, R @ joint.rotation
        if joint.moves:
            stiffness, damping, target, start = servos[joint.name]
            pieces.append(
                _piece(
                    piece,
                    R,
                    p,
                    [joint.axis],
                    [stiffness],
                    [damping + joint.friction.viscous_friction],
                    [target],
                    [start],
                )
            )
            piece, R, p = len(pieces) - 1, np.eye(3), np.zeros(3)
        frames[link.name] = seats[link.name] = piece, R, p
        if link.beam is not None:
            seats[link.name] = _chop_beam(link.beam, count, pieces, piece, R, p)
        elif link.inertial is not None and piece >= 0:
            body = link.inertial
            pieces[piece].lumps.append(
                Lump(body.mass, R @ body.centre + p, R @ body.inertia @ R.T)
            )
    return pieces, frames


def _chop_beam(beam, count, pieces, piece, R, p):
    """Add the pieces of a beam whose root frame is R, p; return where its tip frame is."""
    part = beam.length / count
    axes = beam.axes
    stiffness = np.array([beam.EIz, beam.EIy, beam.GJ]) / part
    _add_rod(pieces[piece], beam, part / 2, R @ axes, p)
    R, p = R @ axes, p + R @ axes[:, 0] * part / 2
    for k in range(count):
        pieces.append(_piece(piece, R, p, np.eye(3)[::-1], stiffness, *np.zeros((3, 3))))
        piece, R, p = len(pieces) - 1, np.eye(3), np.array([part, 0.0, 0.0])
        _add_rod(pieces[-1], beam, part if k < count - 1 else part / 2, np.eye(3), np.zeros(3))
    # poses of children are relative to the frame of the link, at its root
    return piece, axes.T, np.array([part / 2 - beam.length, 0.0, 0.0])


def _piece(parent, R, p, axes, stiffness, damping, rest, start):
    axes, stiffness, damping, rest, start = (
        np.array(values, float) for values in (axes, stiffness, damping, rest, start)
    )
    return Piece(parent, R, p, axes, stiffness, damping, rest, start, [])


def _add_rod(piece, beam, length, R, p):
    """Add a rigid rod of the beam, from p along the x axis of R."""
    mass = beam.mass_per_length * length
    inertia = np.diag(beam.section_inertia * length + mass * length**2 / 12 * np.array([0, 1, 1]))
    piece.lumps.append(Lump(mass, p + R[:, 0] * length / 2, R @ inertia @ R.T))


def merged(lumps):
    """Return one Lump for several."""
    mass = sum(lump.mass for lump in lumps)
    centre = sum(lump.mass * lump.centre for lump in lumps) / mass
    inertia = np.zeros((3, 3))
    for lump in lumps:
        r = lump.centre - centre
        inertia += lump.inertia + lump.mass * (r @ r * np.eye(3) - np.outer(r, r))
    return Lump(mass, centre, inertia)
