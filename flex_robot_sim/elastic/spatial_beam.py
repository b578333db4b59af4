"""
A spatial beam: an elastic body with a curved, twisted axis and any sections.

Its coordinates e scale strains of the sections: with the strains gamma and kappa per coordinate,
in the axes of a section with the rotation R0, the rotation R = exp(theta) R0 and the position r of
the section obey

    R' = R (kappa0 + kappa e)~,    r' = R (e_x + gamma e)                                     (T90)

from the clamped root on. To second order in e, with k = R0 kappa e, g = R0 gamma e and the unit
tangent t of the undeformed axis,

    theta1' = k,       theta2' = 1/2 theta1 x k
    u1' = theta1 x t + g,    u2' = theta2 x t + 1/2 theta1 x (theta1 x t) + theta1 x g        (T91)

The strain energy 1/2 e^T K e is exact, since the strains are linear in e. Bending couples with
twist by the geometry of (T91), so that one beam buckles sideways. The frame of the body is that of
its root section.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.elastic.axis_curve import AxisCurve
from flex_robot_sim.elastic.elastic_integrals import (
    ElasticIntegrals,
    PointFields,
    elastic_integrals,
)
from flex_robot_sim.elastic.pieces import Pieces
from flex_robot_sim.elastic.section_matrices import SectionMatrices
from flex_robot_sim.elastic.straight_axis import StraightAxis
from flex_robot_sim.util.read_only import make_read_only, read_only
from flex_robot_sim.util.summary import SummaryRows, counted, summarized


@dataclass(frozen=True, eq=False)
class StationFields:
    """Pose of a section in the frame of the body, and its fields."""

    R: np.ndarray  # (3, 3)     rotation of the undeformed section
    p: np.ndarray  # (3,)       its position                                         [m]
    U: np.ndarray  # (n, 6)     rotation vector and translation by coordinate
    Q: np.ndarray  # (n, n, 6)  their second derivatives

    def __post_init__(self) -> None:
        make_read_only((self.R, self.p, self.U, self.Q))


@summarized
@dataclass(frozen=True, eq=False)
class SpatialBeam:
    """A part of a spatial beam with n elastic coordinates; g Gauss stations carry its fields."""

    is_spatial: ClassVar[bool] = True
    axis: AxisCurve | StraightAxis
    start: float  # arc length of its root on the axis                        [m]
    length: float  # of its arc                                               [m]
    sections: SectionMatrices
    names: tuple[str, ...]  # (n,)  'mode_1', ...
    stiffness: np.ndarray  # (n, n)                                            [SI per coordinate]
    pieces: Pieces
    strains: np.ndarray  # (g, 6, n)  at the Gauss stations, in the axes of the sections
    is_segment: bool = False  # one of several segments of a link

    def __post_init__(self) -> None:
        make_read_only((self.stiffness, self.strains))

    @property
    def size(self) -> int:
        """Number of coordinates n."""
        return len(self.names)

    @property
    def stations(self) -> np.ndarray:
        """Arc lengths of the Gauss stations from the root, (g,) [m]."""
        return self.pieces.x

    @property
    def weights(self) -> np.ndarray:
        """Their weights, (g,) [m]."""
        return self.pieces.weights

    @cached_property
    def cubic(self) -> np.ndarray:
        """Coefficients of the cubic strain energy, (n, n, n): none."""
        return read_only(np.zeros((self.size,) * 3))

    @cached_property
    def integrals(self) -> ElasticIntegrals:
        """Integrals for the dynamics."""
        return elastic_integrals(self.points, 1.0 / np.sqrt(np.diag(self.stiffness)))

    @cached_property
    def linear_integrals(self) -> ElasticIntegrals:
        """Integrals without the second-order fields."""
        points = self.points
        linear = replace(points, Q=np.zeros_like(points.Q))
        return elastic_integrals(linear, 1.0 / np.sqrt(np.diag(self.stiffness)))

    @cached_property
    def points(self) -> PointFields:
        """Mass points with the same integrals: seven for each Gauss station."""
        fields = self._fields
        mass, offset = self._section_points
        R, theta, theta2 = fields.R, fields.theta, fields.theta2
        lever = np.einsum('gab,gpb->gpa', R, offset)
        X = fields.p[:, None] + lever
        turn = np.cross(theta[:, None], lever[:, :, None])  # (g, p, n, 3)
        Phi = fields.u[:, None] + turn
        twice = np.cross(theta[:, None, :, None], turn[:, :, None])
        second = 0.5 * (twice + np.swapaxes(twice, 2, 3))
        second += np.cross(theta2[:, None], lever[:, :, None, None])
        Q = fields.u2[:, None] + second
        n = self.size
        return PointFields(
            mass.ravel(), X.reshape(-1, 3), Phi.reshape(-1, n, 3), Q.reshape(-1, n, n, 3)
        )

    def station(self, x: float) -> StationFields:
        """Return the fields of the section at x [m] from the root."""
        fields, at = self._fields, np.array([x])
        theta = self.pieces.up_to(fields.theta_rate, at)[0]
        theta2 = self.pieces.up_to(fields.theta2_rate, at)[0]
        u = self.pieces.up_to(fields.u_rate, at)[0]
        u2 = self.pieces.up_to(fields.u2_rate, at)[0]
        R, p = self._undeformed(at)
        return StationFields(
            R[0], p[0], np.concatenate([theta, u], axis=-1), np.concatenate([theta2, u2], axis=-1)
        )

    @cached_property
    def at_end(self) -> StationFields:
        """Fields of the far end."""
        return self.station(self.length)

    def position(self, x: ArrayLike) -> np.ndarray:
        """Positions (k, 3) [m] of undeformed sections at x (k,) [m], in the frame of the body."""
        return self._undeformed(np.asarray(x, float))[1]

    def rotation(self, x: ArrayLike) -> np.ndarray:
        """Rotations (k, 3, 3) of undeformed sections at x (k,) [m], in the frame of the body."""
        return self._undeformed(np.asarray(x, float))[0]

    def shape(self, x: ArrayLike) -> np.ndarray:
        """Displacement by coordinate at x [m]: (3, n), or (k, 3, n) for stations (k,)."""
        return self._at(self._fields.u_rate, x)

    def turn(self, x: ArrayLike) -> np.ndarray:
        """Rotation vector by coordinate at x [m]: (3, n), or (k, 3, n)."""
        return self._at(self._fields.theta_rate, x)

    def second_shape(self, x: Sequence[float] | np.ndarray) -> np.ndarray:
        """Second derivatives of the displacement at x (k,) [m], (k, n, n, 3)."""
        return self.pieces.up_to(self._fields.u2_rate, np.asarray(x, float))

    def strain(self, x: ArrayLike) -> np.ndarray:
        """Stretch and curvatures about x, y, z of the section at x [m]: (4, n), or (k, 4, n)."""
        stations = np.atleast_1d(np.asarray(x, float))
        values = self.pieces.at(self.strains[:, [0, 3, 4, 5]], stations)
        return values if np.ndim(x) else values[0]

    def curvature_integral(self, x: ArrayLike) -> np.ndarray:
        """Integrals of the curvatures about x, y, z of the section up to x (k,) [m], (k, 3, n)."""
        return self.pieces.up_to(self.strains[:, 3:], np.asarray(x, float))

    @cached_property
    def Theta(self) -> np.ndarray:
        """Rotation vectors at the Gauss stations, (g, 3, n)."""
        return read_only(np.swapaxes(self._fields.theta, 1, 2))

    def _at(self, rate, x):
        values = self.pieces.up_to(rate, np.atleast_1d(np.asarray(x, float)))
        values = np.swapaxes(values, 1, 2)
        return values if np.ndim(x) else values[0]

    @cached_property
    def _fields(self):
        R, p = self._undeformed(self.pieces.x)
        return _beam_fields(self.pieces, R, p, self.strains)

    def _undeformed(self, x):
        """Rotations and positions of undeformed sections in the frame of the root section."""
        root = np.array([self.start])
        R0, p0 = section_frames(self.axis, self.sections, root)[0], self.axis.positions(root)[0]
        R = section_frames(self.axis, self.sections, self.start + x)
        return R0.T @ R, (self.axis.positions(self.start + x) - p0) @ R0

    @cached_property
    def _section_points(self):
        """Masses (g, 7) and offsets (g, 7, 3) of points with the mass matrices of the sections."""
        share = (self.start + self.pieces.x) / self.axis.length
        return section_points(self.pieces.weights[:, None, None] * self.sections.mass(share))

    def _summary(self) -> tuple[str, SummaryRows]:
        return (
            f'SpatialBeam of {self.length:.4g} m: {counted(self.size, "coordinate")}',
            [('stations', str(self.stations.size))],
        )


def section_frames(
    axis: AxisCurve | StraightAxis, sections: SectionMatrices, s: np.ndarray
) -> np.ndarray:
    """Rotations (m, 3, 3) of twisted sections at arc lengths s (m,), in the frame of the axis."""
    angle = sections.twist(s / axis.length)
    R = axis.frames(s)
    y, z = R[:, :, 1].copy(), R[:, :, 2].copy()
    c, d = np.cos(angle)[:, None], np.sin(angle)[:, None]
    R[:, :, 1], R[:, :, 2] = c * y + d * z, c * z - d * y
    return R


def section_points(mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Mass points of rigid sections: masses (g, 7) and offsets (g, 7, 3) with these mass matrices.

    A pair of points on either side of the centre of mass has the second moment along each
    principal axis; that may be negative, as of a section with a polar moment only.

    :param mass: (g, 6, 6), translation before rotation, about the axis [kg, kg m, kg m2].
    """
    total = mass[:, 0, 0]
    # the upper right block is -total c~
    centre = np.stack([mass[:, 1, 5], mass[:, 2, 3], mass[:, 0, 4]], axis=1) / total[:, None]
    inertia = mass[:, 3:, 3:]
    second = 0.5 * np.trace(inertia, axis1=1, axis2=2)[:, None, None] * np.eye(3) - inertia
    second = second - total[:, None, None] * centre[:, :, None] * centre[:, None, :]
    values, axes = np.linalg.eigh(second)
    distance = np.sqrt(np.abs(values) / total[:, None])
    halves = 0.5 * np.sign(values) * total[:, None]
    levers = np.swapaxes(axes, 1, 2) * distance[:, :, None]  # (g, axis, 3)
    offsets = np.concatenate([np.zeros((len(mass), 1, 3)), levers, -levers], axis=1)
    masses = np.concatenate([(total - 2 * halves.sum(axis=1))[:, None], halves, halves], axis=1)
    return masses, centre[:, None] + offsets


