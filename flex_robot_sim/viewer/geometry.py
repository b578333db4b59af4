"""Triangle meshes of the geometric primitives of URDF."""

import numpy as np

Triangles = tuple[np.ndarray, np.ndarray]  # vertices (k, 3) [m], faces (f, 3)
SEGMENTS = 20  # of a circle


def box(size: np.ndarray) -> Triangles:
    """Return a box of `size` (3,) [m] about the origin."""
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
    faces = [
        (0, 1, 3),
        (0, 3, 2),
        (4, 6, 7),
        (4, 7, 5),
        (0, 4, 5),
        (0, 5, 1),
        (2, 3, 7),
        (2, 7, 6),
        (0, 2, 6),
        (0, 6, 4),
        (1, 5, 7),
        (1, 7, 3),
    ]
    return corners * np.asarray(size) / 2, np.array(faces)


def cylinder(radius: float, length: float, segments: int = SEGMENTS) -> Triangles:
    """Return a cylinder about the z axis and about the origin."""
    angle = 2 * np.pi * np.arange(segments) / segments
    ring = radius * np.column_stack([np.cos(angle), np.sin(angle)])
    ends = [np.column_stack([ring, np.full(segments, z)]) for z in (-length / 2, length / 2)]
    k = np.arange(segments)
    following, low, high = (k + 1) % segments, 2 * segments, 2 * segments + 1
    faces = [
        np.column_stack([k, following, following + segments]),
        np.column_stack([k, following + segments, k + segments]),
        np.column_stack([following, k, np.full(segments, low)]),
        np.column_stack([k + segments, following + segments, np.full(segments, high)]),
    ]
    middles = [[0.0, 0.0, -length / 2], [0.0, 0.0, length / 2]]
    return np.vstack([*ends, middles]), np.vstack(faces)


def sphere(radius: float, segments: int = SEGMENTS) -> Triangles:
    """Return a sphere about the origin."""
    rows = segments // 2
    polar, angle = np.meshgrid(
        np.pi * np.arange(rows + 1) / rows,
        2 * np.pi * np.arange(segments) / segments,
        indexing='ij',
    )
    vertices = radius * np.stack(
        [np.sin(polar) * np.cos(angle), np.sin(polar) * np.sin(angle), np.cos(polar)], axis=-1
    ).reshape(-1, 3)
    row, k = (
        grid.ravel() for grid in np.meshgrid(np.arange(rows), np.arange(segments), indexing='ij')
    )
    current, next_point = row * segments + k, row * segments + (k + 1) % segments
    faces = np.vstack(
        [
            np.column_stack([current, current + segments, next_point + segments]),
            np.column_stack([current, next_point + segments, next_point]),
        ]
    )
    return vertices, faces


UNIT_BOX, CYLINDER = box(np.ones(3)), cylinder(0.5, 1.0)
