"""
Tables of the phone app phyphox, in each of its CSV formats.

A header has quoted names with units: "Time (s)","Acceleration x (m/s^2)". Names are in the
language of the phone, so the first column in s is the time.
"""

from __future__ import annotations

import re
from pathlib import Path

from flex_robot_sim.recording.read import delimited
from flex_robot_sim.recording.read.columns import Recording
from flex_robot_sim.recording.read.text_chunks import text_of

_CLOCK = re.compile(r'"([^"]+\(s\))"')
_NAME_WITH_UNIT = re.compile(r'"[^"]*\([^"()]+\)"')
_HEADER = re.compile(rf'{_CLOCK.pattern}(?P<rest>(?:[,;\t]{_NAME_WITH_UNIT.pattern})+)\s*')


def sniff(path: Path, head: bytes) -> bool:
    """Whether a file that begins with `head` has the header of phyphox."""
    return path.is_file() and _clock(head) is not None


def read(path: Path) -> Recording:
    """Return the Recording in a file."""
    with open(path, 'rb') as file:
        clock = _clock(file.read(4096))
    return delimited.read(path, clock)


def _clock(head):
    """Return the name of the column of the time, or None if the header is another one."""
    match = _HEADER.fullmatch(text_of(head).split('\n', 1)[0])
    return match[1] if match else None
