"""Stations of a cross-section that varies along a beam: elements with `at`."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from flex_robot_sim.description.document import Document, XmlElement
from flex_robot_sim.description.values import read_attributes, read_children
from flex_robot_sim.description.words import FLEXIBILITY
from flex_robot_sim.elastic.quadrature import gauss_stations
from flex_robot_sim.elastic.section import Outline
from flex_robot_sim.elastic.section_profile import (
    MOMENT_STATIONS,
    PROFILE_QUANTITIES,
    SectionProfile,
    interpolated_profile,
)

MAX_STATIONS = 100  # of one link


class SectionStation(NamedTuple):
    """One element with `at`."""

    at: float  # share of the length of the beam, from 0 at its root to 1
    element: XmlElement | None  # None: from code


def read_stations(
    document: Document, elements: Sequence[XmlElement], link: str
) -> list[SectionStation]:
    """Return the stations of a section, root to tip; two at one place are a step."""
    stations: list[SectionStation] = []
    for element in elements:
        read_children(document, element, ())
        tag, at = element.tag, read_attributes(document, element, FLEXIBILITY[element.tag])['at']
        if at is None:
            raise document.error(
                element,
                f'a <{tag}> of "{link}" has no at, and others have one',
                'Give at="0" to the first, at="1" to the last, and a share of the length between',
            )
        if stations and at < stations[-1].at:
            raise document.error(
                element,
                f'the <{tag}> of "{link}" at {at:g} follows that at {stations[-1].at:g}',
                'Give them in the order from the root to the tip',
            )
        stations.append(SectionStation(at, element))
    places = [station.at for station in stations]
    if len(stations) < 2 or places[0] != 0 or places[-1] != 1:
        raise document.error(
            elements[0],
            f'the section of "{link}" is given from {places[0]:g} to {places[-1]:g} of its length',
            'Give the section at="0" and at="1", and between them where it changes',
        )
    for first, second in ((0, 1), (-2, -1)):
        if places[first] == places[second]:
            raise document.error(
                stations[second].element,
                f'"{link}" has two sections at its {"root" if first == 0 else "tip"}',
                'Keep one of them: a step lies between the ends',
            )
    for place, third in zip(places, stations[2:]):
        if place == third.at:
            raise document.error(
                third.element, f'"{link}" has three sections at {place:g}', 'Keep two for a step'
            )
    if len(stations) > MAX_STATIONS:
        raise document.error(
            stations[MAX_STATIONS].element,
            f'"{link}" has {len(stations)} sections',
            f'Keep to {MAX_STATIONS}: the section is linear in between',
        )
    return stations


def outline_profile(
    shape: Callable[..., Outline],
    sizes: Sequence[Mapping[str, float]],
    stations: Sequence[SectionStation],
) -> tuple[SectionProfile, Outline]:
    """
    Return the profile of an outline whose sizes are linear between stations, and its mean.

    :param shape: outline by sizes; sizes: of each station [m].
    """
    breaks, ends = _pieces(stations)

    def outlines(piece, share):
        start, end = (sizes[i] for i in ends[piece])
        return np.array(
            [shape(**{k: (1 - s) * start[k] + s * end[k] for k in start}) for s in share]
        )

    weights, rows = [], []
    for piece, size in enumerate(np.diff(breaks)):
        share, weight = gauss_stations(np.array([0.0, 1.0]), MOMENT_STATIONS)
        weights.append(size * weight)
        rows.append(outlines(piece, share))
    mean = Outline(*np.concatenate(weights) @ np.concatenate(rows))
    root = shape(**sizes[0])

    def factors(piece, share):
        area, Iy, Iz, J = outlines(piece, share).T
        columns = {
            'mass_per_length': area / mean.area,
            'inertia_x': (Iy + Iz) / (mean.Iy + mean.Iz),
            'inertia_y': Iy / mean.Iy,
            'inertia_z': Iz / mean.Iz,
            'EIy': Iy / root.Iy,
            'EIz': Iz / root.Iz,
            'GJ': J / root.J,
            'EA': area / root.area,
            'kGAy': area / root.area,
            'kGAz': area / root.area,
        }
        return np.stack([columns[name] for name in PROFILE_QUANTITIES], axis=1)

    return interpolated_profile(breaks, factors), mean


def stiffness_profile(
    document: Document, link: str, stations: Sequence[SectionStation]
) -> SectionProfile:
    """Return the profile of stiffnesses and mass that are linear between stations."""
    values = [read_attributes(document, row.element, FLEXIBILITY['section']) for row in stations]
    columns = {}
    for name in ('EIy', 'EIz', 'GJ', 'EA', 'kGAy', 'kGAz', 'mass_per_length'):
        column = [row[name] for row in values]
        missing = [row is None for row in column]
        if any(missing) and not all(missing):
            row = stations[missing.index(True)]
            raise document.error(
                row.element,
                f'the <section> of "{link}" at {row.at:g} has no {name}, and others have one',
                f'Give {name} at every station, or at none',
            )
        columns[name] = np.ones(len(column)) if any(missing) else np.array(column)
    return _linear_profile(columns, stations)


def mass_profile(mass: np.ndarray, stations: Sequence[SectionStation]) -> SectionProfile:
    """Return the profile of a mass per length (k,) that is linear between stations."""
    ones = np.ones(len(mass))
    stiffnesses = ('EIy', 'EIz', 'GJ', 'EA', 'kGAy', 'kGAz')
    return _linear_profile(dict.fromkeys(stiffnesses, ones) | {'mass_per_length': mass}, stations)


def _linear_profile(columns, stations):
    """Return the profile of {quantity: values at the stations}; inertia varies as the mass."""
    breaks, ends = _pieces(stations)
    mass = columns['mass_per_length']
    # mean of a piecewise linear function
    mean = np.diff(breaks) @ [(mass[i] + mass[j]) / 2 for i, j in ends]
    factors = {name: column / column[0] for name, column in columns.items()}
    factors['mass_per_length'] = mass / mean
    for axis in 'xyz':
        factors[f'inertia_{axis}'] = factors['mass_per_length']
    rows = np.array([factors[name] for name in PROFILE_QUANTITIES]).T
    return interpolated_profile(
        breaks,
        lambda piece, share: (
            np.outer(1 - share, rows[ends[piece][0]]) + np.outer(share, rows[ends[piece][1]])
        ),
    )


def _pieces(stations):
    """Ends of the pieces between stations, and the stations at both ends of each piece."""
    ends = [(i, i + 1) for i in range(len(stations) - 1) if stations[i].at < stations[i + 1].at]
    return np.array([stations[i].at for i, _ in ends] + [1.0]), ends
