"""MCAP files and folders of rosbag2 as recordings: a column is a number of a topic."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from flex_robot_sim.recording.mcap_file import RecordingReader
from flex_robot_sim.recording.read.columns import Column, Recording
from flex_robot_sim.recording.read.topic_columns import signal_of, vibration_columns
from flex_robot_sim.recording.tables import Table, read_tables
from flex_robot_sim.ros import topics
from flex_robot_sim.util.exceptions import UsageError

MAGIC = b'\x89MCAP'
IMU_FIELDS = {'gyro': 'angular_velocity', 'acceleration': 'linear_acceleration'}
MAX_CLOCK_DRIFT = 1e-3  # of two clocks of a recording [s/s]


def sniff(path: Path, head: bytes) -> bool:
    """Whether `path` is a folder, or a file that begins with `head` is in MCAP."""
    return path.is_dir() or head.startswith(MAGIC)


def read(path: Path) -> Recording:
    """Return the Recording in a file or folder: `topic:column`, and signals of this package."""
    reader = RecordingReader(path)
    tables, notes = read_tables(reader)
    return of_tables(str(path), tables, [*reader.notes, *notes])


def of_tables(path: str, tables: Sequence[Table], notes: Sequence[str]) -> Recording:
    """Return the Recording of the tables of all topics; UsageError if there are none."""
    columns = {table.topic.name.strip('/'): [*table.columns] for table in tables}
    recording = Recording(path, {}, [*notes], default_columns=vibration_columns(columns))
    for table in tables:
        time = _stamp_times(table, recording)
        for name, values in table.columns.items():
            if values.dtype.kind != 'f':
                continue
            recording.columns[f'{table.topic.name.strip("/")}:{name}'] = Column(time, values)
            signal = signal_of(table.topic.name, name)
            if signal:
                recording.columns[signal] = Column(time, values)
        if table.topic.kind == topics.IMU_KIND:
            _add_imus(recording, table, time)
    if not recording.columns:
        raise UsageError(f'{path}: there are no messages with numbers in it.')
    return recording


def _add_imus(recording, table, time):
    """Add the signals of IMUs, by the frame in their messages."""
    frames = np.char.strip(table.columns['frame_id'].astype(str), '/')
    for frame in dict.fromkeys(frames.tolist()):
        rows = frames == frame
        for kind, field in IMU_FIELDS.items():
            # sensor_msgs/Imu marks missing data by a covariance of -1
            if (table.columns[f'{field}_covariance/0'][rows] == -1.0).any() or not frame:
                continue
            names = {f'{kind}/{frame}/{axis}': f'{field}/{axis}' for axis in 'xyz'}
            if recording.columns.keys() & names.keys():
                recording.notes.append(
                    f'{recording.path}: {table.topic.name} is not the first IMU in frame '
                    f'"{frame}"; its {kind} is left out'
                )
                continue
            recording.columns.update(
                {
                    name: Column(time[rows], table.columns[column][rows])
                    for name, column in names.items()
                }
            )


def _stamp_times(table: Table, recording: Recording) -> np.ndarray:
    """Return the header stamps of messages, else their log times; add a note if clocks drift."""
    stamp = table.columns.get('stamp')
    if stamp is None or stamp.dtype.kind != 'f' or not (stamp > 0.0).all():
        return table.time
    span = table.time[-1] - table.time[0]
    if span > 1.0:
        drift = (stamp[-1] - stamp[0]) / span - 1.0
        if abs(drift) > MAX_CLOCK_DRIFT:
            recording.notes.append(
                f'{recording.path}: the clock of {table.topic.name} runs {drift:+.2%} '
                'against that of the recording; its own is taken'
            )
    return stamp
