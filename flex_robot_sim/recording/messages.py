"""Messages of recordings written without ROS: definitions as in the ROS packages, encoders."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.ros.cdr import encode
from flex_robot_sim.ros.definitions import KNOWN_FIELDS, SEPARATOR, message_type, short_name
from flex_robot_sim.ros.topics import IMU_KIND, JOINT_STATE, ODOMETRY, POSE, TEXT, WRENCH

SECOND = 1_000_000_000  # [ns]
NO_ESTIMATE = -1.0  # first element of a covariance of data that a sensor does not have
_FIELDS = {
    **KNOWN_FIELDS,
    'geometry_msgs/Quaternion': 'float64 x 0\nfloat64 y 0\nfloat64 z 0\nfloat64 w 1',
    'geometry_msgs/Wrench': 'Vector3 force\nVector3 torque',
    'geometry_msgs/WrenchStamped': 'std_msgs/Header header\nWrench wrench',
    'sensor_msgs/Imu': 'std_msgs/Header header\n'
    + '\n'.join(
        f'geometry_msgs/{kind} {name}\nfloat64[9] {name}_covariance'
        for kind, name in (
            ('Quaternion', 'orientation'),
            ('Vector3', 'angular_velocity'),
            ('Vector3', 'linear_acceleration'),
        )
    ),
}
_HEADER = 'builtin_interfaces/Time', 'std_msgs/Header'
_POSE = 'geometry_msgs/Point', 'geometry_msgs/Quaternion', 'geometry_msgs/Pose'
_NESTED_TYPES = {
    JOINT_STATE: _HEADER,
    TEXT: (),
    IMU_KIND: (*_HEADER, 'geometry_msgs/Quaternion', 'geometry_msgs/Vector3'),
    POSE: (*_HEADER, *_POSE),
    ODOMETRY: (
        *_HEADER,
        *_POSE,
        'geometry_msgs/PoseWithCovariance',
        'geometry_msgs/Vector3',
        'geometry_msgs/Twist',
        'geometry_msgs/TwistWithCovariance',
    ),
    WRENCH: (*_HEADER, 'geometry_msgs/Vector3', 'geometry_msgs/Wrench'),
}
TEXTS = {
    kind: f'\n{SEPARATOR}\n'.join(
        (f'{_FIELDS[short_name(kind)]}\n', *(f'MSG: {name}\n{_FIELDS[name]}\n' for name in nested))
    )
    for kind, nested in _NESTED_TYPES.items()
}
"""{type: text of its definition and of its nested types}."""

_TYPES = {kind: message_type(kind, text) for kind, text in TEXTS.items()}


def joint_state(
    stamp: int,
    names: Sequence[str],
    position: ArrayLike = (),
    velocity: ArrayLike = (),
    effort: ArrayLike = (),
    frame: str = '',
) -> bytes:
    """Return the bytes of a JointState, with a stamp [ns]."""
    return encode(
        _TYPES[JOINT_STATE],
        {
            'header': _header(stamp, frame),
            'name': names,
            'position': np.asarray(position),
            'velocity': np.asarray(velocity),
            'effort': np.asarray(effort),
        },
    )


def pose(stamp: int, frame: str, position: np.ndarray, turn: np.ndarray) -> bytes:
    """Return the bytes of a PoseStamped in `frame`; stamp [ns], quaternion x y z w (4,)."""
    return encode(_TYPES[POSE], {'header': _header(stamp, frame), 'pose': _pose(position, turn)})


def odometry(
    stamp: int, frames: tuple[str, str], base_pose: np.ndarray, base_twist: np.ndarray
) -> bytes:
    """
    Return the bytes of an Odometry.

    :param stamp: [ns]; frames: root link and base link.
    :param base_pose: (7,), base_twist: (6,), as the properties of a Simulation.
    """
    angular, linear = (dict(zip('xyz', part)) for part in base_twist.reshape(2, 3).tolist())
    return encode(
        _TYPES[ODOMETRY],
        {
            'header': _header(stamp, frames[0]),
            'child_frame_id': frames[1],
            'pose': {'pose': _pose(base_pose[:3], base_pose[3:])},
            'twist': {'twist': {'linear': linear, 'angular': angular}},
        },
    )


def wrench(stamp: int, frame: str, values: np.ndarray) -> bytes:
    """Return the bytes of a WrenchStamped: moment and force (6,) [N m, N] in `frame`."""
    moment, force = (dict(zip('xyz', part)) for part in values.reshape(2, 3).tolist())
    return encode(
        _TYPES[WRENCH],
        {'header': _header(stamp, frame), 'wrench': {'force': force, 'torque': moment}},
    )


def imu(
    stamp: int,
    frame: str,
    angular_velocity: np.ndarray,
    linear_acceleration: np.ndarray,
    variances: tuple[float, float],
) -> bytes:
    """
    Return the bytes of an Imu without orientation.

    :param stamp: [ns]; frame: of the measurements, (3,) [rad/s] and (3,) [m/s2].
    :param variances: of an axis of both.
    """
    values: dict[str, Any] = {
        'header': _header(stamp, frame),
        'orientation': {'w': 1.0},
        'orientation_covariance': [NO_ESTIMATE, *[0.0] * 8],
    }
    for name, vector, variance in (
        ('angular_velocity', angular_velocity, variances[0]),
        ('linear_acceleration', linear_acceleration, variances[1]),
    ):
        values[name] = dict(zip('xyz', vector.tolist()))
        values[f'{name}_covariance'] = (variance * np.eye(3)).ravel()
    return encode(_TYPES[IMU_KIND], values)


def text(data: str) -> bytes:
    """Return the bytes of a String."""
    return encode(_TYPES[TEXT], {'data': data})


def _pose(position: np.ndarray, turn: np.ndarray) -> dict[str, Any]:
    return {
        'position': dict(zip('xyz', position.tolist())),
        'orientation': dict(zip('xyzw', turn.tolist())),
    }


def _header(stamp: int, frame: str) -> dict[str, Any]:
    second, nanosecond = divmod(stamp, SECOND)
    return {'stamp': {'sec': second, 'nanosec': nanosecond}, 'frame_id': frame}
