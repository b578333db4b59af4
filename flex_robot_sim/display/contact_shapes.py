"""
What contacts touch, as boxes, cylinders and spheres: ground, obstacles, and the shapes of links.

The ground is a thin plate near the robot. A cylinder of a link touches as a capsule of the same
length, and is drawn as one.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from flex_robot_sim.description.contact import WORLD, ContactShape
from flex_robot_sim.display.extent import reach
from flex_robot_sim.display.posture import Posture
from flex_robot_sim.model.arm_model import ArmModel, Frame

PLATE_SIDE, PLATE_THICKNESS = 3.0, 5e-3  # of the ground, in reaches
PLATE_DEPTH = 5e-4  # of its upper side below the ground, in reaches: the floor grid stays visible
SHAPE_MARGIN = 1.01  # size of a drawn shape of a link: it covers a visual of the same size
GROUND_COLOUR = (0.55, 0.60, 0.66), 0.35  # colour and opacity
OBSTACLE_COLOUR = (0.72, 0.62, 0.46), 0.6
SHAPE_COLOUR = (0.95, 0.55, 0.15), 0.35
FORCE_COLOUR = (0.85, 0.20, 0.25)  # of the arrow of a force
FORCE_LENGTH = 0.25  # of this arrow, in reaches
MIN_FORCE_N = 1e-9  # smaller forces have no arrow                                     [N]


class Primitive(NamedTuple):
    """A part of a shape: its axis is z, and its size is along its own axes."""

    kind: str  # 'box', 'cylinder' or 'sphere'
    size: tuple[float, float, float]  # edges, or diameters and length                    [m]
    height: float  # of its centre along z of the shape                                   [m]


class DrawnShape(NamedTuple):
    """A shape that moves with a body."""

    link: str  # '' for ground and obstacles
    frame: Frame  # body -1: the world
    primitives: tuple[Primitive, ...]
    style: tuple[tuple[float, float, float], float]  # colour and opacity


def surfaces(arm: ArmModel) -> list[DrawnShape]:
    """Return ground and obstacles, in the frame of the world."""
    size = reach(arm.description)
    drawn = []
    for shape in arm.description.world:
        style, place = OBSTACLE_COLOUR, shape.position
        if shape.kind == 'plane':
            style = GROUND_COLOUR
            place = place - [0.0, 0.0, (PLATE_DEPTH + PLATE_THICKNESS / 2) * size]
        parts = _primitives(shape, size)
        drawn.append(DrawnShape('', Frame(-1, shape.rotation, place), parts, style))
    return drawn


def shapes_of_links(arm: ArmModel) -> list[DrawnShape]:
    """Return the shapes of links that may touch, each once."""
    straight = Posture(arm)
    straight.take(np.zeros(arm.size))
    drawn = {}
    for link, shape, frame in _placed_shapes(arm, straight):
        key = link, shape.kind, shape.size, *shape.position, *shape.rotation.ravel()
        if shape.kind == 'cylinder':
            shape = _as_capsule(shape)
        parts = tuple(
            part._replace(size=tuple(SHAPE_MARGIN * edge for edge in part.size))
            for part in _primitives(shape, 0.0)
        )
        drawn[key] = DrawnShape(link, frame, parts, SHAPE_COLOUR)
    return [*drawn.values()]


def has_arrow(wrench: np.ndarray) -> bool:
    """Whether a wrench (6,) of a contact has a force that is drawn."""
    return bool(np.abs(wrench[3:]).max() > MIN_FORCE_N)


def force_foot(points: np.ndarray, radii: np.ndarray, wrench: np.ndarray) -> np.ndarray:
    """
    Return where a wrench of a contact acts, (3,) [m]: on its line of action, and on a point.

    Everything is in the frame of the link. Of several points, it is the one nearest to the line,
    and with several pressed points the line passes between them.

    :param points: centres (k, 3) of what touches, and radii (k,) [m].
    :param wrench: moment and force (6,) that `has_arrow`.
    """
    moment, force = wrench[:3], wrench[3:]
    size = np.sqrt(force @ force)
    along = force / size
    nearest = np.cross(along, moment) / size  # point of the line to the origin
    offsets = points - nearest
    ways = offsets @ along
    offsets -= ways[:, None] * along
    distances = np.sqrt((offsets * offsets).sum(axis=1))
    k = np.argmin(np.maximum(distances - radii, 0.0))
    depth = np.sqrt(max(radii[k] ** 2 - distances[k] ** 2, 0.0))
    # the force pushes into the link: it acts where its line enters the sphere
    return nearest + (ways[k] - (depth if distances[k] < radii[k] else radii[k])) * along


def contact_points(arm: ArmModel, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Centres (k, 3) and radii (k,) of what touches of a contact, in the frame of its link [m]."""
    contact = arm.description.contact(name)
    found = [point for shape in contact.shapes for point in shape.points()]
    return np.array([point for point, _ in found]), np.array([radius for _, radius in found])


def _placed_shapes(arm: ArmModel, straight: Posture) -> Iterator[tuple[str, ContactShape, Frame]]:
    """Shapes of all contacts with their links, and their frames on bodies."""
    arrays = arm.arrays
    for name, rows in arm.contacts.items():
        contact, row = arm.description.contact(name), rows.start
        if contact.against != WORLD:
            for k, shape in enumerate(contact.surfaces, row):
                body = int(arrays.contact_body[k, 0])
                yield contact.against, shape, Frame(body, arrays.contact_R[k], arrays.contact_p[k])
        for shape in contact.shapes:
            points = shape.points()
            body = int(arrays.contact_body[row, 1])
            body_R, _ = straight.frame(Frame(body, np.eye(3), np.zeros(3)))
            R = body_R.T @ straight.frame(arm.frames[contact.link])[0]
            p = arrays.contact_point[row] + R @ (shape.position - points[0][0])
            yield contact.link, shape, Frame(body, R @ shape.rotation, p)
            row += len(points) * len(contact.surfaces)


def _as_capsule(shape):
    """Return the capsule of the length of a cylinder."""
    radius, half = shape.size
    return shape._replace(kind='capsule', size=(radius, max(half - radius, 0.0)))


def _primitives(shape, size):
    """Return the Primitives of a ContactShape; `size`: reach of the robot [m]."""
    if shape.kind == 'plane':
        side = PLATE_SIDE * size
        return (Primitive('box', (side, side, PLATE_THICKNESS * size), 0.0),)
    if shape.kind == 'box':
        return (Primitive('box', tuple(2 * edge for edge in shape.size), 0.0),)
    diameter = 2 * shape.size[0]
    ball = Primitive('sphere', (diameter,) * 3, 0.0)
    if shape.kind == 'sphere':
        return (ball,)
    half = shape.size[1]
    tube = Primitive('cylinder', (diameter, diameter, 2 * half), 0.0)
    if shape.kind == 'cylinder':
        return (tube,)
    ends = (ball._replace(height=half), ball._replace(height=-half))
    return (tube, *ends) if half > 0.0 else (ball,)
