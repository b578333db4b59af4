"""Screw joints: revolute or continuous in the URDF, with a pitch in `<flexibility>`."""

from __future__ import annotations

from typing import Any

from flex_robot_sim.description.document import Document, XmlElement
from flex_robot_sim.description.links import Joint

SCREW = 'screw'
MAX_PLAUSIBLE_PITCH = 1.0  # [m per turn]


def screw_pitch(
    document: Document, element: XmlElement, values: dict[str, Any], joint: Joint
) -> float:
    """Return the pitch of a screw joint [m per turn]; 0 for a joint of another type."""
    kind, pitch = values['type'], values['pitch']
    if kind != SCREW:
        if pitch is not None:
            raise document.error(
                element,
                f'joint "{joint.name}" has a pitch, but no type',
                'Give type="screw", or remove the pitch',
            )
        return 0.0
    if not joint.type.rotates:
        raise document.error(
            element,
            f'joint "{joint.name}" is a screw here and {joint.kind} in the URDF',
            'Write type="revolute" or "continuous" in its <joint>, which other tools read',
        )
    if not pitch:
        raise document.error(
            element,
            f'screw joint "{joint.name}" has no pitch',
            'Give pitch [m], the travel along its axis per turn, or remove the type',
        )
    if abs(pitch) > MAX_PLAUSIBLE_PITCH:
        document.warn(
            document.line(element),
            f'screw joint "{joint.name}" travels {abs(pitch):g} m per turn',
            'Give pitch in m per turn, not in mm',
        )
    return float(pitch)
