"""
Bumpless transfer: the reference begins at the measured position when a controller takes over.

After an interruption of joint states, the arm returns slowly from its present position to the old
target. If the measured position jumps, because of a reset or a new origin, the old target is
invalid.
"""

import math

import numpy as np

from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.motion.joint_motion import Motion, minimum_jerk, rest
from flex_robot_sim.motion.limits import minimum_jerk_durations

JUMP_THRESHOLD = 0.02  # larger changes beyond the possible motion are jumps  [rad, m]
MOTION_MARGIN = 2.0  # possible motion between two states, over velocity times time
MAX_REST_VELOCITY = 0.5  # a faster arm has moved by itself                  [rad/s, m/s]
RETURN_VELOCITY_RATIO = 0.25  # velocity of a return motion, over the limit
RETURN_VELOCITY = {'rad': 0.5, 'm': 0.1}  # without a limit, by the unit of the joint, per s
MIN_RETURN_S = 1.0  # duration of a return motion
POSITION_TOLERANCE = 1e-3  # no return motion is necessary below it               [rad, m]


def has_jumped(change: np.ndarray, duration: float, before: np.ndarray, after: np.ndarray) -> bool:
    """Whether a change (joints,) [rad, m] in a time [s] exceeds the velocities around it."""
    if np.abs(after).max(initial=0.0) > MAX_REST_VELOCITY:
        return False
    possible_motion = MOTION_MARGIN * np.maximum(np.abs(before), np.abs(after)) * abs(duration)
    return bool((np.abs(change) > JUMP_THRESHOLD + possible_motion).any())


def return_motion(arm: ArmModel, start: np.ndarray, goal: np.ndarray) -> Motion | None:
    """Return the Motion of all joints from rest to rest, or None if they are there [rad, m]."""
    distance = np.abs(goal - start)
    if (distance <= POSITION_TOLERANCE).all():
        return None
    velocities = []
    for name in arm.joint_names:
        joint = arm.description.joint(name)
        velocities.append(
            RETURN_VELOCITY_RATIO * joint.velocity
            if 0.0 < joint.velocity < math.inf
            else RETURN_VELOCITY[joint.type.unit]
        )
    times = [MIN_RETURN_S, *minimum_jerk_durations(arm, distance, np.array(velocities))]
    duration = float(max(times))
    return Motion([0.0, duration], [rest(start), minimum_jerk(start, goal), rest(goal)])
