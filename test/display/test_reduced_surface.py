"""Drawn surfaces of reduced links: deformation, colours, number of triangles, markers."""

import numpy as np
import pytest
from box_meshes import box_mesh
from reduced_bar import HEIGHT, LENGTH, WIDTH, write_bar

import flex_robot_sim as frs
from flex_robot_sim.display.bending import FULL_COLOUR_DEFLECTION, BendingShape
from flex_robot_sim.display.reduced_surface import link_surfaces, simplified
from flex_robot_sim.reduction.surface import surface_of


@pytest.fixture(scope='module')
def arm(tmp_path_factory):
    return frs.load(write_bar(tmp_path_factory.mktemp('bar')))


def bent_by_a_force(arm, axis, deflection):
    """Return the coordinates of the arm under a force at the tip along an axis."""
    (beam,) = arm.beams.values()
    U = beam.at_end.U[:, 3 + 'xyz'.index(axis)]
    e = np.linalg.solve(beam.stiffness, U)
    q = np.zeros(arm.nq)
    q[arm.elastic_q] = e * deflection / (U @ e)
    return q


def test_the_surface_bends_as_a_cantilever(arm):
    (surface,) = link_surfaces(arm)
    assert surface.deformed(np.zeros(arm.nq)) == pytest.approx(surface.points)
    moved = surface.deformed(bent_by_a_force(arm, 'z', 0.01)) - surface.points
    share = surface.points[:, 0] / LENGTH
    # cubic line of a force at the end
    assert moved[:, 2] == pytest.approx(0.01 * share**2 * (3 - share) / 2, abs=1e-4)


def test_full_colour_is_that_of_a_deflection_by_a_tenth_of_the_length(arm):
    (surface,) = link_surfaces(arm)
    load = surface.load(bent_by_a_force(arm, 'z', FULL_COLOUR_DEFLECTION * LENGTH))
    assert 0.8 < load.max() <= 1.0
    # strain of the surface at the root, by 3 w h / 2 L^2, in the softer direction
    assert surface.full_scale == pytest.approx(1.5 * FULL_COLOUR_DEFLECTION * HEIGHT, rel=0.05)
    centres = surface.points[surface.triangles].mean(axis=1)
    is_outside = np.abs(centres[:, 2]) > 0.49 * HEIGHT
    near, far = ((np.abs(centres[:, 0] - x) < 0.06) & is_outside for x in (0.3, 0.8))
    assert load[near].mean() / load[far].mean() == pytest.approx(0.7 / 0.2, rel=0.15)
    assert link_surfaces(arm, 1e-3)[0].full_scale == 1e-3


def test_a_large_surface_is_drawn_by_fewer_triangles():
    surface = surface_of(box_mesh((LENGTH, WIDTH, HEIGHT), (60, 6, 6)))
    points = box_mesh((LENGTH, WIDTH, HEIGHT), (60, 6, 6)).nodes[surface.nodes]
    rows, triangles = simplified(points, surface.triangles, 1000)
    assert 200 < len(triangles) <= 1000
    assert np.ptp(points[rows], axis=0) == pytest.approx(np.ptp(points, axis=0), rel=0.2)
    assert 0 <= triangles.min() and triangles.max() < len(rows)
    rows, triangles = simplified(points, surface.triangles, 10**6)
    assert np.array_equal(rows[triangles], surface.triangles)


def test_pieces_leave_out_links_with_a_surface(arm):
    shape = BendingShape(arm, skipped={'arm'})
    assert shape.links == () and len(shape.bent(np.zeros(arm.nq)).position) == 0
    assert len(BendingShape(arm).bent(np.zeros(arm.nq)).position) == 20
