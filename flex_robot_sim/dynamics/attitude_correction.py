"""
Corrections of the energy of a free base at a constant momentum, where (T112) does not suffice.

(T112) scales the motion without momentum. A rigid body has no such motion, and in a fast tumble a
small vibration has little of it: there, a small turn corrects the energy. A step that is too long
may have more excess than both can take. Then the momentum falls, so that the energy never rises.
"""

from numpy import sqrt

from flex_robot_sim.dynamics.energy import set_energies
from flex_robot_sim.dynamics.momentum import angular_rate, set_base_twist, set_total_momentum
from flex_robot_sim.jit.compiled import compiled

MAX_TURN = 0.1  # by which a correction may turn an arm                                    [rad]
MIN_CHANGE = 1e-16  # of the energy by a turn, over the kinetic energy
ROUNDING = 1e-13  # of the energy, over the kinetic energy; carried over to the next step


@compiled
def turn_for_energy(arm, missing, internal, max_scaling, qd, work):
    """
    Turn a floating arm about its centre of mass for its energy, at a constant momentum (T125).

    Call it between `meet_momentum`, whose results it reads, and `turn_base_pose`. It changes the
    rates and the locked twist work.base_force. The Rodrigues vector of the turn is in work.theta.

    :param missing: energy that the arm lacks, negative for an excess [J].
    :param internal: kinetic energy of the motion without momentum [J].
    :param max_scaling: share of `internal` that scaling may change after the turn.
    :param qd: rates, (n,), changed in place.
    :returns: change of the energy by the turn [J]; 0 if there is none.
    """
    if arm.base.shape[0] < 6:  # in a plane, the energy does not depend on the turn
        return 0.0
    # angular momentum L about the centre of mass, and the slope n = w x L of the energy
    Y, twist = work.Y, work.parent_motion
    lx, ly, lz = work.momentum[0], work.momentum[1], work.momentum[2]
    wx, wy, wz = angular_rate(Y, lx, ly, lz)
    nx, ny, nz = wy * lz - wz * ly, wz * lx - wx * lz, wx * ly - wy * lx
    square = nx * nx + ny * ny + nz * nz
    twice = wx * lx + wy * ly + wz * lz
    if square <= 0.0:
        return 0.0
    size = max(
        abs(missing) * square / (square + 2.0 * twice * internal),
        abs(missing) - max_scaling * internal,
    )
    if size <= MIN_CHANGE * work.energy[0] or size * size > MAX_TURN * MAX_TURN * square:
        return 0.0
    # about u; `fall` is the energy of L less that of m = u x L, with the rate J m
    slope = sqrt(square)
    ux, uy, uz = nx / slope, ny / slope, nz / slope
    mx, my, mz = uy * lz - uz * ly, uz * lx - ux * lz, ux * ly - uy * lx
    jx, jy, jz = angular_rate(Y, mx, my, mz)
    fall = 0.5 * (twice - (mx * jx + my * jy + mz * jz))
    reach = sqrt(fall * fall + square)
    taken = min(size, 0.5 * (reach - fall)) if missing > 0.0 else -min(size, 0.5 * (reach + fall))
    tangent = 2.0 * taken / (slope + sqrt(max(square - 4.0 * taken * (fall + taken), 0.0)))
    cosine = 1.0 / sqrt(1.0 + tangent * tangent)
    sine = tangent * cosine
    scale = 2.0 * sine / (1.0 + cosine)
    a, b, c = scale * ux, scale * uy, scale * uz
    # in the axes of the base, the momentum turns by the opposite angle
    drop = -sine * sine / (1.0 + cosine)
    set_base_twist(
        work,
        drop * wx - sine * jx,
        drop * wy - sine * jy,
        drop * wz - sine * jz,
        *change_by_turn(-a, -b, -c, work.momentum[3], work.momentum[4], work.momentum[5]),
        twist,
    )
    for k in range(6):
        qd[arm.base[k, 0]] += twist[k]
        work.base_force[k] += twist[k]
    work.theta[0], work.theta[1], work.theta[2] = a, b, c
    return taken


@compiled
def change_by_turn(a, b, c, x, y, z):
    """Change of the vector (x, y, z) by the turn of a Rodrigues vector (a, b, c)."""
    scale = 1.0 / (1.0 + 0.25 * (a * a + b * b + c * c))
    u, v, w = b * z - c * y, c * x - a * z, a * y - b * x
    return (
        scale * (u + 0.5 * (b * w - c * v)),
        scale * (v + 0.5 * (c * u - a * w)),
        scale * (w + 0.5 * (a * v - b * u)),
    )


@compiled
def turn_base_pose(work):
    """Turn the pose T0 by the Rodrigues vector work.theta about the centre of mass."""
    pose, C = work.base_pose, work.composite
    a, b, c = work.theta[0], work.theta[1], work.theta[2]
    x, y, z = change_by_turn(a, b, c, C[1] / C[0], C[2] / C[0], C[3] / C[0])
    pose[0], pose[1], pose[2] = pose[0] - x, pose[1] - y, pose[2] - z
    a, b, c = 0.5 * a, 0.5 * b, 0.5 * c
    x, y, z, w = pose[3], pose[4], pose[5], pose[6]
    i, j, k, l = (
        x + w * a + b * z - c * y,
        y + w * b + c * x - a * z,
        z + w * c + a * y - b * x,
        w - a * x - b * y - c * z,
    )
    scale = 1.0 / sqrt(i * i + j * j + k * k + l * l)
    pose[3], pose[4], pose[5], pose[6] = scale * i, scale * j, scale * k, scale * l


@compiled
def take_remaining_excess(arm, excess, q, qd, work):
    """
    Scale all rates, and with them the momentum, so that the energy of a free arm does not rise.

    Rounding is carried over to the next step, of both signs.

    :param excess: energy above that of the balance, negative if below, after the scaling [J].
    :param q: coordinates, (n,); qd: their rates, changed in place.
    """
    if abs(excess) <= ROUNDING * work.energy[0]:
        work.step[2] = excess
    elif excess > 0.0:
        set_energies(arm, q, qd, work, work.energy)
        taken = min(excess, work.energy[0])
        scale = sqrt(1.0 - taken / work.energy[0]) if taken > 0.0 else 1.0
        for k in range(qd.size):
            qd[k] *= scale
        set_total_momentum(arm, q, qd, work.momentum, work)
        work.step[1] -= taken
        work.step[2] -= taken
