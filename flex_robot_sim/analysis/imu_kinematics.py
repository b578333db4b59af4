"""
Motion that an ideal IMU of an arm measures, from coordinates, rates and accelerations.

A gyroscope measures the angular velocity w of its frame, an accelerometer the specific force f:
the acceleration of its origin minus gravity, as in sensor_msgs/Imu. Both are in the axes of the
IMU. The recursion treats gravity as an upward acceleration of the base, so that the rate (alpha,
dv) of the body twist (w, v) of the frame includes it, and

    f = dv + w x v                                                                           (I22)

An IMU on a flexible link is fixed to the nearest section of its beam, as a child link is.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.jacobians import STATION_MOTION, section_row, set_rates
from flex_robot_sim.analysis.workspace_pool import borrowed
from flex_robot_sim.description.sensors import Imu
from flex_robot_sim.dynamics.kinematics import set_motion, set_station
from flex_robot_sim.dynamics.moved_base import set_base_acceleration
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.arguments import checked_coordinates, expect_arm, is_known
from flex_robot_sim.model.arm_arrays import ArmArrays
from flex_robot_sim.model.arm_model import ArmModel, Frame
from flex_robot_sim.model.workspace import Workspace
from flex_robot_sim.spatial.screws import set_composed, set_in_child
from flex_robot_sim.util.exceptions import SettingError


class ImuMotion(NamedTuple):
    """What an ideal IMU measures, in its axes."""

    angular_velocity: np.ndarray  # (3,)  [rad/s]
    specific_force: np.ndarray  # (3,)  acceleration minus gravity  [m/s2]


class ImuMount(NamedTuple):
    """Place of an IMU on an arm."""

    imu: Imu
    link: str
    body: int  # that carries it, -1: the base
    arrays: ArmArrays  # of the arm; on a flexible link with the section as the only station
    is_on_section: bool
    R: np.ndarray  # (3, 3)  axes of the IMU in the frame of the body or of the section
    p: np.ndarray  # (3,)    its origin there                                      [m]

    @property
    def frame(self) -> str:
        """Frame of its measurements: the link if it is at the origin of a link, else the IMU."""
        return self.link if self.imu.is_at_origin else self.imu.name


def imu_motion(
    arm: ArmModel, q: ArrayLike, v: ArrayLike, a: ArrayLike, name: str | None = None
) -> ImuMotion:
    """
    Return what an ideal IMU measures: angular velocity and specific force in its axes.

    :param q: coordinates, (nq,) [rad, m]; v: their rates; a: their accelerations, (nv,) each.
    :param name: of the IMU; default: the only one of the arm.
    """
    q, v, a = checked_coordinates(arm, q=q, v=v, a=a)
    mount, out = imu_mount(arm, name), np.zeros((4, 6))
    with borrowed(arm) as scratch:
        section = section_workspace(mount, scratch.work)
        place = mount.arrays, mount.body, mount.is_on_section, mount.R, mount.p
        scratch.call(set_imu_motion, arm.arrays, q, v, a, *place, out, section, scratch.work)
    return ImuMotion(out[0, :3], out[0, 3:])


def section_workspace(mount: ImuMount, work: Workspace) -> Workspace:
    """Return a Workspace with the section of an IMU as its only station; `work` if it is rigid."""
    if not mount.is_on_section:
        return work
    return work._replace(
        **{name: np.zeros((1, *getattr(work, name).shape[1:])) for name in STATION_MOTION}
    )


def imu_mount(arm: ArmModel, name: str | None = None) -> ImuMount:
    """Return the ImuMount of an IMU by name, or of the only one; SettingError if unknown."""
    expect_arm(arm, closed_loops=True, free_base=True)
    mounts = imu_mounts(arm)
    if name is None and len(mounts) == 1:
        (name,) = mounts
    if name is None or not is_known(name, mounts):
        known = (
            f'Known: {", ".join(mounts)}'
            if mounts
            else 'Give a link of <flexibility> an <imu>, or call ArmBuilder.add_imu'
        )
        raise SettingError(
            f'the arm has no IMU "{name}". {known}' if name else f'name an IMU. {known}'
        )
    return mounts[name]


@lru_cache(maxsize=8)
def imu_mounts(arm: ArmModel) -> dict[str, ImuMount]:
    """Return the ImuMounts of all IMUs of an arm by name, base to tip."""
    return {
        imu.name: _mount(arm, link, imu) for link in arm.description.links for imu in link.imus
    }


def imu_frames(arm: ArmModel) -> dict[str, Frame]:
    """Return the Frames of the IMUs on rigid links that are not at the origin of the link."""
    return {
        name: Frame(mount.body, mount.R, mount.p)
        for name, mount in imu_mounts(arm).items()
        if not mount.is_on_section and not mount.imu.is_at_origin
    }


def _mount(arm, link, imu):
    beam = link.beam
    if beam is None:
        body, R, p = arm.frames[link.name]
        return ImuMount(
            imu, link.name, body, arm.arrays, False, R @ imu.rotation, R @ imu.position + p
        )
    if beam.axis is not None:
        station = beam.station(imu.position)
        axes, origin = beam.section_pose(station)
        return _section_mount(arm, link, imu, station, axes.T, axes.T @ (imu.position - origin))
    offset = beam.axes.T @ imu.position
    station = min(max(float(offset[0]), 0.0), arm.length(link.name))
    offset[0] -= station
    return _section_mount(arm, link, imu, station, beam.axes.T, offset)


def _section_mount(arm, link, imu, station, to_section, offset):
    body, row = section_row(arm, link.name, station)
    arrays = arm.arrays._replace(**{word: np.array([value]) for word, value in row.items()})
    return ImuMount(imu, link.name, body, arrays, True, to_section @ imu.rotation, offset)


@compiled
def set_imu_motion(arm, q, qd, qdd, section_arm, body, is_on_section, R, p, out, section, work):
    """
    Set angular velocity and specific force of an IMU.

    :param q: coordinates (n,); qd: their rates; qdd: their accelerations.
    :param section_arm: ArmModel with the section of the IMU as its only station.
    :param body: that carries the IMU, -1: the base.
    :param R, p: pose of the IMU in the body, or in the section; (3, 3) and (3,) [m].
    :param out: receives both in its first row, (4, 6); the others are temporaries.
    :param section: Workspace of the section, which shares the twists of `work`.
    """
    V, dV, V_body, dV_body = out[1], out[2], out[3], out[0]
    set_motion(arm, q, qd, work)
    set_rates(arm, qdd, work)
    for r in range(6):
        V_body[r] = work.V[body, r] if body >= 0 else work.root_V[r]
        dV_body[r] = work.dV[body, r] if body >= 0 else arm.base_acceleration[r]
    if body < 0 and work.base_moves[0] != 0.0:
        set_base_acceleration(arm, work, dV_body)
    if is_on_section:
        set_station(section_arm, 0, body, q, qd, section)
        first = arm.first[body]
        for r in range(6):
            V_body[r] += section.Ve[0, r]
            dV_body[r] += section.beta[0, r]
            for k in range(arm.modes[body]):
                dV_body[r] += section.K[0, r, k] * qdd[first + k]  # (T13)
        set_composed(section.station_R[0], section.station_p[0], R, p, work.child_R, work.child_p)
        set_in_child(work.child_R, work.child_p, V_body, V)
        set_in_child(work.child_R, work.child_p, dV_body, dV)
    else:
        set_in_child(R, p, V_body, V)
        set_in_child(R, p, dV_body, dV)
    for r in range(3):
        out[0, r] = V[r]
    out[0, 3] = dV[3] + V[1] * V[5] - V[2] * V[4]  # (I22)
    out[0, 4] = dV[4] + V[2] * V[3] - V[0] * V[5]
    out[0, 5] = dV[5] + V[0] * V[4] - V[1] * V[3]
