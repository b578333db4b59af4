"""Shaper specification: a fixed shaper, or stages that follow the pose of an arm."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.joint_space_inertia import poses_within
from flex_robot_sim.analysis.mode_table import SHARE, ModeTable, PoseModes, excited_modes, loaded
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.shaping.comparison import Case, Design, compare_shapers
from flex_robot_sim.shaping.impulses import NONE, Shaper
from flex_robot_sim.shaping.online_shaper import OnlineShaper
from flex_robot_sim.shaping.recommendation import following, recommend
from flex_robot_sim.shaping.shaping_settings import AUTO
from flex_robot_sim.shaping.trajectory_shaper import NO_SHAPER, shaper_of_modes
from flex_robot_sim.util.exceptions import SettingError

MODE_POSES = 6                  # number of poses for the shares of modes
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


def parts_by_modes(kind: str, frequencies: Sequence[float],
                   ratios: Sequence[float] = ()) -> ShaperSpecification:
    """Return the ShaperSpecification for modes [Hz] that are independent of the pose."""
    if not len(frequencies):
        raise SettingError('frequencies = [] must name what the arm rings with [Hz], or robot a '
                           'URDF with <flexibility>')
    if len(ratios) not in (0, len(frequencies)):
        raise SettingError(f'damping_ratios has {len(ratios)} numbers for {len(frequencies)} '
                           'frequencies: give one each, or none')
    ratios = ratios or [0.0] * len(frequencies)
    shaper = shaper_of_modes('zv' if kind == AUTO else kind, frequencies, ratios)
    if kind == AUTO:
        # sizes of the modes are unknown: take those of a spring-mass oscillator
        f = np.array(frequencies, float)
        candidates, best = compare_shapers([
            Case(f, np.array(ratios, float), 1 / (2 * np.pi * f)**2)])
        shaper = candidates[best].shaper
    return ShaperSpecification(NO_SHAPER if kind == NO_SHAPER else shaper.name, shaper)


def parts_by_arm(kind: str, arm: ArmModel, masses: Sequence[float] = (),
                 gains: tuple[ArrayLike, ArrayLike] | None = None,
                 progress: Callable[[int, int], object] | None = None) -> ShaperSpecification:
    """
    Return the ShaperSpecification for the modes of an ArmModel, whose delays follow the pose.

    :param masses: one known payload mass of the tool, or the candidates for an unknown one [kg];
        none: the description.
    :param progress: as of `mode_table.mode_table`.
    """
    if kind == NO_SHAPER:
        return ShaperSpecification(NO_SHAPER)
    payloads = tuple((arm.tool, float(mass)) for mass in masses) or (None,)
    design = Design(kind, 0.05)
    if kind == AUTO:
        recommendation = recommend(arm, payloads=payloads, gains=gains)
        recommendation.refuse_none(arm)
        design = recommendation.choice.design
        if design is None:
            return ShaperSpecification(recommendation.choice.name, recommendation.choice.shaper)
    table, stages = following(arm, design, payloads, gains, progress)
    modes = tuple(excited_modes(loaded(arm, payload), pose, gains) for payload in payloads
                  for pose in poses_within(arm, MODE_POSES))
    return ShaperSpecification(f'{design.kind} by pose', table=table, stages=tuple(stages),
                               modes=modes)
