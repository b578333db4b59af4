"""What a URDF draws of an arm that is not a bent link: shapes, colours, and where they sit."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flex_robot_sim.description.document import Document
from flex_robot_sim.description.urdf import turned_by
from flex_robot_sim.display.description import display_description
from flex_robot_sim.display.places import places
from flex_robot_sim.display.posture import Posture
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.viewer.geometry import box, cylinder, sphere

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmModel

GREY = (0.62, 0.64, 0.67)


class Solid(NamedTuple):
    """A shape that a link carries."""

    link: str                   # or the place on a bent link that it rides on
    vertices: np.ndarray        # (k, 3)  in the frame of the link                          [m]
    faces: np.ndarray           # (f, 3)
    colour: tuple[float, ...]   # red, green, blue from 0 to 1
    is_smooth: bool


class Seat(NamedTuple):
    """What carries something that is drawn: a body, or a cross-section of one that bends."""

    body: int               # -1: the base
    station: int = -1       # row of ArmArrays; -1: the body itself


class Seats:
    """Where links are, and the places on bent links that carry what is drawn there."""

    def __init__(self, arm: ArmModel, bends: bool = True) -> None:
        """
        Take `arm` (ArmModel).

        :param bends: whether links bend; if not, all of a link sits on its body.
        """
        self._found = {name: (Seat(frame.body), frame.R, frame.p)
                       for name, frame in arm.frames.items()}
        for place in places(arm):
            axes = arm.description.beam(place.link).axes
            self._found[place.name] = Seat(place.body, place.station), axes.T, np.zeros(3)
        if not bends:
            straight = Posture(arm)
            straight.take(np.zeros(arm.size))
            self._found = {name: _on_body(straight, *seated)
                           for name, seated in self._found.items()}

    def of(self, name: str) -> tuple[Seat, np.ndarray, np.ndarray]:
        """Return the Seat of a link or a place, and its rotation (3, 3) and origin (3,) there."""
        return self._found[name]

    def seat(self, seat: Seat, posture: Posture) -> tuple[np.ndarray, np.ndarray]:
        """Rotation (3, 3) and origin (3,) [m] of a Seat, in a Posture of the arm."""
        if seat.body < 0:
            return np.eye(3), np.zeros(3)
        R, p = posture.base_R[seat.body], posture.base_p[seat.body]
        if seat.station < 0:
            return R, p
        return R @ posture.station_R[seat.station], R @ posture.station_p[seat.station] + p

    def pose(self, name: str, posture: Posture) -> tuple[np.ndarray, np.ndarray]:
        """Rotation (3, 3) and origin (3,) [m] in the base frame, in a Posture of the arm."""
        seat, turn, place = self._found[name]
        R, p = self.seat(seat, posture)
        return R @ turn, R @ place + p


def _on_body(straight, seat, R, p):
    """Return what `Seats.of` returns for a place on a link that stays as it is in a Posture."""
    if seat.station < 0:
        return seat, R, p
    turn, place = straight.station_R[seat.station], straight.station_p[seat.station]
    return Seat(seat.body), turn @ R, turn @ p + place


def solids(arm: ArmModel) -> tuple[list[Solid], list[str]]:
    """Return the Solids of an ArmModel, and lines about those that cannot be drawn."""
    root = Document(arm.description.source, display_description(arm).encode()).root
    materials = {item.get('name'): _rgb(item) for item in root.findall('material')}
    found, lines = [], []
    for link in root.findall('link'):
        for visual in link.findall('visual'):
            try:
                solid = _solid((link.get('name') or '').strip(), visual, materials,
                               arm.description.source)
            except SettingError as error:
                lines.append(str(error))
                continue
            except ValueError:
                solid = None
            if solid is not None:
                found.append(solid)
    return found, lines


def _solid(link, visual, materials, source):
    geometry = visual.find('geometry/*')
    if geometry is None:
        return None
    shape, colour, is_smooth = _shape(geometry, source)
    material = visual.find('material')
    if material is not None:
        colour = _rgb(material) or materials.get(material.get('name')) or colour
    origin = visual.find('origin')
    attributes = {} if origin is None else origin.attrib
    place, rpy = (_numbers(attributes.get(key, '0 0 0')) for key in ('xyz', 'rpy'))
    vertices = shape[0] @ turned_by(rpy).T + place
    return Solid(link, vertices, shape[1], colour or GREY, is_smooth)


def _shape(geometry, source):
    """Triangles of a shape, its own colour or None, and whether it is smooth."""
    if geometry.tag == 'box':
        return box(_numbers(geometry.get('size', ''))), None, False
    if geometry.tag == 'cylinder':
        return cylinder(float(geometry.get('radius', '')),
                        float(geometry.get('length', ''))), None, False
    if geometry.tag == 'sphere':
        return sphere(float(geometry.get('radius', ''))), None, True
    from flex_robot_sim.viewer.meshes import read_mesh  # its library takes a while to import

    mesh = read_mesh(geometry.get('filename', '').strip(), source)
    scale = _numbers(geometry.get('scale', '1 1 1'))
    return (mesh.vertices * scale, mesh.faces), mesh.colour, False


def _rgb(material):
    colour = material.find('color')
    return None if colour is None else tuple(_colour_numbers(colour.get('rgba', '')))


def _colour_numbers(text):
    try:
        return [min(max(float(word), 0.0), 1.0) for word in text.split()[:3]] if text else GREY
    except ValueError:
        return GREY


def _numbers(text):
    x, y, z = map(float, text.split())
    return np.array([x, y, z])
