"""Element of a rigid link: a shape, a body with given inertia, or a frame without mass."""

from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.description.attribute_text import number, unusable, vector, vector_text
from flex_robot_sim.description.bodies import (
    IDENTIFICATION_TOLERANCE,
    ROUNDING_TOLERANCE,
    impossibility,
)
from flex_robot_sim.description.geometry import Box, Capsule, Cylinder, Shape, Sphere
from flex_robot_sim.description.orientation import turned_by
from flex_robot_sim.description.urdf_elements import (
    add_element,
    capsule_ends,
    inertial_element,
    link_element,
    visual_element,
)
from flex_robot_sim.util.exceptions import SettingError


def rigid_link(
    name: str,
    shape: Shape | None,
    mass: float | None,
    density: float | None,
    centre: ArrayLike,
    rpy: ArrayLike,
    inertia: ArrayLike | None,
) -> Element:
    """Return the <link> of the arguments of `ArmBuilder.add_rigid`."""
    owner = f'link "{name}"'
    position = vector(owner, 'centre', centre, 'm')
    turn = vector(owner, 'rpy', rpy, 'rad')
    if shape is not None:
        expect_shape(owner, shape)
    weight, parts = _mass(owner, shape, mass, density, inertia), []
    if weight is not None:
        parts.append(
            inertial_element(weight, position, turn, _inertia(owner, weight, inertia, shape))
        )
    if shape is not None:
        parts += _visuals_of(shape, position, turn)
    return link_element(name, parts)


def expect_shape(owner: str, shape: object) -> None:
    """Raise SettingError for anything but a shape with positive sizes."""
    if not isinstance(shape, (Box, Cylinder, Sphere, Capsule)):
        raise unusable(owner, 'shape', shape, 'a Box, a Cylinder, a Sphere or a Capsule')
    for field, size in shape._asdict().items():
        number(f'the shape of {owner}', field, size, 'm', above=0.0)


def _mass(owner, shape, mass, density, inertia):
    """Return the checked mass of a rigid link [kg]; None for a frame."""
    if mass is not None and density is not None:
        raise SettingError(f'mass and density of {owner}: give one of them')
    if density is not None:
        if shape is None:
            raise SettingError(f'density of {owner} needs a shape')
        mass = number(owner, 'density', density, 'kg/m3', above=0.0) * shape.volume
    if mass is not None:
        return number(owner, 'mass', mass, 'kg', above=0.0)
    if shape is not None or inertia is not None:
        raise SettingError(
            f'{owner} has no mass: give mass [kg]'
            + (' or density [kg/m3]' if shape is not None else '')
        )
    return None


def _inertia(owner, mass, inertia, shape):
    """Return the checked inertia about the centre (3, 3) [kg m2]."""
    if inertia is None:
        return np.zeros((3, 3)) if shape is None else mass * np.diag(shape.gyration)
    wanted = 'must be a symmetric inertia (3, 3), or its diagonal (3,) [kg m2]'
    try:
        moments = np.array(inertia, float)
    except (TypeError, ValueError, OverflowError):
        raise SettingError(f'inertia of {owner} {wanted}') from None
    if moments.shape == (3,):
        moments = np.diag(moments)
    if (
        moments.shape != (3, 3)
        or not np.isfinite(moments).all()
        or (np.abs(moments - moments.T).max() > ROUNDING_TOLERANCE * np.abs(moments).max())
    ):
        raise SettingError(f'inertia of {owner} {wanted}')
    moments = (moments + moments.T) / 2
    reason = impossibility(mass, moments, IDENTIFICATION_TOLERANCE)
    if reason:
        raise SettingError(f'inertia of {owner} {reason}: no body has it')
    return moments


def _visuals_of(shape: Shape, centre: np.ndarray, rpy: np.ndarray) -> list[Element]:
    """Return <visual>s of a body, its centre (3,) [m] and axes (3,) [rad] in the link frame."""
    if isinstance(shape, Capsule):  # URDF 1.0 has none
        return [
            *_visuals_of(Cylinder(shape.radius, shape.length), centre, rpy),
            *(
                visual
                for end in capsule_ends(centre, turned_by(rpy), shape.length)
                for visual in _visuals_of(Sphere(shape.radius), end, rpy)
            ),
        ]
    visual, geometry = visual_element(vector_text(centre), vector_text(rpy))
    add_shape(geometry, shape)
    return [visual]


def add_shape(geometry: Element, shape: Shape) -> None:
    """Add the element of a shape to a <geometry>."""
    if isinstance(shape, Box):
        add_element(geometry, 'box', size=vector_text(np.array(shape)))
    elif isinstance(shape, Sphere):
        add_element(geometry, 'sphere', radius=repr(float(shape.radius)))
    else:
        add_element(
            geometry,
            type(shape).__name__.lower(),
            radius=repr(float(shape.radius)),
            length=repr(float(shape.length)),
        )
