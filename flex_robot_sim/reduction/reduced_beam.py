"""
A reduced link as an elastic body of an arm.

Where a beam has distances from the root, a reduced link has the numbers of its stations. Between
the root and the station at its tip, it is drawn as a cubic line.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.elastic.beam import Load
from flex_robot_sim.elastic.elastic_integrals import ElasticIntegrals
from flex_robot_sim.elastic.spatial_beam import StationFields
from flex_robot_sim.reduction.reduced_link import ReducedLink
from flex_robot_sim.util.eigenproblem import eigh
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.read_only import make_read_only, read_only

_PAIRS = ((0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2))  # xx, yy, zz, xy, xz, yz


@dataclass(frozen=True, eq=False)
class ReducedBeam:
    """
    A reduced link with n coordinates, whose tip is one of its stations.

    With the matrix T `mix` (N, n), T y are the coordinates of its file, N of them.
    """

    is_spatial: ClassVar[bool] = True
    is_segment: ClassVar[bool] = False

    link: ReducedLink
    end: np.ndarray  # (3,)  far end in the frame of the link                  [m]
    mix: np.ndarray  # (N, n)
    stiffness_scale: float = 1.0  # factor of its stiffness
    file_hash: str = ''  # SHA-256 of its file

    def __post_init__(self) -> None:
        make_read_only((self.end, self.mix))

    @property
    def size(self) -> int:
        """Number of coordinates n."""
        return self.mix.shape[1]

    def with_load(self, load: Load) -> 'ReducedBeam':
        """
        Return the link with the slowest coordinates for a load at its tip.

        :param load: in the axes of the link, about the station at the tip.
        """
        if self.size == self.link.size:
            return self
        U = self.link.station_shapes[self.nearest_station(self.end)]
        x, y, z = load.mass * load.centre
        first = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        inertia = np.block([[load.inertia, first], [first.T, load.mass * np.eye(3)]])
        _, vectors = eigh(self.link.E0 + U.T @ inertia @ U, self.link.K)
        mix = vectors[:, : -self.size - 1 : -1]
        # a coordinate is the largest motion of the tip
        mix = mix / np.abs(U @ mix).max(axis=0)
        return replace(self, mix=mix)

    @property
    def length(self) -> float:
        """Distance of its far end from its root [m]."""
        return float(np.sqrt(self.end @ self.end))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the coordinates."""
        return tuple(f'mode_{k}' for k in range(1, self.size + 1))

    @cached_property
    def stiffness(self) -> np.ndarray:
        """Stiffness of the coordinates (n, n)."""
        return read_only(self.stiffness_scale * _mixed(self.link.K, self.mix, 2))

    @cached_property
    def cubic(self) -> np.ndarray:
        """Coefficients C of the strain energy 1/3 C e e e, (n, n, n)."""
        return read_only(self.stiffness_scale * _mixed(self.link.C, self.mix, 3))

    @cached_property
    def integrals(self) -> ElasticIntegrals:
        """Integrals for the dynamics."""
        link, T = self.link, self.mix
        first, total = _hat(link.S0), link.mass * np.eye(3)
        return ElasticIntegrals(
            np.block([[link.J0, first], [first.T, total]]),
            _mixed(link.S1, T, 1),
            _mixed(link.S2, T, 2),
            _mixed(link.J1[(slice(None), *_PAIRS)], T, 1),
            _mixed(link.J2[(slice(None), slice(None), *_PAIRS)], T, 2),
            _mixed(link.h0, T, 1),
            _mixed(link.h1, T, 2),
            _mixed(link.E0, T, 2),
            _mixed(link.X, T, 3),
            _mixed(link.G.transpose(1, 2, 0), T, 2).transpose(2, 0, 1),
        )

    @cached_property
    def linear_integrals(self) -> ElasticIntegrals:
        """Integrals without the second-order fields, which the file does not separate."""
        raise SettingError(
            f'link "{self.link.link}" is a reduced link, which has the coupling "shortening" only'
        )

    def nearest_station(self, point: np.ndarray) -> int:
        """Return the number of the station nearest to a point (3,) [m]."""
        return int(np.argmin(((self.link.station_points - point) ** 2).sum(axis=1)))

    def station(self, x: float) -> StationFields:
        """Return the fields of the station with the number `x`."""
        k = round(x)
        return StationFields(
            np.eye(3),
            self.link.station_points[k],
            _mixed(self.link.station_shapes[k].T, self.mix, 1),
            _mixed(self.link.station_second[k], self.mix, 2),
        )

    @cached_property
    def at_end(self) -> StationFields:
        """Fields of the station nearest to the far end."""
        return self.station(self.nearest_station(self.end))

    def position(self, x: ArrayLike) -> np.ndarray:
        """Positions (k, 3) [m] on the line from the root to the end, at x (k,) [m]."""
        return np.outer(np.asarray(x, float) / self.length, self.at_end.p)

    def rotation(self, x: ArrayLike) -> np.ndarray:
        """Axes of sections of this line, (k, 3, 3): x along it."""
        along = self.at_end.p / np.sqrt(self.at_end.p @ self.at_end.p)
        across = np.eye(3)[np.argmin(np.abs(along))]
        y = np.cross(along, across) / np.sqrt(1.0 - (along @ across) ** 2)
        axes = np.column_stack([along, y, np.cross(along, y)])
        return np.tile(axes, (np.size(x), 1, 1))

    def shape(self, x: ArrayLike) -> np.ndarray:
        """Displacement of the line by coordinate at x [m]: (3, n), or (k, 3, n)."""
        end = self.at_end
        values = self._cubic_line(x, end.U[:, 3:], np.cross(end.U[:, :3], end.p))
        values = np.swapaxes(values, 1, 2)
        return values if np.ndim(x) else values[0]

    def second_shape(self, x: ArrayLike) -> np.ndarray:
        """Second derivatives of this displacement at x (k,) [m], (k, n, n, 3)."""
        end = self.at_end
        return self._cubic_line(x, end.Q[..., 3:], np.cross(end.Q[..., :3], end.p))

    def turn(self, x: ArrayLike) -> np.ndarray:
        """Rotation vector by coordinate at x [m], linear: (3, n), or (k, 3, n)."""
        share = np.atleast_1d(np.asarray(x, float)) / self.length
        values = share[:, None, None] * self.at_end.U[:, :3].T
        return values if np.ndim(x) else values[0]

    def strain(self, x: ArrayLike) -> np.ndarray:
        """Stretch and curvatures about x, y, z of the line at x [m]: (4, n), or (k, 4, n)."""
        count = np.size(x)
        turn = np.swapaxes(self.rotation([0.0])[0].T @ self.at_end.U[:, :3].T, 0, 1) / self.length
        values = np.zeros((count, 4, self.size))
        values[:, 1:] = turn.T
        return values if np.ndim(x) else values[0]

    def surface_strain(self, place: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Strain of the surface by coordinate, see `ReducedLink.strain`, (n,) [1/m]."""
        return self.link.strain(place, direction) @ self.mix

    @cached_property
    def Theta(self) -> np.ndarray:
        """Rotation vectors of the stations, (k, 3, n)."""
        return read_only(self.link.station_shapes[:, :3] @ self.mix)

    def _cubic_line(self, x, move, slope):
        """Line with these ends (..., 3), clamped at the root, at x (k,) [m]."""
        share = np.atleast_1d(np.asarray(x, float)) / self.length
        share = share.reshape((-1,) + (1,) * move.ndim)
        return share**2 * (3.0 - 2.0 * share) * move + share**2 * (share - 1.0) * slope


def _mixed(array, T, axes):
    """Array by coordinates of the file, soft ones or all, for coordinates of T."""
    for axis in range(axes):
        array = np.moveaxis(array, axis, -1) @ T[: array.shape[axis]]
        array = np.moveaxis(array, -1, axis)
    return np.ascontiguousarray(array)


def _hat(v):
    x, y, z = v
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
