"""Recordings of vibration that would mislead: saturated sensors, sensors that did not move."""

import numpy as np

from flex_robot_sim.analysis.recorded_vibration import RecordedModes
from flex_robot_sim.shaping.vibration_log import VibrationLog
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.summary import listed

MIN_LEVELS = 16  # distinct values of a sensor
MIN_RUN, MIN_RUNS = 3, 2  # equal samples at the end of the range, and times that they occur
NEIGHBOURS = 0.05  # share of the range next to its end
MIN_SPIKE_RATIO = 2.0  # samples at the end of the range, over those next to it
GRAVITY = 9.81  # [m/s2]
MAX_GRAVITY_ERROR = 0.05  # relative
MAX_REST_STD = 0.03  # noise of a sensor at rest, over gravity
MAX_REST_RATIO = 2.0  # standard deviation of the loudest tenth of a log at rest, over the median


def check_modes(path: str, log: VibrationLog, modes: RecordedModes) -> list[str]:
    """Return notes about the modes in a log; raise UsageError if they would mislead."""
    notes = []
    for name, values in zip(log.names, log.samples.T):
        rows = saturated_rows(values)
        times = rows / log.rate
        if ((times >= modes.begin) & (times <= modes.end)).any():
            raise UsageError(
                f'{path}: "{name}" is saturated in {rows.size} samples, at '
                f'{values[rows[0]]:.4g}. Record with a larger range of the sensor or a gentler '
                'move.'
            )
        if rows.size:
            notes.append(f'{path}: "{name}" is saturated during the move, which is left out')
    if not modes.resonances and is_gravity_only(log.samples):
        raise UsageError(
            f'{path}: holds gravity only: the sensor does not move. Record a move and the '
            'vibration after it, or a tap.'
        )
    if modes.drift is not None:
        what, remedy = 'the frequency changes', ''
        if modes.drift.may_be_two:
            what = 'there are two close modes, or one whose frequency changes,'
            remedy = ' and with an accelerometer of three axes'
        notes.append(
            f'{path}: {what} between {modes.drift.low:.4g} and {modes.drift.high:.4g} Hz during '
            'the vibration, which widens the band of frequencies. Record in one pose with one '
            f'payload{remedy}'
        )
    if modes.harmonics:
        frequencies = listed(f'{harmonic.frequency:.4g}' for harmonic in modes.harmonics)
        notes.append(
            f'{path}: harmonics at {frequencies} Hz, twice the frequency of a mode, are no modes '
            'and vanish with it'
        )
    return notes


def saturated_rows(values: np.ndarray) -> np.ndarray:
    """Return the rows at which values (k,) stay at the end of the range of their sensor."""
    low, high = values.min(), values.max()
    if np.unique(values[: 10 * MIN_LEVELS]).size < MIN_LEVELS and (
        np.unique(values).size < MIN_LEVELS
    ):
        return np.zeros(0, int)
    rows = []
    for end, near in (
        (high, values > high - NEIGHBOURS * (high - low)),
        (low, values < low + NEIGHBOURS * (high - low)),
    ):
        is_end = values == end
        edges = np.flatnonzero(np.diff(is_end.astype(int), prepend=0, append=0))
        runs = edges.reshape(-1, 2)
        runs = runs[np.diff(runs, axis=1)[:, 0] >= MIN_RUN]
        beside = np.count_nonzero(near & ~is_end)
        if len(runs) >= MIN_RUNS and is_end.sum() > MIN_SPIKE_RATIO * beside:
            rows += [np.arange(*run) for run in runs]
    return np.sort(np.concatenate(rows)) if rows else np.zeros(0, int)


def is_gravity_only(samples: np.ndarray) -> bool:
    """Whether samples (k, 3) are those of an accelerometer [m/s2 or g] that did not move."""
    if samples.shape[1] != 3:
        return False
    size = np.linalg.norm(samples.mean(axis=0))
    unit = next(
        (unit for unit in (GRAVITY, 1.0) if abs(size - unit) < MAX_GRAVITY_ERROR * unit), None
    )
    if unit is None:
        return False
    blocks = samples[: len(samples) // 10 * 10].reshape(10, -1, 3)
    noise = blocks.std(axis=1).max(axis=1)
    return bool(noise.max() < min(MAX_REST_STD * unit, MAX_REST_RATIO * np.median(noise)))
