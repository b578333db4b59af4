"""Markers of contacts in rviz: ground, obstacles, shapes of links, and the forces on them."""

from collections.abc import Mapping

import numpy as np
from geometry_msgs.msg import Point
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker

from flex_robot_sim.display.base_joints import root_frame
from flex_robot_sim.display.contact_shapes import (
    FORCE_COLOUR,
    FORCE_LENGTH,
    DrawnShape,
    contact_points,
    force_foot,
    shapes_of_links,
    surfaces,
)
from flex_robot_sim.display.extent import reach
from flex_robot_sim.display.posture import Posture
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.ros.conversions import set_quaternion, set_stamp, set_vector
from flex_robot_sim.spatial.turns import quaternion

KINDS = {'box': Marker.CUBE, 'cylinder': Marker.CYLINDER, 'sphere': Marker.SPHERE}
SHAFT, HEAD, HEAD_LENGTH = 1 / 8, 2 / 7, 1 / 3.5  # diameters and length, of an arrow of length 1


class ContactMarkers:
    """Markers of an ArmModel, each locked to its frame; `all` has none without contacts."""

    def __init__(self, arm: ArmModel) -> None:
        self._arm, self._length = arm, FORCE_LENGTH * reach(arm.description)
        self._shapes: list[tuple[Marker, DrawnShape, float]] = []
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
        self.all = [*(marker for marker, _, _ in self._shapes), *self._arrows.values()]

    def fill(self, stamp: int, posture: Posture, wrenches: Mapping[str, np.ndarray]) -> None:
        """
        Set the markers for a stamp [ns] and a Posture.

        :param wrenches: moment and force (6,) of contacts by name, in the frames of their links.
        """
        for marker, shape, height in self._shapes:
            set_stamp(marker.header.stamp, stamp)
            R, p = shape.frame.R, shape.frame.p
            if shape.link:
                R, p = posture.frame(shape.frame)
                link_R, link_p = posture.frame(self._arm.frames[shape.link])
                R, p = link_R.T @ R, link_R.T @ (p - link_p)
            set_vector(marker.pose.position, p + height * R[:, 2])
            set_quaternion(marker.pose.orientation, quaternion(R))
        for name, arrow in self._arrows.items():
            set_stamp(arrow.header.stamp, stamp)
            wrench = wrenches.get(name)
            arrow.action, arrow.points = Marker.DELETE, []
            if wrench is not None and wrench[3:].any():
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
            self._shapes.append((marker, shape, part.height))


def _marker(namespace, number, kind):
    marker = Marker(ns=namespace, id=number, type=kind, action=Marker.ADD, frame_locked=True)
    marker.pose.orientation.w = 1.0
    return marker


def _colour(rgba):
    return ColorRGBA(**dict(zip('rgba', map(float, rgba))))
