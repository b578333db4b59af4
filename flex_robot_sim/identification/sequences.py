"""
Logs as even samples of model inputs and outputs, and checks of their quality.

Errors that would silently bias a fit are reported in one line.
"""

from __future__ import annotations

from collections.abc import Sequence as Rows
from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.ndimage import convolve1d
from scipy.signal import savgol_filter

from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.description.robot_parameters import near
from flex_robot_sim.identification.imu import (
    MIN_SPREAD_RATIO,
    imu_channel,
    imu_channels,
    unknown_links,
)
from flex_robot_sim.identification.log_checks import (
    MIN_SAMPLES,
    check_column,
    check_gravity,
    check_rate,
    check_units,
)
from flex_robot_sim.identification.log_file import Column, Log
from flex_robot_sim.identification.log_span import common_times, without_invalid_ends
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.summary import summarized

MIN_GAP_PERIODS = 5.0  # a longer gap between samples splits a log
MIN_JUMP_PERIODS = 2.5  # a longer gap also splits a log, if there are few of them
MAX_JUMPS = 8  # of a log that is split there; with more, samples are missing at random
MIN_DURATION_S = 1.0  # of a sequence
MAX_JITTER_RATIO = 0.05  # of stamps that are even, over the period
DRIVE_SMOOTHING_S = 0.02  # window of the derivative of prescribed motion
SERVO_SMOOTHING_S = 0.015  # window of the soft servo reference, shorter than vibrations
SHARPENING_SHARE = 1 / 8  # correction for linear interpolation of means: 1/24 + 1/12
MIN_SIGNAL_TO_NOISE = 4.0  # range of a signal over its noise
MIN_IMU_SIGNAL_TO_NOISE = 3.0  # standard deviation of an IMU axis over its noise


@summarized
class Sequence(NamedTuple):
    """Part of a log without gaps, on an even time grid."""

    name: str  # of the file
    time: np.ndarray  # (k,)                                                          [s]
    positions: np.ndarray  # (k, joints)   of the drives, or of the joints         [rad, m]
    velocities: np.ndarray  # (k, joints)                                           [per s]
    efforts: np.ndarray  # (k, joints)   0 where there are none                  [N m, N]
    measured: np.ndarray  # (k, c)        the channels

    @property
    def period(self) -> float:
        """Sampling period [s]."""
        return float(self.time[1] - self.time[0])

    def part(self, start: int, end: int) -> Sequence:
        """Return the samples from `start` to `end`."""
        return self._replace(**{name: getattr(self, name)[start:end] for name in self._fields[1:]})

    def thinned(self, every: int) -> Sequence:
        """Return one in `every` samples, with mean efforts around them."""
        if every <= 1 or len(self.time) < every * MIN_SAMPLES:
            return self
        share = 1 - np.abs(np.arange(1 - every, every)) / every
        efforts = convolve1d(self.efforts, share / every, axis=0, mode='nearest')
        part = self._replace(efforts=efforts)
        return part._replace(**{name: getattr(part, name)[::every] for name in self._fields[1:]})


class DataSet(NamedTuple):
    """Sequences and channels of logs."""

    sequences: list[Sequence]
    channels: tuple[str, ...]  # (c,)  signals that the model predicts
    sides: tuple[str, ...]  # (joints,) 'motor', 'position', or '' for a passive joint
    has_efforts: bool
    notes: list[str]


def make_data_set(
    logs: Rows[Log], arm: ArmModel, by_motion: bool = False, like: DataSet | None = None
) -> DataSet:
    """
    Return the data of an arm in logs, with the same signals for all logs.

    :param by_motion: whether to ignore logged efforts.
    :param like: data of other logs with the IMU axes to use; default: all that move.
    """
    names, notes = arm.joint_names, [note for log in logs for note in log.notes]
    notes += [
        f'{log.path}: the IMU on "{link}" is left out, as the robot has no such link'
        for log in logs
        for link in unknown_links(arm, log.columns)
    ]
    sides = _measured_sides(logs, arm)
    has_efforts = not by_motion and all(
        f'effort/{name}' in log.columns for log in logs for name, side in zip(names, sides) if side
    )
    channels = _channels(logs, arm, sides, has_efforts)
    idle_axes = _idle_imu_axes(logs, channels)
    if like is not None:
        idle_axes = {name for name in channels if imu_channel(name) and name not in like.channels}
    channels = tuple(name for name in channels if name not in idle_axes)
    if not channels:
        raise UsageError(
            f'{logs[0].path}: no excitation: the IMU does not move. Record a motion '
            'that bends the arm.'
        )
    sequences: list[Sequence] = []
    for log in logs:
        signals = [f'{side}/{name}' for name, side in zip(names, sides) if side]
        signals += [f'effort/{name}' for name, side in zip(names, sides) if side and has_efforts]
        signals = [*dict.fromkeys([*signals, *channels])]
        log = without_invalid_ends(log, signals, notes)
        for name in signals:
            check_column(log, name)
        check_units(log, arm, sides)
        check_gravity(log, arm)
        grid = common_times(log, signals)
        if grid.size > 1:
            check_rate(log, arm, float(np.median(np.diff(grid))))
        for time in _gapless_grids(log, grid, notes):
            positions, velocities = _drive_motion(log, arm, sides, time, has_efforts)
            efforts = sharpened(
                np.column_stack(
                    [
                        np.interp(time, *log.columns[f'effort/{name}'])
                        if side and has_efforts
                        else np.zeros(time.size)
                        for name, side in zip(names, sides)
                    ]
                ),
                SHARPENING_SHARE,
            )
            values = np.column_stack([_sampled(log.columns[name], time) for name in channels])
            sequences.append(Sequence(log.path, time, positions, velocities, efforts, values))
    if not sequences:
        raise UsageError(f'{logs[0].path}: no {MIN_DURATION_S:g} s without a gap. Record longer.')
    _check_excitation(sequences, channels)
    return DataSet(sequences, channels, sides, has_efforts, notes)


