"""What the user drew of a flexible link: which shapes are the beam, and which only sit on it."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flex_robot_sim.description.urdf import turned_by

if TYPE_CHECKING:
    from flex_robot_sim.description.document import XmlElement
    from flex_robot_sim.description.robot import ElasticBeam

SHORT = 0.25        # of the beam: what is at most that long sits on it, the rest is the beam   [-]
SPANNING = 0.8      # of the beam: what is at least that long tells the size of its section     [-]
STRAIGHT = 0.02     # how far the axis of such a shape may be off the beam                    [rad]


class Visual(NamedTuple):
    """One <visual> of a flexible link; a mesh, or what cannot be read, has reach nan."""

    element: XmlElement     # of the document
    shape: str              # 'box', 'cylinder', 'sphere' or 'mesh'
    centre: np.ndarray      # (3,)    in the frame of the beam                              [m]
    axes: np.ndarray        # (3, 3)  likewise; those of a cylinder have it along z
    reach: np.ndarray       # (3,)    from the centre along the axes of the beam            [m]

    def is_at(self, along: float, length: float) -> bool:
        """Whether it sits on a beam of `length` [m] and touches the section at `along` [m]."""
        return self.reach[0] <= SHORT / 2 * length and abs(self.centre[0] - along) <= self.reach[0]


def read_visuals(root: XmlElement, link: str, beam: ElasticBeam) -> list[Visual]:
    """
    Return the Visuals of a flexible link.

    :param root: the <robot> element; link: name of the link; beam: its ElasticBeam.
    """
    return [_read(element, beam) for owner in root.findall('link')
            if (owner.get('name') or '').strip() == link for element in owner.findall('visual')]


def section_of(visuals: Iterable[Visual],
               beam: ElasticBeam) -> tuple[tuple[float, float], bool] | None:
    """Outer size (y, z) [m] of the section as it is drawn, and whether it is round; or None."""
    for visual in visuals:
        if not visual.reach[0] >= SPANNING / 2 * beam.length:
            continue
        # one axis of the shape, that of the cylinder, lies along the beam
        along = np.abs(visual.axes[0])
        if visual.shape == 'cylinder' and along[2] > np.cos(STRAIGHT):
            across = 2 * visual.reach[1:].min()
            return (across, across), True
        if visual.shape == 'box' and np.abs(visual.axes).max(axis=0).min() > np.cos(STRAIGHT):
            width, height = 2 * visual.reach[1:]
            return (width, height), False
    return None


def _read(element, beam):
    with suppress(ValueError):
        origin = element.find('origin')
        place = {} if origin is None else origin.attrib
        centre, rpy = (_three(place.get(key, '0 0 0')) for key in ('xyz', 'rpy'))
        axes = beam.axes.T @ turned_by(rpy)
        shape, reach = _reach(element.find('geometry/*'), axes)
        return Visual(element, shape, beam.axes.T @ centre, axes, reach)
    return Visual(element, 'mesh', np.full(3, np.nan), np.eye(3), np.full(3, np.nan))


def _reach(geometry, axes):
    """Kind of a shape, and how far (3,) [m] it reaches from its centre along the beam's axes."""
    if geometry is None:
        return 'mesh', np.full(3, np.nan)
    if geometry.tag == 'box':
        return 'box', np.abs(axes) @ (_three(geometry.get('size', '')) / 2)
    if geometry.tag == 'sphere':
        return 'sphere', np.full(3, float(geometry.get('radius', '')))
    if geometry.tag == 'cylinder':
        radius, half = float(geometry.get('radius', '')), float(geometry.get('length', '')) / 2
        along = np.minimum(np.abs(axes[:, 2]), 1.0)
        return 'cylinder', along * half + np.sqrt(1 - along**2) * radius
    return 'mesh', np.full(3, np.nan)


def _three(text):
    x, y, z = map(float, text.split())
    return np.array([x, y, z])
