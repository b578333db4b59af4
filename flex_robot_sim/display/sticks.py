"""A stick figure for a robot whose URDF has no visuals."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

import numpy as np

from flex_robot_sim.description.robot import RobotDescription

RADIUS_SHARE = 0.012        # radius of a stick, over the length of all
MAX_RADIUS = 0.03           # [m]
JOINT_RADIUS_SHARE = 1.5    # radius of the sphere at a joint, over that of a stick
MIN_LENGTH = 1e-3           # between two joints that a stick is drawn for                    [m]


class StickShape(NamedTuple):
    """A shape of a URDF visual."""

    link: str
    tag: str                        # 'cylinder' or 'sphere'
    size: dict[str, float]          # attributes of the shape                                 [m]
    centre: np.ndarray              # (3,)  in the frame of the link                          [m]
    rpy: tuple[float, float, float]     # of the shape, whose axis is z                     [rad]


def sticks(description: RobotDescription, flexible: Collection[str]) -> Iterator[StickShape]:
    """
    Yield a cylinder from each joint to the next, and a sphere at each joint that moves.

    :param flexible: links that are drawn otherwise.
    """
    lengths = [float(np.linalg.norm(joint.position)) for joint in description.joints]
    radius = min(RADIUS_SHARE * sum(lengths), MAX_RADIUS)
    for joint, length in zip(description.joints, lengths):
        if joint.moves:
            yield StickShape(joint.child, 'sphere', {'radius': JOINT_RADIUS_SHARE * radius},
                             np.zeros(3), (0.0, 0.0, 0.0))
        if length > MIN_LENGTH and joint.parent not in flexible:
            x, y, z = joint.position / length
            yield StickShape(joint.parent, 'cylinder', {'radius': radius, 'length': length},
                             joint.position / 2,
                             (0.0, float(np.arccos(z)), float(np.arctan2(y, x))))
