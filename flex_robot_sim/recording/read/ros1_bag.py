"""Bags of ROS 1 (.bag) as recordings, by the package rosbags."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from flex_robot_sim.recording.mcap_file import ENCODING, SCHEMA, RecordedMessage, RecordedTopic
from flex_robot_sim.recording.read.columns import Recording
from flex_robot_sim.recording.read.mcap import of_tables
from flex_robot_sim.recording.sqlite_bag import standard_definition
from flex_robot_sim.recording.tables import read_tables
from flex_robot_sim.util.exceptions import UsageError

MAGIC = b'#ROSBAG V'


def sniff(_path: Path, head: bytes) -> bool:
    """Whether a file that begins with `head` is a bag of ROS 1."""
    return head.startswith(MAGIC)


def read(path: Path) -> Recording:
    """Return the Recording in a bag; UsageError if it is damaged or rosbags is missing."""
    if find_spec('rosbags') is None:
        raise UsageError(
            f'{path}: a bag of ROS 1 needs the package rosbags. Install it by `pip install '
            'rosbags`, or convert the bag to MCAP: mcap convert FILE.'
        )
    notes: list[str] = []
    tables, table_notes = read_tables(_messages(path, notes))
    return of_tables(str(path), tables, [*notes, *table_notes])


def _messages(path: Path, notes: list[str]) -> Iterator[RecordedMessage]:
    """Yield the messages of known types by their time; notes name topics that are left out."""
    from rosbags.rosbag1 import Reader, ReaderError
    from rosbags.serde import SerdeError
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)  # messages become those of ROS 2
    try:
        with Reader(path) as bag:
            topics = {}
            for connection in bag.connections:
                text = standard_definition(connection.msgtype)
                if text:
                    topics[connection.id] = RecordedTopic(
                        connection.topic, connection.msgtype, text, ENCODING, SCHEMA
                    )
                else:
                    notes.append(
                        f'{path}: {connection.topic} is left out, as {connection.msgtype} is no '
                        'type of a sensor. Convert the bag to MCAP: mcap convert FILE'
                    )
            connections = [one for one in bag.connections if one.id in topics]
            for connection, time, data in bag.messages(connections) if connections else ():
                cdr = store.ros1_to_cdr(data, connection.msgtype)
                yield RecordedMessage(topics[connection.id], time, bytes(cdr))
    except (ReaderError, SerdeError, OSError, ValueError) as error:
        raise UsageError(
            f'{path}: is a damaged bag of ROS 1: {str(error).splitlines()[0]}. Repair it by '
            'rosbag reindex, or record it again.'
        ) from error
