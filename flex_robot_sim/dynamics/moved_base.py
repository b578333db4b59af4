"""
A moved base: its motion is prescribed, as that of a ship or a vehicle that carries an arm.

The base has the pose (root_R, root_p) in the world, the twist V0 in its own axes, and the rate dV0
of this twist. Body i on it moves with Ad V0, and its acceleration begins with

    Ad (dV0 + (0, R^T a)),                                                                   (T115)

where a is the acceleration of the base that is equivalent to gravity. Within a step, dV0 is the
mean, (V0' - V0) / h, and the base moves by the screw h (V0 + V0') / 2: by half of it at the
middle, as coordinates do. At the end of the step it is put on its motion; the change of energy is
work of the base.
"""

from numpy import sqrt

from flex_robot_sim.dynamics.free_base import set_rotation_of
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.spatial.screws import set_copy, set_pose

POSE, TWIST, RATE, COLUMNS = 0, 7, 13, 19  # first columns of a sample of the motion


@compiled
def place_base(sample, work):
    """
    Put the base on a sample of its motion, at an instant between two steps.

    :param sample: (19,), position [m], quaternion x y z w, twist in the axes of the base, and the
        rate of the twist.
    """
    work.base_moves[0] = 1.0
    set_rotation_of(sample[3], sample[4], sample[5], sample[6], work.root_R)
    for r in range(3):
        work.root_p[r] = sample[r]
    for r in range(6):
        work.root_V[r], work.root_rate[r] = sample[TWIST + r], sample[RATE + r]
    begin_substep_of_base(work)


@compiled
def set_mean_rate(h, start, end, work):
    """Set the mean rate of the twist in a step h [s] between two samples (19,)."""
    for r in range(6):
        work.root_rate[r] = (end[TWIST + r] - start[TWIST + r]) / h


@compiled
def begin_substep_of_base(work):
    """Begin a substep at the present pose and twist of the base."""
    set_copy(work.root_p, work.start_p)
    set_copy(work.root_V, work.start_V)
    for r in range(3):
        set_copy(work.root_R[r], work.start_R[r])


@compiled
def move_base(share, h, work):
    """Set pose and twist of the base after a share of a substep of length h [s]."""
    screw = work.parent_motion
    for r in range(6):
        screw[r] = share * h * (work.start_V[r] + 0.5 * h * work.root_rate[r])
        work.root_V[r] = work.start_V[r] + share * h * work.root_rate[r]
    angle = sqrt(screw[0] * screw[0] + screw[1] * screw[1] + screw[2] * screw[2])
    if angle > 0.0:
        for r in range(6):
            screw[r] /= angle
    else:
        angle = 1.0
    set_pose(work.start_R, work.start_p, screw, angle, work.root_R, work.root_p)


@compiled
def set_base_acceleration(arm, work, out):
    """Acceleration (6,) of a moved base in its axes, with that equivalent to gravity (T115)."""
    R, a = work.root_R, arm.base_acceleration
    for r in range(3):
        out[r] = work.root_rate[r]
        out[3 + r] = work.root_rate[3 + r]
        for s in range(3):
            out[3 + r] += R[s, r] * a[3 + s]


@compiled
def first_jump(samples, h, tolerance):
    """
    Find the first step of a motion in which the twists at its ends do not lead to the pose.

    A change of the twist may happen at either end of the step.

    :param samples: (k, 19), a time h [s] apart; tolerance: of the distance [rad, m].
    :returns: number of the step, -1: none; and the distance.
    """
    for k in range(len(samples) - 1):
        a, b = samples[k], samples[k + 1]
        # half the turn from a to b, and the way, in the axes of a
        sign = 1.0 if a[3] * b[3] + a[4] * b[4] + a[5] * b[5] + a[6] * b[6] >= 0.0 else -1.0
        turn = (
            sign * (a[6] * b[3] - b[6] * a[3] - (a[4] * b[5] - a[5] * b[4])),
            sign * (a[6] * b[4] - b[6] * a[4] - (a[5] * b[3] - a[3] * b[5])),
            sign * (a[6] * b[5] - b[6] * a[5] - (a[3] * b[4] - a[4] * b[3])),
        )
        way = in_axes(a, b[0] - a[0], b[1] - a[1], b[2] - a[2])
        error, allowed = 0.0, tolerance
        for r in range(3):
            for moved, s in ((2.0 * turn[r], r), (way[r], 3 + r)):
                old, new = a[TWIST + s], b[TWIST + s]
                error = max(error, abs(moved - 0.5 * h * (old + new)))
                allowed = max(
                    allowed, tolerance + h * (0.5 * abs(new - old) + 0.1 * max(abs(old), abs(new)))
                )
        if error > allowed:
            return k, error
    return -1, 0.0


@compiled
def in_axes(pose, x, y, z):
    """Vector (x, y, z) of the world in the axes of a pose (7,), as three numbers."""
    a, b, c, w = -pose[3], -pose[4], -pose[5], pose[6]
    u, v, t = 2.0 * (b * z - c * y), 2.0 * (c * x - a * z), 2.0 * (a * y - b * x)
    return (x + w * u + b * t - c * v, y + w * v + c * u - a * t, z + w * t + a * v - b * u)
