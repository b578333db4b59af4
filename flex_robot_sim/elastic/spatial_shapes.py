"""Discretisation of spatial beams: shapes under loads at the end, and natural modes."""

from functools import lru_cache
from math import ceil

import numpy as np
from numpy.polynomial import legendre

from flex_robot_sim.elastic.axis_curve import AxisCurve
from flex_robot_sim.elastic.beam import NO_LOAD, Load
from flex_robot_sim.elastic.pieces import Pieces
from flex_robot_sim.elastic.section_matrices import SectionMatrices
from flex_robot_sim.elastic.spatial_beam import (
    SpatialBeam,
    first_order_fields,
    section_frames,
    section_points,
)
from flex_robot_sim.util.eigenproblem import eigh

MIN_DEGREES = 4  # polynomials of each strain in a piece; more where there are few pieces
DEGREES_OF_BEAM = 12  # polynomials of each strain along a beam, and
DEGREES_PER_SHAPE = 2  # further ones for each coordinate
EXTRA_STATIONS = 8  # Gauss stations of a piece beyond its polynomials of strain
MIN_PIECE = 1e-9  # of a part of a beam: shorter pieces at its ends are rounding errors
MIN_STATIC_SHARE = 1e-10  # of the strain energy of loads that independent shapes have
MOMENT_STATIONS = 12  # Gauss stations of a piece, for its mass moments
SHAPES_OF_FREQUENCY = 8  # with which the first frequency is found
CACHE_SIZE = 32


def make_spatial_beam(
    axis: AxisCurve,
    sections: SectionMatrices,
    count: int,
    load: Load = NO_LOAD,
    start: float = 0.0,
    length: float | None = None,
    is_segment: bool = False,
) -> SpatialBeam:
    """
    Discretise a part of a spatial beam.

    The shapes are those under loads at the end and, beyond their number, natural modes of the free
    end; the `count` slowest combinations of these with the load are the coordinates.

    :param load: body at the end, in the frame of its section; it is not part of the beam.
    :param start: arc length of the root of the part on the axis [m]; length: of its arc [m].
    """
    return _make(
        axis,
        sections,
        count,
        (load.mass, tuple(load.centre), tuple(load.inertia.ravel())),
        start,
        axis.length - start if length is None else length,
        is_segment,
    )


def cut_spatial_beam(
    axis: AxisCurve, sections: SectionMatrices, count: int, segments: int, load: Load = NO_LOAD
) -> list[SpatialBeam]:
    """Equal segments, as of `make_spatial_beam`; the load of each has those beyond it."""
    length = axis.length / segments
    return [
        make_spatial_beam(
            axis,
            sections,
            count,
            _load_beyond(axis, sections, (i + 1) * length, load) if i + 1 < segments else load,
            i * length,
            length,
            segments > 1,
        )
        for i in range(segments)
    ]


