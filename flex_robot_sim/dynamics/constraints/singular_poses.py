"""
Singular poses that closed loops pass in a run.

The Jacobian W_p of the passive joints loses a rank there, so that the motors do not determine
them; without motors, W_p is that of all joints, and more motions keep the loops closed. The
elimination of W_p^T W_p, largest pivot first, ends with the pivot s^2 times the first one. A loop
that passes a singular pose makes s fall to zero in proportion to the distance, and rise again.
"""

from math import sqrt

import numpy as np

from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.arm_model import ArmModel

MIN_RANK_SHARE = 1e-3  # s from which a pivot counts for the rank of other poses
MIN_SHARE = 1e-6  # s of a loop that is not yet in a singular pose
MAX_STEPS = 8  # between two checks
STEPS_SHARE = 0.25  # of the steps to a singular pose, until the next check


def monitored_joints(arm: ArmModel) -> tuple[np.ndarray, int]:
    """Rows of the joints of W_p, and its largest possible rank."""
    if not arm.description.constraints:
        return np.zeros(0, int), 0
    if arm.actuated.any():
        passive = np.flatnonzero(~arm.actuated)
        return passive, passive.size
    return np.arange(arm.actuated.size), arm.actuated.size - 1  # at least one motion is left


@compiled
def note_singular_pose(arm, step, watch, work):
    """
    Record in watch.singular the first step after which the next one would reach s = 0.

    :param work: Workspace, whose work.constraint_end_jacobian is that of the end of this step.
    """
    past = work.rank_share
    if watch.loop_joint.size == 0 or watch.singular[0] >= 0:
        return
    past[1] += 1.0
    if past[1] < past[2]:
        return
    rank = watch.singular[1]
    share = present_rank_share(arm, watch, work)
    if watch.singular[1] > rank:
        past[0] = 0.0  # of another pivot
    fall = (past[0] - share) / past[1]  # in a step
    if past[0] > MIN_SHARE and share <= fall:
        watch.singular[0] = step
    ahead = 1.0 if past[0] == 0.0 else float(MAX_STEPS)
    if fall > 0.0:
        ahead = min(ahead, max(STEPS_SHARE * share / fall, 1.0))
    past[0], past[1], past[2] = share, 0.0, ahead


@compiled
def present_rank_share(arm, watch, work):
    """Return s of W_p for the largest rank so far, and raise this rank if it is larger here."""
    W, G, joints = work.constraint_end_jacobian, watch.gram, watch.loop_joint
    p = joints.size
    for i in range(p):
        for k in range(i + 1):
            G[i, k] = 0.0
            if arm.spring[joints[i]] == 0.0 and arm.spring[joints[k]] == 0.0:
                for r in range(W.shape[0]):
                    G[i, k] += W[r, joints[i]] * W[r, joints[k]]
            G[k, i] = G[i, k]
    first = last = 0.0
    for number in range(watch.singular[2]):
        m = 0
        for k in range(1, p):
            if G[k, k] > G[m, m]:
                m = k
        pivot = G[m, m]
        if number == 0:
            first = pivot
        if number < watch.singular[1]:
            last = pivot
        elif pivot > MIN_RANK_SHARE * MIN_RANK_SHARE * first:
            watch.singular[1], last = number + 1, pivot
        else:
            break
        if pivot <= 0.0:
            break
        for i in range(p):
            if i != m:
                factor = G[i, m] / pivot
                for k in range(p):
                    G[i, k] -= factor * G[m, k]
        for k in range(p):
            G[m, k] = G[k, m] = 0.0
    return sqrt(max(last, 0.0) / first) if first > 0.0 else 0.0
