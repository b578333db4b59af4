"""Cross-sections of beams: stiffnesses, and inertia per length."""

from typing import NamedTuple

import numpy as np

DIRECTIONS = ('bending_y', 'bending_z', 'torsion', 'stretch')
"""Deformation directions: along the y axis, along the z axis, about and along the x axis."""
STIFFNESS_OF = {'bending_y': 'EIz', 'bending_z': 'EIy', 'torsion': 'GJ', 'stretch': 'EA'}


class Section(NamedTuple):
    """A uniform cross-section; x runs along the beam, y and z are principal axes."""

    mass_per_length: float  # [kg/m]
    inertia: np.ndarray     # (3,)  about x, y, z, per length               [kg m]
    EIy: float              # bending stiffness about y: resists bending_z  [N m2]
    EIz: float              # bending stiffness about z: resists bending_y  [N m2]
    GJ: float               # torsional stiffness                           [N m2]
    EA: float               # axial stiffness                               [N]
