"""
Bodies and joints of an arm from the screws of its joints in the base frame, in one pose.

With the pose A of each body where all joints are at zero, and the screw Y of its joint there, the
pose is exp(Y_1 q_1) ... exp(Y_i q_i) A_i. Equation numbers: Mueller (2018), (10) to (12).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.description.orientation import roll_pitch_yaw
from flex_robot_sim.model.arguments import array_or_nan
from flex_robot_sim.util.exceptions import SettingError

ROUNDING = 1e-9  # of unit vectors, rotations and pitches, and of distances from an axis  [-, m]


class ScrewBody(NamedTuple):
    """Arguments of `ArmBuilder` for a body and its joint."""

    name: str
    carrier: str  # link of the joint, whose origin is on its axis
    joint_name: str
    joint: dict[str, Any]  # of `add_joint`
    frame: dict[str, Any]  # of `attach`; empty: the body is the carrier
    inertial: dict[str, Any]  # of `add_rigid`


def bodies_of_screws(
    screws: ArrayLike,
    poses: ArrayLike,
    parents: ArrayLike | None,
    lower: ArrayLike | None,
    upper: ArrayLike | None,
    mass: ArrayLike,
    centre: ArrayLike,
    inertia: ArrayLike,
) -> Iterator[ScrewBody]:
    """Yield the ScrewBody of each joint, base to tip; see `ArmBuilder.from_screws`."""
    Y, A = array_or_nan(screws), array_or_nan(poses)
    n = len(Y) if Y.ndim == 2 else 0
    if Y.shape != (n, 6) or not n or not np.isfinite(Y).all():
        raise SettingError('screws must be finite numbers (n, 6): axis and moment of each joint')
    if A.shape != (n, 4, 4) or not np.isfinite(A).all():
        raise SettingError(f'poses must be finite numbers ({n}, 4, 4), one of each body')
    rows = _parent_rows(parents, n)
    limits = [_limits('lower', lower, n), _limits('upper', upper, n)]
    is_matrix = array_or_nan(inertia).shape == (n, 3, 3)
    values = {
        'mass': _of_bodies('mass', mass, n).tolist(),
        'centre': _of_bodies('centre', centre, n, 3),
        'inertia': array_or_nan(inertia) if is_matrix else _of_bodies('inertia', inertia, n, 3),
    }
    carriers: list[tuple[str, np.ndarray]] = []
    for i in range(n):
        name = f'body_{i + 1}'
        T, joint = _carrier(i, Y[i], A[i])
        offset = A[i][:3, :3].T @ (A[i][:3, 3] - T[:3, 3])
        is_apart = float(np.linalg.norm(offset)) > ROUNDING
        parent, home = carriers[rows[i]] if rows[i] >= 0 else ('base', np.eye(4))
        relative = np.linalg.solve(home, T)
        carrier = f'{name}_axis' if is_apart else name
        carriers.append((carrier, T))
        for word, limit in zip(('lower', 'upper'), limits):
            if limit is not None and np.isfinite(limit[i]):
                joint[word] = float(limit[i])
        if joint['type'] == 'prismatic' and not {'lower', 'upper'} <= {*joint}:
            raise SettingError(f'screws[{i}] is a translation: give lower and upper of it [m]')
        yield ScrewBody(
            name,
            carrier,
            f'joint_{i + 1}',
            {
                'parent': parent,
                'child': carrier,
                'xyz': relative[:3, 3],
                'rpy': roll_pitch_yaw(relative[:3, :3]),
                **joint,
            },
            {'xyz': offset} if is_apart else {},
            {word: value[i] for word, value in values.items()},
        )


def _carrier(i, Y, A):
    """Pose (4, 4) of the link of a joint, and type, axis and pitch of the joint."""
    R, T = A[:3, :3], A.copy()
    if np.abs(R.T @ R - np.eye(3)).max() > ROUNDING or np.linalg.det(R) < 0:
        raise SettingError(f'poses[{i}] is no pose: its rotation is not orthonormal')
    if (A[3] != (0, 0, 0, 1)).any():
        raise SettingError(f'poses[{i}] is no pose: its last row is not 0 0 0 1')
    omega, v = Y[:3], Y[3:]
    unit = omega if omega.any() else v
    if abs(np.linalg.norm(unit) - 1.0) > ROUNDING:
        raise SettingError(
            f'screws[{i}] must have an angular part of length 1, or 0 and a translation of '
            'length 1'
        )
    if not omega.any():
        return T, {'type': 'prismatic', 'axis': R.T @ v}
    foot = np.cross(omega, v)
    T[:3, 3] = foot + omega * (omega @ (A[:3, 3] - foot))
    if np.linalg.norm(T[:3, 3] - A[:3, 3]) <= ROUNDING:
        T[:3, 3] = A[:3, 3]
    pitch = 2 * np.pi * float(omega @ v)
    joint: dict[str, Any] = {'type': 'revolute', 'axis': R.T @ omega}
    if abs(pitch) > ROUNDING:
        joint.update(type='screw', pitch=pitch)
    return T, joint


def _parent_rows(parents, n):
    """Return the row of the parent of each body, -1: the base."""
    if parents is None:
        return np.arange(n) - 1
    rows = array_or_nan(parents)
    if rows.shape != (n,) or not all(row in range(-1, i) for i, row in enumerate(rows)):
        raise SettingError(f'parents must be {n} indices, each below its own or -1: the base')
    return rows.astype(int)


def _limits(name, values, n):
    """Return limits (n,), nan where there is none; None: no limits."""
    return None if values is None else _of_bodies(name, values, n)


def _of_bodies(name, values, n, *size):
    """Return numbers (n, ...) of all bodies, from those or from (...) for each."""
    array = array_or_nan(values)
    if array.shape not in ((n, *size), size):
        shapes = f'({n}, 3) or ({n}, 3, 3)' if name == 'inertia' else f'{(n, *size)}'
        one = 'three numbers' if size else 'a number'
        raise SettingError(f'{name} must be {one}, or {shapes}, for {n} bodies')
    return np.broadcast_to(array, (n, *size))
