"""Markers of contacts in rviz: ground, obstacles, shapes of links, and the forces on them."""

from collections.abc import Mapping

import numpy as np
from geometry_msgs.msg import Point
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker

from flex_robot_sim.display.base_frames import root_frame
from flex_robot_sim.display.contact_shapes import (
    FORCE_COLOUR,
    FORCE_LENGTH,
    DrawnShape,
    contact_points,
    force_foot,
    has_arrow,
    shapes_of_links,
    surfaces,
)
from flex_robot_sim.display.extent import reach
from flex_robot_sim.display.posture import Posture
from flex_robot_sim.model.arm_model import ArmModel, Frame
from flex_robot_sim.ros.conversions import set_quaternion, set_stamp, set_vector
from flex_robot_sim.spatial.turns import quaternion

KINDS = {'box': Marker.CUBE, 'cylinder': Marker.CYLINDER, 'sphere': Marker.SPHERE}
WORLD = Frame(-1, np.eye(3), np.zeros(3))
SHAFT, HEAD, HEAD_LENGTH = 1 / 8, 2 / 7, 1 / 3.5  # diameters and length, of an arrow of length 1


class ContactMarkers:
    """Markers of an ArmModel, each locked to its frame; `all` has none without contacts."""

    def __init__(self, arm: ArmModel) -> None:
        self._arm, self._length = arm, FORCE_LENGTH * reach(arm.description)
        self.all: list[Marker] = []
        self._moving: list[tuple[Marker, DrawnShape, float]] = []  # of shapes on flexible links
        self._arrows: dict[str, Marker] = {}
        if arm.contacts:
            self._add('contact surfaces', surfaces(arm))
            self._add('contact shapes', shapes_of_links(arm))
        for number, name in enumerate(arm.contacts):
            arrow = _marker('contact forces', number, Marker.ARROW)
            arrow.header.frame_id = arm.description.contact(name).link
            arrow.color = _colour((*FORCE_COLOUR, 1.0))
            set_vector(arrow.scale, self._length * np.array([SHAFT, HEAD, HEAD_LENGTH]))
            self._arrows[name] = arrow
        self._points = {name: contact_points(arm, name) for name in arm.contacts}
        self.all += self._arrows.values()

    def fill(self, stamp: int, posture: Posture, wrenches: Mapping[str, np.ndarray]) -> None:
        """
        Set the markers for a stamp [ns] and a Posture.

        :param wrenches: moment and force (6,) of contacts by name, in the frames of their links.
        """
        for marker in self.all:
            set_stamp(marker.header.stamp, stamp)
        for marker, shape, height in self._moving:
            link = posture.frame(self._arm.frames[shape.link])
            _place(marker, link, posture.frame(shape.frame), height)
        for name, arrow in self._arrows.items():
            wrench = wrenches.get(name)
            arrow.action, arrow.points = Marker.DELETE, []
            if wrench is not None and has_arrow(wrench):
                arrow.action, foot = Marker.ADD, force_foot(*self._points[name], wrench)
                head = foot + wrench[3:] * (self._length / np.linalg.norm(wrench[3:]))
                arrow.points = [Point(x=x, y=y, z=z) for x, y, z in (foot.tolist(), head.tolist())]

    def _add(self, namespace, shapes):
        parts = [(shape, part) for shape in shapes for part in shape.primitives]
        for number, (shape, part) in enumerate(parts):
            marker = _marker(namespace, number, KINDS[part.kind])
            marker.header.frame_id = shape.link or root_frame(self._arm.description)
            set_vector(marker.scale, np.array(part.size))
            colour, opacity = shape.style
            marker.color = _colour((*colour, opacity))
            self.all.append(marker)
            link = self._arm.frames[shape.link] if shape.link else WORLD
            if link.body == shape.frame.body:
                _place(marker, link[1:], shape.frame[1:], part.height)
            else:
                self._moving.append((marker, shape, part.height))


def _place(marker, parent, shape, height):
    """Set the pose of a part of a shape, from rotation and origin of its parent and the shape."""
    (parent_R, parent_p), (R, p) = parent, shape
    set_vector(marker.pose.position, parent_R.T @ (p + height * R[:, 2] - parent_p))
    set_quaternion(marker.pose.orientation, quaternion(parent_R.T @ R))


def _marker(namespace, number, kind):
    marker = Marker(ns=namespace, id=number, type=kind, action=Marker.ADD, frame_locked=True)
    marker.pose.orientation.w = 1.0
    return marker


def _colour(rgba):
    return ColorRGBA(**dict(zip('rgba', map(float, rgba))))
