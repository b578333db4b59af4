"""Formats of tables in text files."""

from __future__ import annotations

from pathlib import Path

from flex_robot_sim.recording.read import delimited, exported_csv, klipper, phyphox, sensor_logger
from flex_robot_sim.recording.read.columns import Recording
from flex_robot_sim.recording.read.text_chunks import HEAD_BYTES
from flex_robot_sim.util.exceptions import UsageError

# the first one that recognises a file reads it
TEXT_FORMATS = exported_csv, klipper, phyphox, sensor_logger, delimited


def read_text(path: Path) -> Recording:
    """Return the Recording in a text file; UsageError if it is no table of numbers."""
    with open(path, 'rb') as file:
        head = file.read(HEAD_BYTES)
    for reader in TEXT_FORMATS:
        if reader.sniff(path, head):
            return reader.read(path)
    raise UsageError(f'{path}: cannot be read: no text. Give a CSV or MCAP file.')
