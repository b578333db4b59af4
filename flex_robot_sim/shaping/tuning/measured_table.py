"""
Measured modes over the poses of an arm, and the shaper whose delays follow them.

Between the measured poses, frequencies are interpolated, each with a band of DEVIATIONS standard
deviations. The shaper covers the widest band of the table, but MAX_BAND at most where the mode is
weak in the nearest log. The table ends at the outermost poses.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis.mode_table import ModeTable
from flex_robot_sim.shaping.impulses import SI
from flex_robot_sim.shaping.shaper_design import ShaperSpecification
from flex_robot_sim.shaping.shaper_stages import stages_of
from flex_robot_sim.shaping.tuning.mode_tracks import MIN_SIZE, ModeTrack, mode_tracks
from flex_robot_sim.shaping.tuning.pose_log import PoseLog
from flex_robot_sim.shaping.tuning.pose_regression import MAX_JOINTS, PoseRegression
from flex_robot_sim.util.exceptions import UsageError, plain
from flex_robot_sim.util.summary import counted

DEVIATIONS = 2.0  # half width of a band, in standard deviations
MIN_BAND = 0.03  # half width of a band, over the frequency: poses and payloads never repeat
MIN_SPARSE_BAND = 0.1  # the same of a mode in less than half of the logs
MIN_REGRESSION_LOGS = 4  # that show a mode whose frequency depends on joints
MAX_BAND = 0.3  # half width of a band, above which a shaper would be longer than useful
AXIS_POSITIONS = 41, 17, 9  # of the table, for one, two or three joints
TOLERANCE = 0.05  # vibration that the shaper leaves in its band
MIN_POSES = 3
MIN_RANGE = 0.02  # of a joint that takes part in the table                    [rad, m]
OUTSIDE = 1e-6  # distance from the table that counts                          [rad, m]


class MeasuredTable(NamedTuple):
    """Modes of m tracks over poses of n joints, with the interpolation between them."""

    joints: tuple[str, ...]
    logs: tuple[PoseLog, ...]
    tracks: tuple[ModeTrack, ...]
    regressions: tuple[PoseRegression, ...]  # of the logarithm of the frequencies
    notes: tuple[str, ...]

    @property
    def poses(self) -> np.ndarray:
        """Measured poses (k, n) [rad, m]."""
        return np.array([log.pose for log in self.logs])

    @property
    def table_joints(self) -> tuple[int, ...]:
        """Rows of the joints on which a frequency depends, at most MAX_JOINTS; at least one."""
        used = sorted({joint for regression in self.regressions for joint in regression.joints})
        return tuple(used) or (int(np.argmax(np.ptp(self.poses, axis=0))),)

    def modes_at(self, poses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Frequencies [Hz] and half widths of their bands, relative, (r, m) each, in (r, n)."""
        found = [regression.at(np.atleast_2d(poses)) for regression in self.regressions]
        means, deviations = (np.column_stack(part) for part in zip(*found))
        least = [
            MIN_BAND if 2 * track.rows.size >= len(self.logs) else MIN_SPARSE_BAND
            for track in self.tracks
        ]
        return np.exp(means), np.maximum(DEVIATIONS * deviations, least)

    def sizes_at(self, poses: np.ndarray) -> np.ndarray:
        """Amplitudes (r, m) over the largest one, in the log nearest to each pose (r, n)."""
        ranges = np.maximum(np.ptp(self.poses, axis=0), MIN_RANGE)
        distances = np.linalg.norm((np.atleast_2d(poses)[:, None] - self.poses) / ranges, axis=2)
        sizes = np.zeros((len(self.logs), len(self.tracks)))
        for column, track in enumerate(self.tracks):
            sizes[track.rows, column] = track.sizes
        return sizes[distances.argmin(axis=1)]

    def grid(self) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
        """Axes of `table_joints`, and poses (rows, n), the last axis running fastest."""
        poses, joints = self.poses, self.table_joints
        count = AXIS_POSITIONS[len(joints) - 1]
        axes = tuple(np.linspace(poses[:, j].min(), poses[:, j].max(), count) for j in joints)
        rows = np.tile(poses.mean(axis=0), (count ** len(joints), 1))
        rows[:, joints] = [*product(*axes)]
        return axes, rows

    def shaper(self, tolerance: float = TOLERANCE) -> tuple[ShaperSpecification, float]:
        """
        Return the ShaperSpecification, and the half width of the widest band, relative.

        UsageError if a band is too wide for a shaper.
        """
        axes, poses = self.grid()
        frequencies, bands = self.modes_at(poses)
        ratios = np.tile([_mean_ratio(track) for track in self.tracks], (len(poses), 1))
        bands = self._limited(poses, bands)
        self._refuse_wide_bands(poses, frequencies, bands)
        table, low, high = (
            ModeTable(self.table_joints, axes, factors * frequencies, ratios)
            for factors in (np.ones(bands.shape), 1 - bands, 1 + bands)
        )
        designs = [
            stages_of([table, low, high], SI, tolerance, grouped=grouped)
            for grouped in (False, True)
        ]
        stages = min(designs, key=_duration)
        name = f'si by {counted(len(self.logs), "measured pose")}'
        return ShaperSpecification(name, table=table, stages=tuple(stages)), float(bands.max())

    def pose_to_measure(self) -> np.ndarray | None:
        """Return the pose (n,) with the most uncertain frequency; None if it is good enough."""
        poses = self.grid()[1]
        bands = self._limited(poses, self.modes_at(poses)[1])
        row = int(np.argmax(bands.max(axis=1)))
        return poses[row] if bands[row].max() > MAX_BAND else None

    def _limited(self, poses, bands):
        """Return bands (r, m) in poses (r, n), at most MAX_BAND where a mode is weak."""
        is_weak = self.sizes_at(poses) < MIN_SIZE
        return np.where(is_weak, np.minimum(bands, MAX_BAND), bands)

    def _refuse_wide_bands(self, poses, frequencies, bands):
        row, mode = np.unravel_index(int(np.argmax(bands)), bands.shape)
        if bands[row, mode] <= MAX_BAND:
            return
        raise UsageError(
            f'the frequency of {frequencies[row, mode]:.3g} Hz is uncertain by '
            f'{bands[row, mode]:.0%} at {self._pose_text(poses[row])}: measure in this pose too, '
            'or in a smaller range of poses.'
        )

    def _pose_text(self, pose):
        return ', '.join(f'{plain(name)} {x:.3g}' for name, x in zip(self.joints, pose))


