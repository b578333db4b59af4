"""Checks of the signals of a log: their clocks, ranges and units."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flex_robot_sim.analysis.natural_modes import modes
from flex_robot_sim.identification.imu import MIN_DISTINCT_VALUES, MIN_GRAVITY_RATIO, imu_channel
from flex_robot_sim.identification.log_file import Log
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.exceptions import UsageError

MIN_SAMPLES = 64  # of a signal
MAX_PERIOD_CHANGE = 0.2  # relative change of the sampling period along a log
MIN_CLIPPED_SAMPLES = 5  # consecutive samples at the end of the range
MIN_CLIPPED_RATIO = 0.01  # share of all samples at the end of the range
MAX_PERIODS = 1.0  # of the first vibration of the links, from a sample to the next
LIMIT_MARGIN_RATIO = 0.2  # position beyond the joint limits, over the limit
DEGREES = 180 / np.pi


def check_gravity(log: Log, arm: ArmModel) -> None:
    """Refuse accelerometers in multiples of g, whose norm at rest is 1."""
    weight = float(np.linalg.norm(arm.arrays.base_acceleration[3:]))
    for link, frame in arm.frames.items():
        names = [f'acceleration/{link}/{axis}' for axis in 'xyz']
        axes = [log.columns[name] for name in names if name in log.columns]
        if frame.body < 0 or len(axes) < 3 or len({column.values.shape for column in axes}) > 1:
            continue
        norm = float(np.median(np.linalg.norm([column.values for column in axes], axis=0)))
        if norm < MIN_GRAVITY_RATIO * weight:
            raise UsageError(
                f'{log.path}: the accelerometer on "{link}" reads {norm:.3g} where '
                f'gravity is {weight:.3g} m/s2: in g, or without gravity? Give '
                f'--signal acceleration/{link}/x=COLUMN*9.80665 and so on.'
            )


def check_rate(log: Log, arm: ArmModel, period: float) -> None:
    """Refuse a sampling period [s] in which the links vibrate more than once."""
    if not arm.tips:
        return
    frequencies = modes(arm, np.zeros(len(arm.joint_names)), joints='locked').frequencies
    first = float(np.min(frequencies, where=frequencies > 0.0, initial=np.inf))
    if first < np.inf and period * first > MAX_PERIODS:
        raise UsageError(
            f'{log.path}: samples every {period:.3g} s cannot show vibrations of {first:.3g} Hz. '
            'Give the times in seconds, or record faster.'
        )


def check_column(log: Log, name: str) -> None:
    """Refuse a signal that is not finite, has an invalid clock, or is clipped."""
    time, values = log.columns[name]
    invalid = np.flatnonzero(~np.isfinite(values) | ~np.isfinite(time))
    if invalid.size:
        raise UsageError(
            f'{log.path}: "{name}" is no number in row {invalid[0] + 1}, and in '
            f'{invalid.size} rows. Mend or remove them.'
        )
    if time.size < MIN_SAMPLES:
        raise UsageError(
            f'{log.path}: "{name}" has {time.size} samples. Record at least {MIN_SAMPLES}.'
        )
    steps = np.diff(time)
    if (steps <= 0.0).any():
        row = int(np.flatnonzero(steps <= 0.0)[0])
        raise UsageError(
            f'{log.path}: the clock of "{name}" jumps back by {-steps[row]:.3g} s '
            f'after {time[row] - time[0]:.6g} s. Give one recording at a time.'
        )
    half = steps.size // 2
    period = np.median(steps)
    if (
        period > 0
        and abs(np.median(steps[:half]) - np.median(steps[half:])) > MAX_PERIOD_CHANGE * period
    ):
        raise UsageError(
            f'{log.path}: the clock of "{name}" drifts: its period goes from '
            f'{np.median(steps[:half]):.3g} to {np.median(steps[half:]):.3g} s. '
            'Stamp samples where they are taken.'
        )
    low, high = values.min(), values.max()
    # without the initial rest, which may be free of noise
    values_in_motion = values[int(np.argmax(values != values[0])) :]
    for end in (low, high):
        is_at_end = np.abs(values_in_motion - end) <= 1e-9 * (high - low)
        if (
            high > low
            and _longest(is_at_end) >= MIN_CLIPPED_SAMPLES
            and (is_at_end.mean() > MIN_CLIPPED_RATIO)
            and (not name.startswith(('position/', 'motor/', 'effort/')))
            and not (imu_channel(name) and np.unique(values).size < MIN_DISTINCT_VALUES)
        ):
            raise UsageError(
                f'{log.path}: "{name}" is clipped: {is_at_end.mean():.0%} of its '
                f'samples are {end:.4g}. Widen its range, or move less.'
            )


def _longest(flags):
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(int), [0]])))
    return int((edges[1::2] - edges[::2]).max(initial=0))


def check_units(log: Log, arm: ArmModel, sides: Sequence[str]) -> None:
    """Refuse joint positions in degrees."""
    for name, side in zip(arm.joint_names, sides):
        joint = arm.description.joint(name)
        if not side or joint.type.unit != 'rad':
            continue
        time, values = log.columns[f'{side}/{name}']
        rate = log.columns.get(f'velocity/{name}')
        largest, limit = np.abs(values).max(), max(abs(joint.lower), abs(joint.upper))
        if np.isfinite(limit):
            is_in_degrees = largest > limit * (1 + LIMIT_MARGIN_RATIO) and (
                largest / DEGREES <= limit * (1 + LIMIT_MARGIN_RATIO)
            )
        else:
            is_in_degrees = largest > 20 * np.pi
        if not is_in_degrees and rate is not None and np.array_equal(rate.time, time):
            derivative = np.gradient(values, time)
            ratio = (derivative @ rate.values) / max(rate.values @ rate.values, 1e-300)
            is_in_degrees = abs(ratio / DEGREES - 1) < 0.2
            if abs(ratio * DEGREES - 1) < 0.2:
                raise UsageError(
                    f'{log.path}: "velocity/{name}" is in degrees, its position in '
                    f'radians. Give --signal velocity/{name}=COLUMN*deg.'
                )
        if is_in_degrees:
            turns = 2 * np.pi * np.round(values.mean() / (2 * np.pi))
            is_turned = turns and np.abs(values - turns).max() <= limit * (1 + LIMIT_MARGIN_RATIO)
            cause, remedy = ', or whole turns are added', f', or subtract {turns:.4g} from it'
            raise UsageError(
                f'{log.path}: "{side}/{name}" goes to {largest:.3g} rad: these are '
                f'degrees{cause if is_turned else ""}. '
                f'Give --signal {side}/{name}=COLUMN*deg{remedy if is_turned else ""}.'
            )
