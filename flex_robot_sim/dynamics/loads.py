"""
Forces and moments from outside on the links of an arm, and payloads.

A dead load keeps its direction in the base frame, as a weight does; a follower turns with the link
that it pulls at, as a thruster does. The dynamics wants either as a wrench in the frame of a body.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.description.bodies import (
    IDENTIFICATION_TOLERANCE,
    ROUNDING_TOLERANCE,
    impossibility,
)
from flex_robot_sim.dynamics.kinematics import set_poses
from flex_robot_sim.jit.array_table import pass_by_pointer
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.arguments import array_or_nan, expect_arm, is_known, truth
from flex_robot_sim.spatial.screws import set_body_inertia
from flex_robot_sim.util.exceptions import SettingError, bearable

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmModel, Frame

MAX_FORCE, MAX_MOMENT = 1e6, 1e6    # of a push                                         [N, N m]
MAX_PUSH_DURATION = 3600.0          # of a push that ends by itself                         [s]


class Push(NamedTuple):
    """A force and a moment on one link; on a flexible link they act at the root of its beam."""

    link: str
    force: ArrayLike = (0.0, 0.0, 0.0)      # [N]
    moment: ArrayLike = (0.0, 0.0, 0.0)     # [N m]
    point: ArrayLike = (0.0, 0.0, 0.0)      # where the force acts, in the link frame       [m]
    follows: bool = False               # False: given in the base frame; True: in the link frame


@pass_by_pointer
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
    expect_arm(model)
    if isinstance(pushes, tuple) and not pushes:
        return NO_LOADS
    rows, found = [], _expected(pushes)
    for push in found:
        expect_link(model, push.link)
    # in one order, whoever was first: sums of more than two are rounded
    for push in sorted(found, key=lambda push: [*model.frames].index(push.link)):
        vectors = [array_or_nan(vector) for vector in (push.force, push.moment, push.point)]
        if any(v.shape != (3,) or not np.isfinite(v).all() for v in vectors):
            raise SettingError(f'the push at "{push.link}" needs a force [N], a moment [N m] and '
                               'a point [m] of three finite numbers each')
        force, moment, point = vectors
        for what, vector, most, unit in (('force', force, MAX_FORCE, 'N'),
                                         ('moment', moment, MAX_MOMENT, 'N m')):
            size = math.hypot(*vector)
            if size > most:
                raise SettingError(f'the {what} of the push at "{push.link}" is {size:.6g} '
                                   f'{unit}, more than {most:.6g} {unit}')
        body, R, p = model.frames[push.link]
        follows = truth('follows', push.follows)
        turn = R if follows else np.eye(3)
        if body >= 0:
            rows.append((body, follows, R @ point + p, turn @ force, turn @ moment))
    return _load_arrays(*zip(*rows)) if rows else NO_LOADS


def expect_link(model: ArmModel, link: object) -> None:
    """Refuse to push at a link that is not there."""
    if not is_known(link, model.frames):
        raise SettingError(f'no link "{link}" to push at. Known: {", ".join(model.frames)}')


def _load_arrays(body, follows, *vectors):
    return LoadArrays(np.array(body, int), np.array(follows, bool),
                      *(np.array(values, float).reshape(-1, 3) for values in vectors))


NO_LOADS = _load_arrays(*([],) * 5)


def _expected(pushes):
    """Return a list of Push; one alone is a tuple, but none of pushes."""
    found = [*pushes] if isinstance(pushes, Iterable) else [pushes]
    if any(not isinstance(push, Push) for push in found):
        raise SettingError(f'pushes = {bearable(repr(pushes), 100)} must be a list of '
                           'Push(link, force, moment, point, follows)')
    return found


def payload_inertia(link: str, frame: Frame, mass: float, centre: ArrayLike,
                    inertia: ArrayLike | None = None) -> np.ndarray:
    """
    Inertia (6, 6) that a payload adds to the body which carries it.

    :param frame: Frame of its link; mass, centre and inertia: see Simulation.set_payload.
    """
    I = np.zeros((3, 3)) if inertia is None else array_or_nan(inertia)
    r, m = array_or_nan(centre), array_or_nan(mass)
    if (m.shape != () or r.shape != (3,) or I.shape != (3, 3)
            or not np.isfinite([m, *r, *I.flat]).all() or m < 0
            or np.abs(I - I.T).max() > ROUNDING_TOLERANCE * np.abs(I).max()):
        raise SettingError(f'payload of "{link}" needs a mass >= 0 [kg], a centre (3,) [m] and a '
                           'symmetric inertia (3, 3) [kg m2], all finite')
    I = (I + I.T) / 2       # what a rotation has rounded
    why = impossibility(float(m), I, IDENTIFICATION_TOLERANCE)
    if why:
        raise SettingError(f'no payload of "{link}" has this inertia [kg m2]: it {why}')
    added = np.empty((6, 6))
    set_body_inertia(float(m), frame.R @ r + frame.p, frame.R @ I @ frame.R.T, added)
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
