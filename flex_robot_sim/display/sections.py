"""How thick a flexible link is drawn, and what tells its surface strain."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flex_robot_sim.description.document import Document
from flex_robot_sim.display.visuals import read_visuals, section_of

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmModel

SLENDER = 1 / 40        # of the length: the thickness of a beam of which nothing else is known [-]


class DrawnSection(NamedTuple):
    """Cross-section of a flexible link as it is drawn."""

    size: tuple[float, float]   # outer size along y and z of the beam              [m]
    is_round: bool
    is_known: bool          # the description gives it, so that it tells strain


def drawn_sections(arm: ArmModel) -> dict[str, DrawnSection]:
    """
    Return {flexible link: DrawnSection} of an ArmModel.

    The size is that of <rectangle>, <tube> or <rod>. A <section> has stiffnesses only: then it is
    that of the visual that runs along the beam, or else that of the solid rectangle with the same
    EIy, EIz and EA, or else a fortieth of the length.
    """
    description = arm.description
    root = Document(description.source, description.text.encode()).root
    found = {}
    for link in arm.segments:
        beam = description.beam(link)
        if beam.size is not None:
            found[link] = DrawnSection(beam.size, beam.is_round, True)
            continue
        drawn = section_of(read_visuals(root, link, beam), beam)
        size, is_round = drawn or _guessed(beam)
        found[link] = DrawnSection(size, is_round, False)
    return found


def _guessed(beam):
    stiffnesses = np.array([beam.EIz, beam.EIy, beam.EA])
    if np.isfinite(stiffnesses).all() and (stiffnesses > 0).all():
        # of a rectangle: EI / EA = size^2 / 12
        return tuple(float(side) for side in np.sqrt(12 * stiffnesses[:2] / beam.EA)), False
    return (SLENDER * beam.length,) * 2, True
