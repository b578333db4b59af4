"""
Natural frequencies of a uniform beam that is clamped at one end and free at the other.

R. D. Blevins, Formulas for Natural Frequency and Mode Shape (1979), tables 8-1, 8-16 and 8-19.
"""

import math

FIRST_BENDING_ROOT = 1.8751040687119611
"""Smallest solution of cos(x) cosh(x) = -1."""


def first_bending_frequency(length: float, bending_stiffness: float,
                            mass_per_length: float) -> float:
    """First bending frequency [Hz] from length [m], EI [N m2] and mass per length [kg/m]."""
    wave = math.sqrt(bending_stiffness / mass_per_length)
    return (FIRST_BENDING_ROOT / length)**2 * wave / (2 * math.pi)


def first_wave_frequency(length: float, stiffness: float, inertia_per_length: float) -> float:
    """First frequency [Hz] of torsion (GJ [N m2], kg m) or of stretch (EA [N], kg/m)."""
    return math.sqrt(stiffness / inertia_per_length) / (4 * length)
