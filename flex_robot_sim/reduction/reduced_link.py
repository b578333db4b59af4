"""
A link reduced from finite elements: what the equations of motion need, and what is drawn.

A material point X of the link is, with the elastic coordinates e, at

    r = X + Phi e + 1/2 sum_jk Q_jk e_j e_k          (1)

in the frame of the link, whose root interface is fixed. A coordinate is the largest displacement
of its shape. The first s coordinates are soft: their squares move points by the field Q, which is
orthogonal to the soft shapes with respect to stiffness. Integrals are over the mass:

    S0 = int X,  S1_i = int Phi_i,  S2_jk = int Q_jk                      first moments     (2)
    J0 + J1_i e_i + 1/2 J2_jk e_j e_k = int |r|^2 1 - r r^T, to second order in e           (3)
    h0_i = int X x Phi_i,  h1_ij = int Phi_j x Phi_i + X x Q_ij           angular momentum  (4)
    E0_ij = int Phi_i . Phi_j,  X_ijk = int Phi_i . Q_jk                                    (5)
    sum_r G_r,ij G_r,kl = int Q_ij . Q_kl, largest terms first                              (6)
    strain energy = 1/2 e^T K e + 1/3 C_ijk e_i e_j e_k                                     (7)

The frame of a station at the origin x moves with an interface, by its turn theta and its
displacement u in the frame of the link:

    (theta, u) = U e + 1/2 sum_jk Q_jk e_j e_k,  R = exp(theta),  r = x + u          (8)
"""

from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from flex_robot_sim.reduction.surface_point import SurfacePoint, nearest_point
from flex_robot_sim.util.read_only import make_read_only
from flex_robot_sim.util.summary import SummaryRows, counted, listed, numbers, summarized


def _array(*shape: str | int, dtype: type = float) -> Any:
    """Field of an array; letters stand for sizes that several arrays share."""
    return field(metadata={'shape': shape, 'dtype': dtype})


@summarized
@dataclass(frozen=True, eq=False, kw_only=True)
class ReducedLink:
    """A link with n elastic coordinates, s of them soft, and k stations; SI units."""

    link: str  # name in the URDF
    source: str  # name of the file with the geometry or the matrices
    source_hash: str  # SHA-256 of these files and of the options
    options: str  # of the reduction, as JSON
    mass: float
    S0: np.ndarray = _array(3)
    S1: np.ndarray = _array('n', 3)
    S2: np.ndarray = _array('s', 's', 3)
    J0: np.ndarray = _array(3, 3)
    J1: np.ndarray = _array('n', 3, 3)
    J2: np.ndarray = _array('n', 'n', 3, 3)
    h0: np.ndarray = _array('n', 3)
    h1: np.ndarray = _array('n', 'n', 3)
    E0: np.ndarray = _array('n', 'n')
    X: np.ndarray = _array('n', 's', 's')
    G: np.ndarray = _array('g', 's', 's')
    K: np.ndarray = _array('n', 'n')
    C: np.ndarray = _array('s', 's', 's')
    # natural frequencies with the root interface fixed [Hz]: of this model, of the mesh, and of
    # the mesh with interfaces of the other kind
    frequencies: np.ndarray = _array('n')
    mesh_frequencies: np.ndarray = _array('m')
    other_frequencies: np.ndarray = _array('o')
    station_names: tuple[str, ...]  # names of joints
    station_points: np.ndarray = _array('k', 3)  # x of (8)
    station_shapes: np.ndarray = _array('k', 6, 'n')  # U of (8)
    station_second: np.ndarray = _array('k', 's', 's', 6)  # Q of (8)
    surface_points: np.ndarray = _array('v', 3, dtype=np.float32)
    surface_triangles: np.ndarray = _array('t', 3, dtype=np.int32)
    surface_shapes: np.ndarray = _array('v', 3, 'n', dtype=np.float32)
    # components xx, yy, zz, xy, yz, zx of the strain tensor by coordinate [1/m]
    surface_strains: np.ndarray = _array('v', 6, 'n', dtype=np.float32)

    def __post_init__(self) -> None:
        make_read_only(self)

    @property
    def size(self) -> int:
        """Number of elastic coordinates n."""
        return len(self.K)

    @property
    def soft(self) -> int:
        """Number of soft coordinates s."""
        return len(self.S2)

    @property
    def centre(self) -> np.ndarray:
        """Centre of mass at e = 0 in the frame of the link, (3,) [m]."""
        return self.S0 / self.mass

    @property
    def inertia(self) -> np.ndarray:
        """Inertia at e = 0 about the centre of mass, in the axes of the link, (3, 3) [kg m2]."""
        c = self.centre
        return self.J0 - self.mass * (c @ c * np.eye(3) - np.outer(c, c))

    @property
    def has_strains(self) -> bool:
        """Whether it has strains of the surface; without tetrahedra it has none."""
        return bool(self.surface_triangles.size)

    def surface_point(self, place: np.ndarray) -> SurfacePoint:
        """Return the point of the surface that is nearest to a place (3,) [m]."""
        return nearest_point(self.surface_points, self.surface_triangles, place)

    def strain(self, place: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """
        Strain by coordinate at the nearest point of the surface, (n,) [1/m].

        :param place: in the frame of the link, (3,) [m].
        :param direction: of the strain; its component in the surface counts, (3,).
        """
        point = self.surface_point(place)
        tangent = direction - (direction @ point.normal) * point.normal
        x, y, z = tangent / np.sqrt(tangent @ tangent)
        components = np.array([x * x, y * y, z * z, 2 * x * y, 2 * y * z, 2 * z * x])
        strains = self.surface_strains[point.corners].astype(float)
        return np.einsum('c,cdn,d->n', point.weights, strains, components)

    def truncated(self, size: int) -> 'ReducedLink':
        """Return the link with its first `size` coordinates, those of the lowest frequencies."""
        kept = {'n': min(size, self.size), 's': min(size, self.soft)}
        return replace(
            self,
            **{
                item.name: getattr(self, item.name)[
                    tuple(slice(kept.get(letter)) for letter in item.metadata['shape'])
                ]
                for item in ARRAYS
            },
        )

    def _summary(self) -> tuple[str, SummaryRows]:
        return f'ReducedLink "{self.link}": {counted(self.size, "coordinate")}', [
            ('source', self.source),
            ('mass', f'{self.mass:.4g} kg'),
            ('frequencies [Hz]', numbers(self.frequencies)),
            ('soft coordinates', str(self.soft)),
            ('stations', listed(self.station_names)),
        ]


ARRAYS = tuple(item for item in fields(ReducedLink) if 'shape' in item.metadata)
