"""Joint trajectories in files: times and positions, one column per joint, before and after."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from flex_robot_sim.recording.read.columns import Column
from flex_robot_sim.recording.read.reader import read_recording
from flex_robot_sim.shaping.sampled_positions import MAX_PERIOD_CHANGE
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.table_files import write_csv

POSITION_PREFIX = 'position/'  # of joints in exported JointState messages
MAX_SAMPLES = 2_000_000  # of a trajectory with even times
MIN_PERIOD_S = 1e-4  # of a trajectory whose times are made even                        [s]
MAX_LISTED = 8  # columns in a message


class SampledTrajectory(NamedTuple):
    """Joint positions at evenly spaced times."""

    names: tuple[str, ...]  # of the joints
    times: np.ndarray  # (k,)                                                           [s]
    positions: np.ndarray  # (k, joints)                                          [rad, m]
    notes: list[str]

    @property
    def period(self) -> float:
        """Time between two samples [s]."""
        return float((self.times[-1] - self.times[0]) / (self.times.size - 1))


def read_trajectory_file(path: str | Path, joints: Sequence[str] = ()) -> SampledTrajectory:
    """
    Return the SampledTrajectory in a file of any format that `read_recording` knows.

    The columns are the names of the joints, or `position/` and the name. If the times are not
    evenly spaced, the positions are interpolated linearly.

    :param joints: names of all joints, in the order of the result; default: all columns.
    """
    recording = read_recording(path)
    if not recording.has_times:
        raise UsageError(f'{path}: {recording.missing_times}.')
    columns = _joint_columns(recording, joints)
    times = next(iter(columns.values())).time
    if any(not np.array_equal(column.time, times, equal_nan=True) for column in columns.values()):
        raise UsageError(f'{path}: its joints have different times. Write one table of them.')
    positions = np.column_stack([column.values for column in columns.values()])
    _refuse_invalid(path, times, positions, [*columns])
    notes = [*recording.notes]
    times, positions = _even(path, times, positions, notes)
    return SampledTrajectory(tuple(columns), times, positions, notes)


def write_trajectory_file(
    path: str | Path, names: Sequence[str], times: np.ndarray, positions: np.ndarray
) -> None:
    """Write a trajectory as CSV: the column `time` [s], then one column per joint [rad, m]."""
    try:
        write_csv(Path(path), {'time': times, **dict(zip(names, positions.T))})
    except OSError as error:
        raise UsageError(f'{path}: cannot be written: {error.strerror or error}.') from error


def _joint_columns(recording, joints) -> dict[str, Column]:
    """Return the columns of joints, by joint."""
    found = {
        name.removeprefix(POSITION_PREFIX): column
        for name, column in recording.columns.items()
        if name.startswith(POSITION_PREFIX)
    } or recording.columns
    if not found:
        raise UsageError(f'{recording.path}: has no column but the time. Add one per joint.')
    if not joints:
        return dict(found)
    missing = [name for name in joints if name not in found]
    if missing:
        raise UsageError(
            f'{recording.path}: has no column "{missing[0]}". Name a column after each joint: '
            f'{", ".join(joints)}. Found: {_listed(found)}.'
        )
    return {name: found[name] for name in joints}


def _listed(columns):
    names = [*columns]
    return ', '.join(names[:MAX_LISTED]) + (' ...' if len(names) > MAX_LISTED else '')


def _refuse_invalid(path, times, positions, names):
    """Raise UsageError about the first row that is no row of a trajectory."""
    if times.size < 2:
        raise UsageError(
            f'{path}: has {times.size} row{"s" * (times.size != 1)}. A trajectory has two or more.'
        )
    valid = np.isfinite(positions)
    if not valid.all():
        row, column = np.argwhere(~valid)[0]
        raise UsageError(
            f'{path}: "{names[column]}" is no number in row {row + 1}. Fill in or remove the row.'
        )
    if not np.isfinite(times).all():
        row = int(np.argmin(np.isfinite(times)))
        raise UsageError(f'{path}: the time is no number in row {row + 1}. Mend or remove it.')
    falls = np.flatnonzero(np.diff(times) <= 0.0)
    if falls.size:
        raise UsageError(
            f'{path}: the time does not rise after row {falls[0] + 1}. Sort the rows, and remove '
            'repeated ones.'
        )


def _even(path, times, positions, notes):
    """Return even times, and positions at them."""
    steps = np.diff(times)
    period = (times[-1] - times[0]) / (times.size - 1)
    if (np.abs(steps - period) <= MAX_PERIOD_CHANGE * period).all():
        return times, positions
    largest = np.abs(times - times[0] - period * np.arange(times.size)).max()
    if largest > 1e-3 * period:  # more than rounding: the shortest step keeps every detail
        count = int(np.ceil((times[-1] - times[0]) / max(steps.min(), MIN_PERIOD_S) - 1e-9))
        if count >= MAX_SAMPLES:
            raise UsageError(
                f'{path}: its shortest time step, {steps.min():.3g} s, would give {count} '
                'samples. Write evenly spaced times.'
            )
        period = (times[-1] - times[0]) / count
        notes.append(
            f'{path}: times are not evenly spaced; positions are interpolated linearly, every '
            f'{period:.4g} s'
        )
    count = round((times[-1] - times[0]) / period)
    even = np.linspace(times[0], times[-1], count + 1)
    rows = np.column_stack([np.interp(even, times, column) for column in positions.T])
    rows[-1] = positions[-1]
    return even, rows
