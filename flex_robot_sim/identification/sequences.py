"""
Logs as even samples of what a model takes and gives, and all that speaks against fitting them.

What would only make the fit worse in silence is found here, and said in one line.
"""

from __future__ import annotations

from collections.abc import Sequence as Rows
from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.ndimage import convolve1d
from scipy.signal import savgol_filter

from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.description.parameters import near
from flex_robot_sim.identification.imu import (
    FEW_VALUES,
    LEAST_WEIGHT,
    STANDS_STILL,
    imu_channel,
    imu_channels,
    strange_links,
)
from flex_robot_sim.identification.log_file import Column, Log
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.summary import summarized

GAP = 5.0               # periods without a sample, from which a log is cut
SHORTEST = 1.0          # sequence that is used                                             [s]
FEWEST = 64             # samples of it
UNEVEN = 0.2            # by which the period may change along a log
SMOOTHED = 0.02         # over which a rate is found, where it drives the model            [s]
SOFTLY = 0.015          # of places that a soft servo follows: far below what rings          [s]
LINES_OF_MEANS = 1 / 8  # share for lines between means around samples: 1/24 and 1/12 of them
CLIPPED = 5             # samples in a row at the end of the range, and
CLIPPED_SHARE = 0.01    # of all that lie there
STILL = 4.0             # times its noise that a signal moves at least
LIVELY = 3.0            # times its noise that an axis of an IMU shows, if it shows anything
TURNS = 0.2             # beyond its limits, of their range, that a joint may be
DEGREES = 180 / np.pi
ALIKE = 0.9             # correlation from which two signals tell the same


@summarized
class Sequence(NamedTuple):
    """A recording without gaps, on an even grid."""

    name: str               # of the file
    time: np.ndarray        # (k,)                                                          [s]
    places: np.ndarray      # (k, joints)   of the drives, or of the joints         [rad, m]
    rates: np.ndarray       # (k, joints)                                           [per s]
    efforts: np.ndarray     # (k, joints)   0 where there are none                  [N m, N]
    measured: np.ndarray    # (k, c)        the channels

    @property
    def period(self) -> float:
        """Time from a sample to the next [s]."""
        return float(self.time[1] - self.time[0])

    def part(self, start: int, end: int) -> Sequence:
        """Return some of the samples."""
        return self._replace(**{name: getattr(self, name)[start:end]
                                for name in self._fields[1:]})

    def thinned(self, every: int) -> Sequence:
        """Return one of so many samples, with the mean efforts around them."""
        if every <= 1 or len(self.time) < every * FEWEST:
            return self
        share = 1 - np.abs(np.arange(1 - every, every)) / every
        efforts = convolve1d(self.efforts, share / every, axis=0, mode='nearest')
        part = self._replace(efforts=efforts)
        return part._replace(**{name: getattr(part, name)[::every] for name in self._fields[1:]})


class Measured(NamedTuple):
    """What the logs hold."""

    sequences: list[Sequence]
    channels: tuple[str, ...]       # (c,)  signals that a model is to explain
    seen: tuple[str, ...]           # (joints,) 'motor', 'position', or '' for a passive joint
    has_efforts: bool
    notes: list[str]


