"""
A reduced link as an elastic body of an arm.

Where a beam has distances from the root, a reduced link has the numbers of its stations. Between
the root and the station at its tip, it is drawn as a cubic line.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.elastic.elastic_integrals import ElasticIntegrals
from flex_robot_sim.elastic.spatial_beam import StationFields
from flex_robot_sim.reduction.reduced_link import ReducedLink
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.read_only import make_read_only, read_only

_PAIRS = ((0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2))  # xx, yy, zz, xy, xz, yz


@dataclass(frozen=True, eq=False)
class ReducedBeam:
    """A reduced link with n coordinates, whose tip is one of its stations."""

    is_spatial: ClassVar[bool] = True
    is_segment: ClassVar[bool] = False

    link: ReducedLink
    end: np.ndarray  # (3,)  far end in the frame of the link                  [m]
    stiffness_scale: float = 1.0  # factor of its stiffness

    def __post_init__(self) -> None:
        make_read_only(self.end)

    @property
    def size(self) -> int:
        """Number of coordinates n."""
        return self.link.size

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
        return read_only(self.stiffness_scale * self.link.K)

    @cached_property
    def cubic(self) -> np.ndarray:
        """Coefficients C of the strain energy 1/3 C e e e, (n, n, n)."""
        return read_only(self.stiffness_scale * _padded(self.link.C, self.size, 3))

    @cached_property
    def integrals(self) -> ElasticIntegrals:
        """Integrals for the dynamics."""
        link, n = self.link, self.size
        first, total = _hat(link.S0), link.mass * np.eye(3)
        return ElasticIntegrals(
            np.block([[link.J0, first], [first.T, total]]),
            link.S1,
            _padded(link.S2, n, 2),
            link.J1[(slice(None), *_PAIRS)],
            link.J2[(slice(None), slice(None), *_PAIRS)],
            link.h0,
            link.h1,
            link.E0,
            _padded(link.X.transpose(1, 2, 0), n, 2).transpose(2, 0, 1),
            _padded(link.G.transpose(1, 2, 0), n, 2).transpose(2, 0, 1),
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
        k, n = round(x), self.size
        return StationFields(
            np.eye(3),
            self.link.station_points[k],
            self.link.station_shapes[k].T,
            _padded(self.link.station_second[k], n, 2),
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

    @cached_property
    def Theta(self) -> np.ndarray:
        """Rotation vectors of the stations, (k, 3, n)."""
        return read_only(self.link.station_shapes[:, :3])

    def _cubic_line(self, x, move, slope):
        """Line with these ends (..., 3), clamped at the root, at x (k,) [m]."""
        share = np.atleast_1d(np.asarray(x, float)) / self.length
        share = share.reshape((-1,) + (1,) * move.ndim)
        return share**2 * (3.0 - 2.0 * share) * move + share**2 * (share - 1.0) * slope


def _padded(array, size, axes):
    """Array with zeros up to `size` on its first axes."""
    padding = [(0, size - length) for length in array.shape[:axes]]
    return np.pad(array, padding + [(0, 0)] * (array.ndim - axes))


def _hat(v):
    x, y, z = v
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
