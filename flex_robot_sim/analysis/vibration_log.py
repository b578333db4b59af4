"""Samples of a recorded vibration, read from a CSV file."""

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from flex_robot_sim.util.exceptions import UsageError

MIN_SAMPLES = 128  # of a log
MAX_BYTES = 256 * 2**20
MAX_PERIOD_DEVIATION = 0.02  # relative; with larger ones, samples are interpolated


def read_samples(
    path: str | Path, columns: Sequence[str] = (), rate: float | None = None
) -> tuple[float, np.ndarray, list[str]]:
    """
    Return the sampling rate [Hz], samples (k, n) and names (n,) of a CSV file with a header.

    :param columns: names of those to use; default: all but the time.
    :param rate: of the samples [Hz]; default: from the column `time` or `t` [s].
    """
    try:
        with open(path, newline='', encoding='utf-8') as file:
            rows = list(csv.reader(file.read(MAX_BYTES).splitlines()))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f'{path}: cannot be read: {getattr(error, "strerror", None) or "no text"}'
            '. Give a CSV file.'
        ) from error
    if not rows:
        raise UsageError(f'{path}: is empty. Give a CSV file with a header and rows of numbers.')
    header = [name.strip() for name in rows[0]]
    table = _numbers(path, header, rows[1:])
    if len(table) < MIN_SAMPLES:
        raise UsageError(
            f'{path}: has {len(table)} samples. Record at least {MIN_SAMPLES}, and '
            'several seconds of vibration.'
        )
    clock = next((k for k, name in enumerate(header) if name.lower() in ('time', 't')), None)
    for name in columns:
        if name not in header:
            raise UsageError(f'{path}: has no column "{name}". Known: {", ".join(header)}.')
    used = [k for k, name in enumerate(header) if k != clock and (not columns or name in columns)]
    if not used:
        raise UsageError(f'{path}: has no column but the time. Record a vibration.')
    samples = table[:, used]
    if rate is None:
        rate, samples = _resampled(path, clock, table, samples)
    elif not 0.0 < rate < np.inf:
        raise UsageError('--rate must be above 0 and finite [Hz].')
    return rate, samples, [header[k] for k in used]


def _numbers(path, header, rows):
    table = np.empty((len(rows), len(header)))
    for k, row in enumerate(rows):
        try:
            table[k] = row if len(row) == len(header) else ''
        except ValueError as error:
            raise UsageError(
                f'{path}:{k + 2}: is not {len(header)} numbers. Mend or remove this line.'
            ) from error
    invalid = np.flatnonzero(~np.isfinite(table).all(axis=1))
    if invalid.size:
        raise UsageError(f'{path}:{invalid[0] + 2}: is not finite. Mend or remove this line.')
    return table


def _resampled(path, clock, table, samples):
    """Return the rate [Hz], and samples evenly spaced in time."""
    if clock is None:
        raise UsageError(f'{path}: has no column "time". Add one [s], or give --rate [Hz].')
    times = table[:, clock]
    steps = np.diff(times)
    if not (steps > 0.0).all():
        raise UsageError(
            f'{path}:{np.flatnonzero(steps <= 0.0)[0] + 3}: the time does not rise. '
            'Sort the log, or give one recording at a time.'
        )
    step = (times[-1] - times[0]) / steps.size
    even_times = times[0] + step * np.arange(times.size)
    if np.abs(steps - step).max() > MAX_PERIOD_DEVIATION * step:
        samples = np.column_stack([np.interp(even_times, times, column) for column in samples.T])
    return 1 / step, samples
