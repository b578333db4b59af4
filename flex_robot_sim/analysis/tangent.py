"""
Matrices of small motions about any state of an arm.

With the forces f(q, q', q'') that the motion and the loads need (`inverse_dynamics`) and the
forces of springs, dampers and friction, small changes x of the coordinates obey

    M x'' + D x' + K x = S u                                                                 (T50)

with the changes u of the efforts, all to rounding. Where a function of the coordinates has no
derivative of its own, a central difference of sixth order replaces it. A step rotates no section
by more than 0.03 rad, so truncation and rounding errors are some 1e-13                      (T51).
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from flex_robot_sim.analysis.workspace_pool import borrowed
from flex_robot_sim.dynamics.force_slopes import add_all_slopes, add_smooth_slopes
from flex_robot_sim.dynamics.forces import set_forces
from flex_robot_sim.dynamics.forward_dynamics import inverse_dynamics
from flex_robot_sim.dynamics.inverse_dynamics_derivatives import inverse_dynamics_derivatives
from flex_robot_sim.dynamics.loads import LoadArrays, set_loads
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.arm_model import ArmModel

Slopes: TypeAlias = tuple[np.ndarray, np.ndarray]  # D and K (n, n) of (T50)

DIFFERENCE_STEP = 0.01  # over the scale of the coordinate
DIFFERENCE_WEIGHTS = (3 / 4, -3 / 20, 1 / 60)  # at 1, 2, 3 steps


def tangent(
    model: ArmModel, loads: LoadArrays, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray
) -> Slopes:
    """Matrices D and K (n, n) of (T50) at q, qd and qdd (n,), with all drives free."""
    M, D, K = np.zeros((3, model.size, model.size))
    with borrowed(model) as scratch:
        scratch.call(
            set_slopes,
            model.arrays,
            loads,
            scratch.order,
            *map(np.ascontiguousarray, (q, qd, qdd)),
            scratch.work,
            scratch.derivative_arrays,
            M,
            D,
            K,
        )
    return D, K


def spring_stiffness(model: ArmModel, q: np.ndarray) -> np.ndarray:
    """Return the part of K (n, n) of the springs: all of K without weight and loads."""
    D, K = np.zeros((2, model.size, model.size))
    with borrowed(model) as scratch:
        rates = np.zeros(model.size)
        scratch.call(add_all_slopes, model.arrays, np.ascontiguousarray(q), rates, D, K)
    return K


def residual_force(
    model: ArmModel, loads: LoadArrays, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray
) -> np.ndarray:
    """Return the force missing at every coordinate for the acceleration qdd, (n,) [N m, N]."""
    force = np.zeros(model.size)
    with borrowed(model) as scratch:
        scratch.call(
            set_residual_force,
            model.arrays,
            loads,
            *map(np.ascontiguousarray, (q, qd, qdd)),
            np.zeros(len(model.joint_names)),
            scratch.work,
            force,
        )
    return force


def scales(model: ArmModel) -> np.ndarray:
    """Return changes (n,) of coordinates that rotate sections by about one radian at most."""
    result = np.ones(model.size)
    for i, beam in model.beams.items():
        rotation = np.abs(beam.Theta).max(axis=(0, 1))
        result[model.elastic_coordinates(i)] = 1 / np.maximum(rotation, 1 / beam.length)
    return result


def difference(
    function: Callable[[np.ndarray], np.ndarray], at: np.ndarray, step: np.ndarray
) -> np.ndarray:
    """Return the change of a function along `step`, per step, by the difference of (T51)."""
    return sum(
        weight * (function(at + (m + 1) * step) - function(at - (m + 1) * step))
        for m, weight in enumerate(DIFFERENCE_WEIGHTS)
    )


@compiled
def set_required_force(arm, loads, q, qd, qdd, work, force):
    """Set the force on every coordinate that the motion and the loads require."""
    set_loads(arm, loads, q, work)
    inverse_dynamics(arm, q, qd, qdd, work, force)


@compiled
def set_residual_force(arm, loads, q, qd, qdd, effort, work, force):
    """Set the missing force (n,) for a motion, with springs and efforts (joints,) applied."""
    set_required_force(arm, loads, q, qd, qdd, work, force)
    set_forces(arm, q, qd, effort, 0.0, qdd, work)
    for k in range(force.size):
        force[k] -= work.force[k]


@compiled
def set_slopes(arm, loads, order, q, qd, qdd, work, arrays, M, D, K):
    """Set M, D and K of (T50) for all drives free, (n, n) each."""
    inverse_dynamics_derivatives(arm, loads, order, q, qd, qdd, work, arrays, M, D, K)
    add_all_slopes(arm, q, qd, D, K)


@compiled
def set_slopes_of_smooth_forces(arm, loads, order, q, qd, qdd, work, arrays, M, D, K):
    """Set the same for smooth forces; return whether no joint sticks or touches a stop."""
    inverse_dynamics_derivatives(arm, loads, order, q, qd, qdd, work, arrays, M, D, K)
    return add_smooth_slopes(arm, q, qd, D, K)
