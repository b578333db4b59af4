"""Triangle meshes are closed: their volume, by the divergence theorem, is that of the shape."""

import numpy as np
import pytest

from flex_robot_sim.viewer.geometry import box, cylinder, sphere

pytestmark = pytest.mark.slow


def volume(triangles):
    vertices, faces = triangles
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    return np.einsum('ka,ka->', a, np.cross(b, c)) / 6


def open_edges(faces):
    """Return the edges that do not occur once in each direction."""
    edges = [(face[k], face[(k + 1) % 3]) for face in faces.tolist() for k in range(3)]
    return {edge for edge in edges if edges.count(edge[::-1]) != 1 and edge[0] != edge[1]}


def test_a_box_has_its_volume_and_points_outwards():
    shape = box(np.array([0.2, 0.3, 0.5]))
    assert volume(shape) == pytest.approx(0.03, rel=1e-12)
    assert open_edges(shape[1]) == set()


def test_a_cylinder_is_a_prism_over_a_regular_polygon():
    n = 20
    shape = cylinder(0.1, 0.7, n)
    area = n / 2 * 0.1**2 * np.sin(2 * np.pi / n)
    assert volume(shape) == pytest.approx(0.7 * area, rel=1e-12)
    assert open_edges(shape[1]) == set()


def test_a_fine_sphere_mesh_has_nearly_the_volume_of_a_sphere():
    # the triangles lie inside the sphere by the square of half the angle between corners
    assert volume(sphere(0.3, 200)) == pytest.approx(4 / 3 * np.pi * 0.3**3, rel=1e-3)
    assert np.allclose(np.linalg.norm(sphere(0.3)[0], axis=1), 0.3)
