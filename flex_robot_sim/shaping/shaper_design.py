"""The input shaper of an arm as its servo holds it, for set points one after another."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.mode_table import SHARE, ModeTable, excited_modes, loaded, mode_table
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.shaping.impulses import check_mode
from flex_robot_sim.shaping.online_shaper import OnlineShaper
from flex_robot_sim.shaping.shaper_stages import stages_of
from flex_robot_sim.shaping.shaping_settings import ShapingSettings
from flex_robot_sim.util.exceptions import SettingError

PERIOD = 1e-3           # of set points where nothing else is said                          [s]


def design_shaper(arm: ArmModel, settings: ShapingSettings,
                  gains: tuple[ArrayLike, ArrayLike] | None, position: ArrayLike,
                  period: float = 0.0, payload: tuple | None = None,
                  poses: ArrayLike | None = None,
                  progress: Callable[[int, int], object] | None = None) -> OnlineShaper | None:
    """
    Return the OnlineShaper of ShapingSettings for SetPoints, or None for 'none'; takes seconds.

    :param gains: (stiffness, damping) of the servo that holds the joints; None: they are locked.
    :param position: of the joints, whose modes a shaper is for that does not follow the pose.
    :param period: of the set points; 0: no matter [s].
    :param payload: as of `mode_table.loaded`.
    :param poses: (k, joints) that the arm goes through; default: all its range [rad, m].
    :param progress: function of the poses that were looked at, and of all of them.
    """
    if settings.shaper == 'none':
        return None
    if settings.shaper_by_pose:
        table = mode_table(arm, gains, payload, poses, progress=progress)
    else:
        table = table_of_pose(arm, gains, position, payload)
    return shaper_of_table(arm, settings, table, period)


def shaper_of_table(arm: ArmModel, settings: ShapingSettings, table: ModeTable,
                    period: float = 0.0) -> OnlineShaper:
    """Return the OnlineShaper of ShapingSettings for the modes of a ModeTable."""
    stages = stages_of(table, settings.shaper, settings.shaper_tolerance,
                       settings.shaper_uncertainty)
    return OnlineShaper(2 * len(arm.joint_names), period or PERIOD, table=table, stages=stages)


def refuse_shaper(arm: ArmModel, settings: ShapingSettings,
                  gains: tuple[ArrayLike, ArrayLike] | None, position: ArrayLike,
                  period: float = 0.0) -> None:
    """Raise SettingError where a look at a pose shows that ShapingSettings make no shaper."""
    if settings.shaper == 'none':
        return
    table = table_of_pose(arm, gains, position)
    for frequency in table.frequencies[0]:
        check_mode(float(frequency), 0.0, period or PERIOD)
    if settings.shaper != 'si':         # which takes a while, and is always found
        stages_of(table, settings.shaper, settings.shaper_tolerance)


def table_of_pose(arm: ArmModel, gains: tuple[ArrayLike, ArrayLike] | None, position: ArrayLike,
                  payload: tuple | None = None) -> ModeTable:
    """Return the ModeTable of one pose; SettingError if nothing rings there."""
    found = excited_modes(loaded(arm, payload), np.asarray(position, float), gains)
    count = 1 + max(np.flatnonzero(found.shares >= SHARE), default=-1)
    if count == 0:
        raise SettingError(f'nothing of {arm.description.name} rings in this pose: it needs no '
                           'shaper')
    return ModeTable((), (), found.frequencies[None, :count], found.ratios[None, :count])
