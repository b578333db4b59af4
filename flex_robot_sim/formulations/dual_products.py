"""
Products of dual vectors and screws in compiled loops, on rows instead of matrices.

Rows are those of dual_compiled.py; equation numbers are those of dual_numbers.py.
"""

from flex_robot_sim.jit.compiled import compiled


@compiled
def copy_rows(rows, out):
    """Copy rows: Numba takes seconds for a slice, whose error it gets ready to word."""
    for a in range(rows.shape[0]):
        for b in range(rows.shape[1]):
            out[a, b] = rows[a, b]


@compiled
def clear(row):
    """Set a row to zero."""
    for c in range(row.size):
        row[c] = 0.0


@compiled
def is_any(rows):
    """Whether rows are not all zero."""
    found = False
    for a in range(rows.shape[0]):
        for b in range(rows.shape[1]):
            found |= rows[a, b] != 0.0
    return found


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
def add_cross(share, a, b, out):
    """Add `share` of the vector product of a and b (3,)."""
    out[0] += share * (a[1] * b[2] - a[2] * b[1])
    out[1] += share * (a[2] * b[0] - a[0] * b[2])
    out[2] += share * (a[0] * b[1] - a[1] * b[0])


@compiled
def add_dual_cross(a, b, out):
    """Add the product [a]^ b of dual vectors (6,) (13)."""
    add_cross(1.0, a[:3], b[:3], out[:3])
    add_cross(1.0, a[:3], b[3:], out[3:])
    add_cross(1.0, a[3:], b[:3], out[3:])


@compiled
def add_turned(point, momentum, out):
    """Add W (103) times a half (6,) of what D made: [w, dw; 0, w]."""
    add_cross(1.0, point[0:3], momentum[0:3], out[0:3])
    add_cross(1.0, point[3:6], momentum[3:6], out[0:3])
    add_cross(1.0, point[0:3], momentum[3:6], out[3:6])


@compiled
def join_halves(rows):
    """Make dual screws (k, 12) plain ones: the sum of both halves is real, the dual half zero."""
    for k in range(rows.shape[0]):
        for half in range(0, 12, 6):
            for c in range(3):
                rows[k, half + c] += rows[k, half + 3 + c]
                rows[k, half + 3 + c] = 0.0


@compiled
def add_small_turn(theta, row, out):
    """Add to `out` what a turn by 1 - [theta] of the frame changes of a dual screw (12,) (62)."""
    add_cross(-1.0, theta, row[0:3], out[3:6])
    add_cross(-1.0, theta, row[6:9], out[9:12])


@compiled
def take_to_frame(p, turn, row):
    """Take a dual screw (12,) to a frame with its origin at p and the rotation `turn` (65)."""
    move_screw(p, row)
    for half in range(0, 12, 3):
        x, y, z = row[half], row[half + 1], row[half + 2]
        for c in range(3):
            row[half + c] = turn[0, c] * x + turn[1, c] * y + turn[2, c] * z
