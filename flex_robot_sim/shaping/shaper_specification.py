"""What shapes set points of any arm: a fixed shaper, or stages that follow its pose."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.joint_space_inertia import poses_within
from flex_robot_sim.analysis.mode_table import SHARE, ModeTable, PoseModes, excited_modes, loaded
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.shaping.comparison import Case, Design, choices
from flex_robot_sim.shaping.impulses import NONE, Shaper
from flex_robot_sim.shaping.online_shaper import OnlineShaper
from flex_robot_sim.shaping.recommendation import following, recommend
from flex_robot_sim.shaping.shaping_settings import AUTO
from flex_robot_sim.shaping.trajectory_shaper import NO_SHAPER, shaper_of_modes
from flex_robot_sim.util.exceptions import SettingError

POSES = 6                       # in which the shares of modes are computed
MAX_CYCLES_PER_SAMPLE = 0.49    # of a mode that a shaper of samples can cancel


class ShaperSpecification(NamedTuple):
    """Arguments of an OnlineShaper, and their name."""

    name: str
    shaper: Shaper = NONE
    table: ModeTable | None = None
    stages: tuple = ()
    modes: tuple[PoseModes, ...] = ()       # of the arm in some poses; (): unknown

    def for_samples(self, period: float) -> tuple[ShaperSpecification, str]:
        """
        Return parts for samples every period [s], and a line about modes that they omit, or ''.

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
        Return the OnlineShaper of an arm of so many joints, for samples every period [s].

        :param copies: of all joints in a sample, whose first ones tell the pose.
        """
        return OnlineShaper(copies * joints, period, self.shaper, self.table, self.stages)


def parts_by_modes(kind: str, frequencies: Sequence[float],
                   ratios: Sequence[float] = ()) -> ShaperSpecification:
    """Return the ShaperSpecification for modes [Hz] that are the same in all poses."""
    if not len(frequencies):
        raise SettingError('frequencies = [] must name what the arm rings with [Hz], or robot a '
                           'URDF with <flexibility>')
    if len(ratios) not in (0, len(frequencies)):
        raise SettingError(f'damping_ratios has {len(ratios)} numbers for {len(frequencies)} '
                           'frequencies: give one each, or none')
    ratios = ratios or [0.0] * len(frequencies)
    shaper = shaper_of_modes('zv' if kind == AUTO else kind, frequencies, ratios)
    if kind == AUTO:
        # how large each mode is, nobody has said: as the mass on a spring that its frequency is
        f = np.array(frequencies, float)
        found, best = choices([Case(f, np.array(ratios, float), 1 / (2 * np.pi * f)**2)])
        shaper = found[best].shaper
    return ShaperSpecification(NO_SHAPER if kind == NO_SHAPER else shaper.name, shaper)


def parts_by_arm(kind: str, arm: ArmModel, masses: Sequence[float] = (),
                 gains: tuple[ArrayLike, ArrayLike] | None = None,
                 progress: Callable[[int, int], object] | None = None) -> ShaperSpecification:
    """
    Return the ShaperSpecification for the modes of an ArmModel, whose delays follow the pose.

    :param masses: that its tool may carry: one that is known, or several of which nobody tells
        [kg]; none: what the description has.
    :param progress: as of `mode_table.mode_table`.
    """
    if kind == NO_SHAPER:
        return ShaperSpecification(NO_SHAPER)
    payloads = tuple((arm.tool, float(mass)) for mass in masses) or (None,)
    design = Design(kind, 0.05)
    if kind == AUTO:
        found = recommend(arm, payloads=payloads, gains=gains)
        found.refuse_none(arm)
        design = found.choice.design
        if design is None:
            return ShaperSpecification(found.choice.name, found.choice.shaper)
    table, stages = following(arm, design, payloads, gains, progress)
    modes = tuple(excited_modes(loaded(arm, payload), pose, gains) for payload in payloads
                  for pose in poses_within(arm, POSES))
    return ShaperSpecification(f'{design.kind} by pose', table=table, stages=tuple(stages),
                               modes=modes)
