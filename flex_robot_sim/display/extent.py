"""Extent of an arm for its display."""

import numpy as np

from flex_robot_sim.description.robot import RobotDescription
from flex_robot_sim.display.posture import Posture
from flex_robot_sim.model.arm_model import ArmModel

MIN_REACH_M = 1e-3  # of a description whose frames coincide
UNBOUNDED = 'prismatic', 'mimic'  # constraints that leave the distance of their links open


def reach(description: RobotDescription) -> float:
    """
    Upper bound of the distance of all frames of a RobotDescription from its base [m].

    It is the sum of all offsets on the way, with prismatic joints at their far limit and
    undeformed flexible links. With closed loops, the way is the shorter one through joints and
    constraints.
    """
    lengths = {description.links[0].name: 0.0}
    ways = [(joint.parent, joint.child, _length(joint)) for joint in description.joints]
    for constraint in description.constraints:
        ends = constraint.parent_position, constraint.child_position
        length = constraint.length + float(sum(map(np.linalg.norm, ends)))
        if constraint.kind not in UNBOUNDED:
            ways.append((constraint.parent, constraint.child, length))
    ways += [(child, parent, length) for parent, child, length in ways]
    for _ in description.links:  # shortest ways by relaxation (Bellman and Ford)
        old = dict(lengths)
        for start, end, length in ways:
            if start in lengths:
                lengths[end] = min(lengths.get(end, np.inf), lengths[start] + length)
        if lengths == old:
            break
    beams = {link.name: link.beam.length for link in description.links if link.beam is not None}
    return max(*(length + beams.get(name, 0.0) for name, length in lengths.items()), MIN_REACH_M)


def _length(joint):
    """Distance between the links of a joint at most [m]."""
    travel = 0.0
    if joint.type.translates or joint.pitch:
        limits = np.abs([joint.lower, joint.upper])
        travel = float(limits[np.isfinite(limits)].max(initial=0.0))
        travel *= abs(joint.travel_per_radian) if joint.pitch else 1.0
    return float(np.linalg.norm(joint.position)) + travel


def middle(arm: ArmModel) -> np.ndarray:
    """Centre (3,) of the frames of an ArmModel in its zero pose, in the base frame [m]."""
    posture = Posture(arm)
    posture.take(np.zeros(arm.size))
    positions = np.array([posture.frame(frame)[1] for frame in arm.frames.values()])
    return (positions.min(axis=0) + positions.max(axis=0)) / 2
