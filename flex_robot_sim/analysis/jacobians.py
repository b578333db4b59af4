"""
Poses, Jacobians and twists of links and of sections of flexible links, with deflections.

The body Jacobian J of a frame maps the rates of all coordinates to its twist, V = J v. From the
frame to the base, with the pose C of the frame in the present body, its columns are

    column of the joint of that body            Ad_C^-1 A                                    (T57)
    of an elastic coordinate of its carrier     Ad_C^-1 K,  with C in the root of the carrier

where A is the screw of the joint and K that of the station that carries the body (T11). Motors
behind elastic gears move no link, so their columns are zero.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.twists import convert_rate, from_body, to_body
from flex_robot_sim.analysis.workspace_pool import borrowed
from flex_robot_sim.dynamics.forward_dynamics import set_acceleration_without_joint, set_bodies
from flex_robot_sim.dynamics.kinematics import set_base_poses, set_station
from flex_robot_sim.jit.compiled import call_with_tables, compiled
from flex_robot_sim.model.arguments import checked_coordinates, is_known
from flex_robot_sim.model.arm_model import ArmModel, Frame, Workspace, station_row
from flex_robot_sim.spatial.screws import add_scaled, set_composed, set_copy, set_in_child
from flex_robot_sim.util.exceptions import SettingError

STATION_ROW = ('station_x', 'station_shape', 'station_slope', 'station_H', 'station_setback')
STATION_MOTION = ('station_R', 'station_p', 'K', 'Ve', 'beta')


def pose(arm: ArmModel, q: ArrayLike, *, link: str | None = None,
         station: float | str | None = None, work: Workspace | None = None) -> np.ndarray:
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
    q, = checked_coordinates(arm, q=q)
    with _workspace(arm, work) as workspace:
        return _attachment(arm, q, np.zeros(arm.size), link, station, workspace).pose


def jacobian(arm: ArmModel, q: ArrayLike, *, link: str | None = None,
             representation: str = 'body', station: float | str | None = None,
             work: Workspace | None = None) -> np.ndarray:
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
    q, = checked_coordinates(arm, q=q)
    columns = np.zeros((arm.size, 6))
    with _workspace(arm, work) as workspace:
        attachment = _attachment(arm, q, np.zeros(arm.size), link, station, workspace)
        if attachment.section is not None:
            rows, n = arm.elastic_coordinates(attachment.body), arm.arrays.modes[attachment.body]
            columns[rows] = (_to_frame(attachment) @ attachment.section.K[0, :, :n]).T
        if attachment.body >= 0:
            set_columns(arm.arrays, attachment.body, attachment.R.copy(), attachment.p.copy(),
                        attachment.work, columns)
    return from_body(attachment.pose, representation) @ columns.T


def twist(arm: ArmModel, q: ArrayLike, v: ArrayLike, *, link: str | None = None,
          representation: str = 'body', station: float | str | None = None,
          work: Workspace | None = None) -> np.ndarray:
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
    q, v = checked_coordinates(arm, q=q, v=v)
    with _workspace(arm, work) as workspace:
        attachment = _attachment(arm, q, v, link, station, workspace)
        return from_body(attachment.pose, representation) @ _body_twist(attachment)


def twist_rate(arm: ArmModel, q: ArrayLike, v: ArrayLike, a: ArrayLike, *,
               link: str | None = None, representation: str = 'body',
               station: float | str | None = None, work: Workspace | None = None) -> np.ndarray:
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
    rate = np.zeros(6)
    with _workspace(arm, work) as workspace:
        attachment = _attachment(arm, q, v, link, station, workspace)
        if attachment.body >= 0:
            set_rates(arm.arrays._replace(base_acceleration=np.zeros(6)), a, attachment.work)
            rate = attachment.work.dV[attachment.body].copy()
        if attachment.section is not None:
            n = arm.arrays.modes[attachment.body]
            rate += (attachment.section.K[0, :, :n] @ a[arm.elastic_coordinates(attachment.body)]
                     + attachment.section.beta[0])                                      # (T13)
        return convert_rate(_to_frame(attachment) @ rate, _body_twist(attachment), attachment.pose,
                            'body', representation)


class _Attachment(NamedTuple):
    """Attachment of a frame to a body of an arm in motion."""

    body: int               # -1: the base
    R: np.ndarray           # (3, 3)  pose in that body
    p: np.ndarray           # (3,)                              [m]
    pose: np.ndarray        # (4, 4)  in the base frame
    section: Workspace | None   # with the section as its only station; None: a link
    work: Workspace


@contextmanager
def _workspace(arm, work):
    """Provide the Workspace of the caller, or one from the pool."""
    if work is not None:
        yield work
        return
    with borrowed(arm) as scratch:
        yield scratch.work


def _attachment(arm, q, qd, link, station, work):
    """Return the attachment of a link or of one of its sections; set all bodies in `work`."""
    link = arm.tool if link is None else link
    body, R, p = frame_of(arm, link)
    section, base_R, base_p = None, work.root_R, work.root_p
    if station is not None:
        body, row = section_row(arm, link, station)
    if body >= 0:
        call_with_tables(set_bodies, arm.arrays, q, qd, work)
        call_with_tables(set_base_poses, arm.arrays, work)
        base_R, base_p = work.base_R[body], work.base_p[body]
    if station is not None:
        station_arrays = arm.arrays._replace(**{name: np.array([value])
                                                for name, value in row.items()})
        section = work._replace(**{name: np.zeros((1, *getattr(work, name).shape[1:]))
                                   for name in STATION_MOTION})
        set_station(station_arrays, 0, body, q, qd, section)
        R, p = section.station_R[0], section.station_p[0]
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = base_R @ R, base_R @ p + base_p
    return _Attachment(body, R, p, T, section, work)


def frame_of(arm: ArmModel, link: str) -> Frame:
    """Return the Frame of a link; SettingError if the arm has no such link."""
    if not is_known(link, arm.frames):
        raise SettingError(f'no link "{link}". Known: {", ".join(arm.frames)}')
    return arm.frames[link]


def section_row(arm: ArmModel, link: str,
                station: float | str) -> tuple[int, dict[str, Any]]:
    """Return the body of a flexible link at a station, and the row of its station arrays."""
    if not is_known(link, arm.segments):
        raise SettingError(f'link "{link}" is rigid and has no stations. Flexible links: '
                           f'{", ".join(arm.segments) or "none"}')
    if isinstance(station, str) and station == 'tip':
        body, s = arm.tips[link]
        return body, {name: getattr(arm.arrays, name)[s] for name in STATION_ROW}
    bodies = arm.segments[link]
    segment_length = arm.beams[bodies[0]].length
    length = segment_length * len(bodies)
    try:
        x = float(station)
    except (TypeError, ValueError):
        x = np.nan
    if not 0.0 <= x <= length * (1 + 1e-12):
        raise SettingError(f'station = {station!r} of link "{link}" must be "tip", or a distance '
                           f'from its root of 0 to {length:.6g} m')
    segment = min(int(x / segment_length), len(bodies) - 1)
    size = (*arm.arrays.station_H.shape[1:], arm.arrays.station_setback.shape[1])
    return bodies[segment], _row(arm.beams[bodies[segment]], x - segment * segment_length, size,
                                 arm.coupling)


# repeated queries of a section are common, and computing its shapes is the slowest part
_row = lru_cache(maxsize=64)(station_row)


def _body_twist(attachment):
    """Return the body twist (6,) of a frame."""
    V = np.zeros(6) if attachment.body < 0 else attachment.work.V[attachment.body]
    return _to_frame(attachment) @ (V if attachment.section is None
                                    else V + attachment.section.Ve[0])


def _to_frame(attachment):
    """Return the matrix (6, 6) from twists in the body frame to the attached frame."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = attachment.R, attachment.p
    return to_body(T, 'spatial')


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
        set_composed(work.R[i], work.origin[i], R, p, work.child_R, work.child_p)
        set_copy(work.child_p, p)
        for r in range(3):
            set_copy(work.child_R[r], R[r])
        if station >= 0:
            for k in range(arm.modes[parent]):
                for r in range(6):
                    work.parent_motion[r] = work.K[station, r, k]
                set_in_child(R, p, work.parent_motion, columns[arm.first[parent] + k])
        i = parent


@compiled
def set_rates(arm, qdd, work):
    """Set the rates work.dV of the twists of all bodies (T13), with their motion in `work`."""
    for i in range(arm.parent.size):
        set_acceleration_without_joint(arm, i, work, qdd)
        if arm.joint[i] >= 0:
            add_scaled(qdd[arm.joint[i]], arm.screw[i], work.dV[i])
