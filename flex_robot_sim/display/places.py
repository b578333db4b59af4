"""
Cross-sections of flexible links with child joints, and their names in the display description.

A Place is a cross-section with at least one child joint. In the display description six virtual
joints move it relative to the link: three along, then three about the axes of the beam.
"""

from typing import NamedTuple

import numpy as np

from flex_robot_sim.description.links import ElasticBeam
from flex_robot_sim.model.arm_model import ArmModel

# Rotations about z, x and y, in this order: the middle angle must stay below a quarter turn, so it
# is torsion. The bending angles are not limited.
MOTIONS = (
    ('x', 'prismatic', 0),
    ('y', 'prismatic', 1),
    ('z', 'prismatic', 2),
    ('bending_y', 'revolute', 2),
    ('torsion', 'revolute', 0),
    ('bending_z', 'revolute', 1),
)


class Place(NamedTuple):
    """A cross-section of a flexible link with child joints."""

    name: str  # of its frame, and prefix of the names of its six joints
    link: str
    body: int  # its segment
    station: int  # row of ArmArrays
    along: float  # from the link origin, along the axis              [m]
    joints: tuple[str, ...]  # names of its child joints

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the six virtual joints, base to tip."""
        return tuple(f'{self.name}_{motion}' for motion, _, _ in MOTIONS)


def places(arm: ArmModel) -> list[Place]:
    """Return the Places of an ArmModel, base to tip, and on each link from root to end."""
    description, arrays = arm.description, arm.arrays
    used_names = {link.name for link in description.links}
    used_names |= {joint.name for joint in description.joints}
    result = []
    for link, segments in arm.segments.items():
        # (segment, x) -> row of the station, names of joints
        by_station: dict[tuple[int, float], tuple[int, list[str]]] = {}
        for joint in description.children(link):
            body, _ = arm.carried_bodies[joint.name]
            station = arrays.station[body]
            key = segments.index(arrays.parent[body]), arrays.station_x[station]
            by_station.setdefault(key, (station, []))[1].append(joint.name)
        prefix = _free_prefix(link, used_names)
        length = arm.beams[segments[0]].length
        for index, ((segment, x), (station, joints)) in enumerate(sorted(by_station.items()), 1):
            result.append(
                Place(
                    f'{prefix}_{index}',
                    link,
                    segments[segment],
                    int(station),
                    float(segment * length + x),
                    tuple(joints),
                )
            )
        used_names.update(name for place in result for name in (place.name, *place.joint_names))
    return result


def station_point(beam: ElasticBeam, place: Place) -> np.ndarray:
    """Position of a Place on the undeformed link, in the link frame (3,) [m]."""
    return beam.section_pose(place.along)[1]


def axes_of_motions(beam: ElasticBeam) -> np.ndarray:
    """Axes (6, 3) of the six virtual joints, in the link frame."""
    return np.array([beam.axes[:, axis] for _, _, axis in MOTIONS])


def _free_prefix(link, used_names):
    """Return a prefix that no used name has."""
    prefix = f'{link}_flex'
    while any(name.startswith(prefix) for name in used_names):
        prefix += '_'
    return prefix
