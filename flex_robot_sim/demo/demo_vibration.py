"""Residual vibration of the links after motions, from the record of a run."""

from typing import NamedTuple

import numpy as np

from flex_robot_sim.demo.record import RunRecord

MIN_TARGET_CHANGE = 1e-9  # smaller changes of a target are none                      [rad, m]
MIN_REST_S = 0.5  # shorter rests do not count
FIRST_REST = 1  # first rest that counts; earlier the arm still sags from its start


class DemoVibration(NamedTuple):
    """Vibration of the tips while the targets do not move."""

    amplitude: dict  # link -> half the range of its tip, mean over the rests       [m]
    rests: tuple  # (begin, end) of the evaluated intervals                      [s]
    begin: float  # start of the first motion before these rests                 [s]

    @property
    def largest(self) -> str | None:
        """Link with the largest vibration, or None."""
        return max(self.amplitude, key=lambda link: self.amplitude[link], default=None)


def residual_vibration(record: RunRecord, span: float) -> DemoVibration:
    """
    Return the DemoVibration in the rests of a RunRecord, from the start of each.

    :param span: evaluated time of a rest [s], or the whole of a shorter one.
    """
    intervals = _rest_intervals(record)
    rests = [(begin, min(end, begin + span)) for begin, end in intervals[FIRST_REST:]]
    amplitude = {}
    for link, track in record.tips.items():
        ranges = [_range(track, *rest) for rest in rests]
        ranges = [range_ for range_ in ranges if range_ is not None]
        if ranges:
            amplitude[link] = float(np.mean(ranges)) / 2
    return DemoVibration(
        amplitude,
        tuple(rests),
        intervals[FIRST_REST - 1][1] if len(intervals) > FIRST_REST else 0.0,
    )


def _rest_intervals(record):
    """Begin and end of each interval without motion of the targets, after the first motion [s]."""
    time, target = record.joints.time, record.of_joints('target')
    if time.size < 2:
        return []
    # nan: no target yet
    is_moving = ~(np.abs(np.diff(target, axis=0)).max(axis=1) < MIN_TARGET_CHANGE)
    is_known = np.isfinite(target).all(axis=1)
    is_moving[~is_known[:-1]] = False
    # targets arrive less often than states: gaps in a motion are shorter than a rest
    changes = 1 + np.flatnonzero(is_moving)
    ends = [*changes[1:] - 1, time.size - 1]
    return [
        (time[begin], time[end])
        for begin, end in zip(changes, ends)
        if time[end] - time[begin] >= MIN_REST_S
    ]


def _range(track, begin, end):
    rows = track.values[(track.time >= begin) & (track.time <= end)]
    return float(np.linalg.norm(np.ptp(rows, axis=0))) if len(rows) > 1 else None
