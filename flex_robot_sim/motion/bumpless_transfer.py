"""
How a controller takes an arm over: from where the arm is, whatever it had in mind before.

An arm that was let go of for want of states has lost nothing but time: it is led back to its old
target, from where it has fallen to, no faster than a careful person would. An arm that is suddenly
elsewhere has been put there, by a reset or a new origin, and its old target means nothing there.
"""

import math

import numpy as np

from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.motion.motion import Motion, minimum_jerk, rest

LEAP = 0.02                 # by which an arm is elsewhere, beyond what it can have moved  [rad, m]
MARGIN = 2.0                # of what it can have moved, over speed times time
RESTING = 0.5               # speed below which somebody may have put it there     [rad/s, m/s]
SHARE = 0.25                # of a velocity limit that a way back takes
TURNING, SLIDING = 0.5, 0.1     # speed of a way back where there is no limit      [rad/s, m/s]
SHORTEST = 1.0              # time that it takes                                           [s]
PEAK = 15 / 8               # velocity of minimum jerk: PEAK d / T
NEAR = 1e-3                 # a target that needs no way back                         [rad, m]


def has_leapt(change: np.ndarray, duration: float, before: np.ndarray, after: np.ndarray) -> bool:
    """
    Whether an arm was put elsewhere between two states.

    :param change: of the positions, (joints,) [rad, m]; duration: between the states [s].
    :param before: velocities, (joints,) [rad/s, m/s]; after: likewise.
    """
    if np.abs(after).max(initial=0.0) > RESTING:
        return False
    moved = MARGIN * np.maximum(np.abs(before), np.abs(after)) * abs(duration)
    return bool((np.abs(change) > LEAP + moved).any())


def way_back(arm: ArmModel, start: np.ndarray, goal: np.ndarray) -> Motion | None:
    """Motion (Motion) of all joints from rest to rest, or None if they are there [rad, m]."""
    distance = np.abs(goal - start)
    if (distance <= NEAR).all():
        return None
    times = [SHORTEST]
    for name, way in zip(arm.joint_names, distance.tolist()):
        joint = arm.description.joint(name)
        free = SLIDING if joint.kind == 'prismatic' else TURNING
        speed = SHARE * joint.velocity if 0.0 < joint.velocity < math.inf else free
        times.append(PEAK * way / speed)
    return Motion([0.0, max(times)], [rest(start), minimum_jerk(start, goal), rest(goal)])
