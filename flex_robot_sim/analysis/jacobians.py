"""
Poses, Jacobians and twists of links and of sections of flexible links, with deflections.

The body Jacobian J of a frame maps the rates of all coordinates to its twist, V = J v. From the
frame to the base, with the pose C of the frame in the present body, its columns are

    column of the joint of that body            Ad_C^-1 A                                    (T57)
    of an elastic coordinate of its carrier     Ad_C^-1 K,  with C in the root of the carrier

where A is the screw of the joint and K that of the parent station of the body (T11). Motors
behind elastic gears move no link, so their columns are zero.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.twists import (
    BODY,
    convert_from_body,
    convert_rate,
    expect_representation,
    representation_number,
    to_body,
)
from flex_robot_sim.analysis.workspace_pool import borrowed, provided
from flex_robot_sim.dynamics.forward_dynamics import set_acceleration_without_joint, set_bodies
from flex_robot_sim.dynamics.free_base import add_base_rates
from flex_robot_sim.dynamics.kinematics import (
    set_base_poses,
    set_motion,
    set_pose_in_parent,
    set_poses,
    set_station,
)
from flex_robot_sim.dynamics.sliding_body import is_valid
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.arguments import checked_coordinates, expect_arm, is_known, sized
from flex_robot_sim.model.arm_model import ArmModel, Frame
from flex_robot_sim.model.station_rows import station_row, station_size
from flex_robot_sim.model.workspace import Workspace
from flex_robot_sim.spatial.screws import (
    add_scaled,
    is_finite,
    set_composed,
    set_copy,
    set_in_child,
)
from flex_robot_sim.util.exceptions import SettingError

STATION_ROW = (
    'station_x',
    'station_shape',
    'station_slope',
    'station_H',
    'station_setback',
    'station_home_R',
    'station_home_p',
    'station_U',
    'station_Q',
)
STATION_MOTION = ('station_R', 'station_p', 'K', 'Ve', 'beta')


def pose(
    arm: ArmModel,
    q: ArrayLike,
    *,
    link: str | None = None,
    station: float | str | None = None,
    work: Workspace | None = None,
) -> np.ndarray:
    """
    Pose of a link in the base frame, (4, 4) [-, m].

    :param q: coordinates, (nq,) [rad, m].
    :param link: its name; default: the tool link.
    :param station: None: the frame of the link. A distance from the root along a flexible link
        [m], or 'tip': the frame of its section there, x along the beam, as in `deflection`.
    :param work: Workspace to use instead of one from the pool.

    Example::

        arm = frs.load('two_link')
        tool = frs.pose(arm, np.zeros(arm.nq))
        middle = frs.pose(arm, np.zeros(arm.nq), link='forearm', station=0.2)
        assert tool[:3, 3].shape == (3,)
    """
    expect_arm(arm, closed_loops=True, free_base=True)
    q = sized('q', q, arm.coordinate_names)
    T = np.empty((4, 4))
    with _workspace(arm, work) as scratch:
        frame, _ = _placement(arm, q, None, link, station, scratch)
        if not scratch.call(_set_pose, arm.arrays, *frame, q, T, scratch.work):
            checked_coordinates(arm, q=q)
    return T


def jacobian(
    arm: ArmModel,
    q: ArrayLike,
    *,
    link: str | None = None,
    representation: str = 'body',
    station: float | str | None = None,
    work: Workspace | None = None,
) -> np.ndarray:
    """
    Jacobian (6, nv) from the rates of all coordinates to the twist of a link, angular rows first.

    Equation (T57).

    :param representation: 'body', 'spatial', 'hybrid' or 'mixed', see `convert_twist`.
    :param q: coordinates, (nq,) [rad, m]; link, station, work: see `pose`.

    Example::

        arm = frs.load('two_link')
        J = frs.jacobian(arm, np.zeros(arm.nq), representation='mixed')
        v = np.ones(arm.nv)
        assert np.allclose(J @ v, frs.twist(arm, np.zeros(arm.nq), v, representation='mixed'))
    """
    expect_arm(arm, closed_loops=True, free_base=True)
    q = sized('q', q, arm.coordinate_names)
    number = representation_number(representation)
    columns = np.zeros((q.size, 6))
    with _workspace(arm, work) as scratch:
        frame, section = _placement(arm, q, None, link, station, scratch)
        if section is not None:
            own = _own(arm, frame.body)
            columns[own] = (_to_frame(frame) @ section.K[0, :, : len(own)]).T
        if not scratch.call(set_jacobian, arm.arrays, *frame, q, number, columns, scratch.work):
            checked_coordinates(arm, q=q)
    return columns.T


def twist(
    arm: ArmModel,
    q: ArrayLike,
    v: ArrayLike,
    *,
    link: str | None = None,
    representation: str = 'body',
    station: float | str | None = None,
    work: Workspace | None = None,
) -> np.ndarray:
    """
    Twist of a link, (6,) [rad/s, m/s]: the angular velocity first.

    The recursion over the bodies is faster than the Jacobian times the rates.

    :param q: coordinates, (nq,) [rad, m]; v: their rates, (nv,).
    :param link, station, work: see `pose`; representation: see `jacobian`.

    Example::

        arm = frs.load('two_link')
        V = frs.twist(arm, np.zeros(arm.nq), np.ones(arm.nv), representation='mixed')
        speed = np.linalg.norm(V[3:])
    """
    expect_arm(arm, closed_loops=True, free_base=True)
    q, v = sized('q', q, arm.coordinate_names), sized('v', v, arm.coordinate_names)
    number, V = representation_number(representation), np.empty(6)
    with _workspace(arm, work) as scratch:
        frame, section = _placement(arm, q, v, link, station, scratch)
        relative = _AT_REST if section is None else section.Ve[0]
        if not scratch.call(
            _set_twist, arm.arrays, *frame, q, v, relative, number, V, scratch.work
        ):
            checked_coordinates(arm, q=q, v=v)
    return V


def twist_rate(
    arm: ArmModel,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    link: str | None = None,
    representation: str = 'body',
    station: float | str | None = None,
    work: Workspace | None = None,
) -> np.ndarray:
    """
    Rate of the components of a twist, J a + dJ/dt v, (6,) [rad/s2, m/s2].

    The linear part of 'hybrid' and 'mixed' is the acceleration of the frame origin in base axes,
    without gravity. With a = 0, the result is dJ/dt v.

    :param q: coordinates, (nq,) [rad, m]; v: their rates; a: their accelerations, (nv,) each.
    :param link, station, work: see `pose`; representation: see `jacobian`.

    Example::

        arm, q = frs.load('two_link'), np.zeros(16)
        drift = frs.twist_rate(arm, q, np.ones(16), np.zeros(16), representation='mixed')
    """
    q, v, a = checked_coordinates(arm, q=q, v=v, a=a)
    expect_representation(representation)
    rate, V, T = np.zeros(6), np.empty(6), np.empty((4, 4))
    with _workspace(arm, work) as scratch:
        arrays, workspace = arm.arrays, scratch.work
        # the bias of a section (T12) depends on the twist of its body
        scratch.call(set_bodies, arrays, q, v, workspace)
        frame, section = _placement(arm, q, v, link, station, scratch)
        if frame.body >= 0:
            set_rates(arrays._replace(base_acceleration=np.zeros(6)), a, workspace)
            rate = workspace.dV[frame.body].copy()
        else:
            rate = workspace.root_rate.copy()
        relative = _AT_REST
        if section is not None:
            relative = section.Ve[0]
            own = _own(arm, frame.body)
            rate += section.K[0, :, : len(own)] @ a[own] + section.beta[0]  # (T13)
        scratch.call(_set_twist, arrays, *frame, q, v, relative, BODY, V, workspace)
        scratch.call(_set_pose, arrays, *frame, q, T, workspace)
    return convert_rate(_to_frame(frame) @ rate, V, T, 'body', representation)


def _own(arm, body):
    """Indices of the coordinates of an elastic body."""
    return arm.arrays.own[body, : arm.arrays.block[body]]


_AT_REST = np.zeros(6)  # twist of a link relative to its body


def _workspace(arm, work):
    """Provide the Workspace of the caller, or one from the pool."""
    return borrowed(arm) if work is None else provided(work)


def _placement(arm, q, qd, link, station, scratch):
    """
    Return the Frame of a link or of one of its sections, and the Workspace of this section.

    :param qd: None: at rest.
    """
    if station is not None:
        rates = np.zeros(q.size) if qd is None else qd
        return _section(arm, q, rates, link, station, scratch.work)
    try:
        return scratch.frames[link], None
    except (KeyError, TypeError):
        body, R, p = frame_of(arm, arm.tool if link is None else link)
    frame = scratch.frames[link] = Frame(body, R.copy(), p.copy())  # contiguous and writable
    return frame, None


def _section(arm, q, qd, link, station, work):
    """Return the Frame of a section, and a Workspace with it as the only station."""
    body, row = section_row(arm, arm.tool if link is None else link, station)
    arrays = arm.arrays._replace(**{name: np.array([value]) for name, value in row.items()})
    section = work._replace(
        **{name: np.zeros((1, *getattr(work, name).shape[1:])) for name in STATION_MOTION}
    )
    set_station(arrays, 0, body, q, qd, section)
    return Frame(body, section.station_R[0], section.station_p[0]), section


def frame_of(arm: ArmModel, link: str) -> Frame:
    """Return the Frame of a link; SettingError if the arm has no such link."""
    if not is_known(link, arm.frames):
        raise SettingError(f'no link "{link}". Known: {", ".join(arm.frames)}')
    return arm.frames[link]


def section_row(arm: ArmModel, link: str, station: float | str) -> tuple[int, dict[str, Any]]:
    """Return the body of a flexible link at a station, and the row of its station arrays."""
    if not is_known(link, arm.segments):
        raise SettingError(
            f'link "{link}" is rigid and has no stations. Flexible links: '
            f'{", ".join(arm.segments) or "none"}'
        )
    if isinstance(station, str) and station == 'tip':
        body, s = arm.tips[link]
        return body, {name: getattr(arm.arrays, name)[s] for name in STATION_ROW}
    bodies = arm.segments[link]
    if arm.description.beam(link).guide:
        raise SettingError(f'link "{link}" slides: its only station is "tip"')
    if arm.description.beam(link).reduced is not None:
        raise SettingError(f'link "{link}" is a reduced link: its only station is "tip"')
    segment_length = arm.beams[bodies[0]].length
    length = segment_length * len(bodies)
    try:
        x = float(station)
    except (TypeError, ValueError):
        x = np.nan
    if not 0.0 <= x <= length * (1 + 1e-12):
        raise SettingError(
            f'station = {station!r} of link "{link}" must be "tip", or a distance '
            f'from its root of 0 to {length:.6g} m'
        )
    segment = min(int(x / segment_length), len(bodies) - 1)
    return bodies[segment], _row(
        arm.beams[bodies[segment]],
        x - segment * segment_length,
        station_size(arm.arrays),
        arm.coupling,
    )


# repeated queries of a section are common, and computing its shapes is the slowest part
_row = lru_cache(maxsize=64)(station_row)


def _to_frame(frame):
    """Return the matrix (6, 6) from twists in the frame of a body to a Frame on it."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = frame.R, frame.p
    return to_body(T, 'spatial')