def _measured_sides(logs, arm):
    """
    Return the measured side of each joint; '' for a joint without motor.

    Without closed loops, a joint with a spring and without signals has no motor.
    """
    result = []
    for name, is_driven in zip(arm.joint_names, arm.actuated):
        if arm.closed_loops and not is_driven:
            result.append('')
            continue
        joint = arm.description.joint(name)
        sides = [
            side
            for side in ('motor', 'position')
            if all(f'{side}/{name}' in log.columns for log in logs)
        ]
        if not sides and joint.spring_stiffness > 0.0:
            result.append('')
            continue
        if not sides:
            log = next(log for log in logs if f'position/{name}' not in log.columns)
            raise UsageError(
                f'{log.path}: says nothing of joint "{name}". '
                f'{near(f"position/{name}", log.columns)} Give --signal position/{name}=COLUMN.'
            )
        result.append(sides[0])
    return tuple(result)


def tip_channels(arm: ArmModel) -> list[str]:
    """Return the names of the tip deflections in directions in which a link bends."""
    return [
        f'tip/{link}/{axis}'
        for link in arm.tips
        for axis, count in zip('yz', _bending_counts(arm.beams_of(link)[0][0]))
        if count
    ]


def _bending_counts(beam):
    """Numbers of coordinates that bend a beam along y and z; all of a spatial one do."""
    return (beam.size, beam.size) if beam.is_spatial else beam.count[:2]


def _channels(logs, arm, sides, has_efforts):
    """Return the signals that all logs contain and the model predicts."""
    candidates = [*flex_sensors(arm).names, *tip_channels(arm)]
    if has_efforts:
        candidates = [
            f'{side}/{name}' for name, side in zip(arm.joint_names, sides) if side
        ] + candidates
    # the link side yields information about the gear; the motor side is the drive position
    candidates += [
        f'position/{name}'
        for name, side in zip(arm.joint_names, sides)
        if side == 'motor' and name in arm.motor_names
    ]
    if arm.closed_loops:
        candidates += [
            f'position/{name}' for name, side in zip(arm.joint_names, sides) if not side
        ]
    candidates += imu_channels(arm)
    channels = tuple(
        name for name in dict.fromkeys(candidates) if all(name in log.columns for log in logs)
    )
    if not channels:
        raise UsageError(
            f'{logs[0].path}: no column measures how the arm bends. Record '
            f'{", ".join(candidates[:4]) or "efforts"}, or name the column by --signal.'
        )
    return channels


def _idle_imu_axes(logs, channels):
    """Return the IMU axes without motion in all logs, such as those normal to its plane."""
    spread = {
        name: max(float(np.ptp(log.columns[name].values)) for log in logs)
        for name in channels
        if imu_channel(name)
    }
    kinds = {name: name.rpartition('/')[0] for name in spread}
    largest = {
        kind: max(spread[name] for name in spread if kinds[name] == kind)
        for kind in kinds.values()
    }
    return {
        name
        for name, extent in spread.items()
        if extent <= MIN_SPREAD_RATIO * largest[kinds[name]]
    }


