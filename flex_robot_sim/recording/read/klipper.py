"""
Accelerometer files of the 3D printer firmware Klipper.

`TEST_RESONANCES ... OUTPUT=raw_data` and `ACCELEROMETER_MEASURE` write `raw_data_x_NAME.csv` with
times in s and accelerations in mm/s2. Other files of a resonance test hold spectra.
"""

from __future__ import annotations

from pathlib import Path

from flex_robot_sim.recording.read import delimited
from flex_robot_sim.recording.read.columns import Recording
from flex_robot_sim.recording.read.text_chunks import text_of
from flex_robot_sim.util.exceptions import UsageError

AXES = 'accel_x', 'accel_y', 'accel_z'
SAMPLES = ','.join(['time', *AXES])
SPECTRUM = 'freq,psd_x'
MAX_HEADER_LINES = 5
MM = 1e-3  # [m]


def sniff(path: Path, head: bytes) -> bool:
    """Whether a file that begins with `head` has the header of Klipper."""
    return path.is_file() and any(
        line.startswith((SAMPLES, SPECTRUM)) for line in _header_lines(head)
    )


def read(path: Path) -> Recording:
    """Return the Recording in a file, in m/s2; UsageError if it holds spectra."""
    with open(path, 'rb') as file:
        lines = _header_lines(file.read(4096))
    if not any(line.startswith(SAMPLES) for line in lines):
        raise UsageError(
            f'{path}: holds spectra of a resonance test, and no samples. Record them by '
            'TEST_RESONANCES AXIS=X OUTPUT=raw_data.'
        )
    recording = delimited.read(path)
    columns = {
        name: column._replace(values=MM * column.values) if name in AXES else column
        for name, column in recording.columns.items()
    }
    notes = [*recording.notes, f'{path}: accelerations are converted from mm/s2 to m/s2']
    return recording._replace(columns=columns, notes=notes)


def _header_lines(head):
    """Return the first lines of a file without comment signs and spaces."""
    lines = text_of(head).split('\n')[:MAX_HEADER_LINES]
    return [line.strip().lstrip('#').replace(' ', '').lower() for line in lines]
