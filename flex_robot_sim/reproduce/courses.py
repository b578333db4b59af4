"""
An experiment run through with every formulation, from start to end, beside the recursion.

All of them take the same scheme and the same steps, so that what parts two trajectories is what
parts their equations, and what convergence leaves of a step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from flex_robot_sim.formulations import FORMULATIONS, make
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.reproduce.motion import Force, Progress, Run, agreement, within
from flex_robot_sim.util.exceptions import SettingError

JUDGES = tuple(name for name in FORMULATIONS if name != 'recursion')
LINEARISED = ('dual_screw',)            # of what bends; part from the others by design
STILL = 1e-9                            # range of coordinates that do not move     [rad, m]
THROUGH, UNTIL, CANNOT = 'through', 'until', 'cannot'

Motion = Callable[[str, float, Progress], Run]      # of a formulation, seconds and progress


class Course(NamedTuple):
    """How far a formulation came through an experiment, and how near to the recursion."""

    ran: str                            # THROUGH, UNTIL or CANNOT
    until: float | None                 # where it ended                                [s]
    words: str                          # why it ended there, or what was chosen for it
    trajectories: float | None          # largest difference over the range of its kind
    farthest: str                       # the coordinate that this is about
    accelerations: float | None         # likewise, along the motion of the recursion


def courses(arm: ArmModel, motion: Motion, force: Force, seconds: float,
            progress: Progress = lambda share: None, shorter: Mapping[str, float] | None = None,
            words: Mapping[str, str] | None = None) -> dict[str, Course]:
    """
    Run `motion` with every formulation; return a Course for each.

    :param force: on the coordinates, function of q, qd and time, for accelerations on the way.
    :param shorter: {formulation: seconds}, of those that would take minutes.
    :param words: {formulation: what was chosen for it}.
    """
    shorter, words = dict(shorter or {}), dict(words or {})
    usual = motion('recursion', seconds, within(progress, 0.0, 0.05))
    judged = agreement(arm, usual, force)
    found = {}
    for k, name in enumerate(JUDGES):
        refusal = _refusal(name, arm)
        if refusal:
            found[name] = Course(CANNOT, None, refusal, None, '', None)
            continue
        asked = min(seconds, shorter.get(name, seconds))
        run = motion(name, asked, within(progress, 0.05 + 0.95 * k / len(JUDGES),
                                         0.05 + 0.95 * (k + 1) / len(JUDGES)))
        until, is_whole = float(run.time[-1]), len(run.time) >= len(usual.time)
        said = [words[name]] if name in words else []
        if not is_whole:
            is_lost = until < asked - np.diff(usual.time).max() - STILL
            said.append('its state is lost there' if is_lost or asked == seconds
                        else 'further would take minutes')
        accelerations = judged[name]
        found[name] = Course(
            THROUGH if is_whole else UNTIL, until, '; '.join(said),
            *apart_by_kind(arm, usual, run),
            None if isinstance(accelerations, str) else float(accelerations))
    return found


def merged(rows: Sequence[Mapping[str, Course]]) -> dict[str, Course]:
    """Return the worst Course of each formulation over several runs."""
    found = {}
    for name in rows[0]:
        several = [row[name] for row in rows]
        if any(one.ran == CANNOT for one in several):
            found[name] = next(one for one in several if one.ran == CANNOT)
            continue
        shortest = min(several, key=lambda one: one.until or 0.0)
        off = max(several, key=lambda one: one.trajectories or 0.0)
        found[name] = shortest._replace(
            trajectories=off.trajectories, farthest=off.farthest,
            accelerations=max(one.accelerations or 0.0 for one in several))
    return found


def largest(found: Mapping[str, Course], linearised: bool = False) -> float:
    """
    Largest difference of trajectories among formulations that should be the same.

    :param linearised: whether those that are linear in what bends should be, too.
    """
    return max((one.trajectories for name, one in found.items() if one.trajectories is not None
                and (linearised or name not in LINEARISED)), default=0.0)


def apart_by_kind(arm: ArmModel, run: Run, other: Run) -> tuple[float, str]:
    """
    Return how far two motions are apart, over the range of coordinates of a kind, and where.

    Kinds are turning and sliding joints with their motors, and each kind of elastic coordinate.
    """
    size, worst = min(len(run.q), len(other.q)), (0.0, '')
    kinds: dict[str, list[int]] = {}
    for k, name in enumerate(arm.coordinate_names):
        kinds.setdefault(_kind(arm, name, k), []).append(k)
    for columns in kinds.values():
        before, after = run.q[:size, columns], other.q[:size, columns]
        span = np.ptp(run.q[:, columns], axis=0).max()
        if span < STILL:
            continue
        off = np.abs(before - after).max(axis=0) / span
        worst = max(worst, (float(off.max()), arm.coordinate_names[columns[off.argmax()]]))
    return worst


def _kind(arm, name, k):
    row = k if k < len(arm.joint_names) else next(
        (j for j, motor in enumerate(arm.arrays.motor) if motor == k), None)
    if row is not None:
        body = int(np.flatnonzero(arm.arrays.joint == row)[0])
        return 'turning' if arm.arrays.screw[body, :3].any() else 'sliding'
    return name.split('/')[-1].rsplit('_', 1)[0]


def _refusal(name, arm):
    try:
        make(name, arm)
    except SettingError as error:
        return str(error)
    return ''
