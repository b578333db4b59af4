"""Drawn cross-sections of flexible links."""

from typing import NamedTuple

import numpy as np

from flex_robot_sim.description.document import Document
from flex_robot_sim.display.visuals import read_visuals, section_of
from flex_robot_sim.model.arm_model import ArmModel

DRAWN_STATIONS = 8  # of each piece of a varying section
SMALL_SHARE = 1e-9  # of a piece, from its end into it
DEFAULT_THICKNESS_RATIO = 1 / 40  # of a beam of unknown size, over its length


class DrawnSection(NamedTuple):
    """Cross-section of a flexible link as it is drawn."""

    size: tuple[float, float]  # outer size along y and z of the beam              [m]
    is_round: bool
    is_known: bool  # given by the description, so that it determines strain
    stations: tuple[tuple[float, float, float], ...] = ()  # share of the length, and `size`
    #                                                        there; empty: uniform

    def sizes(self, share: np.ndarray) -> np.ndarray:
        """Outer sizes along y and z at shares (k,) of the length, (k, 2) [m]."""
        if not self.stations:
            return np.tile(self.size, (len(share), 1))
        at, y, z = np.array(self.stations).T
        return np.stack([np.interp(share, at, y), np.interp(share, at, z)], axis=1)


def drawn_sections(arm: ArmModel) -> dict[str, DrawnSection]:
    """
    Return {flexible link: DrawnSection} of an ArmModel.

    The size is that of <rectangle>, <tube> or <rod>. For a <section> with stiffnesses only, it is
    that of a visual along the beam. Without such a visual, it is that of the solid rectangle with
    the same EIy, EIz and EA. If these are unknown, it is a fortieth of the length.
    """
    description = arm.description
    root = Document(description.source, description.text.encode()).root
    sections = {}
    for link in arm.segments:
        beam = description.beam(link)
        if beam.size is not None:
            sections[link] = DrawnSection(beam.size, beam.is_round, True, beam.sizes)
            continue
        from_visuals = section_of(read_visuals(root, link, beam), beam)
        size, is_round = from_visuals or _estimated_section(beam)
        stations = () if from_visuals or is_round else _estimated_stations(beam, size)
        sections[link] = DrawnSection(size, is_round, False, stations)
    return sections


def _estimated_section(beam):
    stiffnesses = np.array([beam.EIz, beam.EIy, beam.EA])
    if np.isfinite(stiffnesses).all() and (stiffnesses > 0).all():
        # of a rectangle: EI / EA = size^2 / 12
        return tuple(float(side) for side in np.sqrt(12 * stiffnesses[:2] / beam.EA)), False
    return (DEFAULT_THICKNESS_RATIO * beam.length,) * 2, True


def _estimated_stations(beam, size):
    """Stations of the rectangle with the stiffnesses of a varying section; () if uniform."""
    if beam.profile is None:
        return ()
    rows: list[tuple[float, float, float]] = []
    for start, end in zip(beam.profile.breaks[:-1], beam.profile.breaks[1:]):
        # inside the piece, because the section may step at its ends
        share = np.linspace(start, end, DRAWN_STATIONS)
        EIz, EIy, EA = (
            beam.profile.factor(name, share + SMALL_SHARE * (start + end - 2 * share))
            for name in ('EIz', 'EIy', 'EA')
        )
        rows += zip(share, size[0] * np.sqrt(EIz / EA), size[1] * np.sqrt(EIy / EA))
    return tuple((float(at), float(y), float(z)) for at, y, z in rows)
