"""
Reading of serialized JointTrajectory messages, and status messages of trajectories.

A message that is too long is refused before deserialization.
"""

from collections.abc import Sequence

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue

from flex_robot_sim.motion.reference import REFUSED, TrajectoryEvent
from flex_robot_sim.motion.trajectory import Table, Trajectory, joint_rows
from flex_robot_sim.ros.cdr import MessageError
from flex_robot_sim.ros.conversions import SECOND
from flex_robot_sim.ros.node_settings import MessageSettings
from flex_robot_sim.ros.trajectory_cdr import TrajectoryHeader, read_header, read_points
from flex_robot_sim.util.exceptions import CommandError, SettingError, plain


def read_trajectory_header(data: bytes, limits: MessageSettings) -> TrajectoryHeader:
    """Return the header of a JointTrajectory; CommandError if it is damaged or too long."""
    try:
        header = read_header(data, limits.max_names)
    except MessageError as error:
        raise CommandError(f'a trajectory cannot be read: {error}') from error
    refuse_many_points(header.points, limits)
    return header


def refuse_many_points(count: int, limits: MessageSettings) -> None:
    """Raise CommandError if a trajectory has too many points."""
    if count > limits.max_trajectory_points:
        raise CommandError(
            f'the trajectory has {count} points, more than max_trajectory_points = '
            f'{limits.max_trajectory_points}. Send it in parts'
        )


def read_trajectory(
    data: bytes, header: TrajectoryHeader, joint_names: Sequence[str] | None = None
) -> Trajectory:
    """Return the Trajectory of a message; SettingError if invalid, or of other joints."""
    joint_rows(header.names, header.names if joint_names is None else joint_names)
    try:
        points = read_points(data, header)
    except MessageError as error:
        raise SettingError(str(error)) from error
    return Trajectory.of_tables(
        header.names, points.times, *(Table(*rows) for rows in points.rows.values())
    )


def start_of(header: TrajectoryHeader) -> float | None:
    """Start time of a trajectory [s]; None: at once."""
    return header.stamp / SECOND if header.stamp else None


def trajectory_status(event: TrajectoryEvent) -> DiagnosticStatus:
    """Return the status message of a TrajectoryEvent, whose identifier is the stamp [ns]."""
    level = DiagnosticStatus.ERROR if event.state == REFUSED else DiagnosticStatus.OK
    return DiagnosticStatus(
        level=level,
        name='joint_trajectory',
        message=plain(event.reason or event.state),
        values=[
            KeyValue(key='stamp', value=str(event.identifier)),
            KeyValue(key='state', value=event.state),
        ],
    )


def read_trajectory_status(message: DiagnosticStatus) -> TrajectoryEvent | None:
    """Return the TrajectoryEvent of a status message; None if it is invalid."""
    values = {item.key: item.value for item in message.values[:2]}
    stamp = values.get('stamp', '')
    if not (stamp.isascii() and stamp.isdigit() and len(stamp) < 20 and 'state' in values):
        return None
    return TrajectoryEvent(int(stamp), values['state'], message.message)


def read_effort_profile(
    data: bytes, limits: MessageSettings, joint_names: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return times (k,) [s] at which efforts end, and efforts (k, joints) [N m, N].

    The effort of a point lasts from the previous point to its time_from_start. Joints that are not
    named get zero effort. CommandError if the JointTrajectory is no effort profile.
    """
    header = read_trajectory_header(data, limits)
    try:
        columns = joint_rows(header.names, joint_names)
        points = read_points(data, header, ['effort'])
    except (SettingError, MessageError) as error:
        raise CommandError(str(error)) from error
    values, is_given = points.rows['effort']
    if not is_given.all():
        raise CommandError(
            f'0 efforts for {len(columns)} joints. Fill the field effort of each point [N m, N]'
        )
    efforts = np.zeros((header.points, len(joint_names)))
    efforts[:, columns] = values
    return points.times, efforts
