"""Modes in the logs of several poses, assigned to each other: one track for each mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from flex_robot_sim.shaping.tuning.pose_log import PoseLog
from flex_robot_sim.shaping.tuning.pose_regression import expected_value

MAX_CHANGE = 0.7  # of the logarithm of a frequency, between a pose and those next to it
SHAPE_WEIGHT = 0.8  # of an entirely different mode shape, over that of MAX_CHANGE
NO_PARTNER = 1.2  # cost above which a mode and a track do not fit
MIN_DISTANCE = 0.05  # of two poses, over the largest one
SWEEPS = 4  # of the assignment
MIN_LOGS = 2  # that show a mode
MIN_SIZE = 0.1  # amplitude in one pose, over that of the largest mode there
MAX_TRACKS = 3


class ModeTrack(NamedTuple):
    """One mode in k poses, slowest mode first among tracks."""

    rows: np.ndarray  # (k,) of the logs that show it
    frequencies: np.ndarray  # (k,) natural                                        [Hz]
    deviations: np.ndarray  # (k,) standard deviations                              [Hz]
    ratios: np.ndarray  # (k,) of damping
    ratio_deviations: np.ndarray  # (k,)
    sizes: np.ndarray  # (k,) amplitudes over the largest one of the log


def mode_tracks(logs: Sequence[PoseLog]) -> tuple[list[ModeTrack], list[str]]:
    """Return the ModeTracks through k logs, and notes about modes that are left out."""
    members = _assigned(logs)
    tracks, notes = [], []
    for rows in members:
        track = _track(logs, rows)
        if track.sizes.max() < MIN_SIZE:
            continue
        if track.rows.size >= MIN_LOGS:
            tracks.append(track)
        else:
            notes.append(
                f'the mode at {track.frequencies[0]:.3g} Hz is left out: only '
                f'{logs[track.rows[0]].source} shows it'
            )
    tracks.sort(key=lambda track: -track.sizes.sum())
    tracks = tracks[:MAX_TRACKS]
    return sorted(tracks, key=lambda track: float(np.median(track.frequencies))), notes


def _assigned(logs):
    """Return a dict for each track, from the row of a log to the index of one of its modes."""
    tracks: list[dict[int, int]] = []
    distances = _distances(np.array([log.pose for log in logs]))
    for row in _outwards(logs, distances):
        tracks += _assign(logs, row, tracks, distances)
    for _ in range(SWEEPS):
        for row in range(len(logs)):
            for track in tracks:
                track.pop(row, None)
            tracks = [track for track in tracks if track]
            tracks += _assign(logs, row, tracks, distances)
    return tracks


def _distances(poses):
    """Return distances (k, k) of poses, each joint over its range."""
    spans = np.ptp(poses, axis=0)
    scaled = poses / np.where(spans > 0.0, spans, np.inf)
    distances = np.linalg.norm(scaled[:, None] - scaled, axis=2)
    return np.maximum(distances, MIN_DISTANCE * max(distances.max(), 1e-300))


def _outwards(logs, distances):
    """Return rows of logs: one with most modes in the middle, then each time the nearest one."""
    counts = np.array([len(log.modes) for log in logs])
    most = np.flatnonzero(counts == counts.max())
    rows = [int(most[np.argmin(distances[most].sum(axis=1))])]
    while len(rows) < len(logs):
        left = [row for row in range(len(logs)) if row not in rows]
        rows.append(min(left, key=lambda row: distances[row, rows].min()))
    return rows


def _assign(logs, row, tracks, distances):
    """Assign the modes of a log to tracks; return new tracks of those that fit none."""
    modes = logs[row].modes
    costs = np.full((len(modes), len(tracks)), np.inf)
    for k, track in enumerate(tracks):
        expected, likeness = _expected(logs, row, track, distances)
        changes = np.abs(np.log([mode.frequency for mode in modes]) - expected) / MAX_CHANGE
        costs[:, k] = np.where(changes < 1.0, changes + SHAPE_WEIGHT * (1 - likeness), np.inf)
    taken = set()
    for mode, k in zip(*linear_sum_assignment(np.minimum(costs, NO_PARTNER))):
        if costs[mode, k] < NO_PARTNER:
            tracks[k][row] = int(mode)
            taken.add(int(mode))
    return [{row: mode} for mode in range(len(modes)) if mode not in taken]


def _expected(logs, row, track, distances):
    """
    Return the logarithm of the frequency of a track in a pose, and the likeness of mode shapes.

    The likeness of each mode of the log is the modal assurance criterion, from 0 to 1.
    """
    others = [*track.items()]
    weights = np.array([1 / distances[row, other] ** 2 for other, _ in others])
    weights /= weights.sum()
    values = np.log([logs[other].modes[mode].frequency for other, mode in others])
    shapes = np.array([logs[other].shapes[mode] for other, mode in others])
    likeness = (logs[row].shapes @ shapes.T) ** 2 @ weights
    poses = np.array([logs[other].pose for other, _ in others])
    return expected_value(poses, values, logs[row].pose), likeness


def _track(logs, members):
    rows = np.array(sorted(members))
    modes = [logs[row].modes[members[row]] for row in rows]
    return ModeTrack(
        rows,
        *(
            np.array([getattr(mode, name) for mode in modes])
            for name in ('frequency', 'frequency_deviation', 'ratio', 'ratio_deviation', 'size')
        ),
    )
