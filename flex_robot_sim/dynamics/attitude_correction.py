"""
Corrections of the energy of a free base where (T44) does not suffice.

It scales the motion without momentum. A single rigid body has no such motion: a small turn lowers
its energy at a constant momentum. A step that is too long may have more excess than that motion
has energy; then the momentum falls, so that the energy never rises.
"""

from numpy import sqrt

from flex_robot_sim.dynamics.energy import set_energies
from flex_robot_sim.dynamics.free_base import solve_base, turned_quaternion
from flex_robot_sim.dynamics.momentum import set_total_momentum
from flex_robot_sim.jit.compiled import compiled

MAX_TURN = 1e-6  # by which a correction may turn an arm                                   [rad]


@compiled
def lower_energy_by_turn(arm, excess, qd, work):
    """
    Turn an arm about its centre of mass so that its energy falls at a constant momentum (T117).

    Call it between `meet_momentum`, whose results it reads, and the next step. A small turn d,
    in axes of the base, changes the energy by d . (w x L), with the angular momentum L about the
    centre of mass and the angular velocity w of the locked arm.

    :param excess: energy to take [J]; qd: rates, changed in place.
    :returns: energy that it took [J].
    """
    I, P, twist = work.Y, work.parent_motion, work.base_force
    mass, (px, py, pz) = I[3, 3], (P[3], P[4], P[5])
    cx, cy, cz = I[2, 4] / mass, I[0, 5] / mass, I[1, 3] / mass
    x, y, z = P[0] - (cy * pz - cz * py), P[1] - (cz * px - cx * pz), P[2] - (cx * py - cy * px)
    a = twist[1] * z - twist[2] * y
    b = twist[2] * x - twist[0] * z
    c = twist[0] * y - twist[1] * x
    square = a * a + b * b + c * c
    if square * MAX_TURN * MAX_TURN <= excess * excess:  # the energy hardly depends on the turn
        return 0.0
    a, b, c = -excess / square * a, -excess / square * b, -excess / square * c
    turn_base_pose(work, a, b, c, (b * cz - c * cy, c * cx - a * cz, a * cy - b * cx))
    # in the turned axes, the momentum changes by - d x
    x, y, z = y * c - z * b, z * a - x * c, x * b - y * a
    px, py, pz = py * c - pz * b, pz * a - px * c, px * b - py * a
    change = work.F[0]
    change[0] = x + cy * pz - cz * py
    change[1] = y + cz * px - cx * pz
    change[2] = z + cx * py - cy * px
    change[3], change[4], change[5] = px, py, pz
    solve_base(6, work.base_factor, change)
    for k in range(6):
        qd[arm.base[k, 0]] += change[k]
    return excess


@compiled
def turn_base_pose(work, a, b, c, move):
    """Turn the pose T0 by a small rotation vector (a, b, c), and move its origin by -`move`."""
    pose, R = work.base_pose, work.base_R[0]
    for r in range(3):
        pose[r] -= R[r, 0] * move[0] + R[r, 1] * move[1] + R[r, 2] * move[2]
    i, j, k, w = turned_quaternion(pose, 0.5 * a, 0.5 * b, 0.5 * c)
    scale = 1.0 / sqrt(i * i + j * j + k * k + w * w)
    pose[3], pose[4], pose[5], pose[6] = scale * i, scale * j, scale * k, scale * w


@compiled
def lower_energy_by_momentum(arm, excess, q, qd, work):
    """
    Scale all rates so that the energy falls, and store the momentum.

    :param excess: energy to take [J]; q: coordinates, (n,); qd: their rates, changed in place.
    :returns: energy that it took [J].
    """
    set_energies(arm, q, qd, work, work.energy)
    taken = min(excess, work.energy[0])
    scale = sqrt(1.0 - taken / work.energy[0]) if taken > 0.0 else 1.0
    for k in range(qd.size):
        qd[k] *= scale
    set_total_momentum(arm, q, qd, work.momentum, work)
    return taken