def measured_table(joints: Sequence[str], logs: Sequence[PoseLog]) -> MeasuredTable:
    """Return the MeasuredTable of logs in different poses; UsageError if they are too few."""
    if len(logs) < MIN_POSES:
        raise UsageError(
            f'{counted(len(logs), "log")} are too few for a table: record one in each of '
            f'{MIN_POSES} poses or more.'
        )
    poses = np.array([log.pose for log in logs])
    if np.ptp(poses, axis=0).max() < MIN_RANGE:
        raise UsageError(
            'all logs are from the same pose: record them in different poses, or use flexsim '
            'shape --log for one pose.'
        )
    tracks, notes = mode_tracks(logs)
    if not tracks:
        raise UsageError(
            'no mode appears in two logs: let all joints move before each stop, and keep '
            'sensor and payload the same.'
        )
    regressions = [_regression(poses, track) for track in tracks]
    joint_count = len({joint for one in regressions for joint in one.joints})
    if joint_count > MAX_JOINTS:
        regressions = _with_common_joints(poses, tracks, regressions)
    for log in logs:
        notes.extend(log.notes)
    return MeasuredTable(tuple(joints), tuple(logs), tuple(tracks), tuple(regressions), (*notes,))


def _regression(poses, track, joints=None):
    """Return the PoseRegression of a track over all joints that move, or some of them."""
    used = poses[track.rows].copy()
    if track.rows.size < MIN_REGRESSION_LOGS:
        joints = ()
    still = [
        joint
        for joint in range(poses.shape[1])
        if np.ptp(poses[:, joint]) < MIN_RANGE or (joints is not None and joint not in joints)
    ]
    used[:, still] = 0.0
    return PoseRegression(used, np.log(track.frequencies), track.deviations / track.frequencies)


def _with_common_joints(poses, tracks, regressions):
    """Return regressions that depend on the same MAX_JOINTS joints, those that most need."""
    weights = np.zeros(poses.shape[1])
    for track, regression in zip(tracks, regressions):
        for joint in regression.joints:
            weights[joint] += track.sizes.sum() / regression.lengths[joint]
    joints = {*np.argsort(-weights)[:MAX_JOINTS].tolist()}
    return [_regression(poses, track, joints) for track in tracks]


def _mean_ratio(track):
    """Return the mean damping ratio of a track, weighted by the inverse variances."""
    weights = 1 / np.maximum(track.ratio_deviations, 1e-3 * track.ratios) ** 2
    return float(weights @ track.ratios / weights.sum())


def _duration(stages):
    return sum(stage.cycles[-1] / stage.frequencies.min() for stage in stages)


def outside_table(table: ModeTable, joints: Sequence[str], positions: np.ndarray) -> str:
    """
    Return a line about the joint that leaves the poses of a table most, or ''.

    :param joints: names (n,) of all joints; positions: (k, n) [rad, m].
    """
    distances, lines = [OUTSIDE], ['']
    for joint, axis in zip(table.joints, table.axes):
        values = np.asarray(positions)[:, joint]
        for value, beyond in (
            (values.min(), axis[0] - values.min()),
            (values.max(), values.max() - axis[-1]),
        ):
            distances.append(float(beyond))
            lines.append(
                f'"{plain(joints[joint])}" moves to {value:.3g}, but poses were measured from '
                f'{axis[0]:.3g} to {axis[-1]:.3g} only: measure further poses, or stay between '
                'these'
            )
    return lines[int(np.argmax(distances))]
