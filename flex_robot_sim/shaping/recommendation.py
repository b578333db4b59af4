"""
Shaper recommendation for an arm, shared by the command line, the nodes and the benchmarks.

It evaluates all shapers by linear models at several poses and payloads (`shaper_comparison`). It
then tries the acceptable ones, shortest first, on the nonlinear arm (`validation_moves`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis import mode_table
from flex_robot_sim.analysis.joint_space_inertia import poses_within
from flex_robot_sim.analysis.natural_modes import modes
from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.model.arguments import array_or_nan, expect_arm, expect_kind
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.shaping.impulses import TOLERANCE
from flex_robot_sim.shaping.shaper_comparison import (
    ModeCase,
    ShaperCandidate,
    StageDesign,
    compare_shapers,
    meets_tolerance,
)
from flex_robot_sim.shaping.shaper_stages import ShaperStage, stages_of
from flex_robot_sim.shaping.validation_moves import ValidationMoves
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.summary import summarized

DEFAULT_POSES = 6  # number of poses if none are given
DEFAULT_UNCERTAINTY = 0.1  # relative error of model frequencies


@summarized
class Recommendation(NamedTuple):
    """
    Evaluated cases, all shaper candidates, and the recommended one.

    Example::

        found = frs.shaping.recommend(frs.load('single_link'), [[0.3]])
        [(one.name, one.added_time, one.vibration) for one in found.candidates]
        found.choice.shaper.times
    """

    cases: list  # [ModeCase]; empty: no vibration
    candidates: list  # [ShaperCandidate], the unshaped motion first
    best: int  # row of the recommended one; 0: no shaper helps
    moves: int  # number of trial moves; 0 for a single pose
    reason: str = ''  # why no shaper meets the tolerance, if known

    @property
    def choice(self) -> ShaperCandidate:
        """The recommended candidate."""
        return self.candidates[self.best]

    def refuse_none(self, arm: ArmModel) -> None:
        """Raise SettingError if an arm does not vibrate, or if no shaper helps."""
        name = arm.description.name
        if not self.cases:
            raise SettingError(f'nothing of {name} vibrates: it needs no shaper')
        if self.best == 0:
            reason = f', as {self.reason}' if self.reason else ''
            raise SettingError(
                f'no shaper helps {name}: each leaves as much as none or more{reason}. Take none'
            )


def recommend(
    arm: ArmModel,
    poses: ArrayLike | None = None,
    *,
    payloads: Sequence[tuple | None] = (None,),
    gains: tuple[ArrayLike, ArrayLike] | None = None,
    uncertainty: float = DEFAULT_UNCERTAINTY,
    tolerance: float = TOLERANCE,
    allowed_vibration: float = 5e-4,
    fixed: bool = False,
) -> Recommendation:
    """
    Return the Recommendation for an arm: candidates, their duration and vibration, and the best.

    It simulates moves of the nonlinear arm, and takes seconds.

    :param poses: (k, joints) [rad, m]; one: small motions about it; default: the joint range.
    :param payloads: possible payloads: None, (link, mass [kg]) or (link, mass, centre (3,) [m]).
    :param gains: (stiffness, damping) of the servo; None: the joints are locked.
    :param uncertainty: relative error of the frequencies.
    :param tolerance: allowed residual vibration, relative to the unshaped one.
    :param allowed_vibration: of the tool, for which accelerations are compared [m].
    :param fixed: whether the delays must be the same in all poses.

    Example::

        arm = frs.load('single_link')
        found = frs.shaping.recommend(arm, [[0.3]])
        found.choice.name, found.choice.added_time, found.choice.vibration
        shaped = found.choice.shaper.shape([0.0, 1e-3, 2e-3], [0.0, 0.1, 0.2])
    """
    expect_arm(arm)
    chosen = None if poses is None else np.atleast_2d(array_or_nan(poses))
    if chosen is not None and not chosen.size:
        chosen = None
    if chosen is not None and (
        chosen.shape[1:] != (len(arm.joint_names),) or not np.isfinite(chosen).all()
    ):
        raise SettingError(
            f'poses must be rows of {len(arm.joint_names)} finite numbers, in this order: '
            f'{", ".join(arm.joint_names)}'
        )
    expect_kind('payloads', payloads, Sequence, 'a list of None and (link, mass [kg])')
    payloads = tuple(payloads) or (None,)
    poses = poses_within(arm, DEFAULT_POSES)[:DEFAULT_POSES] if chosen is None else chosen
    cases = cases_of(arm, poses, payloads, gains)
    if not cases:
        return Recommendation([], [], 0, 0)
    moves = None
    if chosen is None or len(chosen) > 1:
        moves = ValidationMoves(
            arm, chosen, payloads, uncertainty, cases[0].frequencies.size, gains
        )
    candidates, best = compare_shapers(
        cases,
        uncertainty,
        tolerance,
        allowed_vibration,
        fixed,
        None if moves is None else moves.residual_vibration,
    )
    reason = ''
    if not meets_tolerance(candidates[best], tolerance):
        reason = slow_servo_diagnosis(arm, poses[0], gains)
    return Recommendation(cases, candidates, best, 0 if moves is None else len(moves), reason)


def cases_of(
    arm: ArmModel,
    poses: Iterable[np.ndarray],
    payloads: Sequence[tuple | None] = (None,),
    gains: tuple[ArrayLike, ArrayLike] | None = None,
) -> list[ModeCase]:
    """Return the ModeCases of an arm, with all modes that any of them excites; [] without any."""
    modes, names, indices = [], [], []
    for payload in payloads:
        loaded_arm = mode_table.loaded(arm, payload)
        for k, pose in enumerate(poses):
            modes.append(mode_table.excited_modes(loaded_arm, pose, gains))
            names.append(
                ' '.join(f'{value:.3g}' for value in pose)
                + (f', {payload[1]:g} kg at {payload[0]}' if payload else '')
            )
            indices.append(k)
    count = max(
        1 + max(np.flatnonzero(found.shares >= mode_table.SHARE), default=-1) for found in modes
    )
    count = min([count, *(found.frequencies.size for found in modes)])
    if count:
        return [
            ModeCase(
                found.frequencies[:count], found.ratios[:count], found.sizes[:count], name, index
            )
            for found, name, index in zip(modes, names, indices)
        ]
    return []


def following(
    arm: ArmModel,
    design: StageDesign,
    payloads: Sequence[tuple | None] = (None,),
    gains: tuple[ArrayLike, ArrayLike] | None = None,
    progress: Callable[[int, int], object] | None = None,
    count: int | None = None,
) -> tuple[mode_table.ModeTable, list[ShaperStage]]:
    """ModeTable and stages of a StageDesign, for payloads of which any may be the real one."""
    tables: list[mode_table.ModeTable] = []
    for payload in tuple(payloads) or (None,):
        tables.append(
            mode_table.mode_table(
                arm,
                gains,
                payload,
                like=tables[0] if tables else None,
                progress=progress,
                count=count,
            )
        )
    return tables[0], stages_of(tables, *design)


def slow_servo_diagnosis(
    arm: ArmModel, position: ArrayLike, gains: tuple[ArrayLike, ArrayLike] | None
) -> str:
    """
    Describe the slowest mode if it is well damped, a servo mode; else ''.

    A soft servo adds modes that are slower than those of the links and well damped. They dominate
    the motion after a move then, and neither shapers nor link feedback reduce them.

    :param position: of the joints, (joints,) [rad, m].
    :param gains: (stiffness, damping) of the servo; None: the joints are locked.
    """
    if gains is None:
        return ''
    q = equilibrium(arm, np.asarray(position, float)).q
    found = modes(arm, q, gains=gains)
    rows = np.flatnonzero(found.frequencies > 0.0)
    if not rows.size or found.damping_ratios[rows[0]] < mode_table.MAX_OSCILLATING_RATIO:
        return ''
    frequency, ratio = found.frequencies[rows[0]], found.damping_ratios[rows[0]]
    return (
        f'the servo is soft and comes to rest slowly by itself, at {frequency:.2g} Hz with '
        f'{ratio:.0%} of critical damping'
    )
