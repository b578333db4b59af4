"""
Two poses that any arm can swing between, and how fast.

Its joint limits say how far, its motors how fast and whether they carry its weight at all.
"""

import math
from typing import NamedTuple

import numpy as np

from flex_robot_sim.control.gains import carrying_efforts, felt_inertia
from flex_robot_sim.control.limits import effort_limits
from flex_robot_sim.linear import frequencies

ANGLE, DISTANCE = 0.6, 0.3      # largest swing to either side                          [rad, m]
ROOM = 0.35                     # and its share of half the way between the stops
CARRYING = 0.6                  # share of a motor's limit that weight may take
SWINGING = 0.4                  # share of what is left that a swing may take
SPEED = 0.6                     # share of the velocity limit
SHORTEST = 0.8                  # time of a swing                                       [s]
PEAK_VELOCITY, PEAK_ACCELERATION = 15 / 8, 10 / math.sqrt(3)    # of minimum jerk: d/T, d/T**2
RINGING = 6                     # periods of the first mode that a rest lasts, at least
SHORTEST_REST, LONGEST_REST = 1.5, 20.0                         # [s]


class Swing(NamedTuple):
    """Poses in turn, and the time from one to the next."""

    poses: np.ndarray       # (2, joints)                           [rad, m]
    duration: float         # of the motion between two of them     [s]
    rest: float             # in each of them                       [s]

    @property
    def parameters(self):
        """Parameters that make the controller node do it."""
        return {'profile': 'swing', 'profile_poses': self.poses.ravel().tolist(),
                'profile_duration': self.duration, 'profile_dwell': self.rest}


def can_carry_itself(arm):
    """Whether the motors hold the straight arm in its zero pose; an arm for orbit cannot."""
    carried = np.abs(carrying_efforts(arm, np.zeros(len(arm.joint_names))))
    return bool(np.all(carried <= effort_limits(arm)))


def fitting_swing(arm):
    """Return the Swing for an ArmModel."""
    joints = [arm.description.joint(name) for name in arm.joint_names]
    lower, upper = np.array([(joint.lower, joint.upper) for joint in joints]).T
    is_turning = np.array([joint.kind != 'prismatic' for joint in joints])
    reach = np.minimum(np.where(is_turning, ANGLE, DISTANCE), ROOM * (upper - lower) / 2)
    middle = np.clip(0.0, lower + reach / ROOM / 2, upper - reach / ROOM / 2)
    signs = np.where(np.arange(len(joints)) % 3 == 2, -1.0, 1.0)     # elbows fold back
    limits = effort_limits(arm)
    poses, carried = _carried_poses(arm, middle, reach * signs, limits)
    duration = _duration(arm, 2 * reach, limits - carried, [joint.velocity for joint in joints])
    ringing = frequencies(arm, middle)
    period = 1.0 / ringing[0] if len(ringing) and ringing[0] > 0.0 else 0.0
    rest = min(max(SHORTEST_REST, RINGING * period), LONGEST_REST)
    return Swing(poses, duration, rest)


def _carried_poses(arm, middle, reach, limits):
    """Poses to either side of the middle that leave the motors something, and efforts there."""
    for share in (1.0, 0.75, 0.5, 0.25):
        poses = np.array([middle + share * reach, middle - share * reach])
        carried = np.abs([carrying_efforts(arm, pose) for pose in poses]).max(axis=0)
        if np.all(carried <= CARRYING * limits):
            break
    return poses, np.minimum(carried, 0.9 * limits)


def _duration(arm, distance, left, velocity):
    """Time for minimum jerk over a distance, by the efforts that are left and by speed [s]."""
    times = np.sqrt(PEAK_ACCELERATION * distance * felt_inertia(arm) / (SWINGING * left))
    fast = np.array([limit if limit > 0.0 else math.inf for limit in velocity])
    return float(max(SHORTEST, *times, *(PEAK_VELOCITY * distance / (SPEED * fast))))
