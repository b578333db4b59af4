"""Summary of the world around a robot, as `flexsim check` prints it: contacts and moved base."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flex_robot_sim.description.base_motion import TOPIC, BaseMotionTable
from flex_robot_sim.description.contact import Contact
from flex_robot_sim.util.summary import counted


def summarise_contact(contact: Contact) -> dict[str, Any]:
    """Return a contact as a dictionary; its surfaces have their coefficients of friction."""
    surfaces = {one.name: one.friction for one in contact.surfaces}
    if contact.friction is not None:
        surfaces = dict.fromkeys(surfaces, contact.friction)
    return {
        'name': contact.name,
        'link': contact.link,
        'friction': surfaces,
        'points': sum(len(shape.points()) for shape in contact.shapes),
        'stiffness': contact.stiffness,
        'damping': contact.damping,
    }


def contact_text(contact: Mapping[str, Any]) -> str:
    """Return a contact as a line."""
    surfaces = ', '.join(f'{name} (friction {mu:g})' for name, mu in contact['friction'].items())
    points = counted(contact['points'], 'point')
    stiffness = '' if contact['stiffness'] is None else f', stiffness {contact["stiffness"]:g} N/m'
    return f'  contact: {contact["name"]}, {contact["link"]} with {surfaces}, {points}{stiffness}'


def summarise_base_motion(motion: BaseMotionTable | None) -> dict[str, Any] | None:
    """Return the motion of a base as a dictionary."""
    if motion is None:
        return None
    linear, angular = motion.largest_accelerations()
    return {
        'file': motion.file,
        'samples': len(motion.times),
        'duration': float(motion.times[-1] - motion.times[0]),
        'linear_acceleration': linear,
        'angular_acceleration': angular,
    }


def base_motion_text(motion: Mapping[str, Any]) -> str:
    """Return the motion of a base as a line."""
    if motion['file'] == TOPIC:
        return '  moved base: at rest until the topic base_motion moves it'
    return (
        f'  moved base: {motion["file"]}, {motion["samples"]} samples, '
        f'{motion["duration"]:.4g} s, acceleration up to '
        f'{motion["linear_acceleration"]:.3g} m/s2 and '
        f'{motion["angular_acceleration"]:.3g} rad/s2'
    )
