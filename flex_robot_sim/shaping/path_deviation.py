"""Path deviation: how far a shaped motion takes the tool off the path of the unshaped motion."""

import numpy as np

from flex_robot_sim.analysis.jacobians import pose
from flex_robot_sim.analysis.joint_space_inertia import rigid_moves
from flex_robot_sim.model.arm_model import ArmModel

MAX_SAMPLES = 150       # of each of the two paths


def path_deviation(arm: ArmModel, shaped: np.ndarray, path: np.ndarray) -> float:
    """
    Largest distance of the tool from its path [m], at any time, with the links undeformed.

    Each sample of the shaped motion is compared with the nearest place on the path, which is a
    polygon through its own samples.

    :param shaped: joint positions (k, joints) of the shaped motion [rad, m].
    :param path: joint positions (m, joints) along the unshaped motion [rad, m].
    """
    moves = rigid_moves(arm)
    points, corners = (np.array([pose(arm, moves @ row, arm.tool)[:3, 3] for row in thinned(rows)])
                       for rows in (shaped, path))
    if len(corners) == 1:
        return float(np.linalg.norm(points - corners, axis=1).max())
    starts, edges = corners[:-1], np.diff(corners, axis=0)
    squares = np.maximum((edges**2).sum(axis=1), 1e-300)
    # the nearest place on each edge to each point
    shares = np.clip(((points[:, None] - starts) * edges).sum(axis=2) / squares, 0.0, 1.0)
    distances = np.linalg.norm(points[:, None] - starts - shares[:, :, None] * edges, axis=2)
    return float(distances.min(axis=1).max())


def thinned(rows: np.ndarray) -> np.ndarray:
    """Return at most MAX_SAMPLES of the rows, evenly spaced, with the first and the last one."""
    if len(rows) <= MAX_SAMPLES:
        return rows
    return rows[np.linspace(0, len(rows) - 1, MAX_SAMPLES).round().astype(int)]
