"""Rotation matrices from and to the orientations of URDF: roll, pitch and yaw, or a quaternion."""

import numpy as np
from numpy.typing import ArrayLike

MIN_COS_PITCH = 1e-14  # below it, x points straight up or down
EXACT_DECIMALS = 15  # quarter turns are exact, so that planar arms stay planar


def turned_by(rpy: ArrayLike) -> np.ndarray:
    """Rotation (3, 3) by roll, pitch and yaw about fixed axes (3,) [rad]."""
    (cr, cp, cy), (sr, sp, sy) = np.round([np.cos(rpy), np.sin(rpy)], EXACT_DECIMALS)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def turned_by_quaternion(xyzw: ArrayLike) -> np.ndarray:
    """Rotation (3, 3) by a unit quaternion x, y, z, w (4,)."""
    x, y, z, w = np.asarray(xyzw, float)
    rotation = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.round(rotation, EXACT_DECIMALS) + 0.0


def roll_pitch_yaw(R: np.ndarray) -> np.ndarray:
    """Return roll, pitch and yaw about fixed axes (3,) [rad] of a rotation matrix (3, 3)."""
    cos_pitch = np.hypot(R[0, 0], R[1, 0])
    # straight up or down, only roll - yaw or roll + yaw is determined
    yaw = np.arctan2(R[1, 0], R[0, 0]) if cos_pitch > MIN_COS_PITCH else 0.0
    # roll of the rotation without this yaw, whose error it takes up
    c, s = np.cos(yaw), np.sin(yaw)
    roll = np.arctan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return np.array([roll, np.arctan2(-R[2, 0], cos_pitch), yaw])
