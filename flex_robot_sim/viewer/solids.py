"""Solids of a URDF other than flexible links: shapes, colours and attachment."""

from typing import NamedTuple

import numpy as np

from flex_robot_sim.description.document import Document
from flex_robot_sim.display.description import display_description
from flex_robot_sim.display.places import places
from flex_robot_sim.display.posture import Posture
from flex_robot_sim.display.visuals import origin_of, vector_of
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.viewer.geometry import box, cylinder, sphere

DEFAULT_COLOUR = (0.62, 0.64, 0.67)


class Solid(NamedTuple):
    """A shape fixed to a link."""

    link: str  # or the place on a flexible link
    vertices: np.ndarray  # (k, 3)  in the frame of the link                          [m]
    faces: np.ndarray  # (f, 3)
    colour: tuple[float, ...]  # red, green, blue from 0 to 1
    is_smooth: bool


class SolidAttachment(NamedTuple):
    """Frame that solids are fixed to: a body, or a cross-section of a flexible one."""

    body: int  # -1: the base
    station: int = -1  # row of ArmArrays; -1: the body itself


class Attachments:
    """Poses of links and of the places on flexible links that solids are fixed to."""

    def __init__(self, arm: ArmModel, bends: bool = True) -> None:
        """Find all attachments; unless the arm `bends`, each link is fixed to its body."""
        self._attachments = {
            name: (SolidAttachment(frame.body), frame.R, frame.p)
            for name, frame in arm.frames.items()
        }
        for origin in places(arm):
            axes, _ = arm.description.beam(origin.link).section_pose(origin.along)
            self._attachments[origin.name] = (
                SolidAttachment(origin.body, origin.station),
                axes.T,
                np.zeros(3),
            )
        if not bends:
            straight = Posture(arm)
            straight.take(np.zeros(arm.size))
            self._attachments = {
                name: _on_body(straight, *attached) for name, attached in self._attachments.items()
            }

    def attachment_of(self, name: str) -> tuple[SolidAttachment, np.ndarray, np.ndarray]:
        """Return the attachment of a link or place, and rotation (3, 3) and origin (3,) in it."""
        return self._attachments[name]

    def pose_of(
        self, attachment: SolidAttachment, posture: Posture
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rotation (3, 3) and origin (3,) [m] of an attachment in a Posture of the arm."""
        if attachment.body < 0:
            return np.eye(3), np.zeros(3)
        if attachment.station < 0:
            return posture.base_R[attachment.body], posture.base_p[attachment.body]
        return posture.section(*attachment)

    def pose(self, name: str, posture: Posture) -> tuple[np.ndarray, np.ndarray]:
        """Rotation (3, 3) and origin (3,) [m] in the base frame, in a Posture of the arm."""
        attachment, turn, origin = self._attachments[name]
        R, p = self.pose_of(attachment, posture)
        return R @ turn, R @ origin + p


def _on_body(straight, attachment, R, p):
    """Return the result of `attachment_of` for a link that stays rigid in a Posture."""
    if attachment.station < 0:
        return attachment, R, p
    rotation = straight.station_R[attachment.station]
    origin = straight.station_p[attachment.station]
    return SolidAttachment(attachment.body), rotation @ R, rotation @ p + origin


def solids(arm: ArmModel) -> tuple[list[Solid], list[str]]:
    """Return the Solids of an ArmModel, and warnings about those that cannot be drawn."""
    root = Document(arm.description.source, display_description(arm).encode()).root
    materials = {item.get('name'): _rgb(item) for item in root.findall('material')}
    drawn, warnings = [], []
    for link in root.findall('link'):
        for visual in link.findall('visual'):
            try:
                solid = _solid(
                    (link.get('name') or '').strip(), visual, materials, arm.description.source
                )
            except SettingError as error:
                warnings.append(str(error))
                continue
            except ValueError:
                solid = None
            if solid is not None:
                drawn.append(solid)
    return drawn, warnings


def _solid(link, visual, materials, source):
    geometry = visual.find('geometry/*')
    if geometry is None:
        return None
    shape, colour, is_smooth = _shape(geometry, source)
    material = visual.find('material')
    if material is not None:
        colour = _rgb(material) or materials.get(material.get('name')) or colour
    place, turn = origin_of(visual)
    vertices = shape[0] @ turn.T + place
    return Solid(link, vertices, shape[1], colour or DEFAULT_COLOUR, is_smooth)


def _shape(geometry, source):
    """Return triangles of a shape, its colour or None, and whether it is smooth."""
    if geometry.tag == 'box':
        return box(vector_of(geometry.get('size', ''))), None, False
    if geometry.tag == 'cylinder':
        return (
            cylinder(float(geometry.get('radius', '')), float(geometry.get('length', ''))),
            None,
            False,
        )
    if geometry.tag == 'sphere':
        return sphere(float(geometry.get('radius', ''))), None, True
    from flex_robot_sim.viewer.meshes import read_mesh  # trimesh loads slowly

    mesh = read_mesh(geometry.get('filename', '').strip(), source)
    scale = vector_of(geometry.get('scale', '1 1 1'))
    return (mesh.vertices * scale, mesh.faces), mesh.colour, False


def _rgb(material):
    colour = material.find('color')
    return None if colour is None else tuple(_colour_numbers(colour.get('rgba', '')))


def _colour_numbers(text):
    try:
        if text:
            return [min(max(float(word), 0.0), 1.0) for word in text.split()[:3]]
        return DEFAULT_COLOUR
    except ValueError:
        return DEFAULT_COLOUR
