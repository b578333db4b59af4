"""Samples of a recorded vibration, evenly spaced in time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from flex_robot_sim.recording.read.columns import Column, Recording
from flex_robot_sim.recording.read.reader import read_recording
from flex_robot_sim.shaping.magnitude_columns import magnitude_columns
from flex_robot_sim.util.exceptions import UsageError

MIN_SAMPLES = 128  # of a log
MAX_PERIOD_DEVIATION = 0.02  # relative; with larger ones, samples are interpolated
MIN_GAP_PERIODS = 5.0  # a longer gap between samples ends a part of a log
MIN_JUMP_PERIODS = 2.5  # a longer gap also ends one, if there are few of them
MAX_JUMPS = 8  # of a log that ends there; with more, samples are missing at random
MAX_LISTED = 12  # columns in a message


class VibrationLog(NamedTuple):
    """Even samples of a recorded vibration."""

    rate: float  # [Hz]
    samples: np.ndarray  # (k, n)
    names: list[str]  # (n,)
    notes: list[str]
    start: float = 0.0  # time of the first sample, by the clock of the recording         [s]


def read_samples(
    path: str | Path, columns: Sequence[str] = (), rate: float | None = None
) -> VibrationLog:
    """
    Return the VibrationLog in a file of any format that `read_recording` knows.

    :param columns: names of those to use; default: those of the accelerometer, or all, if
        they have the same times.
    :param rate: of the samples [Hz]; default: by their times.
    """
    return samples_of(read_vibration(path, rate), columns, rate)


def read_vibration(path: str | Path, rate: float | None = None) -> Recording:
    """Return the Recording in a file; `rate` of its samples [Hz], by default by their times."""
    if rate is not None and not 0.0 < rate < np.inf:
        raise UsageError('--rate must be above 0 and finite [Hz].')
    return read_recording(path, rate=rate)


def samples_of(
    recording: Recording, columns: Sequence[str] = (), rate: float | None = None
) -> VibrationLog:
    """Return the VibrationLog of a Recording; arguments as of `read_samples`."""
    path, found, notes = recording.path, recording.columns, recording.notes
    for name in columns:
        if name not in found:
            raise UsageError(f'{path}: has no column "{name}". Known: {_listed(found)}.')
    wanted = columns or recording.default_columns or found
    used = {name: found[name] for name in found if name in wanted}
    if not columns:
        used = _without_magnitudes(path, used, notes)
        if recording.default_columns and len(recording.default_columns) < len(found):
            notes.append(f'{path}: {_listed(used)} are used. --column names others')
    if not used:
        raise UsageError(f'{path}: has no column but the time. Record a vibration.')
    if not recording.has_times:
        raise UsageError(f'{path}: {recording.missing_times}, or give --rate [Hz].')
    if len({id(column.time) for column in used.values()}) > 1 and not columns:
        raise UsageError(
            f'{path}: has columns with different times. Name some by --column: {_listed(found)}.'
        )
    if len({id(column.time) for column in used.values()}) > 1:
        notes.append(
            f'{path}: {_listed(used)} have different times; they are interpolated at those of the '
            'first one. If their clocks differ, name columns of one sensor'
        )
    used = {name: _without_invalid_ends(path, name, used[name], notes) for name in used}
    return _even(path, used, rate, notes)


def _without_magnitudes(path, used, notes):
    """Return columns without those that are the magnitude of other ones."""
    for name in (magnitudes := magnitude_columns(used)):
        notes.append(f'{path}: "{name}" is the magnitude of the columns before, and is left out')
    return {name: column for name, column in used.items() if name not in magnitudes}


def _listed(columns):
    names = [*columns]
    return ', '.join(names[:MAX_LISTED]) + (' ...' if len(names) > MAX_LISTED else '')


def _without_invalid_ends(path, name, column, notes):
    """Return a column without the part at either end in which it is no number."""
    valid = np.flatnonzero(np.isfinite(column.values))
    if not valid.size:
        raise UsageError(f'{path}: "{name}" has no numbers. Remove it, or give --column.')
    begin, end = valid[0], valid[-1] + 1
    if begin or end < column.values.size:
        notes.append(
            f'{path}: "{name}" is invalid in the first {begin} and the last '
            f'{column.values.size - end} rows, which are left out'
        )
    invalid = np.flatnonzero(
        ~np.isfinite(column.values[begin:end]) | ~np.isfinite(column.time[begin:end])
    )
    if invalid.size:
        raise UsageError(
            f'{path}: "{name}" is no number in row {begin + invalid[0] + 1}, and in '
            f'{invalid.size} rows. Mend or remove them.'
        )
    return Column(column.time[begin:end], column.values[begin:end])


def _even(path, used, rate, notes):
    """Return the VibrationLog of finite columns."""
    for column in used.values():
        _refuse_falling(path, column.time)
    begin = max(column.time[0] for column in used.values())
    end = min(column.time[-1] for column in used.values())
    if begin >= end:
        raise UsageError(
            f'{path}: {_listed(used)} have no common time, as of different clocks. Name columns '
            'of one sensor by --column.'
        )
    times = next(iter(used.values())).time
    times = times[(times >= begin) & (times <= end)]
    if rate is None:
        times = _longest_part(path, times, notes)
    if times.size < MIN_SAMPLES:
        raise UsageError(
            f'{path}: has {times.size} samples. Record at least {MIN_SAMPLES}, and '
            'several seconds of vibration.'
        )
    step = float((times[-1] - times[0]) / (times.size - 1))
    even_times = times[0] + step * np.arange(times.size)
    largest = float(np.diff(times).max())
    is_even = np.abs(np.diff(times) - step).max() <= MAX_PERIOD_DEVIATION * step
    if not is_even:
        notes.append(
            f'{path}: steps of the time go up to {largest:.3g} s, {largest / step:.2g} times '
            'their mean; samples are interpolated'
        )
    samples = np.column_stack(
        [_sampled(column, times if is_even else even_times) for column in used.values()]
    )
    return VibrationLog(
        1 / step if rate is None else rate, samples, [*used], notes, float(times[0])
    )


def _refuse_falling(path, times):
    """Raise UsageError if times do not rise."""
    rows = np.flatnonzero(np.diff(times) <= 0.0)
    if rows.size:
        raise UsageError(
            f'{path}: the time does not rise after row {rows[0] + 1}. Sort the log, or give one '
            'recording at a time.'
        )


def _longest_part(path, times, notes):
    """Return the longest part of times without a gap."""
    steps = np.diff(times)
    if not steps.size:
        return times
    gaps = np.flatnonzero(steps > MIN_JUMP_PERIODS * np.median(steps)) + 1
    if gaps.size > MAX_JUMPS:
        gaps = np.flatnonzero(steps > MIN_GAP_PERIODS * np.median(steps)) + 1
    if not gaps.size:
        return times
    part = max(np.split(times, gaps), key=len)
    notes.append(
        f'{path}: has {gaps.size} gaps, the longest of {steps.max():.3g} s; the longest part '
        f'without one, from {part[0] - times[0]:.4g} to {part[-1] - times[0]:.4g} s, is used'
    )
    return part


def _sampled(column, times):
    """Return the values of a column at times; interpolate only between its samples."""
    rows = np.searchsorted(column.time, times)
    if (column.time[np.minimum(rows, column.time.size - 1)] == times).all():
        return column.values[rows]
    return np.interp(times, *column)