def measured(logs: Rows[Log], arm: ArmModel, by_motion: bool = False,
             like: Measured | None = None) -> Measured:
    """
    Return what logs hold of an arm, the same signals of each.

    :param by_motion: whether efforts are left aside, even where there are some.
    :param like: other logs, whose axes of IMUs are taken; default: those that do something.
    """
    names, notes = arm.joint_names, [note for log in logs for note in log.notes]
    notes += [f'{log.path}: the IMU on "{link}" is left out, as the robot has no such link'
              for log in logs for link in strange_links(arm, log.columns)]
    seen = _seen(logs, arm)
    has_efforts = not by_motion and all(
        f'effort/{name}' in log.columns for log in logs for name, side in zip(names, seen) if side)
    channels = _channels(logs, arm, seen, has_efforts)
    idle = _idle(logs, channels)
    if like is not None:
        idle = {name for name in channels if imu_channel(name) and name not in like.channels}
    channels = tuple(name for name in channels if name not in idle)
    if not channels:
        raise UsageError(f'{logs[0].path}: no excitation: the IMU does not move. Record a motion '
                         'that bends the arm.')
    sequences: list[Sequence] = []
    for log in logs:
        wanted = [f'{side}/{name}' for name, side in zip(names, seen) if side]
        wanted += [f'effort/{name}' for name, side in zip(names, seen) if side and has_efforts]
        wanted = [*dict.fromkeys([*wanted, *channels])]
        for name in wanted:
            _check_column(log, name)
        _check_units(log, arm, seen)
        _check_weight(log, arm)
        grid = log.columns[wanted[0]].time
        for time in _runs(log, grid, notes):
            places, rates = _placed(log, arm, seen, time, has_efforts)
            efforts = sharpened(np.column_stack([
                np.interp(time, *log.columns[f'effort/{name}']) if side and has_efforts else
                np.zeros(time.size) for name, side in zip(names, seen)]), LINES_OF_MEANS)
            values = np.column_stack([_sampled(log.columns[name], time) for name in channels])
            sequences.append(Sequence(log.path, time, places, rates, efforts, values))
    if not sequences:
        raise UsageError(f'{logs[0].path}: no {SHORTEST:g} s without a gap. Record longer.')
    _check_excitation(sequences, arm, channels)
    return Measured(sequences, channels, seen, has_efforts, notes)


def _seen(logs, arm):
    """Where each joint was measured; '' for one that has a spring and no motor."""
    out = []
    for name in arm.joint_names:
        joint = arm.description.joint(name)
        sides = [side for side in ('motor', 'position')
                 if all(f'{side}/{name}' in log.columns for log in logs)]
        if not sides and joint.spring_stiffness > 0.0:
            out.append('')
            continue
        if not sides:
            log = next(log for log in logs if f'position/{name}' not in log.columns)
            raise UsageError(f'{log.path}: says nothing of joint "{name}". '
                             f'{near(f"position/{name}", log.columns)} Give --signal '
                             f'position/{name}=COLUMN.')
        out.append(sides[0])
    return tuple(out)


def _channels(logs, arm, seen, has_efforts):
    """Signals that all logs have and that a model explains."""
    known = [*flex_sensors(arm).names]
    known += [f'tip/{link}/{axis}' for link in arm.tips for axis in 'yz'
              if arm.beams[arm.segments[link][0]].count['yz'.index(axis)]]
    if has_efforts:
        known = [f'{side}/{name}' for name, side in zip(arm.joint_names, seen) if side] + known
    # the link side of a gear tells of it, the motor side is where the drive is
    known += [f'position/{name}' for name, side in zip(arm.joint_names, seen)
              if side == 'motor' and name in arm.motor_names]
    known += imu_channels(arm)
    found = tuple(name for name in dict.fromkeys(known)
                  if all(name in log.columns for log in logs))
    if not found:
        raise UsageError(f'{logs[0].path}: has nothing that tells how the arm bends. Record '
                         f'{", ".join(known[:4]) or "efforts"}, or name the column by --signal.')
    return found


def _idle(logs, channels):
    """Axes of IMUs that do nothing in any log, as those across the plane of a motion."""
    spread = {name: max(float(np.ptp(log.columns[name].values)) for log in logs)
              for name in channels if imu_channel(name)}
    kinds = {name: name.rpartition('/')[0] for name in spread}
    most = {kind: max(spread[name] for name in spread if kinds[name] == kind)
            for kind in kinds.values()}
    return {name for name, size in spread.items() if size <= STANDS_STILL * most[kinds[name]]}


def _check_weight(log, arm):
    """Refuse accelerometers in multiples of g, which at rest read 1."""
    weight = float(np.linalg.norm(arm.arrays.base_acceleration[3:]))
    for link, frame in arm.frames.items():
        axes = [log.columns.get(f'acceleration/{link}/{axis}') for axis in 'xyz']
        if frame.body < 0 or any(
                one is None or one.values.shape != axes[0].values.shape for one in axes):
            continue
        read = float(np.median(np.linalg.norm([one.values for one in axes], axis=0)))
        if read < LEAST_WEIGHT * weight:
            raise UsageError(f'{log.path}: the accelerometer on "{link}" reads {read:.3g} where '
                             f'gravity is {weight:.3g} m/s2: in g, or without gravity? Give '
                             f'--signal acceleration/{link}/x=COLUMN*9.80665 and so on.')


