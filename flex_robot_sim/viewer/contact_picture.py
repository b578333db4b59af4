"""Contacts on a page: ground, obstacles, shapes of links, and arrows of the forces on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from flex_robot_sim.display.contact_shapes import (
    FORCE_COLOUR,
    FORCE_LENGTH,
    Primitive,
    contact_points,
    force_foot,
    has_arrow,
    shapes_of_links,
    surfaces,
)
from flex_robot_sim.display.extent import reach
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.spatial.turns import quaternion
from flex_robot_sim.viewer.arm_picture import ArmPicture
from flex_robot_sim.viewer.geometry import Triangles, box, cylinder, sphere

if TYPE_CHECKING:
    from flex_robot_sim.viewer.browser import Page

NAME = '/contact'  # of the drawing


class ContactPicture:
    """Drawing of the contacts of an arm, next to an ArmPicture."""

    def __init__(self, page: Page, arm: ArmModel, picture: ArmPicture) -> None:
        """Draw ground and obstacles, which do not move, and the shapes of links."""
        self._page, self._arm, self._picture = page, arm, picture
        self._length = FORCE_LENGTH * reach(arm.description)
        self._arrows = {
            name: page.arrow(f'{NAME}/force {k}', FORCE_COLOUR, self._length)
            for k, name in enumerate(arm.contacts)
        }
        self._points = {name: contact_points(arm, name) for name in arm.contacts}
        page.frame(f'{NAME}/shapes')
        shapes = shapes_of_links(arm)
        self._movers = [
            (move, shape.frame) for move, shape in zip(self._add('shapes/shape', shapes), shapes)
        ]
        world = surfaces(arm)
        for move, shape in zip(self._add('surface', world), world):
            move(shape.frame.p, quaternion(shape.frame.R))

    def draw(self, wrenches: Mapping[str, np.ndarray]) -> None:
        """Draw the shapes where the last drawing has the arm, and the wrenches (6,) by contact."""
        for move, frame in self._movers:
            R, p = self._picture.frame_pose(frame)
            move(p, quaternion(R))
        for name, change in self._arrows.items():
            wrench = wrenches.get(name)
            foot = along = np.zeros(3)
            if wrench is not None and has_arrow(wrench):
                R, p = self._picture.pose(self._arm.description.contact(name).link)
                foot = R @ force_foot(*self._points[name], wrench) + p
                along = R @ wrench[3:] * (self._length / np.linalg.norm(wrench[3:]))
            change(foot, foot + along)

    def show_shapes(self, is_shown: bool) -> None:
        """Show or hide the shapes of links."""
        self._page.show(f'{NAME}/shapes', is_shown)

    def _add(self, name, shapes):
        """Add DrawnShapes to the page; return the setters of their poses."""
        movers = []
        for k, shape in enumerate(shapes):
            movers.append(self._page.frame(f'{NAME}/{name} {k}'))
            colour, opacity = shape.style
            for number, part in enumerate(shape.primitives):
                vertices, faces = _triangles(part)
                self._page.solid(
                    f'{NAME}/{name} {k}/{number}',
                    vertices,
                    faces,
                    colour,
                    opacity,
                    part.kind == 'sphere',
                )
        return movers


def _triangles(part: Primitive) -> Triangles:
    """Mesh of a Primitive in the frame of its shape."""
    if part.kind == 'box':
        vertices, faces = box(np.array(part.size))
    elif part.kind == 'cylinder':
        vertices, faces = cylinder(part.size[0] / 2, part.size[2])
    else:
        vertices, faces = sphere(part.size[0] / 2)
    return vertices + [0.0, 0.0, part.height], faces
