"""
Cross-sections: area and second moments.

Axes y and z lie in the section, x runs along the beam. Formulas: W. C. Young & R. G. Budynas,
Roark's Formulas for Stress and Strain, 7th ed. (2002), tables A.1 and 10.7; the torsion constant
of the rectangle is S. P. Timoshenko & J. N. Goodier, Theory of Elasticity (1970), eq. (163).
"""

import math
from typing import NamedTuple


class Section(NamedTuple):
    """Geometry of a cross-section."""

    area: float             # [m2]
    Iy: float               # second moment about y, integral of z^2    [m4]
    Iz: float               # second moment about z, integral of y^2    [m4]
    J: float                # Saint-Venant torsion constant             [m4]


def rectangle(width, height):
    """Solid rectangle, `width` [m] along y and `height` [m] along z."""
    long, short = max(width, height), min(width, height)
    # the series alternates nowhere and falls with n^-5: 20 terms leave less than 1e-8 of the first
    series = sum(math.tanh(n * math.pi * long / (2 * short)) / n**5 for n in range(1, 41, 2))
    torsion = long * short**3 * (1 / 3 - 64 / math.pi**5 * short / long * series)
    return Section(width * height, width * height**3 / 12, height * width**3 / 12, torsion)


def rod(diameter):
    """Solid circle of `diameter` [m]."""
    return _round(diameter, 0.0)


def tube(outer, wall):
    """Hollow circle of `outer` diameter and `wall` thickness [m]."""
    return _round(outer, outer - 2 * wall)


def _round(outer, inner):
    second_moment = math.pi * (outer**4 - inner**4) / 64
    area = math.pi * (outer**2 - inner**2) / 4
    return Section(area, second_moment, second_moment, 2 * second_moment)
