"""Section matrices of a beam from code: CompositeSection, with messages that name arguments."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.description.attribute_text import attribute_text, number
from flex_robot_sim.description.geometry import CompositeSection
from flex_robot_sim.description.words import FLEXIBILITY
from flex_robot_sim.elastic.section_matrices import (
    SectionMatrices,
    homogeneous_mass,
    linear_matrices,
    mass_problem,
)
from flex_robot_sim.util.exceptions import SettingError

_UPPER = np.triu_indices(6)


def composite_matrices(
    owner: str,
    stations: Sequence[tuple[float | None, CompositeSection]],
    twist: Sequence[tuple[float, float]],
    mass: float | None,
    section_inertia: ArrayLike | None,
    length: float,
) -> SectionMatrices:
    """
    Return the SectionMatrices of the arguments of `ArmBuilder.add_beam`.

    :param stations: share of the length and section; None: uniform. twist: of stations [rad].
    :param mass: of the beam [kg], where its sections have no mass matrix.
    """
    if section_inertia is not None:
        raise SettingError(
            f'section_inertia of {owner}: leave it out, mass of CompositeSection has it'
        )
    has_mass = {one.mass is not None for _, one in stations}
    if len(has_mass) > 1:
        raise SettingError(f'mass of the section of {owner}: give it at every station, or at none')
    if has_mass == {True} and mass is not None:
        raise SettingError(f'mass of {owner}: leave it out, its sections have mass matrices')
    if has_mass == {False} and mass is None:
        raise SettingError(
            f'mass of {owner} is missing [kg]: give it, or mass matrices of its sections'
        )
    density = 1.0 if mass is None else number(owner, 'mass', mass, 'kg', above=0.0) / length
    stiffness = [_matrix(owner, 'stiffness', one.stiffness) for _, one in stations]
    weights = [
        homogeneous_mass(density, rigid) if one.mass is None else _mass(owner, one.mass)
        for rigid, (_, one) in zip(stiffness, stations)
    ]
    if len(stations) == 1:
        return linear_matrices([0.0, 1.0], 2 * stiffness, 2 * weights, twist)
    places = [at for at, _ in stations if at is not None]
    return linear_matrices(places, stiffness, weights, twist)


def _matrix(owner, argument, value):
    """Return a symmetric matrix (6, 6) from it, or from its upper triangle."""
    attribute = FLEXIBILITY['section'].attributes[argument]
    text = attribute_text(f'the section of {owner}', argument, value, attribute)
    numbers = np.array(text.split(), float)
    if numbers.size == 36:
        return numbers.reshape(6, 6)
    matrix = np.zeros((6, 6))
    matrix[_UPPER] = matrix.T[_UPPER] = numbers
    return matrix


def _mass(owner, value):
    matrix = _matrix(owner, 'mass', value)
    found = mass_problem(matrix)
    if found is not None:
        problem, remedy = found
        raise SettingError(f'mass of the section of {owner} {problem}. {remedy}')
    return matrix
