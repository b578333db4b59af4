"""Messages of recordings written without ROS: definitions as in the ROS packages, encoders."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.ros.cdr import encode
from flex_robot_sim.ros.definitions import KNOWN_FIELDS, SEPARATOR, message_type, short_name
from flex_robot_sim.ros.topics import JOINT_STATE, POSE, TEXT

SECOND = 1_000_000_000  # [ns]
_FIELDS = {
    **KNOWN_FIELDS,
    'geometry_msgs/Quaternion': 'float64 x 0\nfloat64 y 0\nfloat64 z 0\nfloat64 w 1',
}
_HEADER = 'builtin_interfaces/Time', 'std_msgs/Header'
_NESTED_TYPES = {
    JOINT_STATE: _HEADER,
    TEXT: (),
    POSE: (*_HEADER, 'geometry_msgs/Point', 'geometry_msgs/Quaternion', 'geometry_msgs/Pose'),
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
    return encode(
        _TYPES[POSE],
        {
            'header': _header(stamp, frame),
            'pose': {
                'position': dict(zip('xyz', position.tolist())),
                'orientation': dict(zip('xyzw', turn.tolist())),
            },
        },
    )


def text(data: str) -> bytes:
    """Return the bytes of a String."""
    return encode(_TYPES[TEXT], {'data': data})


def _header(stamp: int, frame: str) -> dict[str, Any]:
    second, nanosecond = divmod(stamp, SECOND)
    return {'stamp': {'sec': second, 'nanosec': nanosecond}, 'frame_id': frame}
