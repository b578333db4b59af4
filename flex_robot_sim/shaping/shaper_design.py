"""Design of the online shaper of an arm with its servo."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.mode_table import SHARE, ModeTable, excited_modes, loaded, mode_table
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.shaping.impulses import NO_SHAPER, SI, ShapingSettings, check_mode
from flex_robot_sim.shaping.online_shaper import OnlineShaper
from flex_robot_sim.shaping.shaper_stages import stages_of
from flex_robot_sim.util.exceptions import SettingError

DEFAULT_PERIOD_S = 1e-3  # of set points, by default                                         [s]


def design_shaper(arm: ArmModel, settings: ShapingSettings,
                  gains: tuple[ArrayLike, ArrayLike] | None, position: ArrayLike,
                  period: float = 0.0, payload: tuple | None = None,
                  poses: ArrayLike | None = None,
                  progress: Callable[[int, int], object] | None = None) -> OnlineShaper | None:
    """
    Return the OnlineShaper of ShapingSettings, or None without a shaper; takes seconds.

    :param gains: (stiffness, damping) of the servo; None: the joints are locked.
    :param position: of the joints, the pose of a shaper with constant delays.
    :param period: of the set points; 0: default [s].
    :param payload: as of `mode_table.loaded`.
    :param poses: (k, joints) of the task; default: the joint range [rad, m].
    :param progress: function of the number of finished poses and of all poses.
    """
    if settings.shaper == NO_SHAPER:
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
    return OnlineShaper(2 * len(arm.joint_names), period or DEFAULT_PERIOD_S, table=table,
                        stages=stages)


def refuse_shaper(arm: ArmModel, settings: ShapingSettings,
                  gains: tuple[ArrayLike, ArrayLike] | None, position: ArrayLike,
                  period: float = 0.0) -> None:
    """Raise SettingError if ShapingSettings are infeasible at a pose."""
    if settings.shaper == NO_SHAPER:
        return
    table = table_of_pose(arm, gains, position)
    for frequency in table.frequencies[0]:
        check_mode(float(frequency), 0.0, period or DEFAULT_PERIOD_S)
    if settings.shaper != SI:         # slow, and always feasible
        stages_of(table, settings.shaper, settings.shaper_tolerance)


def table_of_pose(arm: ArmModel, gains: tuple[ArrayLike, ArrayLike] | None, position: ArrayLike,
                  payload: tuple | None = None) -> ModeTable:
    """Return the ModeTable of one pose; SettingError if no mode is excited there."""
    modes = excited_modes(loaded(arm, payload), np.asarray(position, float), gains)
    count = 1 + max(np.flatnonzero(modes.shares >= SHARE), default=-1)
    if count == 0:
        raise SettingError(f'nothing of {arm.description.name} rings in this pose: it needs no '
                           'shaper')
    return ModeTable((), (), modes.frequencies[None, :count], modes.ratios[None, :count])
