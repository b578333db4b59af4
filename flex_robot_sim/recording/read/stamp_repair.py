"""Stamps that repeat, or that are rounded to a coarse grid."""

from __future__ import annotations

import numpy as np

from flex_robot_sim.recording.read.columns import Column, Recording
from flex_robot_sim.util.exceptions import UsageError

MAX_REPEATED_RATIO = 0.05  # of samples; with more, stamps are rounded
MIN_EQUAL_RATIO = 0.9  # of repeated stamps that have equal values, for rows that repeat
MAX_RESIDUAL_TICKS = 0.75  # of rounded stamps from even times
GAP_TICKS = 2.5  # a longer step between rounded stamps is a gap
MIN_PART_ROWS = 16  # that determine a period of their own
MIN_TICK_PERIODS = 0.02  # finer grids are not repaired
MIN_STEP_RATIO = 0.05  # share of the rarer step of stamps on a grid


def with_repaired_stamps(recording: Recording) -> Recording:
    """Return a Recording without repeated stamps, and with even times for rounded ones."""
    groups: dict[int, list[str]] = {}
    for name, column in recording.columns.items():
        groups.setdefault(id(column.time), []).append(name)
    columns, notes = dict(recording.columns), list(recording.notes)
    for names in groups.values():
        time, rows = _repaired(recording, names, notes)
        for name in names:
            values = recording.columns[name].values
            columns[name] = Column(time, values if rows is None else values[rows])
    return recording._replace(columns=columns, notes=notes)


def _repaired(recording, names, notes):
    """Return the times of columns, and the rows to keep or None."""
    time = recording.columns[names[0]].time
    if time.size <= MIN_PART_ROWS or not np.isfinite(time).all():
        return time, None
    steps = np.diff(time)
    if (steps < 0.0).any():
        return time, None
    repeated = steps == 0.0
    if not repeated.any():
        return _ungridded(recording.path, time, steps, notes), None
    count = int(repeated.sum())
    rows = np.concatenate([[True], ~repeated])
    if count > MAX_REPEATED_RATIO * time.size and not _repeat_values(
        recording, names, np.flatnonzero(repeated)
    ):
        tick = float(np.median(steps[~repeated])) if not repeated.all() else 0.0
        even = _even_times(time, tick) if tick else None
        if even is None:
            raise UsageError(
                f'{recording.path}: stamps repeat in {count} of {time.size} rows, and not '
                'evenly. Stamp samples where they are taken.'
            )
        notes.append(_rounded_line(recording.path, tick, even))
        return even, None
    notes.append(f'{recording.path}: {count} rows with repeated stamps are left out')
    return time[rows], rows


def _repeat_values(recording, names, repeated):
    """Whether rows with the stamp of the row before also have its values."""
    is_equal = np.ones(repeated.size, bool)
    for name in names:
        values = recording.columns[name].values
        first, second = values[repeated], values[repeated + 1]
        is_equal &= (first == second) | (np.isnan(first) & np.isnan(second))
    return is_equal.mean() >= MIN_EQUAL_RATIO


def _ungridded(path, time, steps, notes):
    """Return even times if stamps without repeats are rounded to a grid, else `time`."""
    period = float(np.median(steps))
    rounded = np.round(steps / (0.01 * period))
    clusters, counts = np.unique(rounded, return_counts=True)
    if clusters.size < 2:
        return time
    common = np.argsort(counts)[::-1][:2]
    short, long = (float(np.median(steps[rounded == clusters[k]])) for k in sorted(common))
    tick = long - short
    ratios = counts[common] / steps.size
    if (
        ratios.sum() < 1 - MIN_STEP_RATIO
        or ratios[1] < MIN_STEP_RATIO
        or tick < MIN_TICK_PERIODS * period
    ):
        return time
    even = _even_times(time, tick, max(GAP_TICKS * tick, 2.5 * period))
    if even is None:
        return time
    notes.append(_rounded_line(path, tick, even))
    return even


def _even_times(time, tick, gap=None):
    """
    Return even times of parts without gaps; None if the stamps are not those of even samples.

    :param gap: steps above it separate parts [s]; default: GAP_TICKS ticks.
    """
    ends = np.flatnonzero(np.diff(time) > (GAP_TICKS * tick if gap is None else gap)) + 1
    even = np.empty(time.size)
    parts = list(zip([0, *ends.tolist()], [*ends.tolist(), time.size]))
    begin, end = max(parts, key=lambda part: part[1] - part[0])
    if end - begin < MIN_PART_ROWS:
        return None
    period = _line(time[begin:end])[1]
    for begin, end in parts:
        start, own_period = _line(time[begin:end])
        if end - begin < MIN_PART_ROWS:
            own_period = period
            rows = np.arange(end - begin)
            start = float(np.mean(time[begin:end] - period * rows))
        even[begin:end] = start + own_period * np.arange(end - begin)
    if np.abs(even - time).max() > MAX_RESIDUAL_TICKS * tick or not (np.diff(even) > 0.0).all():
        return None
    return even


def _line(time):
    """Return start and slope of the line through times, by least squares."""
    rows = np.arange(time.size) - 0.5 * (time.size - 1)
    square = float(rows @ rows)
    slope = float(rows @ (time - time[0])) / square if square else 0.0
    return float(time.mean()) + slope * rows[0], slope


def _rounded_line(path, tick, even):
    period = float(np.median(np.diff(even)))
    return (
        f'{path}: stamps are rounded to {tick:.3g} s; even times with a period of '
        f'{period:.4g} s are used'
    )
