"""Shaper specifications for the modes of an arm, or for modes that are given."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.joint_space_inertia import poses_within
from flex_robot_sim.analysis.mode_table import excited_modes, loaded
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.shaping.comparison import Case, compare_shapers
from flex_robot_sim.shaping.impulses import AUTO, NO_SHAPER, of_modes
from flex_robot_sim.shaping.recommendation import following, recommend
from flex_robot_sim.shaping.shaper_candidate import Design
from flex_robot_sim.shaping.shaper_specification import ShaperSpecification
from flex_robot_sim.util.exceptions import SettingError

MODE_POSES = 6                  # number of poses for the shares of modes


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
    shaper = of_modes('zv' if kind == AUTO else kind, frequencies, ratios)
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
