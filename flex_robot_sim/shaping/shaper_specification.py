"""Specification of a designed shaper: impulses, and stages whose delays follow the pose."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis import mode_table
from flex_robot_sim.shaping import impulses
from flex_robot_sim.shaping.online_shaper import OnlineShaper
from flex_robot_sim.shaping.sampled_positions import ShapedPositions, checked_times, extended_times
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.summary import summarized

MAX_CYCLES_PER_SAMPLE = 0.49  # highest mode that a sampled shaper can cancel


class CoveredBand(NamedTuple):
    """Frequencies of a mode that a shaper is designed for."""

    low: float  # lowest natural frequency, of all poses and payloads                  [Hz]
    high: float
    ratio: float  # of damping, mean


@summarized
class ShaperSpecification(NamedTuple):
    """
    A designed shaper: impulses with constant delays, then stages that follow the pose.

    Example::

        shaper = frs.shaping.design_for_arm(frs.load('single_link'), kind='zvd')
        times = np.arange(0.0, 0.5, 1e-3)
        shaped = shaper.shape(times, times[:, None])
    """

    name: str
    shaper: impulses.Shaper = impulses.NONE
    table: mode_table.ModeTable | None = None
    stages: tuple = ()
    modes: tuple[mode_table.PoseModes, ...] = ()  # of the arm in some poses; (): unknown
    velocity_limits: np.ndarray | None = None  # (joints,) of the arm; None: unknown
    bands: tuple[CoveredBand, ...] = ()  # of the modes, slowest first; (): unknown

    @property
    def added_time(self) -> float:
        """Time that it adds to a motion, at most [s]."""
        return self.shaper.duration + sum(
            stage.cycles[-1] / stage.frequencies.min() for stage in self.stages
        )

    def fir(self, period: float) -> tuple[np.ndarray, np.ndarray]:
        """
        Delays in samples (i,) and weights (i,) of the FIR filter, for a period [s].

        SettingError if the delays follow the pose.
        """
        if self.stages:
            raise SettingError(
                f'the delays of "{self.name}" follow the pose, so it has no FIR coefficients: '
                'design it with fixed=True'
            )
        return self.shaper.fir(period)

    def for_samples(self, period: float) -> tuple[ShaperSpecification, str]:
        """
        Return the specification for a sample period [s], and a line about omitted modes, or ''.

        Modes that are too fast for the samples are omitted if their share of the vibration at the
        tool is negligible; SettingError if it is not.
        """
        limit = MAX_CYCLES_PER_SAMPLE / period
        fastest = max((stage.frequencies.max() for stage in self.stages), default=0.0)
        if fastest <= limit or not self.modes:
            return self, ''
        share = max(
            (
                share
                for pose in self.modes
                for frequency, share in zip(pose.frequencies, pose.shares)
                if frequency > limit
            ),
            default=0.0,
        )
        if share >= mode_table.SHARE:
            raise SettingError(
                f'modes up to {fastest:.3g} Hz have {share:.0%} of the vibration at the tool, too '
                f'fast for {1 / period:g} set points a second: set stream_rate to '
                f'{math.ceil(fastest / MAX_CYCLES_PER_SAMPLE):g} Hz or more, if the driver takes '
                'so many'
            )
        slow = tuple(
            stage._replace(frequencies=np.minimum(stage.frequencies, limit))
            for stage in self.stages
            if stage.frequencies.min() <= limit
        )
        line = (
            f'modes from {limit:.3g} to {fastest:.3g} Hz are left out: too fast for '
            f'{1 / period:g} set points a second, they have at most {share:.1%} of the '
            'vibration at the tool'
        )
        return self._replace(stages=slow, table=self.table if slow else None), line

    def shape(self, times: ArrayLike, positions: ArrayLike) -> ShapedPositions:
        """
        Shape sampled positions of the arm; the result is longer by the duration of the shaper.

        The result keeps the velocity limits of the arm, if need be with some delay.

        :param times: evenly spaced (k,) [s]; positions: (k, joints) [rad, m].
        """
        period, samples = checked_times(times, positions)
        shaped = self.online(samples.shape[1], period).run(samples)
        return ShapedPositions(extended_times(times, period, len(shaped)), shaped)

    def of_joints(self, rows: Sequence[int]) -> ShaperSpecification:
        """Return the specification for set points of some joints of the arm, by their rows."""
        if self.table is None:
            return self
        joints = tuple(list(rows).index(joint) for joint in self.table.joints)
        return self._replace(table=self.table._replace(joints=joints))

    def online(self, joints: int, period: float, copies: int = 1) -> OnlineShaper:
        """
        Return the OnlineShaper for set points.

        :param joints: their number; period: of the set points [s].
        :param copies: sets of all joints, the pose first; several have no velocity limits.
        """
        return OnlineShaper(
            copies * joints,
            period,
            shaper=self.shaper,
            table=self.table,
            stages=self.stages,
            velocity_limits=self.velocity_limits if copies == 1 else None,
        )
