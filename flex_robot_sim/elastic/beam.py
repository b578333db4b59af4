"""
One elastic beam: shapes, stiffness, stations and inertia, ready for the dynamics.

The beam lies on the x axis of its frame, from the root at 0 to `length`. With the elastic
coordinates e, a point of its axis and the rotation of its section are

    r(x, e) = [x + Phi_u e - 1/2 e^T H e, Phi_v e, Phi_w e],    R(x, e) = exp(Theta e)      (1)
    Theta e = [phi, -w', v'],    H(x) = integral of Phi_v'^T Phi_v' + Phi_w'^T Phi_w'       (2)

where H, the shortening by bending, is used with the coupling `shortening` only, and its integral
runs from 0 to x. Coordinates are ordered bending_y, bending_z, torsion, stretch. The end of a
segment with a body attached also has a lateral setback:

    -1/6 integral of (v', w') (v'^2 + w'^2)                                                 (3)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.elastic.quadrature import gauss_stations, integrals_by_piece, integrals_up_to
from flex_robot_sim.elastic.section import DIRECTIONS, Section
from flex_robot_sim.elastic.section_profile import SectionProfile
from flex_robot_sim.elastic.shapes import Shapes
from flex_robot_sim.util.read_only import make_read_only, read_only
from flex_robot_sim.util.summary import SummaryRows, counted, listed, summarized


class Load(NamedTuple):
    """Rigid body attached to the end of a beam, in the frame of its tip."""

    mass: float  #                                               [kg]
    centre: np.ndarray  # (3,)    centre of mass                        [m]
    inertia: np.ndarray  # (3, 3)  about the origin of the tip frame     [kg m2]


class EndShape(NamedTuple):
    """Matrices that map the coordinates of a beam to the pose of its far end."""

    shape: np.ndarray  # (3, n)    translation
    turn: np.ndarray  # (3, n)    rotation vector                     [rad]
    shortening: np.ndarray  # (n, n)    H of (2)
    setback: np.ndarray  # (4, n)    rows; minus the sum of their cubes is (3)


SETBACK_POINTS = 4  # Gauss points of the integral (3): exact for x^2 and x^3
NO_LOAD = Load(0.0, np.zeros(3), np.zeros((3, 3)))


@summarized
@dataclass(frozen=True, eq=False)
class Beam:
    """A beam with n elastic coordinates and g Gauss stations."""

    is_spatial: ClassVar[bool] = False
    length: float  #                                           [m]
    section: Section
    names: tuple[str, ...]  # (n,)         'bending_y_1', ...
    stiffness: np.ndarray  # (n, n)                                    [SI per coordinate]
    stations: np.ndarray  # (g,)         x of the Gauss stations      [m]
    weights: np.ndarray  # (g,)         their weights                [m]
    shapes: dict[str, Shapes]  # by direction; rigid directions are left out
    is_segment: bool = False  # one of several segments of a link
    profile: SectionProfile | None = None  # factors of the section; None: uniform

    def __post_init__(self) -> None:
        make_read_only((self.section, self.stiffness, self.stations, self.weights))

    @property
    def size(self) -> int:
        """Number of coordinates n."""
        return len(self.names)

    @property
    def count(self) -> list[int]:
        """Number of coordinates of bending_y, bending_z, torsion and stretch."""
        return [self.shapes[name].count if name in self.shapes else 0 for name in DIRECTIONS]

    @cached_property
    def Phi(self) -> np.ndarray:
        """Rows u, v, w at the Gauss stations, (g, 3, n), see (1)."""
        return read_only(self.shape(self.stations))

    @cached_property
    def Theta(self) -> np.ndarray:
        """Rotation of the sections at the Gauss stations, (g, 3, n), see (2)."""
        return read_only(self.turn(self.stations))

    def shape(self, x: ArrayLike) -> np.ndarray:
        """Phi at x [m]: (3, n), or (k, 3, n) for stations (k,)."""
        return self._rows(x, [('stretch', 0, 1.0), ('bending_y', 0, 1.0), ('bending_z', 0, 1.0)])

    def turn(self, x: ArrayLike) -> np.ndarray:
        """Theta at x [m]: (3, n), or (k, 3, n) for stations (k,)."""
        return self._rows(x, [('torsion', 0, 1.0), ('bending_z', 1, -1.0), ('bending_y', 1, 1.0)])

    curvature_integral = turn  # curvatures integrated from the root

    def strain(self, x: ArrayLike) -> np.ndarray:
        """Stretch u' and curvatures phi', -w'', v'' at x [m]: (4, n), or (k, 4, n)."""
        return self._rows(
            x,
            [
                ('stretch', 1, 1.0),
                ('torsion', 1, 1.0),
                ('bending_z', 2, -1.0),
                ('bending_y', 2, 1.0),
            ],
        )

    def shortening(self, x: ArrayLike) -> np.ndarray:
        """H at x [m]: (n, n), or (k, n, n) for stations (k,)."""
        stations = np.atleast_1d(np.asarray(x, float))
        H = np.zeros((len(stations), len(self.names), len(self.names)))
        for direction in ('bending_y', 'bending_z'):
            if direction in self.shapes:
                shapes, part = self.shapes[direction], self.columns(direction)
                H[:, part, part] = integrals_up_to(
                    stations, shapes.slopes, shapes.breaks, shapes.stations
                )
        return H if np.ndim(x) else H[0]

    @cached_property
    def reach(self) -> int:
        """Half bandwidth of `shortening`: largest index difference of coupled coordinates."""
        bending = [self.shapes[name] for name in DIRECTIONS[:2] if name in self.shapes]
        return max((min(shapes.reach, shapes.count - 1) for shapes in bending), default=0)

    @property
    def width(self) -> int:
        """Number of columns of `shortening_band`."""
        return min(2 * self.reach + 1, max(*self.count[:2], 1))

    def shortening_band(self, x: Sequence[float] | np.ndarray) -> np.ndarray:
        """
        Band of the shortening matrix at stations x (k,) [m]: (k, n, width).

        Row i of H has its entries from column max(start, i - reach) on, where the direction of
        the coordinate i starts.
        """
        band = np.zeros((len(x), self.size, self.width))
        for name in DIRECTIONS[:2]:
            if name not in self.shapes:
                continue
            shapes, part = self.shapes[name], self.columns(name)
            row = np.arange(shapes.count)[:, None]
            column = np.maximum(row - self.reach, 0) + np.arange(self.width)
            inside = column < np.minimum(row + self.reach + 1, shapes.count)
            column = np.minimum(column, shapes.count - 1)
            for stations, H in integrals_by_piece(
                np.asarray(x, float), shapes.slopes, shapes.breaks, shapes.stations
            ):
                band[stations, part] = H[:, row, column] * inside
        return band

    def setback(self, x: float) -> np.ndarray:
        """
        Slopes v' and w' by coordinate, (4, n), at Gauss stations up to x [m], for (3).

        Each row is scaled by the cube root of a sixth of its weight, so that (3) is minus the sum
        of their cubes.
        """
        stations, weights = gauss_stations(np.array([0.0, x]), SETBACK_POINTS)
        turn = self.turn(stations)
        return np.cbrt(weights / 6)[:, None] * (turn[:, 2] - turn[:, 1])

    @cached_property
    def at_end(self) -> EndShape:
        """Shape matrices of the far end; cached, because they take half a millisecond."""
        return EndShape(
            *map(
                read_only,
                (
                    self.shape(self.length),
                    self.turn(self.length),
                    self.shortening(self.length),
                    self.setback(self.length),
                ),
            )
        )

    @cached_property
    def bending(self) -> tuple[slice, slice]:
        """Slices of the coordinates that bend the beam along y and along z."""
        y, z = self.count[:2]
        return slice(0, y), slice(y, y + z)

    def columns(self, direction: str) -> slice:
        """Slice of the coordinates that belong to a direction."""
        start = 0
        for name, shapes in self.shapes.items():
            if name == direction:
                return slice(start, start + shapes.count)
            start += shapes.count
        return slice(start, start)

    @cached_property
    def station_mass(self) -> np.ndarray:
        """Mass of each Gauss station, (g,) [kg]."""
        mass = self.section.mass_per_length * self.weights
        if self.profile is not None:
            mass = mass * self.profile.factor('mass_per_length', self.stations / self.length)
        return read_only(mass)

    @cached_property
    def section_moments(self) -> np.ndarray:
        """Inertia of all sections about their own axes, (3,) [kg m2]."""
        moments = self.section.inertia * self.length
        return moments if self.profile is None else moments * self.profile.moments[0, 1:4]

    @cached_property
    def modal_mass(self) -> np.ndarray:
        """Mass matrix of the coordinates for a beam clamped at its root and undeformed, (n, n)."""
        J, Phi, Theta = self.section.inertia, self.Phi, self.Theta
        translation = np.einsum('g,gai,gaj->ij', self.station_mass, Phi, Phi, optimize=True)
        if self.profile is None:
            rotation = np.einsum('g,a,gai,gaj->ij', self.weights, J, Theta, Theta, optimize=True)
        else:
            rotation = np.einsum('ga,gai,gaj->ij', self._station_inertia, Theta, Theta)
        return read_only(translation + rotation)

    @cached_property
    def rotary(self) -> np.ndarray:
        """Integral of J Theta: angular momentum of the rotating sections per rate, (3, n)."""
        if self.profile is not None:
            return read_only(np.einsum('ga,gai->ai', self._station_inertia, self.Theta))
        return read_only(self.section.inertia[:, None] * np.tensordot(self.weights, self.Theta, 1))

    @property
    def _station_inertia(self):
        """Inertia of each Gauss station about its own axes where the section varies, (g, 3)."""
        assert self.profile is not None
        factors = self.profile.factors(self.stations / self.length)[:, 1:4]
        return self.weights[:, None] * self.section.inertia * factors

    def _summary(self) -> tuple[str, SummaryRows]:
        section = self.section
        return f'Beam of {self.length:.4g} m: {counted(self.size, "coordinate")}', [
            ('coordinates', listed(self.names)),
            (
                'section' if self.profile is None else 'section, varying',
                f'{section.mass_per_length:.4g} kg/m, EIy {section.EIy:.4g} N m2, EIz '
                f'{section.EIz:.4g} N m2, GJ {section.GJ:.4g} N m2, EA {section.EA:.4g} N',
            ),
            ('stations', str(self.stations.size)),
        ]

    def _rows(self, x, rows):
        stations = np.atleast_1d(np.asarray(x, float))
        out = np.zeros((len(stations), len(rows), len(self.names)))
        for row, (direction, order, sign) in enumerate(rows):
            if direction in self.shapes:
                out[:, row, self.columns(direction)] = sign * self.shapes[direction].at(
                    stations, order
                )
        return out if np.ndim(x) else out[0]
