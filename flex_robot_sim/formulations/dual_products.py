"""
Products of dual vectors and screws in compiled loops, on rows instead of matrices.

Rows are those of dual_compiled.py; equation numbers are those of dual_numbers.py.
"""

from flex_robot_sim.jit.compiled import compiled


@compiled
def copy_rows(rows, out):
    """Copy rows; a slice would cost Numba seconds to compile, because of its error messages."""
    for a in range(rows.shape[0]):
        for b in range(rows.shape[1]):
            out[a, b] = rows[a, b]


@compiled
def clear(row):
    """Set a row to zero."""
    for c in range(row.size):
        row[c] = 0.0


@compiled
def is_any_nonzero(rows):
    """Whether any entry of the rows is not zero."""
    is_nonzero = False
    for a in range(rows.shape[0]):
        for b in range(rows.shape[1]):
            is_nonzero |= rows[a, b] != 0.0
    return is_nonzero


@compiled
def dot(a, b):
    """Product of two rows (12,)."""
    total = 0.0
    for c in range(12):
        total += a[c] * b[c]
    return total


@compiled
def move_screw(p, screw):
    """Move a dual screw (12,) to a point at p (3,): U(-p) of (60)."""
    add_cross(-1.0, p, screw[0:3], screw[6:9])
    add_cross(-1.0, p, screw[3:6], screw[9:12])


@compiled
def add_cross(scale, a, b, out):
    """Add `scale` times the cross product of a and b (3,)."""
    out[0] += scale * (a[1] * b[2] - a[2] * b[1])
    out[1] += scale * (a[2] * b[0] - a[0] * b[2])
    out[2] += scale * (a[0] * b[1] - a[1] * b[0])


@compiled
def add_dual_cross(a, b, out):
    """Add the product [a]^ b of dual vectors (6,) (13)."""
    add_cross(1.0, a[:3], b[:3], out[:3])
    add_cross(1.0, a[:3], b[3:], out[3:])
    add_cross(1.0, a[3:], b[:3], out[3:])


@compiled
def add_gyroscopic_product(point, momentum, out):
    """Add W (103) times a half (6,) of a momentum D t; W = [w, dw; 0, w]."""
    add_cross(1.0, point[0:3], momentum[0:3], out[0:3])
    add_cross(1.0, point[3:6], momentum[3:6], out[0:3])
    add_cross(1.0, point[0:3], momentum[3:6], out[3:6])


@compiled
def merge_halves(rows):
    """Add the dual parts of screws (k, 12) to their real parts, and set the dual parts to zero."""
    for k in range(rows.shape[0]):
        for half in range(0, 12, 6):
            for c in range(3):
                rows[k, half + c] += rows[k, half + 3 + c]
                rows[k, half + 3 + c] = 0.0


@compiled
def add_small_rotation(theta, row, out):
    """Add to `out` the change of a dual screw (12,) by a frame rotation 1 - [theta] (62)."""
    add_cross(-1.0, theta, row[0:3], out[3:6])
    add_cross(-1.0, theta, row[6:9], out[9:12])


@compiled
def transform_to_frame(p, rotation, row):
    """Transform a dual screw (12,) to a frame with the origin p and a rotation (3, 3) (65)."""
    move_screw(p, row)
    for half in range(0, 12, 3):
        x, y, z = row[half], row[half + 1], row[half + 2]
        for c in range(3):
            row[half + c] = rotation[0, c] * x + rotation[1, c] * y + rotation[2, c] * z