# These functions return False, and compute nothing, if a coordinate or rate is not finite.


@compiled
def _set_pose(arm, body, R, p, q, T, work):
    """Pose T (4, 4) in the base frame of a frame (R, p) on a body, -1: the base."""
    if not is_valid(arm, q):
        return False
    if body < 0:
        set_composed(work.root_R, work.root_p, R, p, work.child_R, work.child_p)
    else:
        set_poses(arm, q, body + 1, work)
        set_composed(work.base_R[body], work.base_p[body], R, p, work.child_R, work.child_p)
    for r in range(3):
        for s in range(3):
            T[r, s] = work.child_R[r, s]
        T[r, 3], T[3, r] = work.child_p[r], 0.0
    T[3, 3] = 1.0
    return True


@compiled
def _set_twist(arm, body, R, p, q, qd, relative, representation, V, work):
    """
    Twist V of a frame (R, p) on a body, -1: the base.

    :param relative: twist of the frame relative to the body, in the axes of the body, (6,).
    :param representation: its number, see twists.py.
    """
    if not (is_valid(arm, q) and is_finite(qd)):
        return False
    motion = work.parent_motion
    if body >= 0:
        set_motion(arm, q, qd, work)
    for r in range(6):
        motion[r] = relative[r] + (work.V[body, r] if body >= 0 else work.root_V[r])
    set_in_child(R, p, motion, V)
    if representation != BODY:
        if body < 0:
            set_composed(work.root_R, work.root_p, R, p, work.child_R, work.child_p)
        else:
            set_base_poses(arm, work)
            set_composed(work.base_R[body], work.base_p[body], R, p, work.child_R, work.child_p)
        convert_from_body(work.child_R, work.child_p, representation, V)
    return True


