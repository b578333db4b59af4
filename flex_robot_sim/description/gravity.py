"""`<gravity>`: the gravity that acts on a robot unless a program chooses another one."""

from __future__ import annotations

from flex_robot_sim.description.document import Document, XmlElement
from flex_robot_sim.description.values import lone_child, read_attributes
from flex_robot_sim.description.words import FLEXIBILITY

GRAVITY = (0.0, 0.0, -9.81)  # of a robot without <gravity>                            [m/s2]


def read_gravity(document: Document, flexibility: XmlElement | None) -> tuple[float, float, float]:
    """Return the gravity of a <flexibility> element, in the base frame [m/s2]."""
    known = FLEXIBILITY['flexibility'].children
    element = lone_child(document, flexibility, known, 'gravity')
    if element is None:
        return GRAVITY
    x, y, z = read_attributes(document, element, FLEXIBILITY['gravity'])['xyz']
    return float(x), float(y), float(z)
