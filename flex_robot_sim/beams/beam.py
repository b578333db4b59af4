"""
One elastic beam: shapes, stiffness, stations and inertia integrals, ready for the dynamics.

The beam lies on the x axis of its frame, from the root at 0 to `length`. With the elastic
coordinates e, a point of its axis and the turn of the section there are

    r(x, e) = [x + Phi_u e - 1/2 e^T H e, Phi_v e, Phi_w e],    R(x, e) = exp(Theta e)      (1)
    Theta e = [phi, -w', v'],    H(x) = integral of Phi_v'^T Phi_v' + Phi_w'^T Phi_w'       (2)

where H, the shortening by bending, counts only with the coupling `shortening`, and its integral
runs from 0 to x. Coordinates are ordered bending_y, bending_z, torsion, stretch.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from flex_robot_sim.beams.quadrature import integrals_up_to
from flex_robot_sim.beams.section import Section


class Load(NamedTuple):
    """What hangs at the end of a beam, as a rigid body in the frame of its tip."""

    mass: float             #                                               [kg]
    centre: np.ndarray      # (3,)    centre of mass                        [m]
    inertia: np.ndarray     # (3, 3)  about the origin of the tip frame     [kg m2]


DIRECTIONS = ('bending_y', 'bending_z', 'torsion', 'stretch')
NO_LOAD = Load(0.0, np.zeros(3), np.zeros((3, 3)))


@dataclass(frozen=True, eq=False)
class Beam:
    """A beam with n elastic coordinates and g Gauss stations."""

    length: float               #                                           [m]
    section: Section
    names: tuple                # (n,)         'bending_y_1', ...
    stiffness: np.ndarray       # (n, n)                                    [SI per coordinate]
    stations: np.ndarray        # (g,)         x of the Gauss stations      [m]
    weights: np.ndarray         # (g,)         their weights                [m]
    shapes: dict                # direction -> Shapes, without those that are rigid

    @property
    def size(self):
        """Number of coordinates n."""
        return len(self.names)

    @property
    def count(self):
        """Number of coordinates of bending_y, bending_z, torsion and stretch."""
        return [self.shapes[name].count if name in self.shapes else 0 for name in DIRECTIONS]

    @cached_property
    def Phi(self):
        """Rows u, v, w at the Gauss stations, (g, 3, n), see (1)."""
        return self.shape(self.stations)

    @cached_property
    def Theta(self):
        """Turn at the Gauss stations, (g, 3, n), see (2)."""
        return self.turn(self.stations)

    @cached_property
    def H(self):
        """Shortening at the Gauss stations, (g, n, n) [1/m], see (2)."""
        return self.shortening(self.stations)

    def shape(self, x):
        """Phi at x [m]: (3, n), or (k, 3, n) for stations (k,)."""
        return self._rows(x, [('stretch', 0, 1.0), ('bending_y', 0, 1.0), ('bending_z', 0, 1.0)])

    def turn(self, x):
        """Theta at x [m]: (3, n), or (k, 3, n) for stations (k,)."""
        return self._rows(x, [('torsion', 0, 1.0), ('bending_z', 1, -1.0), ('bending_y', 1, 1.0)])

    def strain(self, x):
        """Stretch u' and curvatures phi', -w'', v'' at x [m]: (4, n), or (k, 4, n)."""
        return self._rows(x, [('stretch', 1, 1.0), ('torsion', 1, 1.0), ('bending_z', 2, -1.0),
                              ('bending_y', 2, 1.0)])

    def shortening(self, x):
        """H at x [m]: (n, n), or (k, n, n) for stations (k,)."""
        stations = np.atleast_1d(np.asarray(x, float))
        H = np.zeros((len(stations), len(self.names), len(self.names)))
        for direction in ('bending_y', 'bending_z'):
            if direction in self.shapes:
                shapes, part = self.shapes[direction], self.columns(direction)
                H[:, part, part] = integrals_up_to(stations, shapes.slopes, shapes.breaks,
                                                   shapes.stations)
        return H if np.ndim(x) else H[0]

    def columns(self, direction):
        """Slice of the coordinates that belong to a direction."""
        start = 0
        for name, shapes in self.shapes.items():
            if name == direction:
                return slice(start, start + shapes.count)
            start += shapes.count
        return slice(start, start)

    @cached_property
    def integrals(self):
        """Inertia integrals of the undeformed beam."""
        x, dx, J = self.stations, self.weights, self.section.inertia
        dm = self.section.mass_per_length * dx
        Phi, Theta, H = self.Phi, self.Theta, self.H
        total = self.section.mass_per_length * self.length
        return Integrals(
            total, total * self.length / 2, total * self.length**2 / 3, J * self.length,
            np.tensordot(dm, Phi, 1), np.tensordot(dm * x, Phi, 1),
            np.einsum('g,gai,gbj->abij', dm, Phi, Phi, optimize=True),
            J[:, None] * np.tensordot(dx, Theta, 1),
            np.einsum('g,a,gai,gaj->ij', dx, J, Theta, Theta, optimize=True),
            np.tensordot(dm, H, 1), np.tensordot(dm * x, H, 1))

    def _rows(self, x, rows):
        stations = np.atleast_1d(np.asarray(x, float))
        out = np.zeros((len(stations), len(rows), len(self.names)))
        for row, (direction, order, sign) in enumerate(rows):
            if direction in self.shapes:
                out[:, row, self.columns(direction)] = sign * self.shapes[direction].at(
                    stations, order)
        return out if np.ndim(x) else out[0]


class Integrals(NamedTuple):
    """Integrals over the beam; m is its mass, J the diagonal of its section inertia per length."""

    mass: float                 # int dm                                    [kg]
    first: float                # int x dm                                  [kg m]
    second: float               # int x^2 dm                                [kg m2]
    turning: np.ndarray         # (3,)          int J dx                    [kg m2]
    Phi: np.ndarray             # (3, n)        int Phi dm
    x_Phi: np.ndarray           # (3, n)        int x Phi dm
    Phi_Phi: np.ndarray         # (3, 3, n, n)  int Phi_a^T Phi_b dm
    Theta: np.ndarray           # (3, n)        int J Theta dx
    Theta_Theta: np.ndarray     # (n, n)        int Theta^T J Theta dx
    H: np.ndarray               # (n, n)        int H dm
    x_H: np.ndarray             # (n, n)        int x H dm

    @property
    def elastic(self):
        """Inertia (n, n) of the elastic coordinates of a beam that is held at its root."""
        return np.einsum('aaij->ij', self.Phi_Phi) + self.Theta_Theta
