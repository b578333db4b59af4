"""How large a picture of an arm must be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flex_robot_sim.display.posture import Posture

if TYPE_CHECKING:
    from flex_robot_sim.description.robot import RobotDescription
    from flex_robot_sim.model.arm_model import ArmModel

LEAST = 1e-3            # of a description whose frames lie on top of each other             [m]


def reach(description: RobotDescription) -> float:
    """
    How far from its base the farthest frame of a RobotDescription could get [m].

    All offsets on the way there are put end to end, slides at the far end of their travel and
    flexible links without what bending takes away.
    """
    ways: dict[str, float] = {description.links[0].name: 0.0}
    ends = []
    for joint in description.joints:
        travel = 0.0
        if joint.kind == 'prismatic':
            limits = np.abs([joint.lower, joint.upper])
            travel = float(limits[np.isfinite(limits)].max(initial=0.0))
        ways[joint.child] = ways[joint.parent] + float(np.linalg.norm(joint.position)) + travel
    for link in description.links:
        ends.append(ways[link.name] + (link.beam.length if link.beam is not None else 0.0))
    return float(max(*ends, LEAST))


def middle(arm: ArmModel) -> np.ndarray:
    """Middle (3,) of the frames of an ArmModel in its zero pose, in the base frame [m]."""
    posture = Posture(arm)
    posture.take(np.zeros(arm.size))
    places = np.array([posture.frame(frame)[1] for frame in arm.frames.values()])
    return (places.min(axis=0) + places.max(axis=0)) / 2