def _check_column(log, name):
    """Refuse a signal that is not finite, whose clock is none, or that is clipped."""
    time, values = log.columns[name]
    bad = np.flatnonzero(~np.isfinite(values) | ~np.isfinite(time))
    if bad.size:
        raise UsageError(f'{log.path}: "{name}" is no number in row {bad[0] + 1}, and in '
                         f'{bad.size} rows. Mend or remove them.')
    if time.size < FEWEST:
        raise UsageError(f'{log.path}: "{name}" has {time.size} samples. Record at least '
                         f'{FEWEST}.')
    steps = np.diff(time)
    if (steps <= 0.0).any():
        row = int(np.flatnonzero(steps <= 0.0)[0])
        raise UsageError(f'{log.path}: the clock of "{name}" jumps back by {-steps[row]:.3g} s '
                         f'after {time[row] - time[0]:.6g} s. Give one recording at a time.')
    half = steps.size // 2
    period = np.median(steps)
    if period > 0 and abs(np.median(steps[:half]) - np.median(steps[half:])) > UNEVEN * period:
        raise UsageError(f'{log.path}: the clock of "{name}" drifts: its period goes from '
                         f'{np.median(steps[:half]):.3g} to {np.median(steps[half:]):.3g} s. '
                         'Stamp samples where they are taken.')
    low, high = values.min(), values.max()
    moving = values[int(np.argmax(values != values[0])):]       # a rest without noise is no end
    for end in (low, high):
        at = np.abs(moving - end) <= 1e-9 * (high - low)
        if high > low and _longest(at) >= CLIPPED and at.mean() > CLIPPED_SHARE and (
                not name.startswith(('position/', 'motor/', 'effort/'))) and not (
                imu_channel(name) and np.unique(values).size < FEW_VALUES):
            raise UsageError(f'{log.path}: "{name}" is clipped: {at.mean():.0%} of its samples '
                             f'are {end:.4g}. Widen its range, or move less.')


def _longest(flags):
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(int), [0]])))
    return int((edges[1::2] - edges[::2]).max(initial=0))


def _check_units(log, arm, seen):
    """Refuse degrees where radians belong, and efforts that no motor of this arm gives."""
    for name, side in zip(arm.joint_names, seen):
        joint = arm.description.joint(name)
        if not side or joint.kind == 'prismatic':
            continue
        time, values = log.columns[f'{side}/{name}']
        rate = log.columns.get(f'velocity/{name}')
        away, room = np.abs(values).max(), max(abs(joint.lower), abs(joint.upper))
        if np.isfinite(room):
            is_far = away > room * (1 + TURNS) and away / DEGREES <= room * (1 + TURNS)
        else:
            is_far = away > 20 * np.pi
        if not is_far and rate is not None and np.array_equal(rate.time, time):
            found = np.gradient(values, time)
            share = (found @ rate.values) / max(rate.values @ rate.values, 1e-300)
            is_far = abs(share / DEGREES - 1) < 0.2
            if abs(share * DEGREES - 1) < 0.2:
                raise UsageError(f'{log.path}: "velocity/{name}" is in degrees, its position in '
                                 f'radians. Give --signal velocity/{name}=COLUMN*deg.')
        if is_far:
            raise UsageError(f'{log.path}: "{side}/{name}" goes to {away:.3g} rad: these are '
                             f'degrees. Give --signal {side}/{name}=COLUMN*deg.')