def rigid_moments(
    axis: AxisCurve, sections: SectionMatrices, start: float
) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass, first moment and sum of m r r^T of a beam from `start` on, in the axes of its link."""
    pieces = Pieces(_breaks(axis, sections, start, axis.length - start), MOMENT_STATIONS)
    s = start + pieces.x
    weights = pieces.weights[:, None, None]
    mass, offsets = section_points(weights * sections.mass(s / axis.length))
    R = section_frames(axis, sections, s)
    r = axis.positions(s)[:, None] + np.einsum('gab,gpb->gpa', R, offsets)
    weighted = mass[..., None] * r
    return float(mass.sum()), weighted.sum(axis=(0, 1)), np.einsum('gpa,gpb->ab', weighted, r)


def _load_beyond(axis, sections, start, load):
    """Return the Load of the rigid rest of a beam from `start` on, with its load at the end."""
    ends = np.array([start, axis.length])
    p, R = axis.positions(ends), section_frames(axis, sections, ends)
    mass, first, second = rigid_moments(axis, sections, start)
    # the load, moved to the axes of the link
    centre = p[1] + R[1] @ load.centre
    own = 0.5 * np.trace(load.inertia) * np.eye(3) - load.inertia
    own = own - load.mass * np.outer(load.centre, load.centre)
    mass, first = mass + load.mass, first + load.mass * centre
    second = second + R[1] @ own @ R[1].T + load.mass * np.outer(centre, centre)
    # about the origin and in the axes of the section at `start`
    second = second - np.outer(first, p[0]) - np.outer(p[0], first) + mass * np.outer(p[0], p[0])
    first, second = R[0].T @ (first - mass * p[0]), R[0].T @ second @ R[0]
    return Load(mass, first / mass, np.trace(second) * np.eye(3) - second)


@lru_cache(maxsize=CACHE_SIZE)
def _make(axis, sections, count, load, start, length, is_segment):
    load = Load(load[0], np.array(load[1]), np.reshape(load[2], (3, 3)))
    breaks = _breaks(axis, sections, start, length)
    needed = DEGREES_OF_BEAM + DEGREES_PER_SHAPE * count
    degrees = max(MIN_DEGREES, ceil(needed / (len(breaks) - 1)))
    pieces = Pieces(breaks, degrees + EXTRA_STATIONS)
    strains = _strain_basis(pieces, degrees, sections.is_elastic)
    R = section_frames(axis, sections, start + pieces.x)
    share = (start + pieces.x) / axis.length
    K = _weighted(strains, pieces.weights[:, None, None] * sections.stiffness(share))
    _, u_rate, theta, u = first_order_fields(pieces, R, strains)
    M = _weighted(_in_sections(R, u, theta), pieces.weights[:, None, None] * sections.mass(share))
    end = np.array([length])
    end_u = pieces.up_to(u_rate, end)
    end_theta = pieces.up_to(np.einsum('gab,gbn->gna', R, strains[:, 3:]), end)
    end_R = section_frames(axis, sections, start + end)
    tip = _in_sections(end_R, end_u, end_theta)[0]
    shapes = _shapes(K, M, M + tip.T @ _load_mass(load) @ tip, tip, count)
    fields = np.concatenate([np.einsum('gna,nk->gak', values, shapes) for values in (u, theta)])
    shapes = shapes / _largest(fields[: len(u)], fields[len(u) :], length)
    stiffness = np.diag(np.einsum('ij,ij->j', shapes, K @ shapes))
    return SpatialBeam(
        axis,
        start,
        length,
        sections,
        tuple(f'mode_{k}' for k in range(1, shapes.shape[1] + 1)),
        stiffness,
        pieces,
        strains @ shapes,
        is_segment,
    )


def _breaks(axis, sections, start, length):
    """Ends of the smooth pieces of a part of a beam, from its root at 0 [m]."""
    places = np.union1d(axis.breaks, sections.breaks * axis.length) - start
    margin = MIN_PIECE * length
    inside = places[(places > margin) & (places < length - margin)]
    # knots and ends of sections at one place differ by rounding
    inside = inside[np.diff(inside, prepend=-1.0) > margin]
    return np.concatenate([[0.0], inside, [length]])


def _strain_basis(pieces, degrees, is_elastic):
    """Legendre polynomials of the elastic strains in each piece, (g, 6, N)."""
    number, elastic = len(pieces.breaks) - 1, np.flatnonzero(is_elastic)
    nodes, _ = legendre.leggauss(pieces.count)
    values = legendre.legvander(nodes, degrees - 1)
    out = np.zeros((number, pieces.count, 6, number, len(elastic), degrees))
    for piece in range(number):
        for column, strain in enumerate(elastic):
            out[piece, :, strain, piece, column] = values
    return out.reshape(number * pieces.count, 6, -1)


def _in_sections(R, u, theta):
    """Translations and rotations (g, 6, N) in the axes of the sections, from fields (g, N, 3)."""
    return np.concatenate(
        [np.einsum('gab,gna->gbn', R, u), np.einsum('gab,gna->gbn', R, theta)], axis=1
    )


def _weighted(rows, weights):
    """Sum over g of rows^T weights rows, (N, N), for rows (g, 6, N) and weights (g, 6, 6)."""
    product = (weights @ rows).reshape(-1, rows.shape[2])
    return rows.reshape(-1, rows.shape[2]).T @ product


def _load_mass(load):
    """Inertia (6, 6) of a load about its frame, translation before rotation."""
    x, y, z = load.mass * load.centre
    first = np.array([[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]])  # v . (w x m c)
    return np.block([[load.mass * np.eye(3), first], [first.T, load.inertia]])


def _shapes(K, M, loaded, tip, count):
    """Columns (N, count) that are orthogonal in stiffness and in inertia with the load."""
    static = np.linalg.solve(K, tip.T)
    energy = np.einsum('ij,ij->j', static, K @ static)
    static = static[:, energy > MIN_STATIC_SHARE**2 * energy.max()]
    static = static / np.sqrt(np.einsum('ij,ij->j', static, K @ static))
    values, mix = np.linalg.eigh(static.T @ K @ static)
    mix = mix[:, values > MIN_STATIC_SHARE]
    static = static @ mix / np.sqrt(values[values > MIN_STATIC_SHARE])
    extra = max(count - static.shape[1], 0)
    if extra:
        _, modes = eigh(M, K)
        static = np.hstack([static, modes[:, ::-1][:, :extra]])
    # the inverse problem is never singular, and its slow modes are the most accurate
    squares, vectors = eigh(static.T @ loaded @ static, static.T @ K @ static)
    assert (squares > 0.0).all()
    return static @ vectors[:, : -count - 1 : -1]


def _largest(u, theta, length):
    """Signed largest displacement of each shape (k,) [m]; of pure torsion, largest turn [rad]."""
    out = np.empty(u.shape[2])
    for k in range(len(out)):
        is_torsion = np.abs(u[:, :, k]).max() < 1e-6 * length * np.abs(theta[:, :, k]).max()
        values = (theta if is_torsion else u)[:, :, k]
        out[k] = values.flat[np.argmax(np.abs(values))]
    return out


def first_spatial_frequency(axis: AxisCurve, sections: SectionMatrices) -> float:
    """Return the first natural frequency of a spatial beam that is clamped at its root [Hz]."""
    beam = make_spatial_beam(axis, sections, SHAPES_OF_FREQUENCY)
    inertia = beam.integrals.E0
    return float(np.sqrt(eigh(beam.stiffness, inertia)[0][0]) / (2.0 * np.pi))
