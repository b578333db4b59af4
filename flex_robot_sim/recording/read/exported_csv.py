"""Tables of topics with the columns time and stamp, as `flexsim export` writes them in CSV."""

from __future__ import annotations

from pathlib import Path

from flex_robot_sim.recording.read import delimited
from flex_robot_sim.recording.read.columns import Column, Recording
from flex_robot_sim.recording.read.text_chunks import text_of
from flex_robot_sim.recording.read.topic_columns import vibration_columns

CLOCKS = 'stamp', 'time'  # of messages, and of their recording; the first one is preferred


def sniff(path: Path, head: bytes) -> bool:
    """Whether a file that begins with `head` has the header of an exported topic."""
    return path.is_file() and text_of(head).startswith('time,stamp,')


def read(path: Path) -> Recording:
    """Return the Recording in a file; times are the stamps of messages, if they have any."""
    return of_columns(delimited.read(path, CLOCKS[1]))


def of_columns(recording: Recording) -> Recording:
    """Return a Recording with its stamps as times if all are positive, and without clocks."""
    columns = dict(recording.columns)
    stamp = columns.pop(CLOCKS[0], None)
    if stamp is not None and (stamp.values > 0.0).all():
        columns = {name: Column(stamp.values, column.values) for name, column in columns.items()}
    return recording._replace(columns=columns, default_columns=vibration_columns({'': columns}))
