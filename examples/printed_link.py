"""Draw the upper arm of the shipped robot printed_arm, an I-beam with windows, as an STL file."""

import sys

import numpy as np

# lines of a grid [m], and boxes of its cells that are solid: an end block, flanges and webs
x = np.array([0, 8, 60, 84, 136, 160, 212, 236, 288, 300]) * 1e-3
y = np.array([-12, -3, 3, 12]) * 1e-3
z = np.array([-16, -10, 10, 16]) * 1e-3
solid = np.zeros((len(x) + 1, len(y) + 1, len(z) + 1), bool)  # with a border of empty cells
solid[1:-1, 1:-1, [1, 3]] = True  # flanges
solid[[1, 3, 5, 7, 9], 2, 2] = True  # webs; windows between them
solid[[1, 9], 1:-1, 2] = True  # end blocks

grid = x, y, z
triangles = []
for axis in range(3):
    across = [(axis + 1) % 3, (axis + 2) % 3]
    change = np.diff(solid.astype(int), axis=axis)  # -1: leaves a solid cell along the axis
    for cell in np.argwhere(change):
        # corners of the face between this cell and the next one
        low = [grid[k][cell[k] - 1] for k in across]
        high = [grid[k][cell[k]] for k in across]
        corners = np.full((4, 3), grid[axis][cell[axis]])
        corners[:, across] = [low, (high[0], low[1]), high, (low[0], high[1])]
        if change[tuple(cell)] > 0:
            corners = corners[::-1]  # the normal leaves the solid
        triangles += [corners[[0, 1, 2]], corners[[0, 2, 3]]]

record = np.zeros(len(triangles), [('normal', '<f4', 3), ('corners', '<f4', (3, 3)), ('', '<u2')])
record['corners'] = triangles
edges = np.diff(np.array(triangles), axis=1)
normals = np.cross(edges[:, 0], edges[:, 1])
record['normal'] = normals / np.linalg.norm(normals, axis=1, keepdims=True)
volume = np.einsum('ia,ia->', np.array(triangles)[:, 0], normals) / 6
with open(sys.argv[1] if len(sys.argv) > 1 else 'printed_link.stl', 'wb') as file:
    file.write(b'upper arm of printed_arm [m]'.ljust(80) + np.uint32(len(record)).tobytes())
    file.write(record.tobytes())
print(f'{len(record)} triangles, {1e6 * volume:.3f} cm3')
