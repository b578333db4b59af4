"""Rotation matrices from and to the orientations of URDF: roll, pitch and yaw, or a quaternion."""

import numpy as np
from numpy.typing import ArrayLike

MIN_COS_PITCH = 1e-9  # below it, x points straight up or down
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
    pitch = np.arctan2(-R[2, 0], cos_pitch)
    if cos_pitch < MIN_COS_PITCH:  # only roll - yaw or roll + yaw is determined
        return np.array([np.arctan2(-R[1, 2], R[1, 1]), pitch, 0.0])
    return np.array([np.arctan2(R[2, 1], R[2, 2]), pitch, np.arctan2(R[1, 0], R[0, 0])])
