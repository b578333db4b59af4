"""Span of a log in which all signals are valid."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flex_robot_sim.identification.log_file import Column, Log
from flex_robot_sim.util.exceptions import UsageError


def without_invalid_ends(log: Log, signals: Sequence[str], notes: list[str]) -> Log:
    """Return a log without the parts at its ends in which a signal is no number."""
    columns = dict(log.columns)
    for name in signals:
        time, values = columns[name]
        valid = np.flatnonzero(np.isfinite(values))
        if not valid.size:
            raise UsageError(f'{log.path}: "{name}" has no numbers. Record it, or rename it.')
        first, last = int(valid[0]), int(valid[-1])
        if first:
            notes.append(
                f'{log.path}: "{name}" is invalid for the first {time[first] - time[0]:.4g} s, '
                'which are left out'
            )
        if last < values.size - 1:
            notes.append(
                f'{log.path}: "{name}" is invalid for the last {time[-1] - time[last]:.4g} s, '
                'which are left out'
            )
        columns[name] = Column(time[first : last + 1], values[first : last + 1])
    return log._replace(columns=columns)


def common_times(log: Log, signals: Sequence[str]) -> np.ndarray:
    """Return the times of the first signal at which all signals have samples."""
    columns = [log.columns[name] for name in signals]
    begin = max(column.time[0] for column in columns)
    end = min(column.time[-1] for column in columns)
    time = columns[0].time
    half_period = 0.5 * float(np.median(np.diff(time)))  # clocks of topics differ
    return time[(time >= begin - half_period) & (time <= end + half_period)]
