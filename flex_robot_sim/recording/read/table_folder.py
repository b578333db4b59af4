"""Folders with a table per sensor or topic, as `flexsim export` and phone apps write them."""

from __future__ import annotations

from pathlib import Path

from flex_robot_sim.recording.read import parquet
from flex_robot_sim.recording.read.columns import Recording
from flex_robot_sim.recording.read.table_set import NO_SENSOR, join
from flex_robot_sim.recording.read.text_formats import read_text
from flex_robot_sim.util.exceptions import UsageError

READERS = {'.csv': read_text, '.parquet': parquet.read}
BAGS = '*.mcap', '*.db3', 'metadata.yaml'


def sniff(path: Path, _head: bytes) -> bool:
    """Whether `path` is a folder with tables, and no bag of ROS."""
    return path.is_dir() and bool(_files(path)) and not any(any(path.glob(bag)) for bag in BAGS)


def read(path: Path) -> Recording:
    """Return the Recording of all tables in a folder; UsageError if it has none."""
    tables, notes = {}, []
    for file in _files(path):
        try:
            tables[file.stem] = READERS[file.suffix](file)
        except UsageError as error:
            notes.append(f'{path}: {file.name} is left out: {error}')
    return join(path, tables, notes)


def _files(path):
    return sorted(
        file
        for file in path.iterdir()
        if file.suffix in READERS and file.is_file() and not NO_SENSOR.search(file.name)
    )
