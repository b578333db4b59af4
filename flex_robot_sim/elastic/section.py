"""
Cross-sections of beams: stiffnesses, inertia per length, and the geometry of outlines.

Axes y and z lie in the section, x runs along the beam. Formulas of outlines: W. C. Young & R. G.
Budynas, Roark's Formulas for Stress and Strain, 7th ed. (2002), tables A.1 and 10.7; the torsion
constant of the rectangle is that of S. P. Timoshenko & J. N. Goodier, Theory of Elasticity
(1970), 109.
"""

from math import exp, inf, pi
from typing import NamedTuple

import numpy as np

DIRECTIONS = ('bending_y', 'bending_z', 'torsion', 'stretch')
"""Deformation directions: along the y axis, along the z axis, about and along the x axis."""
STIFFNESS_OF = {'bending_y': 'EIz', 'bending_z': 'EIy', 'torsion': 'GJ', 'stretch': 'EA'}
ZETA_5 = 1.0369277551433699  # sum over n of 1/n^5, by Riemann


class Section(NamedTuple):
    """A cross-section; x runs along the beam, y and z are principal axes."""

    mass_per_length: float  # [kg/m]
    inertia: np.ndarray  # (3,)  about x, y, z, per length               [kg m]
    EIy: float  # bending stiffness about y: resists bending_z  [N m2]
    EIz: float  # bending stiffness about z: resists bending_y  [N m2]
    GJ: float  # torsional stiffness                           [N m2]
    EA: float  # axial stiffness                               [N]
    kGAy: float = inf  # shear stiffness along y; inf: rigid in shear  [N]
    kGAz: float = inf  # shear stiffness along z                       [N]


class Outline(NamedTuple):
    """Geometry of a cross-section."""

    area: float  # [m2]
    Iy: float  # second moment about y, integral of z^2    [m4]
    Iz: float  # second moment about z, integral of y^2    [m4]
    J: float  # Saint-Venant torsion constant             [m4]


def rectangle(width: float, height: float) -> Outline:
    """Solid rectangle, `width` [m] along y and `height` [m] along z."""
    long, short = max(width, height), min(width, height)
    # tanh(x) as 1 - 2/(exp(2 x) + 1), so that a few terms of the series give all digits
    tail = sum(2 / (n**5 * (exp(min(n * pi * long / short, 700.0)) + 1)) for n in range(1, 14, 2))
    torsion = long * short**3 * (1 / 3 - 64 / pi**5 * short / long * (31 / 32 * ZETA_5 - tail))
    return Outline(width * height, width * height**3 / 12, height * width**3 / 12, torsion)


def rod(diameter: float) -> Outline:
    """Solid circle of `diameter` [m]."""
    return _round(diameter, 0.0)


def tube(outer: float, wall: float) -> Outline:
    """Hollow circle of `outer` diameter and `wall` thickness [m]."""
    return _round(outer, outer - 2 * wall)


def _round(outer, inner):
    second_moment = pi * (outer**4 - inner**4) / 64
    return Outline(pi * (outer**2 - inner**2) / 4, second_moment, second_moment, 2 * second_moment)
