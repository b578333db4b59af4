"""Boxes cut into quadratic tetrahedra."""

import numpy as np

from flex_robot_sim.reduction.elasticity import Mesh, with_edge_nodes

# six tetrahedra of a cube around its diagonal from corner 0 to corner 7; bits of a corner: x, y, z
CUBE = [[0, 1, 3, 7], [0, 3, 2, 7], [0, 2, 6, 7], [0, 6, 4, 7], [0, 4, 5, 7], [0, 5, 1, 7]]


def box_mesh(size, counts, origin=(0.0, 0.0, 0.0)):
    """Return a box of `size` [m] along x, y, z, cut into `counts` cubes along them."""
    nx, ny, nz = np.add(counts, 1)
    points = np.stack(np.meshgrid(*map(np.arange, (nx, ny, nz)), indexing='ij'), -1).reshape(-1, 3)
    cells = np.stack(np.meshgrid(*map(np.arange, counts), indexing='ij'), -1).reshape(-1, 3)
    corners = np.array([[i >> bit & 1 for bit in range(3)] for i in range(8)])
    number = cells[:, None] + corners
    number = (number[..., 0] * ny + number[..., 1]) * nz + number[..., 2]
    tets = number[:, CUBE].reshape(-1, 4)
    return Mesh(*with_edge_nodes(points / np.asarray(counts) * size + origin, tets))