def _gapless_grids(log, time, notes):
    """Yield even time grids of the parts without gaps."""
    steps = np.diff(time)
    period = float(np.median(steps))
    gaps = np.flatnonzero(steps > MIN_JUMP_PERIODS * period)
    if gaps.size > MAX_JUMPS:
        gaps = np.flatnonzero(steps > MIN_GAP_PERIODS * period)
    if gaps.size:
        notes.append(
            f'{log.path}: {gaps.size} gaps, the longest of {steps[gaps].max():.3g} s after '
            f'{time[gaps[np.argmax(steps[gaps])]] - time[0]:.4g} s; the log is cut there'
        )
    ends = [-1, *gaps.tolist(), time.size - 1]
    discarded = jitter = 0.0
    for end_before, last in zip(ends, ends[1:]):
        part = time[end_before + 1 : last + 1]
        if part.size < MIN_SAMPLES or part[-1] - part[0] < MIN_DURATION_S:
            discarded += float(part[-1] - part[0]) if part.size else 0.0
            continue
        step = (part[-1] - part[0]) / (part.size - 1)
        grid = part[0] + step * np.arange(part.size)
        jitter = max(jitter, float(np.abs(part - grid).max()))
        yield grid
    if jitter > MAX_JITTER_RATIO * period:
        inner = np.delete(steps, gaps)
        notes.append(
            f'{log.path}: steps of the time go from {1e3 * inner.min():.3g} to '
            f'{1e3 * inner.max():.3g} ms; samples are interpolated'
        )
    if discarded:
        notes.append(
            f'{log.path}: {discarded:.3g} s are in parts of less than '
            f'{MIN_DURATION_S:g} s and are left out'
        )


def _sampled(column: Column, time: np.ndarray) -> np.ndarray:
    """Return values on a time grid; interpolate only if it differs from the samples."""
    if column.time.shape == time.shape and np.abs(column.time - time).max() < 1e-6:
        return column.values
    return np.interp(time, *column)


def _drive_motion(log, arm, sides, time, is_servo):
    """Return positions and velocities (k, joints) of the drives."""
    positions, velocities = np.zeros((2, time.size, len(sides)))
    period = time[1] - time[0]
    window = _window(period, is_servo)
    for j, (name, side) in enumerate(zip(arm.joint_names, sides)):
        if not side:
            continue
        values = _sampled(log.columns[f'{side}/{name}'], time)
        positions[:, j] = savgol_filter(values, window, 3)
        velocity = log.columns.get(
            f'{"velocity" if side == "position" else "motor_velocity"}/{name}'
        )
        velocities[:, j] = (
            np.interp(time, *velocity)
            if velocity is not None
            else savgol_filter(values, window, 3, deriv=1, delta=period)
        )
    return positions, velocities


def _window(period, is_servo):
    """Return the length of the smoothing window in samples."""
    return max(
        5, 2 * round((SERVO_SMOOTHING_S if is_servo else DRIVE_SMOOTHING_S) / period / 2) + 1
    )


def noise_of(values: np.ndarray) -> np.ndarray:
    """Return the standard deviation (c,) of noise in samples (k, c), by third differences."""
    third = np.diff(values, 3, axis=0)
    return np.sqrt(np.maximum((third**2).mean(axis=0), 0.0) / 20.0)


def moving_imus(values: np.ndarray, channels: Rows[str]) -> list[int]:
    """Return the columns of samples (k, c) of IMU axes that exceed their noise."""
    exceeds_noise = values.std(axis=0) > MIN_IMU_SIGNAL_TO_NOISE * noise_of(values)
    return [k for k, name in enumerate(channels) if exceeds_noise[k] and imu_channel(name)]


def _check_excitation(sequences, channels):
    """Refuse logs without motion."""
    for k, name in enumerate(channels):
        spread = max(np.ptp(sequence.measured[:, k]) for sequence in sequences)
        noise = max(noise_of(sequence.measured[:, [k]])[0] for sequence in sequences)
        if name.startswith(('position/', 'motor/')) or imu_channel(name):
            continue
        if not spread > MIN_SIGNAL_TO_NOISE * noise or spread < 1e-12:
            raise UsageError(
                f'{sequences[0].name}: no excitation: "{name}" moves by {spread:.3g}, its noise '
                f'is {noise:.3g}. Record a motion that bends the arm.'
            )
    if (
        all(
            np.ptp(sequence.positions, axis=0).max() < 1e-6
            and np.ptp(sequence.efforts, axis=0).max() == 0.0
            for sequence in sequences
        )
        and not channels
    ):
        raise UsageError(f'{sequences[0].name}: no excitation: nothing moves.')


def sharpened(values: np.ndarray, share: float) -> np.ndarray:
    """
    Return even samples (k, c), corrected to second order for averaging (I23).

    :param share: of the second differences; 1/24 for the mean over one period.
    """
    out = values.copy()
    out[1:-1] -= share * np.diff(values, 2, axis=0)
    return out


def shifted(values: np.ndarray, samples: float) -> np.ndarray:
    """Return even samples (k, c), `samples` periods later; constant beyond the ends."""
    if samples == 0.0:
        return values
    rows = np.arange(len(values), dtype=float)
    return CubicSpline(rows, values)(np.clip(rows + samples, 0.0, rows[-1]))
