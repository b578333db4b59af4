"""Reading of `<strain_gauge>`: gauges on the surface of a reduced link."""

from collections.abc import Sequence

import numpy as np

from flex_robot_sim.description.document import Document, XmlElement
from flex_robot_sim.description.sensors import StrainGauge
from flex_robot_sim.description.values import read_attributes, read_children
from flex_robot_sim.description.words import FLEXIBILITY
from flex_robot_sim.reduction.reduced_beam import ReducedBeam

SURFACE_TOLERANCE = 0.02  # distance of a gauge from the surface, over the length of the link
MIN_TANGENT = 0.5  # component of the direction in the surface


def read_gauges(
    document: Document, elements: Sequence[XmlElement], link: str, beam: ReducedBeam
) -> tuple[StrainGauge, ...]:
    """Return the gauges of a reduced link."""
    gauges: dict[str, StrainGauge] = {}
    for element in elements:
        read_children(document, element, ())
        gauge = _read_gauge(document, element)
        if gauge.name in gauges:
            raise document.error(
                element, f'link "{link}" has two strain gauges "{gauge.name}"', 'Rename one'
            )
        if not beam.link.has_strains:
            raise document.error(
                element,
                f'the file of "{link}" has no strains, which strain gauge "{gauge.name}" needs',
                'Reduce the link again, from a mesh of tetrahedra',
            )
        _check_place(document, element, gauge, beam)
        gauges[gauge.name] = gauge
    return tuple(gauges.values())


def _read_gauge(document, element):
    values = read_attributes(document, element, FLEXIBILITY['strain_gauge'])
    if values['distance'] == 0.0:
        raise document.error(
            element,
            f'strain gauge "{values["name"]}" has the distance zero',
            'Give its distance from the neutral axis [m], or 1',
        )
    return StrainGauge(
        values['name'], np.array(values['at']), np.array(values['along']), values['distance']
    )


def _check_place(document, element, gauge, beam):
    """Refuse a gauge that is not on the surface, or points out of it."""
    point = beam.link.surface_point(gauge.position)
    gap = float(np.linalg.norm(point.position - gauge.position))
    if gap > SURFACE_TOLERANCE * beam.length:
        x, y, z = np.round(point.position, 9)
        raise document.error(
            element,
            f'strain gauge "{gauge.name}" is {gap:.3g} m off the surface of the link',
            f'Correct its at; the nearest point of the surface is {x:.4g} {y:.4g} {z:.4g} m',
        )
    if np.sqrt(max(1.0 - (gauge.direction @ point.normal) ** 2, 0.0)) < MIN_TANGENT:
        x, y, z = point.normal
        raise document.error(
            element,
            f'strain gauge "{gauge.name}" points out of the surface',
            f'Correct its along; the surface is normal to {x:.2g} {y:.2g} {z:.2g} there',
        )
