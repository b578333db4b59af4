"""Shaper specification: a fixed shaper, or stages that follow the pose of an arm."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis.mode_table import SHARE, ModeTable, PoseModes
from flex_robot_sim.shaping.impulses import NONE, Shaper
from flex_robot_sim.shaping.online_shaper import OnlineShaper
from flex_robot_sim.util.exceptions import SettingError

MAX_CYCLES_PER_SAMPLE = 0.49    # highest mode that a sampled shaper can cancel


class ShaperSpecification(NamedTuple):
    """Arguments of an OnlineShaper, and their name."""

    name: str
    shaper: Shaper = NONE
    table: ModeTable | None = None
    stages: tuple = ()
    modes: tuple[PoseModes, ...] = ()       # of the arm in some poses; (): unknown

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
        share = max((share for pose in self.modes
                     for frequency, share in zip(pose.frequencies, pose.shares)
                     if frequency > limit), default=0.0)
        if share >= SHARE:
            raise SettingError(
                f'modes up to {fastest:.3g} Hz have {share:.0%} of the vibration at the tool, too '
                f'fast for {1 / period:g} set points a second: set stream_rate to '
                f'{math.ceil(fastest / MAX_CYCLES_PER_SAMPLE):g} Hz or more, if the driver takes '
                'so many')
        slow = tuple(stage._replace(frequencies=np.minimum(stage.frequencies, limit))
                     for stage in self.stages if stage.frequencies.min() <= limit)
        line = (f'modes from {limit:.3g} to {fastest:.3g} Hz are left out: too fast for '
                f'{1 / period:g} set points a second, they have at most {share:.1%} of the '
                'vibration at the tool')
        return self._replace(stages=slow, table=self.table if slow else None), line

    def online(self, joints: int, period: float, copies: int = 1) -> OnlineShaper:
        """
        Return the OnlineShaper of an arm with `joints` joints, for a sample period [s].

        :param copies: of all joints in a sample; the first one is the pose.
        """
        return OnlineShaper(copies * joints, period, self.shaper, self.table, self.stages)
