"""Bags of ROS 2 in SQLite as recordings: files .db3, and folders with one."""

from __future__ import annotations

from pathlib import Path

from flex_robot_sim.recording.read.columns import Recording
from flex_robot_sim.recording.read.mcap import of_tables
from flex_robot_sim.recording.sqlite_bag import MAGIC, SqliteBag, is_bag
from flex_robot_sim.recording.tables import read_tables
from flex_robot_sim.util.exceptions import UsageError

ENDING = '*.db3'


def sniff(path: Path, head: bytes) -> bool:
    """Whether `path` is a folder with bags in SQLite, or a file that begins with `head` is one."""
    return head.startswith(MAGIC) or (path.is_dir() and any(path.glob(ENDING)))


def read(path: Path) -> Recording:
    """Return the Recording in a bag; UsageError if there is none, or more than one."""
    file = path
    if path.is_dir():
        files = sorted(path.glob(ENDING))
        if len(files) > 1:
            raise UsageError(f'{path}: this folder has {len(files)} files .db3. Name one.')
        file = files[0]
    if not is_bag(file):
        raise UsageError(f'{path}: is a database, and no bag of ROS 2. Export it as CSV.')
    bag = SqliteBag(file)
    tables, notes = read_tables(bag)
    return of_tables(str(path), tables, [*bag.notes, *notes])