def _runs(log, time, notes):
    """Yield even grids of the parts without gaps."""
    steps = np.diff(time)
    period = float(np.median(steps))
    gaps = np.flatnonzero(steps > GAP * period)
    if gaps.size:
        notes.append(f'{log.path}: {gaps.size} gaps, the longest of {steps[gaps].max():.3g} s '
                     f'after {time[gaps[np.argmax(steps[gaps])]] - time[0]:.4g} s; the log is cut '
                     'there')
    ends = [-1, *gaps.tolist(), time.size - 1]
    left = 0.0
    for before, last in zip(ends, ends[1:]):
        part = time[before + 1:last + 1]
        if part.size < FEWEST or part[-1] - part[0] < SHORTEST:
            left += float(part[-1] - part[0]) if part.size else 0.0
            continue
        step = (part[-1] - part[0]) / (part.size - 1)
        yield part[0] + step * np.arange(part.size)
    if left:
        notes.append(f'{log.path}: {left:.3g} s are in parts of less than {SHORTEST:g} s and are '
                     'left out')


def _sampled(column: Column, time: np.ndarray) -> np.ndarray:
    """Values on a grid, as they are where it meets the samples."""
    if column.time.shape == time.shape and np.abs(column.time - time).max() < 1e-6:
        return column.values
    return np.interp(time, *column)


def _placed(log, arm, seen, time, softly):
    """Places and rates (k, joints) of the drives."""
    places, rates = np.zeros((2, time.size, len(seen)))
    period = time[1] - time[0]
    window = _window(period, softly)
    for j, (name, side) in enumerate(zip(arm.joint_names, seen)):
        if not side:
            continue
        values = _sampled(log.columns[f'{side}/{name}'], time)
        places[:, j] = savgol_filter(values, window, 3)
        own = log.columns.get(f'{"velocity" if side == "position" else "motor_velocity"}/{name}')
        rates[:, j] = (np.interp(time, *own) if own is not None else
                       savgol_filter(values, window, 3, deriv=1, delta=period))
    return places, rates


def _window(period, softly):
    """Samples over which places are smoothed."""
    return max(5, 2 * round((SOFTLY if softly else SMOOTHED) / period / 2) + 1)


def noise_of(values: np.ndarray) -> np.ndarray:
    """Deviation (c,) of the noise in samples (k, c): what three neighbours cannot share."""
    third = np.diff(values, 3, axis=0)
    return np.sqrt(np.maximum((third**2).mean(axis=0), 0.0) / 20.0)


def lively_imus(values: np.ndarray, channels: Rows[str]) -> list[int]:
    """Return the columns of samples (k, c) in which axes of IMUs show more than noise."""
    seen = values.std(axis=0) > LIVELY * noise_of(values)
    return [k for k, name in enumerate(channels) if seen[k] and imu_channel(name)]


def _check_excitation(sequences, arm, channels):
    """Refuse logs in which nothing moves."""
    for k, name in enumerate(channels):
        spread = max(np.ptp(row.measured[:, k]) for row in sequences)
        noise = max(noise_of(row.measured[:, [k]])[0] for row in sequences)
        if name.startswith(('position/', 'motor/')) or imu_channel(name):
            continue
        if not spread > STILL * noise or spread < 1e-12:
            raise UsageError(f'{sequences[0].name}: no excitation: "{name}" moves by '
                             f'{spread:.3g}, its noise is {noise:.3g}. Record a motion that '
                             'bends the arm.')
    if all(np.ptp(row.places, axis=0).max() < 1e-6 and np.ptp(row.efforts, axis=0).max() == 0.0
           for row in sequences) and not channels:
        raise UsageError(f'{sequences[0].name}: no excitation: nothing moves.')


def sharpened(values: np.ndarray, share: float) -> np.ndarray:
    """
    Return even samples (k, c) with what a mean has taken away, to second order (I23).

    :param share: of the second differences; 1/24 for the mean over one period.
    """
    out = values.copy()
    out[1:-1] -= share * np.diff(values, 2, axis=0)
    return out


def shifted(values: np.ndarray, by: float) -> np.ndarray:
    """Rows of even samples (k, c), taken `by` periods later; held beyond the ends."""
    if by == 0.0:
        return values
    rows = np.arange(len(values), dtype=float)
    return CubicSpline(rows, values)(np.clip(rows + by, 0.0, rows[-1]))
