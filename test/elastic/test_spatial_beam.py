"""Fields and shapes of spatial beams, against closed forms, straight beams and integration."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from flex_robot_sim.elastic import Load, Section, make_beam
from flex_robot_sim.elastic.axis_curve import AxisCurve
from flex_robot_sim.elastic.section_matrices import matrices_of_section
from flex_robot_sim.elastic.spatial_beam import section_points
from flex_robot_sim.elastic.spatial_shapes import cut_spatial_beam, make_spatial_beam

Y = np.array([0.0, 1.0, 0.0])
SECTION = Section(1.2, np.array([1e-3, 4e-4, 6e-4]), 120.0, 300.0, 80.0, 1e6, np.inf, np.inf)


def quarter_circle(radius, points):
    angle = np.linspace(0.0, np.pi / 2, points)
    return AxisCurve(
        radius * np.stack([np.sin(angle), 1.0 - np.cos(angle), 0.0 * angle], axis=1), Y
    )


def test_length_position_and_frame_of_an_axis_converge_to_those_of_a_circle():
    axis, s = quarter_circle(0.5, 33), np.array([0.1, 0.4])
    assert axis.length == pytest.approx(0.25 * np.pi, rel=1e-8)
    expected = 0.5 * np.stack([np.sin(2 * s), 1 - np.cos(2 * s), 0 * s], axis=1)
    assert np.abs(axis.positions(s) - expected).max() < 1e-7  # error h^4 / 384 of a spline
    R, tangents = axis.frames(s), np.stack([np.cos(2 * s), np.sin(2 * s), 0 * s], axis=1)
    assert np.abs(R[:, :, 0] - tangents).max() < 1e-5
    assert np.abs(R[:, :, 2] - [0, 0, 1]).max() < 1e-14
    assert axis.nearest(np.array([0.2, 0.3, 0.1])) == pytest.approx(0.5 * np.arctan(1.0), rel=1e-5)


def test_a_straight_uniform_spatial_beam_has_the_frequencies_of_a_beam():
    spatial = make_spatial_beam(
        AxisCurve(np.array([[0, 0, 0], [0.8, 0, 0]]), Y), matrices_of_section(SECTION, None), 12
    )
    beam = make_beam(0.8, SECTION, {'bending_y': 4, 'bending_z': 4, 'torsion': 2, 'stretch': 1})
    found, expected = (
        np.sort(np.sqrt(np.linalg.eigvals(np.linalg.solve(M, K)).real))[:4]
        for M, K in ((spatial.integrals.E0, spatial.stiffness), (beam.modal_mass, beam.stiffness))
    )
    # both are upper bounds by Ritz; four shapes in a plane give two frequencies to 1e-5
    assert found == pytest.approx(expected, rel=2e-5)


def test_deflections_of_a_quarter_circle_are_those_of_castigliano():
    R, EIz, EIy, GJ, EA = 0.5, 300.0, 120.0, 80.0, 1e6
    axis = quarter_circle(R, 17)
    beam = make_spatial_beam(axis, matrices_of_section(SECTION, None), 8)
    U = beam.at_end.U[:, 3:] @ axis.frames([0.0])[0].T
    compliance = U.T @ np.linalg.solve(beam.stiffness, U)
    stretch = np.pi * R / (4 * EA)
    expected = [
        R**3 * np.pi / 4 / EIz + stretch,
        R**3 * (3 * np.pi / 4 - 2) / EIz + stretch,
        R**3 * (np.pi / 4 / EIy + (3 * np.pi / 4 - 2) / GJ),
    ]
    # the spline through 17 points of the circle is 1e-6 off in its moments
    assert np.diag(compliance) == pytest.approx(expected, rel=1e-6)


def test_second_order_fields_leave_a_remainder_of_third_order():
    u = np.linspace(0.0, 1.0, 6)
    axis = AxisCurve(
        np.stack([0.5 * np.sin(1.2 * u), 0.5 * (1 - np.cos(1.2 * u)), 0.2 * u**2], axis=1),
        np.array([0.0, 0.3, 1.0]),
    )
    section = SECTION._replace(EA=1e5, kGAy=4e4, kGAz=3e4)
    matrices = matrices_of_section(section, None, [(0.0, 0.0), (1.0, 0.7)])
    beam = make_spatial_beam(axis, matrices, 8)
    direction = np.random.default_rng(0).normal(size=8) / np.sqrt(np.diag(beam.stiffness))

    def remainder(size):
        e, end = size * direction, beam.at_end
        move = e @ end.U + np.einsum('i,j,ija->a', e, e, end.Q) / 2
        turn, place = extrapolated_tip(beam, e)
        return np.abs(move - np.concatenate([turn, place - end.p])).max()

    assert remainder(0.4) < 1e-5
    assert remainder(0.4) / remainder(0.2) == pytest.approx(8.0, rel=0.05)


def extrapolated_tip(beam, e):
    """Turn and position of the end by products of rotations (T90), extrapolated from two steps."""
    (turn, place), (finer_turn, finer_place) = (tip_by_products(beam, e, n) for n in (300, 600))
    return (4 * finer_turn - turn) / 3, (4 * finer_place - place) / 3


def tip_by_products(beam, e, steps):
    h = beam.length / steps
    middles = h * (np.arange(steps) + 0.5)
    R0, strains = beam.rotation(middles), beam.pieces.at(beam.strains, middles) @ e
    halves = Rotation.from_rotvec(0.5 * h * np.einsum('kab,kb->ka', R0, strains[:, 3:]))
    A, p = np.eye(3), np.zeros(3)
    for half, R, strain in zip(halves.as_matrix(), R0, strains):
        p = p + h * A @ half @ R @ (np.eye(3)[0] + strain[:3])
        A = A @ half @ half
    return Rotation.from_matrix(A).as_rotvec(), p


def test_points_of_a_section_have_its_mass_matrix():
    rng = np.random.default_rng(3)
    r, m = rng.normal(size=(5, 3)), rng.uniform(0.1, 1.0, 5)
    hats = np.cross(np.eye(3)[None], r[:, None])  # rows: unit rotations times r
    rows = np.concatenate([np.tile(np.eye(3), (5, 1, 1)), hats], axis=1)
    expected = np.einsum('p,pia,pja->ij', m, rows, rows)
    masses, offsets = section_points(expected[None])
    rows = np.concatenate(
        [np.tile(np.eye(3), (7, 1, 1)), np.cross(np.eye(3)[None], offsets[0][:, None])], axis=1
    )
    found = np.einsum('p,pia,pja->ij', masses[0], rows, rows)
    assert np.abs(found - expected).max() < 1e-13 * np.abs(expected).max()


def test_a_segment_carries_the_rigid_rest_of_the_beam():
    load = Load(0.4, np.array([0.02, 0.01, -0.03]), np.diag([2e-3, 3e-3, 4e-3]))
    axis, matrices = quarter_circle(0.5, 5), matrices_of_section(SECTION, None)
    first, last = cut_spatial_beam(axis, matrices, 6, 2, load)
    assert last.start == first.length == pytest.approx(axis.length / 2)
    whole = make_spatial_beam(axis, matrices, 6, load)
    # the first segment, with a rigid rest, is stiffer than the whole beam
    lowest = [one.stiffness[0, 0] / one.integrals.E0[0, 0] for one in (first, whole)]
    assert lowest[0] > lowest[1] > 0.0
