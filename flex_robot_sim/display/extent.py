"""Extent of an arm for its display."""

import numpy as np

from flex_robot_sim.description.robot import RobotDescription
from flex_robot_sim.display.posture import Posture
from flex_robot_sim.model.arm_model import ArmModel

MIN_REACH_M = 1e-3  # of a description whose frames coincide


def reach(description: RobotDescription) -> float:
    """
    Upper bound of the distance of all frames of a RobotDescription from its base [m].

    It is the sum of all joint offsets on the way, with prismatic joints at their far limit and
    undeformed flexible links.
    """
    lengths: dict[str, float] = {description.links[0].name: 0.0}
    ends = []
    for joint in description.joints:
        travel = 0.0
        if joint.type.translates:
            limits = np.abs([joint.lower, joint.upper])
            travel = float(limits[np.isfinite(limits)].max(initial=0.0))
        lengths[joint.child] = (
            lengths[joint.parent] + float(np.linalg.norm(joint.position)) + travel
        )
    for link in description.links:
        ends.append(lengths[link.name] + (link.beam.length if link.beam is not None else 0.0))
    return float(max(*ends, MIN_REACH_M))


def middle(arm: ArmModel) -> np.ndarray:
    """Centre (3,) of the frames of an ArmModel in its zero pose, in the base frame [m]."""
    posture = Posture(arm)
    posture.take(np.zeros(arm.size))
    positions = np.array([posture.frame(frame)[1] for frame in arm.frames.values()])
    return (positions.min(axis=0) + positions.max(axis=0)) / 2
