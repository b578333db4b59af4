"""Vibration that a move leaves, from a log of the move: amplitudes of known modes at its end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis.resonance import Resonance
from flex_robot_sim.recording.read.columns import Recording
from flex_robot_sim.shaping.tuning.pose_log import (
    displacement_power,
    modal_fit,
    position_column,
    sensor_part,
)
from flex_robot_sim.shaping.vibration_log import VibrationLog, read_vibration, samples_of
from flex_robot_sim.util.exceptions import UsageError

MIN_PERIODS = 3.0  # of the slowest mode after the move
MAX_PERIODS = 10.0
END_SHARE = 0.005  # of the travel of a joint, that counts as arrived
LAST_SHARE = 0.1  # of the samples of a joint, whose median is its last position
END_MARGIN_S = 0.02  # after it                                                        [s]
QUIET_S = 0.2  # at the begin of a log without joints, at rest                         [s]
START_RATIO = 8.0  # of a sample at the start of a move, over the noise before it


class LogVibration(NamedTuple):
    """
    Vibration at the end of a move, in the unit of the sensor.

    Accelerations and rates of faster modes count as if they had the slowest frequency, so that the
    sum is proportional to displacements.
    """

    amplitude: float  # sum over all modes
    noise: float  # amplitude that noise alone would have


def log_vibration(
    path: str | Path,
    joints: Sequence[str],
    modes: Sequence[Resonance],
    duration: float,
    columns: Sequence[str] = (),
    rate: float | None = None,
) -> LogVibration:
    """
    Return the LogVibration of modes in the log of a move.

    :param duration: of the set points, for a log without columns of joints [s].
    :param joints, columns, rate: as of `read_pose_log`.
    """
    recording = read_vibration(path, rate)
    log = samples_of(sensor_part(recording, joints, columns), columns, rate)
    end = _end_by_joints(recording, joints)
    if end is None:
        end = _start_by_sensor(str(path), log) + duration
    period = 1 / min(mode.frequency for mode in modes)
    first = int(np.ceil((end + END_MARGIN_S - log.start) * log.rate))
    samples = log.samples[max(first, 0) : first + int(MAX_PERIODS * period * log.rate)]
    if len(samples) < MIN_PERIODS * period * log.rate:
        raise UsageError(
            f'{path}: ends less than {MIN_PERIODS:g} periods of the vibration after the move. '
            'Record longer.'
        )
    fit = modal_fit(samples, log.rate, modes)
    frequencies = np.array([mode.frequency for mode in modes])
    weights = (frequencies.min() / frequencies) ** displacement_power(log.names)
    noise = 2 * np.sqrt((fit.residual**2).mean(axis=0).sum() / len(samples))
    return LogVibration(float(weights @ fit.amplitudes), float(noise * weights.sum()))


def _end_by_joints(recording: Recording, joints: Sequence[str]) -> float | None:
    """Return the time at which all joints have arrived [s]; None without their columns."""
    ends = []
    for joint in joints:
        name = position_column(recording, joint)
        if name is None:
            return None
        time, values = recording.columns[name]
        is_finite = np.isfinite(values)
        end = _arrival(time[is_finite], values[is_finite])
        if end is not None:
            ends.append(end)
    return max(ends, default=None)


def _arrival(time: np.ndarray, values: np.ndarray) -> float | None:
    """Return the time at which a joint first reaches its last position, near which it vibrates."""
    if not values.size:
        return None
    distances = values - np.median(values[-max(int(LAST_SHARE * values.size), 1) :])
    furthest = int(np.argmax(np.abs(distances)))
    travel = distances[furthest]
    if not travel:
        return None
    has_arrived = distances[furthest:] / travel <= END_SHARE
    return float(time[furthest + int(np.argmax(has_arrived))])


def _start_by_sensor(path: str, log: VibrationLog) -> float:
    """Return the time at which a move begins, by the first samples above noise [s]."""
    quiet = max(int(QUIET_S * log.rate), 8)
    offsets = log.samples - log.samples[:quiet].mean(axis=0)
    noise = np.maximum(offsets[:quiet].std(axis=0), 1e-3 * np.abs(offsets).max(axis=0))
    above = (np.abs(offsets) > START_RATIO * noise).any(axis=1)
    if not above.any() or above[: 2 * quiet].any():
        raise UsageError(
            f'{path}: the begin of the move cannot be found. Begin the log a second before the '
            'move, with the arm at rest, or record the joints as well.'
        )
    return log.start + float(np.argmax(above)) / log.rate
