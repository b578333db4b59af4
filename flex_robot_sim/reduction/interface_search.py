"""
Nodes that a joint holds: found on the surface of a mesh, near the frame of the joint.

The surface is divided into smooth patches. A flat patch whose plane contains the origin of the
joint is a flange; a cylindrical patch around its axis is a bore or a shaft. The interface is the
nearest one, or, if there is none, the nearest part of the surface.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from flex_robot_sim.reduction.elasticity import EDGES, Mesh
from flex_robot_sim.reduction.supports import Interface, ReductionError
from flex_robot_sim.reduction.surface import Surface, surface_of

SHARP = np.cos(np.radians(30.0))  # cosine of the angle at an edge between two patches
FLAT = np.cos(np.radians(5.0))  # cosine of the angle between normals of a flat patch
ACROSS = np.sin(np.radians(10.0))  # sine of the angle between normals and the plane of a circle
ROUND = 0.1  # deviation of the radius of a cylinder, over the radius
NEAR = 0.02  # distance of a joint from a flat patch, over the size of the link
FAR = 0.5  # distance of a joint from an interface, over the size of the link
COMPACT = 0.3  # distance from a joint to the centre of a patch, over that to its farthest node
SMALL = 0.05  # radius around a joint at the border of a patch, over the size of the link
MIN_NODES = 8  # of a part of a patch
HEIGHT = 10.0  # weight of the distance from a plane
PREFERENCE = 1.01  # of flat patches to cylinders at the same distance
SAME = 1e-9  # difference of distances, over the size of the link


class JointFrame(NamedTuple):
    """Frame of a joint in the frame of the link."""

    name: str
    origin: np.ndarray  # (3,)  [m]
    axis: np.ndarray  # (3,)  unit vector


class FoundInterface(NamedTuple):
    """An interface, and how it was found."""

    interface: Interface
    shape: str  # 'flat face', 'cylinder', 'nearest surface' or 'nodes in a cylinder'
    radius: float  # largest distance of its nodes from the axis of the joint   [m]
    depth: float  # largest distance of its nodes from the origin along the axis [m]

    @property
    def summary(self) -> str:
        """Return the interface as text."""
        return (
            f'{self.interface.name}: {self.shape}, {len(self.interface.nodes)} nodes within '
            f'{round(self.radius, 6):.4g} m of the axis and '
            f'{round(self.depth, 6):.4g} m of the origin'
        )


class Patches(NamedTuple):
    """Smooth patches of a surface."""

    normals: np.ndarray  # (t, 3)  of the triangles
    areas: np.ndarray  # (t,)
    of_triangle: np.ndarray  # (t,)  patch
    size: int  # number of patches


def patches_of(mesh: Mesh, surface: Surface) -> Patches:
    """Divide a surface along its sharp edges."""
    a, b, c = mesh.nodes[surface.nodes[surface.triangles]].transpose(1, 0, 2)
    normals = np.cross(b - a, c - a)
    areas = np.linalg.norm(normals, axis=1)
    normals /= np.maximum(areas, np.finfo(float).tiny)[:, None]
    sides = np.sort(surface.triangles[:, [[0, 1], [1, 2], [2, 0]]], axis=2).reshape(-1, 2)
    order = np.lexsort(sides.T)
    owner = order // 3
    same = np.flatnonzero((sides[order][1:] == sides[order][:-1]).all(axis=1))
    first, second = owner[same], owner[same + 1]
    smooth = np.sum(normals[first] * normals[second], axis=1) > SHARP
    count = len(areas)
    pairs = first[smooth], second[smooth]
    graph = sparse.coo_matrix((np.ones(len(pairs[0]), np.int8), pairs), (count, count))
    number, of_triangle = csgraph.connected_components(graph, directed=False)
    return Patches(normals, areas / 2, of_triangle, number)


def find_interfaces(
    mesh: Mesh,
    joints: Sequence[JointFrame],
    radius: float | None = None,
    depth: float | None = None,
) -> list[FoundInterface]:
    """
    Return the interfaces of joints; ReductionError if one has no nodes.

    :param radius: take all nodes within it of the axis of a joint [m]; None: find a patch.
    :param depth: distance of these nodes from the origin along the axis [m]; None: the radius.
    """
    if not radius and not len(mesh.elements):
        raise ReductionError(
            'the model has no tetrahedra on whose surface interfaces could be found. Choose '
            '--radius and --depth'
        )
    surface = None if radius else surface_of(mesh)
    patches = None if surface is None else patches_of(mesh, surface)
    found: list[FoundInterface] = []
    for joint in joints:
        if surface is not None and patches is not None:
            nodes, shape = _nearest_patch(mesh, surface, patches, joint)
            if depth:
                nodes = nodes[np.abs((mesh.nodes[nodes] - joint.origin) @ joint.axis) <= depth]
        else:
            along, off = _distances(mesh.nodes, joint)
            nodes = np.flatnonzero((off <= radius) & (np.abs(along) <= (depth or radius)))
            shape = 'nodes in a cylinder'
        if not len(nodes):
            nearest = np.linalg.norm(mesh.nodes - joint.origin, axis=1).min()
            raise ReductionError(
                f'joint "{joint.name}" at {_text(joint.origin)} m has no nodes: the mesh is '
                f'{nearest:.3g} m away at the nearest. Check --unit and --pose, or choose '
                '--radius and --depth'
            )
        along, off = _distances(mesh.nodes[nodes], joint)
        interface = Interface(joint.name, joint.origin, nodes)
        found.append(FoundInterface(interface, shape, off.max(), np.abs(along).max()))
    return found


def _text(vector):
    return ', '.join(f'{value:.4g}' for value in vector)


def _distances(points, joint):
    """Return the places of points along the axis of a joint, and their distances from it."""
    arms = points - joint.origin
    along = arms @ joint.axis
    return along, np.linalg.norm(arms - along[:, None] * joint.axis, axis=1)


def _nearest_patch(mesh, surface, patches, joint):
    """Nodes of the patch that a joint holds, and its shape; no nodes if none is near."""
    size = np.linalg.norm(np.ptp(mesh.nodes, axis=0))
    nearest, chosen, shape = FAR * size, np.empty(0, int), ''
    for patch in range(patches.size):
        rows = np.flatnonzero(patches.of_triangle == patch)
        points = mesh.nodes[surface.nodes[np.unique(surface.triangles[rows])]]
        if _is_flat(patches, rows):
            distance, kind = (
                _from_plane(points, patches.normals[rows[0]], joint, size),
                'flat face',
            )
        else:
            distance, kind = _from_cylinder(points, patches.normals[rows], joint), 'cylinder'
        if distance < nearest - SAME * size:
            nearest, chosen, shape = distance, rows, kind
    if not len(chosen):
        return _nearest_nodes(mesh, surface, joint, size)
    nodes = face_nodes(mesh, surface, chosen)
    if shape == 'flat face':
        rest = np.ones(len(surface.triangles), bool)
        rest[chosen] = False
        border = np.intersect1d(nodes, face_nodes(mesh, surface, np.flatnonzero(rest)))
        nodes = _around(mesh.nodes, nodes, border, joint, size)
    return nodes, shape


def _nearest_nodes(mesh, surface, joint, size):
    """Nodes of the surface around its nearest point, if that is near."""
    nodes = face_nodes(mesh, surface, np.arange(len(surface.triangles)))
    distances = np.linalg.norm(mesh.nodes[nodes] - joint.origin, axis=1)
    if distances.min() > SMALL * size:
        return np.empty(0, int), ''
    return nodes[distances <= distances.min() + SMALL * size], 'nearest surface'


def _is_flat(patches, rows):
    normal = patches.areas[rows] @ patches.normals[rows]
    normal /= np.linalg.norm(normal) or 1.0
    return (patches.normals[rows] @ normal).min() > FLAT


def _from_plane(points, normal, joint, size):
    """Distance of a joint from a flat patch; inf if the joint is not in its plane."""
    arms = points - joint.origin
    height = np.abs(arms @ normal).max()
    if height > NEAR * size:
        return np.inf
    return np.linalg.norm(arms, axis=1).min() + HEIGHT * height


def _from_cylinder(points, normals, joint):
    """Distance of a joint from a patch; inf if the patch is no cylinder around its axis."""
    along, off = _distances(points, joint)
    radius = off.mean()
    if np.abs(normals @ joint.axis).max() > ACROSS or np.ptp(off) > ROUND * radius:
        return np.inf
    return PREFERENCE * np.hypot(radius, max(along.min(), -along.max(), 0.0))


def _around(points, nodes, border, joint, size):
    """Return the nodes of a flat patch around a joint; all of them if it is in their middle."""
    arms = points[nodes] - joint.origin
    distances = np.linalg.norm(arms, axis=1)
    if np.linalg.norm(arms.mean(axis=0)) <= COMPACT * distances.max():
        return nodes
    to_border = np.linalg.norm(points[border] - joint.origin, axis=1).min()
    radius = max(2 * to_border, SMALL * size, np.sort(distances)[:MIN_NODES][-1])
    return nodes[distances <= radius]


def face_nodes(mesh: Mesh, surface: Surface, triangles: np.ndarray) -> np.ndarray:
    """Nodes of faces of elements, with those on their edges, sorted."""
    corners = surface.nodes[surface.triangles[triangles]]
    elements = mesh.elements[surface.elements[triangles]]
    is_corner = (elements[:, :4, None] == corners[:, None, :]).any(axis=2)
    # an edge belongs to the face if both of its ends do
    on_edge = is_corner[:, EDGES].all(axis=2)
    return np.unique(elements[np.hstack([is_corner, on_edge])])
