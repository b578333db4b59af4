"""Unknowns that a bench adds to those of the robot: its tilt, sensors, cables and motors."""

from collections.abc import Iterator

import numpy as np

from flex_robot_sim.identification.drive_terms import CABLE_STIFFNESS, CABLE_TORQUE
from flex_robot_sim.identification.imu import UNITS, imu_channel
from flex_robot_sim.identification.sequences import DataSet
from flex_robot_sim.identification.unknown import Unknown
from flex_robot_sim.model.arm_model import ArmModel

DELAY_SCALE_S = 1e-3
MAX_DELAY_S = 0.1
MIN_OFFSET_SCALE = 1e-6  # scale of the offset of a gauge with a constant signal     [1/m]
TILT_SCALE = 0.01  # [rad]
MAX_TILT = 1.0  # [rad]
CROSSTALK_SCALE = 0.1
MAX_CROSSTALK = 1.0
CABLE_SCALE_RATIO = 0.02  # scale of the torque of a cable, relative to the largest effort
TILTS = 'base.roll', 'base.pitch', 'base.yaw'
GAUGES_OF_CROSSTALK = 2  # gauges of a link between which there is cross talk


def is_gauge(channel: str) -> bool:
    """Whether a channel is a flex sensor or an IMU; its zero and gain may be unknown."""
    return not channel.startswith(('position/', 'motor/', 'tip/'))


def is_strain(channel: str) -> bool:
    """Whether a channel is a flex sensor."""
    return is_gauge(channel) and not imu_channel(channel)


def bench_unknowns(arm: ArmModel, data: DataSet) -> Iterator[Unknown]:
    """Yield the unknowns of a bench."""
    yield Unknown('delay', 's', 0.0, -MAX_DELAY_S, MAX_DELAY_S, DELAY_SCALE_S, 'delay')
    yield from _sensor_unknowns(arm, data)
    if np.any(arm.arrays.base_acceleration[3:]):
        for path in TILTS:
            yield Unknown(path, 'rad', 0.0, -MAX_TILT, MAX_TILT, TILT_SCALE, 'gravity')
    if data.has_efforts:
        yield from _drive_unknowns(arm, data)


def tilts_with_effect(arm: ArmModel) -> tuple[str, ...]:
    """Return the paths of the two rotations of the base that change the direction of gravity."""
    weight = np.abs(arm.arrays.base_acceleration[3:])
    return tuple(path for k, path in enumerate(TILTS) if k != int(np.argmax(weight)))


def _sensor_unknowns(arm, data):
    gauges = [name for name in data.channels if is_strain(name)]
    for k, name in enumerate(data.channels):
        if not is_gauge(name):
            continue
        spread = float(np.std(np.concatenate([row.measured[:, k] for row in data.sequences])))
        spread = spread or MIN_OFFSET_SCALE
        imu = imu_channel(name)
        unit = UNITS[imu.kind] if imu else '1/m'
        yield Unknown(f'{name}.gain', '', 1.0, 0.01, 100.0, 0.0, 'gain', k)
        yield Unknown(f'{name}.offset', unit, 0.0, -np.inf, np.inf, spread, 'offset', k)
        if imu:
            continue
        link = name.partition('/')[0]
        others = [other for other in gauges if other != name and other.startswith(f'{link}/')]
        if len(others) == GAUGES_OF_CROSSTALK - 1:
            bounds = -MAX_CROSSTALK, MAX_CROSSTALK
            source = data.channels.index(others[0])
            yield Unknown(
                f'{name}.crosstalk', '', 0.0, *bounds, CROSSTALK_SCALE, 'crosstalk', k, source
            )
        joint = _drive_of(arm, link)
        if joint is not None and data.sides[joint]:
            path = f'{name}.rate_sign'
            yield Unknown(path, '1/m', 0.0, -np.inf, np.inf, 0.1 * spread, 'rate_sign', k, joint)


def _drive_of(arm, link):
    """Return the row of the first moving joint from a link to the base; None: there is none."""
    parents = {joint.child: joint for joint in arm.description.joints}
    while link in parents:
        joint = parents[link]
        if joint.name in arm.joint_names:
            return arm.joint_names.index(joint.name)
        link = joint.parent
    return None


def _drive_unknowns(arm, data):
    for j, (name, side) in enumerate(zip(arm.joint_names, data.sides)):
        if not side:
            continue
        unit = arm.description.joint(name).type.unit
        force = 'N m' if unit == 'rad' else 'N'
        effort = max(np.abs(row.efforts[:, j]).max() for row in data.sequences)
        yield Unknown(
            f'{name}.torque_constant', '', 1.0, 0.01, 100.0, 0.0, 'torque_constant', source=j
        )
        scale = CABLE_SCALE_RATIO * max(effort, 1e-3)
        for word, unit_of in ((CABLE_TORQUE, force), (CABLE_STIFFNESS, f'{force}/{unit}')):
            yield Unknown(
                f'{name}.{word}', unit_of, 0.0, -np.inf, np.inf, scale, 'cable', source=j
            )
