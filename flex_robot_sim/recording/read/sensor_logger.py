"""
Tables of the phone app Sensor Logger.

A file per sensor has the columns time, the epoch in ns; seconds_elapsed; and z, y, x.
"""

from __future__ import annotations

from pathlib import Path

from flex_robot_sim.recording.read import delimited
from flex_robot_sim.recording.read.columns import Recording
from flex_robot_sim.recording.read.text_chunks import text_of

CLOCKS = 'time', 'seconds_elapsed'


def sniff(path: Path, head: bytes) -> bool:
    """Whether a file that begins with `head` has the header of Sensor Logger."""
    header = text_of(head).split('\n', 1)[0].lower()
    names = [name.strip().strip('"') for name in header.split(',')]
    return path.is_file() and len(names) > 2 and {*CLOCKS} <= {*names}


def read(path: Path) -> Recording:
    """Return the Recording in a file; times are seconds since its start."""
    recording = delimited.read(path, CLOCKS[1])
    columns = {name: column for name, column in recording.columns.items() if name != CLOCKS[0]}
    return recording._replace(columns=columns)
