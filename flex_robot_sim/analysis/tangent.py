"""
Matrices of small motions about any state of an arm.

With the forces f(q, q', q'') that the motion and the loads need (`inverse_dynamics`) and the
forces of springs, dampers and friction, small changes x of the coordinates obey

    M x'' + D x' + K x = S u                                                                 (T50)

with the changes u of the efforts. M and D come from f without error, because f is linear in q''
and quadratic in q'. Springs give their own part of K; the rest is the slope of f with q, by a
central difference of sixth order. A step turns no section by more than 0.03 rad, and with that
the truncated part is some 1e-13 of the forces, and so is rounding                           (T51).
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

STEP = 0.01                 # of the differences, over the scale of the coordinate
WEIGHTS = (3 / 4, -3 / 20, 1 / 60)      # at 1, 2, 3 steps
COLUMNS = 32                # that are worth a thread of their own
THREADS = 4                 # each has scratch of its own, which is large for fine meshes


def tangent(model: ArmModel, loads: LoadArrays, q: np.ndarray, qd: np.ndarray,
            qdd: np.ndarray) -> Slopes:
    """
    Matrices D and K (n, n) of (T50), with all drives free.

    :param loads: LoadArrays.
    :param q: coordinates, (n,) [rad, m]; qd, qdd are their rates.
    """
    n, scale = model.size, scales(model)
    D, K = np.zeros((2, n, n))

    def set_part(columns):
        with borrowed(model) as scratch:
            scratch.call(_set_slopes, model.arrays, loads, q.copy(), qd.copy(),
                         np.ascontiguousarray(qdd), scale, scratch.work, np.zeros(n),
                         int(columns[0]), int(columns[-1]) + 1, D, K)

    # every column is found by itself, so that the threads change no digit
    parts = np.array_split(np.arange(n), min(max(n // COLUMNS, 1), THREADS, os.cpu_count() or 1))
    if len(parts) == 1:
        set_part(parts[0])
    else:
        with ThreadPoolExecutor(len(parts)) as pool:
            list(pool.map(set_part, parts))
    _add_spring_slopes(model.arrays, q, qd, D, K)
    return D, K


def spring_stiffness(model: ArmModel, q: np.ndarray) -> np.ndarray:
    """Part of K (n, n) that springs give: all of it where nothing pulls."""
    D, K = np.zeros((2, model.size, model.size))
    _add_spring_slopes(model.arrays, q, np.zeros(model.size), D, K)
    return K


def lacking_force(model: ArmModel, loads: LoadArrays, q: np.ndarray, qd: np.ndarray,
                  qdd: np.ndarray) -> np.ndarray:
    """Force that every coordinate lacks for the acceleration qdd, (n,) [N m, N]."""
    force = np.zeros(model.size)
    with borrowed(model) as scratch:
        scratch.call(set_lacking, model.arrays, loads, *map(np.ascontiguousarray, (q, qd, qdd)),
                     np.zeros(len(model.joint_names)), scratch.work, force)
    return force


def scales(model: ArmModel) -> np.ndarray:
    """Change of every coordinate that turns no section by more than about a radian, (n,)."""
    out = np.ones(model.size)
    for i, beam in model.beams.items():
        first, turn = model.arrays.first[i], np.abs(beam.Theta).max(axis=(0, 1))
        out[first:first + beam.size] = 1 / np.maximum(turn, 1 / beam.length)
    return out


def difference(function: Callable[[np.ndarray], np.ndarray], at: np.ndarray,
               step: np.ndarray) -> np.ndarray:
    """Slope of a function of one vector along `step`, per step, by the difference of (T51)."""
    return sum(weight * (function(at + (m + 1) * step) - function(at - (m + 1) * step))
               for m, weight in enumerate(WEIGHTS))


def driven(model: ArmModel) -> np.ndarray:
    """Coordinate that each motor moves, (joints,)."""
    motor = model.arrays.motor
    return np.where(motor < 0, np.arange(motor.size), motor)


@compiled
def set_needed(arm, loads, q, qd, qdd, work, force):
    """Force on every coordinate that the motion and the loads need."""
    set_loads(arm, loads, q, qd, work)
    inverse_dynamics(arm, q, qd, qdd, work, force)


@compiled
def set_lacking(arm, loads, q, qd, qdd, effort, work, force):
    """Force (n,) that every coordinate lacks for a motion; springs and efforts (joints,) act."""
    set_needed(arm, loads, q, qd, qdd, work, force)
    set_forces(arm, q, qd, effort, 0.0, qdd, work)
    for k in range(force.size):
        force[k] -= work.force[k]


@compiled
def _set_slopes(arm, loads, q, qd, qdd, scale, work, force, start, end, D, K):
    """Add columns [start, end) of the slopes with rates (exact) and with coordinates (T51)."""
    moving = False      # what depends on rates does so with their squares
    for k in range(q.size):
        moving = moving or qd[k] != 0.0
    for k in range(start, end):
        here, step = q[k], STEP * scale[k]
        for sign in (-1.0, 1.0):
            for m in range(3):
                q[k] = here + sign * (m + 1) * step
                set_needed(arm, loads, q, qd, qdd, work, force)
                for r in range(q.size):
                    K[r, k] += sign * WEIGHTS[m] / step * force[r]
        q[k], here = here, qd[k]
        if not moving:
            continue
        for sign in (-1.0, 1.0):
            qd[k] = here + sign
            set_needed(arm, loads, q, qd, qdd, work, force)
            for r in range(q.size):
                D[r, k] += 0.5 * sign * force[r]
        qd[k] = here


@compiled
def _add_spring_slopes(arm, q, qd, D, K):
    """Add what springs, dampers, stops and friction give."""
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
