"""Warnings about implausible beams, for instance by a wrong unit prefix."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from flex_robot_sim.description.document import Document, XmlElement
from flex_robot_sim.description.links import Link

SPEED_OF_SOUND = 5000.0  # along a bar of steel, aluminium or glass           [m/s]
MAX_THICKNESS_RATIO = 1 / 3  # of a beam over its length                                   [-]


def warn_implausible_beam(document: Document, link: Link) -> None:
    """Warn of implausible sizes and stiffnesses of the flexible `link`."""
    beam, line = link.beam, link.line
    assert beam is not None
    if not 1e-3 <= beam.length <= 100:
        document.warn(
            line,
            f'flexible link "{link.name}" is {beam.length:g} m long',
            'Give lengths in m, not in mm',
        )
    if beam.reduced is not None:
        return
    bending = max((value for value in (beam.EIy, beam.EIz) if not np.isnan(value)), default=0.0)
    if np.isnan(beam.EA):
        thickness = np.sqrt(12 * bending / (beam.mass_per_length * SPEED_OF_SOUND**2))
        if thickness > MAX_THICKNESS_RATIO * beam.length:
            document.warn(
                line,
                f'by its EI and its mass per length, a bar of metal in the place of link '
                f'"{link.name}" would be {thickness:.3g} m thick and {beam.length:g} m long',
                'Check EIy, EIz [N m2] and mass [kg]',
            )
        return
    speed = np.sqrt(beam.EA / beam.mass_per_length)
    if not 30 < speed < 30e3:
        document.warn(
            line,
            f'by its EA and its mass per length, sound runs through link "{link.name}" at '
            f'{speed:.3g} m/s',
            'Check EA [N], mass [kg] and length [m]',
        )
    if np.sqrt(bending / beam.EA) > MAX_THICKNESS_RATIO * beam.length:
        document.warn(
            line,
            f'link "{link.name}" is as thick as it is long, by its EI and EA',
            'Check EIy, EIz [N m2] and EA [N]; beam theory needs a slender link',
        )


def warn_of_material(
    document: Document, element: XmlElement, link: str, constants: Mapping[str, Any]
) -> None:
    """Warn of implausible moduli and density; `element` is the <material> of `link`."""
    line = document.line(element)
    for name in ('E', 'G'):
        if constants[name] is not None and constants[name] < 1e5:
            document.warn(
                line,
                f'{name} = {constants[name]:g} Pa of "{link}" is softer than any gel',
                'Give it in Pa, not in GPa or MPa',
            )
    if constants['G'] is not None and constants['G'] > constants['E'] / 2:
        document.warn(
            line,
            f'G = {constants["G"]:g} Pa of "{link}" is above E / 2, against all common materials',
            'Check E and G [Pa], which may be exchanged',
        )
    if constants['density'] is not None and not 1 < constants['density'] < 30e3:
        document.warn(
            line,
            f'density = {constants["density"]:g} kg/m3 of "{link}" is that of no solid',
            'Give it in kg/m3',
        )


def is_implausible(ratio: float, tolerance: float) -> bool:
    """Whether `ratio` is a power of a thousand, other than 1, within the relative `tolerance`."""
    power = round(np.log10(ratio) / 3)
    return power != 0 and abs(ratio / 10.0 ** (3 * power) - 1) <= tolerance
