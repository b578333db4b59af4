"""
Where flexible links carry something, and what the display description calls it.

A place is a cross-section that carries at least one joint. In the display description six virtual
joints move it against the link: three along, then three about the axes of the beam.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from flex_robot_sim.description.robot import ElasticBeam
    from flex_robot_sim.model.arm_model import ArmModel

# Turns about z, x and y, in this order: the one that may not come near a quarter turn is the
# middle one, so that is torsion. Bending in either plane may go as far round as it likes.
MOTIONS = (('x', 'prismatic', 0), ('y', 'prismatic', 1), ('z', 'prismatic', 2),
           ('bending_y', 'revolute', 2), ('torsion', 'revolute', 0), ('bending_z', 'revolute', 1))


class Place(NamedTuple):
    """A cross-section of a flexible link that carries joints."""

    name: str               # of its frame, and first part of the names of its six joints
    link: str
    body: int               # the segment that it is on
    station: int            # row of ArmArrays
    along: float            # from the link origin                              [m]
    joints: tuple[str, ...]     # names of the joints that it carries

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the six virtual joints, base to tip."""
        return tuple(f'{self.name}_{motion}' for motion, _, _ in MOTIONS)


def places(arm: ArmModel) -> list[Place]:
    """Return the Places of an ArmModel, links base to tip, each from its root to its end."""
    description, arrays = arm.description, arm.arrays
    taken = {link.name for link in description.links}
    taken |= {joint.name for joint in description.joints}
    found = []
    for link, segments in arm.segments.items():
        # (segment, x) -> row of the station, names of joints
        carried: dict[tuple[int, float], tuple[int, list[str]]] = {}
        for joint in description.children(link):
            body, _ = arm.carried_bodies[joint.name]
            station = arrays.station[body]
            key = segments.index(arrays.parent[body]), arrays.station_x[station]
            carried.setdefault(key, (station, []))[1].append(joint.name)
        prefix = _free_prefix(link, taken)
        length = arm.beams[segments[0]].length
        for number, ((segment, x), (station, joints)) in enumerate(sorted(carried.items()), 1):
            found.append(Place(f'{prefix}_{number}', link, segments[segment], int(station),
                               float(segment * length + x), tuple(joints)))
        taken.update(name for place in found for name in (place.name, *place.joint_names))
    return found


def station_point(beam: ElasticBeam, place: Place) -> np.ndarray:
    """Where a Place is on the undeformed link, in the link frame (3,) [m]."""
    return place.along * beam.axes[:, 0]


def axes_of_motions(beam: ElasticBeam) -> np.ndarray:
    """Axes (6, 3) of the six virtual joints, in the link frame."""
    return np.array([beam.axes[:, axis] for _, _, axis in MOTIONS])


def _free_prefix(link, taken):
    """Begin of names that no name in use has."""
    prefix = f'{link}_flex'
    while any(name.startswith(prefix) for name in taken):
        prefix += '_'
    return prefix
