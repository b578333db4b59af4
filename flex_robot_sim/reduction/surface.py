"""Surface of a mesh: its triangles, and the strains at their corners."""

from typing import NamedTuple

import numpy as np

from flex_robot_sim.reduction.elasticity import Mesh, jacobians, shape_gradients

# faces of a tetrahedron, seen from outside counter-clockwise where its volume is positive
FACES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])


class Surface(NamedTuple):
    """Triangles between the corners of elements, v corners and t triangles."""

    nodes: np.ndarray  # (v,)    rows of nodes of the mesh
    triangles: np.ndarray  # (t, 3)  rows of `nodes`, counter-clockwise from outside
    elements: np.ndarray  # (t,)    elements of the triangles


def surface_of(mesh: Mesh) -> Surface:
    """Return the faces that belong to one element only."""
    corners = mesh.elements[:, :4]
    faces = corners[:, FACES].reshape(-1, 3)
    _, first, counts = np.unique(
        np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True
    )
    rows = np.sort(first[counts == 1])
    triangles, elements = faces[rows], rows // len(FACES)
    volumes = np.linalg.det(jacobians(mesh, mesh.elements[elements], np.full((1, 4), 0.25)))[:, 0]
    inverted = volumes < 0.0
    triangles[inverted] = triangles[inverted][:, ::-1]
    nodes, place = np.unique(triangles, return_inverse=True)
    return Surface(nodes, place.reshape(-1, 3), elements)


def surface_strains(mesh: Mesh, surface: Surface, fields: np.ndarray) -> np.ndarray:
    """
    Strains xx, yy, zz, xy, yz, zx at the corners of the surface by coordinate, (v, 6, n).

    They are means over the elements of the triangles around a corner.

    :param fields: displacements by coordinate, (N, 3, n).
    """
    rows = np.unique(surface.elements)
    elements, corners = mesh.elements[rows], np.eye(4)
    inverse = np.linalg.inv(jacobians(mesh, elements, corners))
    gradients = np.matmul(shape_gradients(corners), inverse)
    row_of_node = np.full(len(mesh.nodes), -1)
    row_of_node[surface.nodes] = np.arange(len(surface.nodes))
    sums = np.zeros((len(surface.nodes), 6, fields.shape[2]))
    counts = np.zeros(len(surface.nodes))
    for corner in range(4):
        slopes = np.einsum('kmai,kmb->kabi', fields[elements], gradients[:, corner], optimize=True)
        strains = (slopes + slopes.swapaxes(1, 2)) / 2
        target = row_of_node[elements[:, corner]]
        on_surface = target >= 0
        six = strains[on_surface][:, [0, 1, 2, 0, 1, 2], [0, 1, 2, 1, 2, 0]]
        np.add.at(sums, target[on_surface], six)
        np.add.at(counts, target[on_surface], 1.0)
    return sums / counts[:, None, None]
