"""
Shaper recommendation for an arm, shared by the command line, the nodes and the benchmarks.

The candidates follow from linear models at several poses and payloads (`shaper_comparison`). The
nonlinear arm makes moves with each of them (`validation_moves`), and the one whose moves come to
rest first is recommended. Small motions about one pose, and recordings, have linear moves
(`linear_moves`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis import mode_table
from flex_robot_sim.analysis.joint_space_inertia import poses_within
from flex_robot_sim.analysis.loop_poses import pose_of_drives
from flex_robot_sim.analysis.natural_modes import modes
from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.model.arguments import array_or_nan, expect_arm, expect_kind, number_or_nan
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.shaping.allowed_vibration import allowed_share
from flex_robot_sim.shaping.linear_moves import LinearMoves, ModeCase
from flex_robot_sim.shaping.shaper_comparison import (
    DEFAULT_ALLOWED_M,
    ShaperCandidate,
    compare_shapers,
)
from flex_robot_sim.shaping.shaper_stages import ShaperStage, StageDesign, stages_of
from flex_robot_sim.shaping.validation_moves import ValidationMoves, pairs_between, pairs_in_range
from flex_robot_sim.util.exceptions import SettingError, shortened
from flex_robot_sim.util.summary import summarized

DEFAULT_POSES = 6  # number of poses if none are given
PATH_POSES = 3  # number of poses of a single move
DEFAULT_UNCERTAINTY = 0.1  # relative error of model frequencies
DEFAULT_ACCELERATION = 1.0  # of the tool in small motions about a pose             [m/s2]
WEAK_SHARE = 0.03  # share of the largest vibration that weighted designs include
MAX_WEAK_MODES = 4


@summarized
class Recommendation(NamedTuple):
    """
    Evaluated cases, all shaper candidates, and the recommended one.

    Example::

        found = frs.shaping.recommend(frs.load('single_link'), [[0.3]])
        [(one.name, one.added_time, one.figures.rest_time) for one in found.candidates]
        found.choice.shaper.times
    """

    cases: list  # [ModeCase]; empty: no vibration
    candidates: list  # [ShaperCandidate], the unshaped motion first, motion profiles last
    best: int  # row of the recommended one; 0: no shaper
    moves: int  # number of moves of the nonlinear arm; 0 for a single pose
    reason: str = ''  # why no shaper meets the constraint, if known

    @property
    def choice(self) -> ShaperCandidate:
        """The recommended candidate."""
        return self.candidates[self.best]

    def refuse_none(self, arm: ArmModel) -> None:
        """Raise SettingError if an arm needs no shaper, or if no shaper helps."""
        name = arm.description.name
        if not self.cases:
            raise SettingError(f'nothing of {name} vibrates: it needs no shaper')
        figures = self.choice.figures
        if self.best == 0 and figures is not None and self.choice.meets_constraint:
            left = 1e3 * figures.left
            raise SettingError(
                f'{name} vibrates by {left:.2g} mm at most after its moves: it needs no shaper'
            )
        if self.best == 0:
            reason = f', as {self.reason}' if self.reason else ''
            raise SettingError(
                f'no shaper helps {name}: with each it comes to rest later{reason}. Take none'
            )


def recommend(
    arm: ArmModel,
    poses: ArrayLike | None = None,
    *,
    move: tuple[ArrayLike, ArrayLike] | None = None,
    payloads: Sequence[tuple | None] = (None,),
    gains: tuple[ArrayLike, ArrayLike] | None = None,
    uncertainty: float = DEFAULT_UNCERTAINTY,
    allowed_vibration: float | str = DEFAULT_ALLOWED_M,
    acceleration: float | None = None,
    fixed: bool = False,
) -> Recommendation:
    """
    Return the Recommendation for an arm: candidates, their figures in moves, and the best.

    It simulates moves of the nonlinear arm, and takes seconds.

    :param poses: (k, joints) [rad, m], between which the arm moves; one: small motions about it;
        default: the joint range.
    :param move: start and end (joints,) of the only move [rad, m], instead of poses.
    :param payloads: possible payloads: None, (link, mass [kg]) or (link, mass, centre (3,) [m]).
    :param gains: (stiffness, damping) of the servo; None: the joints are locked.
    :param uncertainty: relative error of the frequencies.
    :param allowed_vibration: distance of the tool from its goal that counts as rest [m], or a
        percentage such as '5%' of the mean vibration that the unshaped moves leave.
    :param acceleration: largest one of the tool [m/s2]; default: by the limits of the joints, and
        1 m/s2 about a single pose.
    :param fixed: whether the delays must be the same in all poses.

    Example::

        arm = frs.load('single_link')
        found = frs.shaping.recommend(arm, move=([0.0], [0.8]))
        found.choice.name, found.choice.added_time, found.choice.figures.rest_time
        shaped = found.choice.shaper.shape([0.0, 1e-3, 2e-3], [0.0, 0.1, 0.2])
    """
    expect_arm(arm, closed_loops=True, free_base=True)
    _expect_fixed_base(arm)
    check_rule(uncertainty, allowed_vibration, acceleration)
    if move is not None and poses is not None:
        raise SettingError('give either poses or a move, not both')
    chosen = _checked_poses(arm, poses if move is None else np.array([*move], float), move)
    expect_kind('payloads', payloads, Sequence, 'a list of None and (link, mass [kg])')
    payloads = tuple(payloads) or (None,)
    direction, pairs = None, None
    if move is not None:
        assert chosen is not None
        direction, pairs = chosen[1] - chosen[0], [(chosen[0], chosen[1])]
        poses = chosen[0] + np.linspace(0.0, 1.0, PATH_POSES)[:, None] * direction
    else:
        poses = poses_within(arm, DEFAULT_POSES)[:DEFAULT_POSES] if chosen is None else chosen
    excited = _excited(arm, poses, payloads, gains)
    cases = _strong_cases(excited, mode_table.SHARE)
    if not cases:
        return Recommendation([], [], 0, 0)
    if direction is not None:
        excited = _excited(arm, poses, payloads, gains, direction)
    conditions = _strong_cases(excited, WEAK_SHARE)
    moves: LinearMoves | ValidationMoves
    if chosen is not None and len(chosen) == 1:
        moves = LinearMoves(cases, uncertainty, acceleration or DEFAULT_ACCELERATION)
    else:
        if pairs is None:
            pairs = pairs_in_range(arm) if chosen is None else pairs_between(chosen)
        moves = ValidationMoves(
            arm,
            pairs,
            payloads,
            uncertainty,
            cases[0].frequencies.size,
            gains,
            acceleration or np.inf,
        )
    candidates, best = compare_shapers(
        cases, moves, uncertainty, allowed_vibration, fixed, conditions
    )
    reason = ''
    if not candidates[best].meets_constraint:
        reason = slow_servo_diagnosis(arm, poses[0], gains)
    count = len(moves) if isinstance(moves, ValidationMoves) else 0
    return Recommendation(cases, candidates, best, count, reason)


def _expect_fixed_base(arm):
    """Raise SettingError for a free base, with the way to choose a shaper for it."""
    if arm.has_free_base:
        raise SettingError(
            f'"{arm.description.name}" has a free base, on which shapers are not compared: choose '
            'a kind. Start with zvd, or with zv if the frequencies are accurate. `flexsim '
            'simulate --to POSE --within S --shaper zvd` shows what it leaves, and '
            "frs.shaping.design_for_arm(arm, kind='zvd') designs it"
        )


def check_rule(
    uncertainty: float, allowed_vibration: float | str, acceleration: float | None
) -> None:
    """Raise SettingError if a number of the rule is out of range."""
    if not 0.0 <= number_or_nan(uncertainty) < 0.5:
        raise SettingError(
            f'uncertainty = {shortened(repr(uncertainty), 60)} of frequencies must be at least '
            '0 and below 0.5'
        )
    allowed_share(allowed_vibration)
    if acceleration is not None and not 0.0 < number_or_nan(acceleration) < np.inf:
        raise SettingError(
            f'acceleration = {shortened(repr(acceleration), 60)} must be > 0 and finite [m/s2]'
        )


def _checked_poses(arm, poses, move):
    """Poses as (k, joints), or None for the joint range."""
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
    if move is not None and (chosen is None or len(chosen) != 2 or (chosen[0] == chosen[1]).all()):
        raise SettingError('move must be two different poses, its start and its end')
    return chosen


def _excited(arm, poses, payloads, gains, direction=None):
    """
    Return the ModeCases of an arm with all its modes.

    :param direction: joints (joints,) that move together; None: the one that excites a mode most.
    """
    cases = []
    for payload in payloads:
        loaded_arm = mode_table.loaded(arm, payload)
        for k, pose in enumerate(poses):
            name = ' '.join(f'{value:.3g}' for value in pose)
            name += f', {payload[1]:g} kg at {payload[0]}' if payload else ''
            found = mode_table.excited_modes(loaded_arm, pose, gains, direction)
            cases.append(ModeCase(*found, name, k))
    return cases


def _strong_cases(cases, share):
    """Cases with the modes up to the last that has this share of the largest vibration in any."""
    count = 0
    for case in cases:
        shares = case.sizes / max(case.sizes.max(initial=0.0), 1e-300)
        count = max(count, 1 + max(np.flatnonzero(shares >= share), default=-1))
    if share < mode_table.SHARE:
        count = min(count, MAX_WEAK_MODES)
    count = min([count, *(case.frequencies.size for case in cases)])
    return [
        case._replace(
            frequencies=case.frequencies[:count],
            ratios=case.ratios[:count],
            sizes=case.sizes[:count],
        )
        for case in cases[: len(cases) if count else 0]
    ]


def following(
    arm: ArmModel,
    design: StageDesign,
    payloads: Sequence[tuple | None] = (None,),
    gains: tuple[ArrayLike, ArrayLike] | None = None,
    progress: Callable[[int, int], object] | None = None,
    count: int | None = None,
) -> tuple[mode_table.ModeTable, list[ShaperStage]]:
    """ModeTable and stages of a StageDesign, for payloads of which any may be the real one."""
    tables = mode_tables(arm, payloads, gains, progress, count)
    return tables[0], stages_of(tables, *design)


def mode_tables(
    arm: ArmModel,
    payloads: Sequence[tuple | None] = (None,),
    gains: tuple[ArrayLike, ArrayLike] | None = None,
    progress: Callable[[int, int], object] | None = None,
    count: int | None = None,
) -> list[mode_table.ModeTable]:
    """Return the ModeTables of all payloads, over the same poses."""
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
    return tables


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
    q = equilibrium(arm, pose_of_drives(arm, np.asarray(position, float))).q
    found = modes(arm, q, gains=gains)
    rows = np.flatnonzero(found.frequencies > 0.0)
    if not rows.size or found.damping_ratios[rows[0]] < mode_table.MAX_OSCILLATING_RATIO:
        return ''
    frequency, ratio = found.frequencies[rows[0]], found.damping_ratios[rows[0]]
    return (
        f'the servo is soft and comes to rest slowly by itself, at {frequency:.2g} Hz with '
        f'{ratio:.0%} of critical damping'
    )
