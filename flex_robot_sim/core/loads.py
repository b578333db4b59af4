"""
Forces and moments from outside on the links of an arm, and payloads.

A dead load keeps its direction in the base frame, as a weight does; a follower turns with the link
that it pulls at, as a thruster does. The dynamics wants either as a wrench in the frame of a body.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.core.compiled import compiled
from flex_robot_sim.core.handle import by_address
from flex_robot_sim.core.kinematics import set_poses
from flex_robot_sim.core.screws import set_body_inertia
from flex_robot_sim.exceptions import SettingError

if TYPE_CHECKING:
    from flex_robot_sim.core.model import ArmModel, Frame


class Push(NamedTuple):
    """A force and a moment on one link; on a flexible link they act at the root of its beam."""

    link: str
    force: ArrayLike = (0.0, 0.0, 0.0)      # [N]
    moment: ArrayLike = (0.0, 0.0, 0.0)     # [N m]
    point: ArrayLike = (0.0, 0.0, 0.0)      # where the force acts, in the link frame       [m]
    follows: bool = False               # False: given in the base frame; True: in the link frame


@by_address
class LoadArrays(NamedTuple):
    """What `set_loads` reads; one row per push."""

    body: np.ndarray        # (k,)
    follows: np.ndarray     # (k,)
    point: np.ndarray       # (k, 3)  in the frame of the body                              [m]
    force: np.ndarray       # (k, 3)  in the base frame, of a follower in the frame of the body [N]
    moment: np.ndarray      # (k, 3)  likewise                                              [N m]


def make_loads(model: ArmModel, pushes: Iterable[Push] = ()) -> LoadArrays:
    """
    Return the LoadArrays of pushes at an ArmModel.

    :param pushes: [Push]; what pushes at the fixed base moves nothing and is left out.
    """
    rows = []
    for push in pushes:
        if push.link not in model.frames:
            raise SettingError(f'no link "{push.link}" to push at. '
                               f'Known: {", ".join(model.frames)}')
        vectors = [np.asarray(vector, float) for vector in (push.force, push.moment, push.point)]
        if any(v.shape != (3,) or not np.isfinite(v).all() for v in vectors):
            raise SettingError(f'the push at "{push.link}" needs a force [N], a moment [N m] and '
                               'a point [m] of three finite numbers each')
        force, moment, point = vectors
        body, R, p = model.frames[push.link]
        turn = R if push.follows else np.eye(3)
        if body >= 0:
            rows.append((body, push.follows, R @ point + p, turn @ force, turn @ moment))
    body, follows, *vectors = zip(*rows) if rows else ([],) * 5
    return LoadArrays(np.array(body, int), np.array(follows, bool),
                      *(np.array(values, float).reshape(-1, 3) for values in vectors))


def payload_inertia(link: str, frame: Frame, mass: float, centre: ArrayLike,
                    inertia: ArrayLike | None = None) -> np.ndarray:
    """
    Inertia (6, 6) that a payload adds to the body which carries it.

    :param frame: Frame of its link; mass, centre and inertia: see Simulation.set_payload.
    """
    inertia = np.zeros((3, 3)) if inertia is None else np.asarray(inertia, float)
    centre, mass = np.asarray(centre, float), np.asarray(mass, float)
    if (mass.shape != () or centre.shape != (3,) or inertia.shape != (3, 3)
            or not np.isfinite([mass, *centre, *inertia.flat]).all() or mass < 0
            or np.any(inertia != inertia.T) or np.linalg.eigvalsh(inertia)[0] < 0):
        raise SettingError(f'payload of "{link}" needs a mass >= 0 [kg], a centre (3,) [m] and an '
                           'inertia (3, 3) [kg m2], symmetric and not negative, all finite')
    added = np.empty((6, 6))
    set_body_inertia(float(mass), frame.R @ centre + frame.p, frame.R @ inertia @ frame.R.T, added)
    return added


@compiled
def set_loads(arm, loads, q, qd, work):
    """
    Wrenches on all bodies, in work.load, for coordinates q.

    :param arm: ArmModel with n coordinates; q and qd are coordinates and rates, (n,).
    :param loads: LoadArrays.
    """
    work.load[:] = 0.0
    # whose poses are needed: a body comes after those that carry it; to Numba, a plain 0 would be
    # a type of its own, and set_poses compiled once more for it
    bodies = np.int64(0)
    for k in range(loads.body.size):
        if not loads.follows[k]:
            bodies = max(bodies, loads.body[k] + 1)
    if bodies > 0:
        set_poses(arm, q, bodies, work)
    for k in range(loads.body.size):
        i = loads.body[k]
        R, p, F = work.base_R[i], loads.point[k], work.load[i]
        f, m = loads.force[k], loads.moment[k]
        fx, fy, fz, mx, my, mz = f[0], f[1], f[2], m[0], m[1], m[2]
        if not loads.follows[k]:
            fx, fy, fz = _seen_from(R, fx, fy, fz)
            mx, my, mz = _seen_from(R, mx, my, mz)
        F[0] += mx + p[1] * fz - p[2] * fy
        F[1] += my + p[2] * fx - p[0] * fz
        F[2] += mz + p[0] * fy - p[1] * fx
        F[3] += fx
        F[4] += fy
        F[5] += fz


@compiled
def _seen_from(R, x, y, z):
    """Vector R^T (x, y, z) as three numbers."""
    return (R[0, 0] * x + R[1, 0] * y + R[2, 0] * z,
            R[0, 1] * x + R[1, 1] * y + R[2, 1] * z,
            R[0, 2] * x + R[1, 2] * y + R[2, 2] * z)
