"""What shapes set points of any arm: a fixed shaper, or stages that follow its pose."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.control.impulses import NONE, Shaper
from flex_robot_sim.control.mode_table import ModeTable
from flex_robot_sim.control.online_shaper import OnlineShaper
from flex_robot_sim.control.recommendation import following, recommend
from flex_robot_sim.control.settings import AUTO
from flex_robot_sim.control.shaper_choice import Case, Design, choices
from flex_robot_sim.control.trajectory_shaper import NO_SHAPER, shaper_of_modes
from flex_robot_sim.core.model import ArmModel
from flex_robot_sim.exceptions import SettingError


class ShaperParts(NamedTuple):
    """Arguments of an OnlineShaper, and their name."""

    name: str
    shaper: Shaper = NONE
    table: ModeTable | None = None
    stages: tuple = ()

    def online(self, joints: int, period: float, copies: int = 1) -> OnlineShaper:
        """
        Return the OnlineShaper of an arm of so many joints, for samples every period [s].

        :param copies: of all joints in a sample, whose first ones tell the pose.
        """
        return OnlineShaper(copies * joints, period, self.shaper, self.table, self.stages)


def parts_by_modes(kind: str, frequencies: Sequence[float],
                   ratios: Sequence[float] = ()) -> ShaperParts:
    """Return the ShaperParts for modes [Hz] that are the same in all poses."""
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
    return ShaperParts(NO_SHAPER if kind == NO_SHAPER else shaper.name, shaper)


def parts_by_arm(kind: str, arm: ArmModel, masses: Sequence[float] = (),
                 gains: tuple[ArrayLike, ArrayLike] | None = None,
                 progress: Callable[[int, int], object] | None = None) -> ShaperParts:
    """
    Return the ShaperParts for the modes of an ArmModel, whose delays follow the pose.

    :param masses: that its tool may carry: one that is known, or several of which nobody tells
        [kg]; none: what the description has.
    :param progress: as of `mode_table.mode_table`.
    """
    if kind == NO_SHAPER:
        return ShaperParts(NO_SHAPER)
    payloads = tuple((arm.tool, float(mass)) for mass in masses) or (None,)
    design = Design(kind, 0.05)
    if kind == AUTO:
        found = recommend(arm, payloads=payloads, gains=gains)
        found.refuse_none(arm)
        design = found.choice.design
        if design is None:
            return ShaperParts(found.choice.name, found.choice.shaper)
    table, stages = following(arm, design, payloads, gains, progress)
    return ShaperParts(f'{design.kind} by pose', table=table, stages=tuple(stages))
