"""
Rows of a constraint: scalar conditions on the relative pose of two frames (T71).

With the origins p_A and p_B of the frames on parent and child, and the unit vectors u fixed to the
parent and b fixed to the child, a row is

    ALONG       u . (p_B - p_A) = 0
    ANGLE       u . b = 0
    DISTANCE    |p_B - p_A| - length = 0

A mimic joint with the position q_B follows a joint with the position q_A:

    MIMIC       q_B - ratio q_A - offset = 0
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flex_robot_sim.description.mimic import mimic_constraints
from flex_robot_sim.model.arm_model import ClosedLoop, Frame

if TYPE_CHECKING:
    from flex_robot_sim.description.constraint import Constraint
    from flex_robot_sim.model.body_tree import BodyTree

ALONG, ANGLE, DISTANCE, MIMIC = range(4)


class Row(NamedTuple):
    """One row, with its vectors in the frames of the constraint."""

    kind: int
    parent_axis: np.ndarray  # u (3,), in the frame on the parent
    child_axis: np.ndarray  # b (3,), in the frame on the child


def constraint_rows(constraint: Constraint) -> list[Row]:
    """Return the rows of a Constraint."""
    axes, none = np.eye(3), np.zeros(3)
    along = [Row(ALONG, axis, none) for axis in axes]
    # the turn about z, x and y, to first order
    turns = [Row(ANGLE, axes[k], axes[(k + 1) % 3]) for k in range(3)]
    a, b = constraint.parent_axis, constraint.child_axis
    across = normals(a)
    return {
        'fixed': [*along, *turns],
        'spherical': along,
        'universal': [*along, Row(ANGLE, a, b)],
        'revolute': [*along, *(Row(ANGLE, normal, b) for normal in across)],
        'prismatic': [*(Row(ALONG, normal, none) for normal in across), *turns],
        'distance': [Row(DISTANCE, none, none)],
        'mimic': [Row(MIMIC, none, none)],
    }[constraint.kind]


def closed_loops(tree: BodyTree) -> dict[str, ClosedLoop]:
    """Return the constraints and mimic joints of a description by name, on bodies of a tree."""
    description, loops, start = tree.description, {}, 0
    placed = [(constraint, *_frames(tree, constraint)) for constraint in description.constraints]
    placed += [
        (constraint, *_mimic_frames(tree, description.joint(constraint.name)))
        for constraint in mimic_constraints(description.joints)
    ]
    for constraint, parent, child in placed:
        rows = slice(start, start + len(constraint_rows(constraint)))
        loops[constraint.name] = ClosedLoop(constraint, rows, parent, child)
        start = rows.stop
    return loops


def _frames(tree, constraint):
    """Frames of a constraint; one on a beam is fixed to a body at its station."""
    return (
        tree.fixed_frame(
            constraint.parent, constraint.parent_rotation, constraint.parent_position
        ),
        tree.fixed_frame(constraint.child, constraint.child_rotation, constraint.child_position),
    )


def _mimic_frames(tree, joint):
    """Frames of a mimic joint: those of the bodies that its leader and itself move."""
    bodies = [tree.carried_bodies[name][0] for name in (joint.mimics, joint.name)]
    return [Frame(body, np.eye(3), np.zeros(3)) for body in bodies]


def normals(axis: np.ndarray) -> np.ndarray:
    """Return two unit vectors (2, 3) that are normal to a unit vector (3,) and to each other."""
    first = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    first /= np.linalg.norm(first)
    return np.array([first, np.cross(axis, first)])


def row_arrays(
    loops: Sequence[ClosedLoop], parents: Sequence[int], moves: np.ndarray
) -> dict[str, np.ndarray]:
    """
    Return the arrays of ArmArrays for the rows of loops, in their order.

    :param parents: of the bodies, (i,); moves: whether each has coordinates, (i,).
    """
    kinds, bodies, points, axes, lengths, ratios, springs = [], [], [], [], [], [], []
    for loop in loops:
        frames = loop.parent, loop.child
        for row in constraint_rows(loop.constraint):
            kinds.append(row.kind)
            bodies.append([frame.body for frame in frames])
            points.append([frame.p for frame in frames])
            axes.append([loop.parent.R @ row.parent_axis, loop.child.R @ row.child_axis])
            lengths.append(loop.constraint.length)
            ratios.append(loop.constraint.ratio)
            springs.append(_spring(loop.constraint.compliance, row.kind))
    return {
        'constraint_kind': np.array(kinds, int),
        'constraint_body': np.array(bodies, int).reshape(-1, 2),
        'constraint_point': np.array(points, float).reshape(-1, 2, 3),
        'constraint_axis': np.array(axes, float).reshape(-1, 2, 3),
        'constraint_length': np.array(lengths, float),
        'constraint_ratio': np.array(ratios, float),
        'constraint_stiffness': np.array(springs, float).reshape(-1, 2)[:, 0].copy(),
        'constraint_damping': np.array(springs, float).reshape(-1, 2)[:, 1].copy(),
        'constraint_rows': np.array(
            [[loop.rows.start, loop.rows.stop] for loop in loops], int
        ).reshape(-1, 2),
        'constraint_path': _between(np.unique(bodies).astype(int), parents),
        'has_coordinates': _between(np.flatnonzero(moves), parents),
    }


def _spring(compliance, kind):
    """Stiffness and damping of a row; a stiffness of 0 means rigid."""
    stiffness, damping = compliance[2:] if kind == ANGLE else compliance[:2]
    return (stiffness, damping) if np.isfinite(stiffness) else (0.0, 0.0)


def _between(bodies, parents):
    """Whether each body is one of `bodies`, or between them and the base, (i,)."""
    is_between = np.zeros(len(parents), bool)
    for body in bodies:
        while body >= 0 and not is_between[body]:
            is_between[body] = True
            body = parents[body]
    return is_between.astype(int)
