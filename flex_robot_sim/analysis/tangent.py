"""
Matrices of small motions about any state of an arm.

With the forces f(q, q', q'') that the motion and the loads need (`inverse_dynamics`) and the
forces of springs, dampers and friction, small changes x of the coordinates obey

    M x'' + D x' + K x = S u                                                                 (T50)

with the changes u of the efforts. M and D come from f without error, because f is linear in q''
and quadratic in q'. The springs' part of K is exact; the other part is the derivative of f by q, a
central difference of sixth order. A step rotates no section by more than 0.03 rad, so truncation
and rounding errors are some 1e-13 of the forces                                             (T51).
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

import numpy as np

from flex_robot_sim.analysis.workspace_pool import borrowed
from flex_robot_sim.dynamics.forces import add_joint_slopes, set_forces
from flex_robot_sim.dynamics.forward_dynamics import inverse_dynamics
from flex_robot_sim.dynamics.loads import LoadArrays, set_loads
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.spatial.screws import dot

Slopes: TypeAlias = tuple[np.ndarray, np.ndarray]    # D and K (n, n) of (T50)

DIFFERENCE_STEP = 0.01      # over the scale of the coordinate
DIFFERENCE_WEIGHTS = (3 / 4, -3 / 20, 1 / 60)       # at 1, 2, 3 steps
MIN_COLUMNS_PER_THREAD = 32
MAX_THREADS = 4             # each has a workspace, which is large for fine meshes


def tangent(model: ArmModel, loads: LoadArrays, q: np.ndarray, qd: np.ndarray,
            qdd: np.ndarray) -> Slopes:
    """Matrices D and K (n, n) of (T50) at q, qd and qdd (n,), with all drives free."""
    n, scale = model.size, scales(model)
    D, K = np.zeros((2, n, n))

    def set_part(columns):
        with borrowed(model) as scratch:
            scratch.call(_set_slopes, model.arrays, loads, q.copy(), qd.copy(),
                         np.ascontiguousarray(qdd), scale, scratch.work, np.zeros(n),
                         int(columns[0]), int(columns[-1]) + 1, D, K)

    # columns are independent, so the number of threads does not change the result
    parts = np.array_split(np.arange(n), min(max(n // MIN_COLUMNS_PER_THREAD, 1), MAX_THREADS,
                                             os.cpu_count() or 1))
    if len(parts) == 1:
        set_part(parts[0])
    else:
        with ThreadPoolExecutor(len(parts)) as pool:
            list(pool.map(set_part, parts))
    _add_spring_slopes(model.arrays, q, qd, D, K)
    return D, K


def spring_stiffness(model: ArmModel, q: np.ndarray) -> np.ndarray:
    """Return the part of K (n, n) of the springs: all of K without weight and loads."""
    D, K = np.zeros((2, model.size, model.size))
    _add_spring_slopes(model.arrays, q, np.zeros(model.size), D, K)
    return K


def residual_force(model: ArmModel, loads: LoadArrays, q: np.ndarray, qd: np.ndarray,
                   qdd: np.ndarray) -> np.ndarray:
    """Return the force missing at every coordinate for the acceleration qdd, (n,) [N m, N]."""
    force = np.zeros(model.size)
    with borrowed(model) as scratch:
        scratch.call(set_residual_force, model.arrays, loads,
                     *map(np.ascontiguousarray, (q, qd, qdd)),
                     np.zeros(len(model.joint_names)), scratch.work, force)
    return force


def scales(model: ArmModel) -> np.ndarray:
    """Return changes (n,) of coordinates that rotate sections by about one radian at most."""
    result = np.ones(model.size)
    for i, beam in model.beams.items():
        rotation = np.abs(beam.Theta).max(axis=(0, 1))
        result[model.elastic_coordinates(i)] = 1 / np.maximum(rotation, 1 / beam.length)
    return result


def difference(function: Callable[[np.ndarray], np.ndarray], at: np.ndarray,
               step: np.ndarray) -> np.ndarray:
    """Return the change of a function along `step`, per step, by the difference of (T51)."""
    return sum(weight * (function(at + (m + 1) * step) - function(at - (m + 1) * step))
               for m, weight in enumerate(DIFFERENCE_WEIGHTS))


@compiled
def set_required_force(arm, loads, q, qd, qdd, work, force):
    """Set the force on every coordinate that the motion and the loads require."""
    set_loads(arm, loads, q, qd, work)
    inverse_dynamics(arm, q, qd, qdd, work, force)


@compiled
def set_residual_force(arm, loads, q, qd, qdd, effort, work, force):
    """Set the missing force (n,) for a motion, with springs and efforts (joints,) applied."""
    set_required_force(arm, loads, q, qd, qdd, work, force)
    set_forces(arm, q, qd, effort, 0.0, qdd, work)
    for k in range(force.size):
        force[k] -= work.force[k]


@compiled
def _set_slopes(arm, loads, q, qd, qdd, scale, work, force, start, end, D, K):
    """Add columns [start, end) of the slopes with rates (exact) and with coordinates (T51)."""
    is_moving = False   # rate-dependent forces are quadratic in the rates
    for k in range(q.size):
        is_moving = is_moving or qd[k] != 0.0
    for k in range(start, end):
        nominal, step = q[k], DIFFERENCE_STEP * scale[k]
        for sign in (-1.0, 1.0):
            for m in range(3):
                q[k] = nominal + sign * (m + 1) * step
                set_required_force(arm, loads, q, qd, qdd, work, force)
                for r in range(q.size):
                    K[r, k] += sign * DIFFERENCE_WEIGHTS[m] / step * force[r]
        q[k], nominal = nominal, qd[k]
        if not is_moving:
            continue
        for sign in (-1.0, 1.0):
            qd[k] = nominal + sign
            set_required_force(arm, loads, q, qd, qdd, work, force)
            for r in range(q.size):
                D[r, k] += 0.5 * sign * force[r]
        qd[k] = nominal


@compiled
def _add_spring_slopes(arm, q, qd, D, K):
    """Add the derivatives of spring, damper, stop and friction forces."""
    add_joint_slopes(arm, q, qd, D, K)
    for i in range(arm.parent.size):
        first = arm.first[i]
        for k in range(arm.modes[i]):
            for m in range(arm.modes[i]):
                K[first + k, first + m] += arm.stiffness[i, k, m]
                D[first + k, first + m] += arm.damping[i, k, m]
    start = q.size - arm.shared.shape[0]
    for k in range(arm.shared.shape[0]):
        for m in range(arm.shared.shape[0]):
            D[start + k, start + m] += dot(arm.shared[k], arm.shared[m])
