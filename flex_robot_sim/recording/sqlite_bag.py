"""
Bags of ROS 2 in SQLite (.db3), the default of `ros2 bag record` before ROS 2 Iron.

Newer bags hold the definitions of their messages. For older ones, STANDARD_DEFINITIONS has the
types of sensors; topics of other types are left out.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from flex_robot_sim.recording.mcap_file import ENCODING, SCHEMA, RecordedMessage, RecordedTopic
from flex_robot_sim.ros.definitions import SEPARATOR
from flex_robot_sim.util.exceptions import UsageError

MAGIC = b'SQLite format 3\x00'
TABLES = {'topics', 'messages'}
_TIME = 'int32 sec\nuint32 nanosec'
_HEADER = 'builtin_interfaces/Time stamp\nstring frame_id'
_VECTOR = 'float64 x\nfloat64 y\nfloat64 z'
_QUATERNION = f'{_VECTOR}\nfloat64 w'
_STAMPED = {'std_msgs/Header': _HEADER, 'builtin_interfaces/Time': _TIME}
_VECTORS = {'geometry_msgs/Vector3': _VECTOR}
# fields of a type, and the types in them
STANDARD_DEFINITIONS = {
    'sensor_msgs/msg/Imu': (
        'std_msgs/Header header\ngeometry_msgs/Quaternion orientation\n'
        'float64[9] orientation_covariance\ngeometry_msgs/Vector3 angular_velocity\n'
        'float64[9] angular_velocity_covariance\ngeometry_msgs/Vector3 linear_acceleration\n'
        'float64[9] linear_acceleration_covariance',
        {**_STAMPED, **_VECTORS, 'geometry_msgs/Quaternion': _QUATERNION},
    ),
    'sensor_msgs/msg/JointState': (
        'std_msgs/Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\n'
        'float64[] effort',
        _STAMPED,
    ),
    'geometry_msgs/msg/WrenchStamped': (
        'std_msgs/Header header\ngeometry_msgs/Wrench wrench',
        {
            **_STAMPED,
            **_VECTORS,
            'geometry_msgs/Wrench': 'geometry_msgs/Vector3 force\ngeometry_msgs/Vector3 torque',
        },
    ),
    'geometry_msgs/msg/AccelStamped': (
        'std_msgs/Header header\ngeometry_msgs/Accel accel',
        {
            **_STAMPED,
            **_VECTORS,
            'geometry_msgs/Accel': 'geometry_msgs/Vector3 linear\ngeometry_msgs/Vector3 angular',
        },
    ),
    'geometry_msgs/msg/Vector3Stamped': (
        'std_msgs/Header header\ngeometry_msgs/Vector3 vector',
        {**_STAMPED, **_VECTORS},
    ),
}


def is_bag(path: Path) -> bool:
    """Whether a file is a database with the tables of a bag."""
    with contextlib.suppress(sqlite3.Error), _opened(path) as database:
        rows = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        return {*TABLES} <= {name for (name,) in rows}
    return False


class SqliteBag:
    """Reads the messages of a bag in SQLite."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notes: list[str] = []  # lines about missing parts, after reading

    def __iter__(self) -> Iterator[RecordedMessage]:
        """Yield the messages by their time; UsageError if the bag is damaged."""
        self.notes = []
        try:
            with _opened(self.path) as database:
                topics = dict(self._topics(database))
                rows = database.execute(
                    'SELECT topic_id, timestamp, data FROM messages ORDER BY timestamp'
                )
                for number, time, data in rows:
                    if number in topics and isinstance(time, int) and isinstance(data, bytes):
                        yield RecordedMessage(topics[number], time, data)
        except sqlite3.Error as error:
            raise UsageError(
                f'{self.path}: is a damaged bag: {error}. Repair it by ros2 bag reindex, or '
                'record it again.'
            ) from error

    def _topics(self, database):
        """Yield the numbers and RecordedTopics of topics with a definition."""
        definitions = dict(_stored_definitions(database))
        rows = database.execute('SELECT id, name, type, serialization_format FROM topics')
        for number, name, kind, encoding in rows:
            text = definitions.get(kind) or standard_definition(kind)
            if text:
                yield number, RecordedTopic(name, kind, text, encoding or ENCODING, SCHEMA)
            else:
                self.notes.append(
                    f'{self.path}: has no definition of {kind}, so {name} is left out. Convert '
                    'the bag to MCAP by ros2 bag convert'
                )


def standard_definition(kind: str) -> str:
    """Return the definition of a type as recordings hold it, or '' if it is not known."""
    if kind not in STANDARD_DEFINITIONS:
        return ''
    fields, nested = STANDARD_DEFINITIONS[kind]
    parts = [f'{SEPARATOR}\nMSG: {name}\n{text}' for name, text in nested.items()]
    return '\n'.join([fields, *parts])


def _stored_definitions(database):
    """Yield types and definitions that the bag holds."""
    with contextlib.suppress(sqlite3.Error):  # older bags have no such table
        yield from database.execute(
            'SELECT topic_type, encoded_message_definition FROM message_definitions '
            "WHERE encoding = 'ros2msg'"
        )


@contextlib.contextmanager
def _opened(path):
    """Yield the database, which is only read."""
    database = sqlite3.connect(f'{path.resolve().as_uri()}?mode=ro&immutable=1', uri=True)
    try:
        yield database
    finally:
        database.close()
