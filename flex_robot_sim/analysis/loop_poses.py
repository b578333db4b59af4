"""Poses by the positions of the drives: of closed loops, and of trees with hanging parts."""

from contextlib import suppress

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.constraint_terms import gaps_and_jacobian
from flex_robot_sim.analysis.loop_motion import closing_change
from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.dynamics.constraints.closing import (
    OpenLoopError,
    closed_coordinates,
    with_rigid_constraints,
)
from flex_robot_sim.model.arguments import checked
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.guide_range import refuse_outside_guides
from flex_robot_sim.model.start_pose import start_coordinates
from flex_robot_sim.util.exceptions import SettingError

MAX_STEP = 0.1  # of a drive between two poses                                  [rad, m]
MAX_GAP = 1e-9  # of a closed pose                                              [m, -]
CLOSED_GAP = 1e-14  # after which only rounding is left                           [m, -]
MAX_CHANGE = 0.5  # of a passive joint between two poses                        [rad, m]
CLOSING_STEPS = 12


def pose_of_drives(arm: ArmModel, position: np.ndarray) -> np.ndarray:
    """
    Return joint positions (joints,) that close all loops, with the drives at `position` (joints,).

    The passive joints follow from the start pose, so they do not change to another branch. Trees
    and closed poses keep the position. SettingError if the loops cannot close on the way.
    """
    if not arm.closed_loops or _is_closed(_relaxed(arm), position):
        return position
    reached, share = followed_pose(arm, position)
    if share < 1.0:
        drives = ', '.join(
            f'{name} {value:.3g}'
            for name, value, is_driven in zip(arm.joint_names, position, arm.actuated)
            if is_driven
        )
        raise SettingError(
            f'the closed loops of "{arm.description.name}" cannot close with the drives at '
            f'{drives}: they open at {share:.0%} of the way from the start pose. Give another pose'
        )
    return reached


def reachable_pose(arm: ArmModel, position: np.ndarray) -> np.ndarray:
    """
    Return joint positions (joints,) that close all loops, with the drives as near as they get.

    Trees and closed poses keep the position. Otherwise the drives stop on the way from the start
    pose where the loops open.
    """
    if not arm.closed_loops or _is_closed(_relaxed(arm), position):
        return position
    return followed_pose(arm, position)[0]


def hanging_pose(arm: ArmModel, position: np.ndarray) -> np.ndarray:
    """
    Return joint positions (joints,) of a tree whose passive joints are at their equilibrium.

    Its search starts at `position` (joints,), which is returned if there is none.
    """
    if arm.closed_loops or arm.actuated.all():
        return position
    with suppress(SettingError):
        return np.where(arm.actuated, position, equilibrium(arm, position).q[arm.joint_q])
    return position


def full_pose(arm: ArmModel, name: str, position: ArrayLike) -> np.ndarray:
    """
    Return checked joint positions (joints,) [rad, m].

    :param name: of the argument, for errors.
    :param position: one number per joint; with closed loops also one per motor, which the passive
        joints follow.
    """
    drives = np.flatnonzero(arm.actuated)
    if arm.closed_loops and np.size(position) == drives.size != arm.actuated.size:
        motors = [arm.joint_names[row] for row in drives]
        pose = start_coordinates(arm)[arm.joint_q]
        pose[drives] = checked(name, position, motors)
        return pose_of_drives(arm, pose)
    try:
        pose = checked(name, position, arm.joint_names)
    except SettingError as error:
        if not arm.closed_loops:
            raise
        raise SettingError(f'{error}; or {drives.size}, of the joints with a motor') from None
    q = np.zeros(arm.size)
    arm.set_joints(q, pose)
    refuse_outside_guides(arm, name, q)
    return pose


def followed_poses(arm: ArmModel, positions: np.ndarray) -> np.ndarray:
    """Return the closed poses (k, joints) of a path of the drives, as far as the loops close."""
    rows: list[np.ndarray] = []
    for position in positions:
        rows.append(followed_pose(arm, position, rows[-1] if rows else None)[0])
    return np.array(rows).reshape(np.shape(positions))


def followed_pose(
    arm: ArmModel, position: np.ndarray, start_pose: np.ndarray | None = None
) -> tuple[np.ndarray, float]:
    """
    Return the last pose (joints,) of the way to `position` that closes, and its share.

    :param start_pose: a closed pose (joints,) to start from; default: that of the arm.
    """
    q, arm = start_coordinates(arm), _relaxed(arm)
    if start_pose is None:
        q = closed_coordinates(arm, q)
    else:
        arm.set_joints(q, start_pose)
    joints = np.arange(len(arm.joint_names))
    drives, passive = np.flatnonzero(arm.actuated), np.flatnonzero(~arm.actuated)
    if not passive.size:
        goal = np.zeros(arm.size)
        arm.set_joints(goal, position)
        return closed_coordinates(arm, goal)[joints], 1.0
    start = q[drives].copy()
    travel = np.abs(position[drives] - start).max(initial=0.0)
    share = 0.0
    for following in np.linspace(0.0, 1.0, int(np.ceil(travel / MAX_STEP)) + 1)[1:]:
        trial = q.copy()
        trial[drives] = start + following * (position[drives] - start)
        gap = np.inf
        for _ in range(CLOSING_STEPS):
            change, gap = closing_change(arm, trial, passive)
            if gap < CLOSED_GAP:
                break
            trial = trial + change
        if not gap < MAX_GAP or np.abs((trial - q)[passive]).max() > MAX_CHANGE:
            break
        q, share = trial, following
    reached = q[joints].copy()
    return reached, share if travel > 0.0 else 1.0


def _is_closed(arm, position):
    """Whether joint positions (joints,) close all loops with straight links."""
    q = np.zeros(arm.size)
    arm.set_joints(q, position)
    return bool(np.abs(gaps_and_jacobian(arm, q)[0]).max() <= MAX_GAP)


def _relaxed(arm):
    """Return the arm with rigid constraints in place of compliant ones, if its loops close so."""
    if arm.arrays.constraint_stiffness.any():
        with suppress(OpenLoopError):
            rigid = with_rigid_constraints(arm)
            closed_coordinates(rigid, start_coordinates(arm))
            return rigid
    return arm
