"""Visuals of a flexible link: shapes of the beam itself, and parts mounted on it."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from flex_robot_sim.description.document import XmlElement
from flex_robot_sim.description.links import ElasticBeam
from flex_robot_sim.description.orientation import turned_by, turned_by_quaternion
from flex_robot_sim.description.values import MIN_VALUE

MAX_PART_LENGTH = 0.25  # length over that of the beam: longer shapes belong to the beam
MIN_BEAM_LENGTH = 0.8  # length over that of the beam: such shapes determine the section
MAX_BEAM_ANGLE_RAD = 0.02  # between the axis of such a shape and the beam


class Visual(NamedTuple):
    """One <visual> of a flexible link; meshes and unreadable shapes have reach nan."""

    element: XmlElement  # of the document
    shape: str  # 'box', 'cylinder', 'capsule', 'sphere' or 'mesh'
    centre: np.ndarray  # (3,)    in the frame of the beam                              [m]
    axes: np.ndarray  # (3, 3)  in the frame of the beam; z is the axis of a cylinder or capsule
    reach: np.ndarray  # (3,)    from the centre along the axes of the beam            [m]

    def is_at(self, along: float, length: float) -> bool:
        """Whether it is a part on a beam of `length` [m] at the section at `along` [m]."""
        return (
            self.reach[0] <= MAX_PART_LENGTH / 2 * length
            and abs(self.centre[0] - along) <= self.reach[0]
        )


def read_visuals(root: XmlElement, link: str, beam: ElasticBeam) -> list[Visual]:
    """Return the Visuals of a flexible link in the <robot> element `root`."""
    return [
        _read(element, beam)
        for owner in root.findall('link')
        if (owner.get('name') or '').strip() == link
        for element in owner.findall('visual')
    ]


def section_of(
    visuals: Iterable[Visual], beam: ElasticBeam
) -> tuple[tuple[float, float], bool] | None:
    """Outer size (y, z) [m] of the section in the visuals, and whether it is round; or None."""
    for visual in visuals:
        if not visual.reach[0] >= MIN_BEAM_LENGTH / 2 * beam.length:
            continue
        # an axis of the shape, z of a cylinder, must lie along the beam
        along = np.abs(visual.axes[0])
        if visual.shape in ('cylinder', 'capsule') and along[2] > np.cos(MAX_BEAM_ANGLE_RAD):
            diameter = 2 * visual.reach[1:].min()
            return (diameter, diameter), True
        if visual.shape == 'box' and (
            np.abs(visual.axes).max(axis=0).min() > np.cos(MAX_BEAM_ANGLE_RAD)
        ):
            width, height = 2 * visual.reach[1:]
            return (width, height), False
    return None


def origin_of(visual: XmlElement) -> tuple[np.ndarray, np.ndarray]:
    """Position (3,) [m] and rotation (3, 3) of a <visual> in its link; ValueError if unusable."""
    origin = visual.find('origin')
    attributes = {} if origin is None else origin.attrib
    return vector_of(attributes.get('xyz', '0 0 0')), rotation_of(attributes)


def rotation_of(attributes: Mapping[str, str]) -> np.ndarray:
    """Rotation (3, 3) by the attributes of an <origin>; ValueError if it is unusable."""
    if 'quat_xyzw' not in attributes:
        return turned_by(vector_of(attributes.get('rpy', '0 0 0')))
    x, y, z, w = map(float, attributes['quat_xyzw'].split())
    quaternion = np.array([x, y, z, w]) / max(abs(x), abs(y), abs(z), abs(w), MIN_VALUE)
    if not quaternion.any():
        raise ValueError('a quaternion has the norm 0')
    return turned_by_quaternion(quaternion / np.linalg.norm(quaternion))


def _read(element, beam):
    with suppress(ValueError):
        centre, turn = origin_of(element)
        axes = beam.axes.T @ turn
        shape, reach = _reach(element.find('geometry/*'), axes)
        return Visual(element, shape, beam.axes.T @ centre, axes, reach)
    return Visual(element, 'mesh', np.full(3, np.nan), np.eye(3), np.full(3, np.nan))


def _reach(geometry, axes):
    """Kind of a shape, and its half extents (3,) [m] along the axes of the beam."""
    if geometry is None:
        return 'mesh', np.full(3, np.nan)
    if geometry.tag == 'box':
        return 'box', np.abs(axes) @ (vector_of(geometry.get('size', '')) / 2)
    if geometry.tag == 'sphere':
        return 'sphere', np.full(3, float(geometry.get('radius', '')))
    if geometry.tag in ('cylinder', 'capsule'):
        radius, half = float(geometry.get('radius', '')), float(geometry.get('length', '')) / 2
        along = np.minimum(np.abs(axes[:, 2]), 1.0)
        if geometry.tag == 'capsule':
            return 'capsule', along * half + radius
        return 'cylinder', along * half + np.sqrt(1 - along**2) * radius
    return 'mesh', np.full(3, np.nan)


def vector_of(text: str) -> np.ndarray:
    """Three numbers of a text; ValueError if it has others."""
    x, y, z = map(float, text.split())
    return np.array([x, y, z])