@compiled
def set_jacobian(arm, body, R, p, q, representation, columns, work):
    """
    Jacobian of a frame (R, p) on a body, -1: the base.

    :param representation: its number, see twists.py.
    :param columns: receives the columns of the Jacobian, (n, 6); before, body twists by the
        elastic coordinates of the body itself, and zeros.
    """
    if not is_valid(arm, q):
        return False
    # poses of the bodies, and K of their stations
    for i in range(body + 1):
        if arm.station[i] >= 0:
            set_station(arm, arm.station[i], arm.parent[i], q, q, work)
        set_pose_in_parent(arm, i, q, work)
    base_R, base_p = work.G, work.theta
    for r in range(3):
        base_p[r] = p[r]
        for s in range(3):
            base_R[r, s] = R[r, s]
    set_columns(arm, body, base_R, base_p, work, columns)
    if representation != BODY:
        set_composed(work.root_R, work.root_p, base_R, base_p, work.child_R, work.child_p)
        for j in range(q.size):
            convert_from_body(work.child_R, work.child_p, representation, columns[j])
    return True


@compiled
def set_columns(arm, body, R, p, work, columns):
    """
    Set the columns of the body Jacobian of a frame, in the rows of `columns` (n, 6) (T57).

    :param arm: ArmModel with n coordinates, with its motion in `work`.
    :param R: pose (R, p) of the frame in its body; output: pose in the base frame.
    """
    i = body
    while i >= 0:
        j, parent, station = arm.joint[i], arm.parent[i], arm.station[i]
        if j >= 0:
            set_in_child(R, p, arm.screw[i], columns[j])
        elif parent < 0:
            for b in range(arm.base.shape[0]):
                work.parent_motion[:] = 0.0
                work.parent_motion[arm.base[b, 1]] = 1.0
                set_in_child(R, p, work.parent_motion, columns[arm.base[b, 0]])
        set_composed(work.R[i], work.origin[i], R, p, work.child_R, work.child_p)
        set_copy(work.child_p, p)
        for r in range(3):
            set_copy(work.child_R[r], R[r])
        if station >= 0:
            for k in range(arm.block[parent]):
                for r in range(6):
                    work.parent_motion[r] = work.K[station, r, k]
                set_in_child(R, p, work.parent_motion, columns[arm.own[parent, k]])
        i = parent


@compiled
def set_rates(arm, qdd, work):
    """Set the rates work.dV of the twists of all bodies (T13), with their motion in `work`."""
    for i in range(arm.parent.size):
        set_acceleration_without_joint(arm, i, work, qdd)
        if arm.joint[i] >= 0:
            add_scaled(qdd[arm.joint[i]], arm.screw[i], work.dV[i])
        elif arm.parent[i] < 0:
            add_base_rates(arm, qdd, work.dV[i])
