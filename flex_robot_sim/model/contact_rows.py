"""Rows of contacts: points of links, each with a surface that it may touch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flex_robot_sim.description.bodies import Moments
from flex_robot_sim.description.contact import WORLD, Contact, ContactShape
from flex_robot_sim.description.robot import RobotDescription
from flex_robot_sim.model.arm_model import Frame
from flex_robot_sim.model.composite_inertia import joint_pose
from flex_robot_sim.model.stops import STOP_FREQUENCY

if TYPE_CHECKING:
    from flex_robot_sim.model.body_tree import BodyTree

PLANE, BOX, CYLINDER, SPHERE, CAPSULE = range(5)
KINDS = {'plane': PLANE, 'box': BOX, 'cylinder': CYLINDER, 'sphere': SPHERE, 'capsule': CAPSULE}
WORLD_BODY = -2  # body of the ground and of obstacles, which do not move with the base
MIN_LEVER_M = 1e-3  # of a point about a joint that moves it


class ContactRow(NamedTuple):
    """A point and a surface."""

    body: int
    point: np.ndarray  # (3,)  centre in the body                                         [m]
    radius: float  # [m]
    place: Frame  # of the surface
    surface: ContactShape
    contact: Contact
    mass: float  # that the point moves                                                  [kg]


def contact_rows(
    tree: BodyTree, inertias: np.ndarray
) -> tuple[list[ContactRow], dict[str, slice]]:
    """
    Return the points of all contacts, each with each surface, and the rows of each contact.

    :param inertias: largest one of each joint, (j,) [kg m2, kg].
    """
    by_joint = dict(zip([joint.name for joint in tree.joints], inertias))

    def mass_at(link, position):
        return moved_mass(tree.description, tree.moments_beyond, by_joint, link, position)

    rows: list[ContactRow] = []
    contacts = {}
    for contact in tree.description.contacts:
        start = len(rows)
        for position, radius, surface in contact.pairs():
            point = tree.fixed_frame(contact.link, np.eye(3), position)
            place = Frame(WORLD_BODY, surface.rotation, surface.position)
            mass = mass_at(contact.link, position)
            if contact.against != WORLD:
                place = tree.fixed_frame(contact.against, surface.rotation, surface.position)
                mass = min(mass, mass_at(contact.against, surface.position))
            rows.append(ContactRow(point.body, point.p, radius, place, surface, contact, mass))
        contacts[contact.name] = slice(start, len(rows))
    return rows, contacts


def contact_arrays(rows: Sequence[ContactRow]) -> dict[str, np.ndarray]:
    """Return the arrays of ArmArrays for contacts."""
    sizes = [[*row.surface.size, 0.0, 0.0, 0.0][:3] for row in rows]
    laws = np.array([_law(row) for row in rows]).reshape(-1, 3)
    return {
        'contact_kind': np.array([KINDS[row.surface.kind] for row in rows], int),
        'contact_body': np.array([(row.place.body, row.body) for row in rows], int).reshape(-1, 2),
        'contact_point': np.array([row.point for row in rows], float).reshape(-1, 3),
        'contact_radius': np.array([row.radius for row in rows], float),
        'contact_size': np.array(sizes, float).reshape(-1, 3),
        'contact_R': np.array([row.place.R for row in rows], float).reshape(-1, 3, 3),
        'contact_p': np.array([row.place.p for row in rows], float).reshape(-1, 3),
        'contact_friction': laws[:, 0].copy(),
        'contact_stiffness': laws[:, 1].copy(),
        'contact_damping': laws[:, 2].copy(),
    }


def _law(row):
    """Friction, stiffness and damping of a row; by default those of a stop with its mass."""
    contact, stiffness = row.contact, row.contact.stiffness
    if stiffness is None:
        stiffness = row.mass * (2 * np.pi * STOP_FREQUENCY) ** 2
    damping = contact.damping
    if damping is None:
        damping = 2 * np.sqrt(stiffness * row.mass)
    friction = row.surface.friction if contact.friction is None else contact.friction
    return friction, stiffness, damping


def moved_mass(
    description: RobotDescription,
    moments_beyond: Mapping[str, Moments],
    inertias: Mapping[str, float],
    link: str,
    point: np.ndarray,
) -> float:
    """
    Mass that a point of a link moves, in the zero pose with rigid links [kg].

    It is the smallest one by a single joint: its largest inertia over the square of the lever.

    :param moments_beyond: of all links, see `composite_inertia.moments_beyond`.
    :param inertias: largest one of each joint by name [kg m2, kg].
    :param point: in the frame of the link, (3,) [m].
    """
    parents = {joint.child: joint for joint in description.joints}
    masses = []
    while link in parents:
        joint = parents[link]
        rotation, translation = joint_pose(joint, joint.held_at or 0.0)
        point = rotation @ point + translation
        if joint.name in inertias:
            lever = 1.0 if joint.type.translates else np.linalg.norm(np.cross(joint.axis, point))
            if lever > MIN_LEVER_M:
                masses.append(inertias[joint.name] / lever**2)
        point, link = joint.rotation @ point + joint.position, joint.parent
        if joint.is_base:
            masses.append(moments_beyond[link].mass)
    return float(min(masses, default=moments_beyond[link].mass))
