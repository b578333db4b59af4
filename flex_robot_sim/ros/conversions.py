"""
Conversions between messages and arrays, as pure functions.

Frequent messages are made once and filled in place, and arrays are copied without conversion of
single numbers.
"""

import array
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from geometry_msgs.msg import Point, Pose, Quaternion, Vector3
from numpy.typing import ArrayLike
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory

from flex_robot_sim.motion.trajectory import Trajectory
from flex_robot_sim.util.exceptions import CommandError, plain

SECOND = 1_000_000_000  # [ns]
UNCOMMANDED = 'uncommanded'  # frame_id of joint states while commands do not move the arm
STAMP = struct.Struct('=iI')
STAMP_PATTERN_NS = 1_618_033_988_749_894_848
LEVELS = {
    'ok': DiagnosticStatus.OK,
    'warning': DiagnosticStatus.WARN,
    'error': DiagnosticStatus.ERROR,
    'stale': DiagnosticStatus.STALE,
}


class JointStateBuffer:
    """
    A JointState that is published repeatedly, stored in serialized form.

    Publishers accept bytes as well as messages, and serialization takes as long as sending. The
    offsets of stamp and values are found by serializing unique values.
    """

    def __init__(
        self,
        names: Sequence[str],
        fields: Sequence[str] = ('position', 'velocity', 'effort'),
        frame: str = '',
    ) -> None:
        """Serialize the message once; fields that are not in `fields` stay empty."""
        size, message = len(names), JointState(name=list(names))
        message.header.frame_id = frame
        unique_values = np.arange(1.0, len(fields) * size + 1.0).reshape(len(fields), size) + np.pi
        for field, row in zip(fields, unique_values):
            setattr(message, field, array.array('d', row.tobytes()))
        set_stamp(message.header.stamp, STAMP_PATTERN_NS)
        self._bytes = bytearray(serialize_message(message))
        self._stamp = self._find(STAMP.pack(*divmod(STAMP_PATTERN_NS, SECOND)))
        self._views = [
            np.frombuffer(self._bytes, float, size, self._find(row.tobytes()))
            for row in unique_values
            if size
        ]

    def fill(self, stamp: int, *values: ArrayLike) -> bytes:
        """Set the stamp [ns] and the fields, and return the message for a publisher."""
        STAMP.pack_into(self._bytes, self._stamp, *divmod(stamp, SECOND))
        for view, value in zip(self._views, values):
            view[:] = value
        return bytes(self._bytes)

    def _find(self, pattern):
        offset = self._bytes.find(pattern)
        if offset < 0 or self._bytes.find(pattern, offset + 1) >= 0:
            raise RuntimeError('this middleware does not send values as they lie in memory')
        return offset


def set_stamp(time: Time, nanoseconds: int) -> None:
    """Set a Time message."""
    time.sec, time.nanosec = divmod(nanoseconds, SECOND)


def stamp_of(header: Header) -> int | None:
    """Stamp of a header [ns]; None where the sender left it empty."""
    nanoseconds = header.stamp.sec * SECOND + header.stamp.nanosec
    return nanoseconds or None


def effort_command(message: JointState) -> tuple[Sequence[str], Sequence[float], int | None]:
    """Joint names, efforts and stamp [ns] of a JointState that commands efforts."""
    if not message.effort and message.name:
        raise CommandError('it has no efforts. Fill the field effort [N m, N]')
    return message.name, message.effort, stamp_of(message.header)


def reference_of(message: JointState) -> dict[str, Any]:
    """Arguments for JointController.set_target from a JointState: names may be left out."""
    return {
        'position': message.position,
        'velocity': message.velocity or None,
        'names': message.name or None,
    }


def trajectory_of(message: JointTrajectory) -> Trajectory:
    """Trajectory of a JointTrajectory; see `trajectory_messages` for bytes."""
    points = message.points
    times = [
        point.time_from_start.sec + point.time_from_start.nanosec / SECOND for point in points
    ]
    return Trajectory(
        message.joint_names,
        times,
        *(
            [getattr(point, name) for point in points]
            for name in ('positions', 'velocities', 'accelerations')
        ),
    )


def set_vector(vector: Vector3 | Point, values: np.ndarray) -> None:
    """Set a Vector3 or Point message."""
    vector.x, vector.y, vector.z = values.tolist()


def set_quaternion(message: Quaternion, quaternion: np.ndarray) -> None:
    """Set a Quaternion message to a quaternion (4,), x y z w."""
    message.x, message.y, message.z, message.w = quaternion.tolist()


def vector_of(vector: Vector3 | Point) -> tuple[float, float, float]:
    """Three numbers of a Vector3 or Point message."""
    return vector.x, vector.y, vector.z


def pose_of(pose: Pose) -> np.ndarray:
    """Position and quaternion x y z w, (7,), of a Pose message."""
    turn = pose.orientation
    return np.array([*vector_of(pose.position), turn.x, turn.y, turn.z, turn.w])


def diagnostic_status(
    name: str, hardware: str, level: str, message: str, values: Mapping[str, object]
) -> DiagnosticStatus:
    """DiagnosticStatus of a level 'ok', 'warning' or 'error' and of {key: value}."""
    return DiagnosticStatus(
        name=name,
        hardware_id=plain(hardware),
        level=LEVELS[level],
        message=plain(message),
        values=[
            KeyValue(
                key=plain(key), value=f'{value:.6g}' if isinstance(value, float) else plain(value)
            )
            for key, value in values.items()
        ],
    )
