"""
Piecewise constant efforts as a profile, which the board plays by its own clock.

The board takes duties and step rates. Each piece is therefore cut into segments, over which models
of both joints, masses with friction, predict the motion in short steps. The duty of a step follows
from force and speed at its middle; a segment has the mean values of its steps. The profile keeps
the instants at which an effort changes, to the microsecond.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.rig.bench.drives import Drives
from flex_robot_sim.rig.bench.parts import SLIDE, TURN
from flex_robot_sim.rig.wire.profile import (
    MAX_SEGMENT_US,
    MIN_SEGMENT_US,
    PROFILE_CAPACITY,
    segment,
)
from flex_robot_sim.rig.wire.protocol import Segment
from flex_robot_sim.util.exceptions import CommandError

TARGET_SEGMENT_DURATION = 0.02  # longer only where the board has no room for as many           [s]
ROUNDING = 1e-9  # [s]
STEADY_TOLERANCE = 1e-9  # relative change of a speed in a step, below which it is constant


def segments_of(drives: Drives, times: ArrayLike, efforts: ArrayLike) -> list[Segment]:
    """
    Return the Segments of a profile that starts at rest.

    :param drives: Drives; they clip efforts beyond their limits, and count them.
    :param times: end of each effort, increasing (k,) [s]; efforts: (k, 2) [N, N m].
    """
    times, efforts = _checked(times, efforts)
    lengths = np.diff(times, prepend=0.0)
    counts = _segment_counts(lengths)
    velocity, segments = [0.0, 0.0], []
    for length, count, effort in zip(lengths, counts, efforts):
        duration = length / count
        for _ in range(count):
            segments.append(
                segment(duration, *_segment_inputs(drives, effort, velocity, duration))
            )
    return segments


def _segment_inputs(drives, effort, velocity, duration):
    """Duty and step rate of a segment; updates `velocity` [m/s, rad/s] to its end."""
    count = max(1, math.ceil(duration / TARGET_SEGMENT_DURATION - ROUNDING))
    step, duty, rate, is_cut = duration / count, 0.0, 0.0, [False, False]
    # the models take short steps; a long segment has their mean
    for k in range(count):
        slide, turn = velocity
        now, force = drives.duty(effort[SLIDE], slide, step)
        velocity[SLIDE] = drives.slide.velocity_after(slide, force, step)
        desired = drives.turn.velocity_after(turn, effort[TURN], step)
        # the ramp of the board would follow more slowly, and end elsewhere
        limit, change = drives.rate_limit, drives.acceleration * step
        velocity[TURN] = min(max(desired, -limit, turn - change), limit, turn + change)
        is_cut[SLIDE] |= force != effort[SLIDE]
        is_cut[TURN] |= velocity[TURN] != desired
        is_steady = all(
            abs(after - before) <= STEADY_TOLERANCE * abs(after)
            for before, after in zip((slide, turn), velocity)
        )
        share = (count - k if is_steady else 1) / count
        duty += share * now
        rate += share * (turn + velocity[TURN]) / 2
        if is_steady:
            break
    for joint in (SLIDE, TURN):
        drives.count_limited(joint, is_cut[joint])
    return duty, drives.step_rate(rate)


def _segment_counts(lengths):
    """Return the number of segments of each piece: as many as the board has room for."""
    target_duration = TARGET_SEGMENT_DURATION
    while True:
        counts = np.maximum(1, np.ceil(lengths / target_duration - ROUNDING).astype(int))
        if counts.sum() <= PROFILE_CAPACITY:
            return counts
        target_duration *= 1.1


def _checked(times, efforts):
    times, efforts = np.asarray(times, float), np.asarray(efforts, float)
    if times.ndim != 1 or efforts.shape != (times.size, 2):
        raise CommandError('a profile needs two efforts, of slide and turn, for each time')
    if not 0 < times.size <= PROFILE_CAPACITY:
        raise CommandError(
            f'a profile has 1 to {PROFILE_CAPACITY} pieces; this one has {times.size}'
        )
    if not (np.isfinite(times).all() and np.isfinite(efforts).all()):
        raise CommandError('times and efforts of a profile must be finite')
    lengths = np.diff(times, prepend=0.0)
    shortest, longest = MIN_SEGMENT_US * 1e-6, PROFILE_CAPACITY // 2 * MAX_SEGMENT_US * 1e-6
    if (lengths < shortest - ROUNDING).any() or times[-1] > longest:
        raise CommandError(
            f'the times of a profile must rise by {shortest:g} s at least, '
            f'to {longest:g} s at most'
        )
    return times, efforts
