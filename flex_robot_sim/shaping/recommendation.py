"""
The shaper that is recommended for an arm: one rule for the command line, nodes and benchmarks.

It looks at poses and payloads, judges all shapers by the linear models there (`comparison`),
and tries those that will do, the shortest first, on the nonlinear arm (`validation_moves`).
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.joint_space_inertia import poses_within
from flex_robot_sim.analysis.mode_table import SHARE, ModeTable, excited_modes, loaded, mode_table
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.shaping.comparison import Case, Design, ShaperCandidate, choices, keeps
from flex_robot_sim.shaping.impulses import TOLERANCE
from flex_robot_sim.shaping.residual_vibration_diagnosis import slow_servo
from flex_robot_sim.shaping.shaper_stages import Stage, stages_of
from flex_robot_sim.shaping.validation_moves import ValidationMoves
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.summary import summarized

POSES = 6                   # looked at if none are given
OFF = 0.1                   # share by which the frequencies of a model may be off


@summarized
class Recommendation(NamedTuple):
    """What was looked at, all shapers, and which one to take."""

    cases: list                 # [Case]; empty: nothing rings
    found: list                 # [Choice], without a shaper first
    best: int                   # row of it; 0: no shaper helps
    moves: int                  # that were tried; 0: none, because there is one pose only
    why: str = ''               # none keeps the tolerance, if none does and that is known

    @property
    def choice(self) -> ShaperCandidate:
        """The Choice to take."""
        return self.found[self.best]

    def refuse_none(self, arm: ArmModel) -> None:
        """Raise SettingError if an arm has nothing that rings, or if no shaper helps it."""
        name = arm.description.name
        if not self.cases:
            raise SettingError(f'nothing of {name} rings: it needs no shaper')
        if self.best == 0:
            why = f', as {self.why}' if self.why else ''
            raise SettingError(f'no shaper helps {name}: each leaves as much as none or more'
                               f'{why}. Take none')


def recommend(arm: ArmModel, poses: ArrayLike | None = None,
              payloads: Sequence[tuple | None] = (None,),
              gains: tuple[ArrayLike, ArrayLike] | None = None, uncertainty: float = OFF,
              tolerance: float = TOLERANCE, allowed: float = 5e-4,
              fixed: bool = False) -> Recommendation:
    """
    Return the Recommendation for an ArmModel.

    :param poses: (k, joints) [rad, m]; one: small motions about it; default: all its range.
    :param payloads: that it may carry, each as of `mode_table.loaded`.
    :param gains: (stiffness, damping) of the servo that holds the joints; None: they are locked.
    :param uncertainty, tolerance, allowed, fixed: as of `comparison.choices`.
    """
    given = None if poses is None or not np.size(poses) else np.atleast_2d(
        np.asarray(poses, float))
    payloads = tuple(payloads) or (None,)
    poses = poses_within(arm, POSES)[:POSES] if given is None else given
    cases = cases_of(arm, poses, payloads, gains)
    if not cases:
        return Recommendation([], [], 0, 0)
    trials = None
    if given is None or len(given) > 1:
        trials = ValidationMoves(arm, given, payloads, uncertainty, cases[0].frequencies.size,
                                 gains)
    found, best = choices(cases, uncertainty, tolerance, allowed, fixed, trials)
    why = '' if keeps(found[best], tolerance) else slow_servo(arm, poses[0], gains)
    return Recommendation(cases, found, best, 0 if trials is None else len(trials), why)


def cases_of(arm: ArmModel, poses: Iterable[np.ndarray],
             payloads: Sequence[tuple | None] = (None,),
             gains: tuple[ArrayLike, ArrayLike] | None = None) -> list[Case]:
    """Return the Cases of an arm, of as many modes as ring in any of them; none: nothing rings."""
    found, names, places = [], [], []
    for payload in payloads:
        carrying = loaded(arm, payload)
        for k, pose in enumerate(poses):
            found.append(excited_modes(carrying, pose, gains))
            names.append(' '.join(f'{value:.3g}' for value in pose)
                         + (f', {payload[1]:g} kg at {payload[0]}' if payload else ''))
            places.append(k)
    count = max(1 + max(np.flatnonzero(one.shares >= SHARE), default=-1) for one in found)
    count = min([count, *(one.frequencies.size for one in found)])
    return [Case(one.frequencies[:count], one.ratios[:count], one.sizes[:count], name, place)
            for one, name, place in zip(found, names, places)] if count else []


def following(arm: ArmModel, design: Design, payloads: Sequence[tuple | None] = (None,),
              gains: tuple[ArrayLike, ArrayLike] | None = None,
              progress: Callable[[int, int], object] | None = None,
              count: int | None = None) -> tuple[ModeTable, list[Stage]]:
    """
    Return the ModeTable and the Stages of a Design, for an OnlineShaper of all poses of an arm.

    :param payloads: that it may carry: one that is known, or several of which nobody tells.
    :param progress: as of `mode_table`; count: of modes, likewise.
    """
    tables: list[ModeTable] = []
    for payload in tuple(payloads) or (None,):
        tables.append(mode_table(arm, gains, payload, like=tables[0] if tables else None,
                                 progress=progress, count=count))
    return tables[0], stages_of(tables, *design)