@dataclass(frozen=True, eq=False)
class _BeamFields:
    """Fields at the Gauss stations: first and second order, and their rates along the axis."""

    R: np.ndarray  # (g, 3, 3)
    p: np.ndarray  # (g, 3)
    theta: np.ndarray  # (g, n, 3)
    u: np.ndarray  # (g, n, 3)
    theta2: np.ndarray  # (g, n, n, 3)
    u2: np.ndarray  # (g, n, n, 3)
    theta_rate: np.ndarray
    u_rate: np.ndarray
    theta2_rate: np.ndarray
    u2_rate: np.ndarray


def first_order_fields(
    pieces: Pieces, R: np.ndarray, strains: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """
    Rotation and displacement (g, n, 3) by strains (g, 6, n), after their rates (T91).

    :param R: rotations of the undeformed sections, (g, 3, 3).
    """
    k = np.einsum('gab,gbn->gna', R, strains[:, 3:])
    g = np.einsum('gab,gbn->gna', R, strains[:, :3])
    theta = pieces.cumulative(k)
    u_rate = np.cross(theta, R[:, None, :, 0]) + g
    return k, u_rate, theta, pieces.cumulative(u_rate)


def _beam_fields(pieces, R, p, strains):
    k, u_rate, theta, u = first_order_fields(pieces, R, strains)
    t = R[:, None, None, :, 0]
    g = np.einsum('gab,gbn->gna', R, strains[:, :3])
    first, second = theta[:, :, None], theta[:, None]
    # derivatives by e_i and e_j: twice the symmetric parts of (T91)
    product = np.cross(first, k[:, None])
    theta2_rate = 0.5 * (product + np.swapaxes(product, 1, 2))
    theta2 = pieces.cumulative(theta2_rate)
    product = np.cross(first, np.cross(second, t)) + 2.0 * np.cross(first, g[:, None])
    u2_rate = np.cross(theta2, t) + 0.5 * (product + np.swapaxes(product, 1, 2))
    u2 = pieces.cumulative(u2_rate)
    return _BeamFields(R, p, theta, u, theta2, u2, k, u_rate, theta2_rate, u2_rate)
