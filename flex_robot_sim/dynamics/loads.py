"""
External forces and moments on the links of an arm.

A dead load keeps its direction in the base frame, as a weight does; a follower load rotates with
its link, as a thruster does. The dynamics takes either as a wrench in the frame of a body.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.dynamics.kinematics import set_poses
from flex_robot_sim.jit.array_table import pass_by_pointer
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.arguments import array_or_nan, expect_arm, is_known, truth
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.exceptions import SettingError, shortened

MAX_FORCE, MAX_MOMENT = 1e6, 1e6  # of a push                                          [N, N m]
MAX_PUSH_DURATION = 3600.0  # of a push with a limited duration                   [s]


class Push(NamedTuple):
    """
    Force and moment on a link; on a flexible link, they act at the root of its beam.

    Example::

        arm, push = frs.load('two_link'), frs.Push('tool', force=(0.0, 2.0, 0.0))
        rest = frs.equilibrium(arm, [0.0, 0.5, -0.8], pushes=[push])
        a = frs.forward_dynamics(arm, rest.q, effort=rest.effort, pushes=[push])
        assert np.abs(a).max() < 1e-6
    """

    link: str
    force: ArrayLike = (0.0, 0.0, 0.0)  # [N]
    moment: ArrayLike = (0.0, 0.0, 0.0)  # [N m]
    point: ArrayLike = (0.0, 0.0, 0.0)  # where the force acts, in the link frame       [m]
    follows: bool = False  # False: given in the base frame; True: in the link frame


@pass_by_pointer
class LoadArrays(NamedTuple):
    """Input of `set_loads`; one row per push."""

    body: np.ndarray  # (k,)
    follows: np.ndarray  # (k,)
    point: np.ndarray  # (k, 3)  in the frame of the body                              [m]
    force: np.ndarray  # (k, 3)  in the base frame; of a follower: in the body frame [N]
    moment: np.ndarray  # (k, 3)  in the same frame as the force                        [N m]


def make_loads(
    model: ArmModel,
    pushes: Iterable[Push] = (),
    *,
    closed_loops: bool = False,
    free_base: bool = False,
) -> LoadArrays:
    """
    Return the LoadArrays of pushes at an ArmModel.

    :param pushes: [Push]; loads on the fixed base have no effect and are left out.
    :param closed_loops, free_base: what the caller can handle, see `expect_arm`.
    """
    expect_arm(model, closed_loops=closed_loops, free_base=free_base)
    if isinstance(pushes, tuple) and not pushes:
        return NO_LOADS
    rows, checked = [], _checked_pushes(pushes)
    for push in checked:
        expect_link(model, push.link)
    # in a fixed order, so that the rounding of sums does not depend on the order of the calls
    for push in sorted(checked, key=lambda push: [*model.frames].index(push.link)):
        vectors = [array_or_nan(vector) for vector in (push.force, push.moment, push.point)]
        if any(v.shape != (3,) or not np.isfinite(v).all() for v in vectors):
            raise SettingError(
                f'the push at "{push.link}" needs a force [N], a moment [N m] and '
                'a point [m] of three finite numbers each'
            )
        force, moment, point = vectors
        for quantity, vector, limit, unit in (
            ('force', force, MAX_FORCE, 'N'),
            ('moment', moment, MAX_MOMENT, 'N m'),
        ):
            size = math.hypot(*vector)
            if size > limit:
                raise SettingError(
                    f'the {quantity} of the push at "{push.link}" is {size:.6g} '
                    f'{unit}, more than {limit:.6g} {unit}'
                )
        body, R, p = model.frames[push.link]
        follows = truth('follows', push.follows)
        rotation = R if follows else np.eye(3)
        if body >= 0:
            rows.append((body, follows, R @ point + p, rotation @ force, rotation @ moment))
    return _load_arrays(*zip(*rows)) if rows else NO_LOADS


def expect_link(model: ArmModel, link: object) -> None:
    """Raise SettingError if the arm has no such link to push at."""
    if not is_known(link, model.frames):
        raise SettingError(f'no link "{link}" to push at. Known: {", ".join(model.frames)}')


def _load_arrays(body, follows, *vectors):
    return LoadArrays(
        np.array(body, int),
        np.array(follows, bool),
        *(np.array(values, float).reshape(-1, 3) for values in vectors),
    )


NO_LOADS = _load_arrays(*([],) * 5)


def _checked_pushes(pushes):
    """Return a list of Push; raise SettingError for anything else, such as a single Push."""
    checked = [*pushes] if isinstance(pushes, Iterable) else [pushes]
    if any(not isinstance(push, Push) for push in checked):
        raise SettingError(
            f'pushes = {shortened(repr(pushes), 100)} must be a list of '
            'Push(link, force, moment, point, follows)'
        )
    return checked


@compiled
def set_loads(arm, loads, q, work):
    """
    Wrenches on all bodies, in work.load, for coordinates q.

    :param arm: ArmModel with n coordinates.
    :param loads: LoadArrays.
    """
    work.load[:] = 0.0
    # number of bodies whose poses are needed, as parents come first; Numba has a separate type for
    # a plain 0, and would compile set_poses again for it
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
            fx, fy, fz = _rotated_to_body(R, fx, fy, fz)
            mx, my, mz = _rotated_to_body(R, mx, my, mz)
        F[0] += mx + p[1] * fz - p[2] * fy
        F[1] += my + p[2] * fx - p[0] * fz
        F[2] += mz + p[0] * fy - p[1] * fx
        F[3] += fx
        F[4] += fy
        F[5] += fz


@compiled
def _rotated_to_body(R, x, y, z):
    """Vector R^T (x, y, z) as three numbers."""
    return (
        R[0, 0] * x + R[1, 0] * y + R[2, 0] * z,
        R[0, 1] * x + R[1, 1] * y + R[2, 1] * z,
        R[0, 2] * x + R[1, 2] * y + R[2, 2] * z,
    )
