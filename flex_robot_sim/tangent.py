"""
Matrices of small motions about any state of an arm.

With the forces f(q, q', q'') that the motion and the loads need (`inverse_dynamics`) and the
forces of springs, dampers and friction, small changes x of the coordinates obey

    M x'' + D x' + K x = S u                                                                 (T50)

with the changes u of the efforts. M and D come from f without error, because f is linear in q''
and quadratic in q'. Springs give their own part of K; the rest is the slope of f with q, by a
central difference of eighth order. A step turns no section by more than 0.12 rad, and with that
the truncated part is some 1e-12 of the forces, and so is rounding                           (T51).
"""

import numpy as np

from flex_robot_sim.compiled import compiled
from flex_robot_sim.dynamics import inverse_dynamics
from flex_robot_sim.exceptions import SettingError
from flex_robot_sim.forces import friction_force, limit_force, set_forces
from flex_robot_sim.loads import set_loads
from flex_robot_sim.model import make_workspace

STEP = 0.03                 # of the differences, over the scale of the coordinate
WEIGHTS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)        # at 1, 2, 3, 4 steps


def tangent(model, loads, q, qd, qdd):
    """
    Matrices D and K (n, n) of (T50), with all drives free.

    :param loads: LoadArrays.
    :param q: coordinates, (n,) [rad, m]; qd, qdd are their rates.
    """
    n, work = model.size, make_workspace(model.arrays)
    D, K = np.zeros((2, n, n))
    _set_slopes(model.arrays, loads, q.copy(), qd.copy(), qdd, scales(model), work, np.zeros(n),
                D, K)
    _add_spring_slopes(model.arrays, q, qd, D, K)
    return D, K


def lacking_force(model, loads, q, qd, qdd):
    """Force that every coordinate lacks for the acceleration qdd, (n,) [N m, N]."""
    work, force = make_workspace(model.arrays), np.zeros(model.size)
    _set_needed(model.arrays, loads, q, qd, qdd, work, force)
    set_forces(model.arrays, q, qd, np.zeros(len(model.joint_names)), 0.0, qdd, work)
    return force - work.force


def scales(model):
    """Change of every coordinate that turns no section by more than about a radian, (n,)."""
    out = np.ones(model.size)
    for i, beam in model.beams.items():
        first, turn = model.arrays.first[i], np.abs(beam.Theta).max(axis=(0, 1))
        out[first:first + beam.size] = 1 / np.maximum(turn, 1 / beam.length)
    return out


def difference(function, at, step):
    """Slope of a function of one vector along `step`, per step, by the difference of (T51)."""
    return sum(weight * (function(at + (m + 1) * step) - function(at - (m + 1) * step))
               for m, weight in enumerate(WEIGHTS))


def driven(model):
    """Coordinate that each motor moves, (joints,)."""
    motor = model.arrays.motor
    return np.where(motor < 0, np.arange(motor.size), motor)


def checked(name, values, names):
    """Array of one finite number per name."""
    try:
        array = np.array(values, float)
    except (TypeError, ValueError):
        array = np.array(np.nan)
    if array.shape != (len(names),) or not np.isfinite(array).all():
        raise SettingError(f'{name} must be {len(names)} finite numbers, in this order: '
                           f'{", ".join(names)}')
    return array


@compiled
def _set_needed(arm, loads, q, qd, qdd, work, force):
    """Force on every coordinate that the motion and the loads need."""
    set_loads(arm, loads, q, qd, work)
    inverse_dynamics(arm, q, qd, qdd, work, force)


@compiled
def _set_slopes(arm, loads, q, qd, qdd, scale, work, force, D, K):
    """Slopes of the needed forces with rates (exact) and with coordinates (T51)."""
    D[:] = 0.0
    K[:] = 0.0
    for k in range(q.size):
        here, step = q[k], STEP * scale[k]
        for sign in (-1.0, 1.0):
            for m in range(4):
                q[k] = here + sign * (m + 1) * step
                _set_needed(arm, loads, q, qd, qdd, work, force)
                for r in range(q.size):
                    K[r, k] += sign * WEIGHTS[m] / step * force[r]
        q[k], here = here, qd[k]
        for sign in (-1.0, 1.0):
            qd[k] = here + sign
            _set_needed(arm, loads, q, qd, qdd, work, force)
            for r in range(q.size):
                D[r, k] += 0.5 * sign * force[r]
        qd[k] = here


@compiled
def _add_spring_slopes(arm, q, qd, D, K):
    """Add what springs, dampers, stops and friction give."""
    for j in range(arm.motor.size):
        _, slope, rate = limit_force(arm, j, q[j], qd[j])
        K[j, j] += slope
        D[j, j] += rate
        m = arm.motor[j]
        motor_side = j if m < 0 else m
        D[motor_side, motor_side] += friction_force(arm, j, qd[motor_side])[1]
        if m >= 0:
            for a, b, sign in ((j, j, 1.0), (m, m, 1.0), (j, m, -1.0), (m, j, -1.0)):
                K[a, b] += sign * arm.gear_stiffness[j]
                D[a, b] += sign * arm.gear_damping[j]
    for i in range(arm.parent.size):
        first = arm.first[i]
        for k in range(arm.modes[i]):
            for m in range(arm.modes[i]):
                K[first + k, first + m] += arm.stiffness[i, k, m]
                D[first + k, first + m] += arm.damping[i, k, m]
