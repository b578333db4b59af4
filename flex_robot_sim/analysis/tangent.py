"""
Matrices of small motions about any state of an arm.

With the forces f(q, q', q'') that the motion and the loads need (`inverse_dynamics`) and the
forces of springs, dampers and friction, small changes x of the coordinates obey

    M x'' + D x' + K x = S u                                                                 (T50)

with the changes u of the efforts, all to rounding. The springs of constraints are part of them.
"""

from typing import TypeAlias

import numpy as np

from flex_robot_sim.analysis.compliance import compliance_force, compliance_slopes
from flex_robot_sim.analysis.contact_terms import contact_slopes
from flex_robot_sim.analysis.workspace_pool import borrowed
from flex_robot_sim.dynamics.contact.instant import set_loads_and_contacts
from flex_robot_sim.dynamics.force_slopes import add_all_slopes, add_smooth_slopes
from flex_robot_sim.dynamics.forces import set_forces
from flex_robot_sim.dynamics.forward_dynamics import inverse_dynamics
from flex_robot_sim.dynamics.inverse_dynamics_derivatives import inverse_dynamics_derivatives
from flex_robot_sim.dynamics.loads import LoadArrays, set_loads
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.arm_model import ArmModel

Slopes: TypeAlias = tuple[np.ndarray, np.ndarray]  # D and K (n, n) of (T50)


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
    if model.contacts:
        more_D, more_K = contact_slopes(model, q, qd)
        D, K = D + more_D, K + more_K
    return with_compliance(model, q, qd, D, K)


def with_compliance(
    model: ArmModel, q: np.ndarray, qd: np.ndarray, D: np.ndarray, K: np.ndarray
) -> Slopes:
    """Return D and K (n, n) with those of the springs and dampers of constraints."""
    if not model.arrays.constraint_stiffness.any():
        return D, K
    more_D, more_K = compliance_slopes(model, q, qd)
    return D + more_D, K + more_K


def spring_stiffness(model: ArmModel, q: np.ndarray) -> np.ndarray:
    """Return the part of K (n, n) of the springs: all of K without weight and loads."""
    D, K = np.zeros((2, model.size, model.size))
    with borrowed(model) as scratch:
        rates = np.zeros(model.size)
        scratch.call(add_all_slopes, model.arrays, np.ascontiguousarray(q), rates, D, K)
    return K


def smooth_slopes(
    model: ArmModel, loads: LoadArrays, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
    """Return M, D and K (n, n) of smooth forces; whether no joint sticks or touches a stop."""
    q, qd, qdd = map(np.ascontiguousarray, (q, qd, qdd))
    with borrowed(model) as scratch:
        M, D, K = np.zeros((3, model.size, model.size))
        work = scratch.order, q, qd, qdd, scratch.work, scratch.derivative_arrays
        is_smooth = scratch.call(set_slopes_of_smooth_forces, model.arrays, loads, *work, M, D, K)
    return M, D, K, bool(is_smooth)


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
    if model.arrays.constraint_stiffness.any():
        force += compliance_force(model, q, qd)
    return force


@compiled
def set_required_force(arm, loads, q, qd, qdd, work, force):
    """Set the force on every coordinate that the motion and the loads require."""
    set_loads(arm, loads, q, work)
    inverse_dynamics(arm, q, qd, qdd, work, force)


@compiled
def set_residual_force(arm, loads, q, qd, qdd, effort, work, force):
    """Set the missing force (n,) for a motion, with springs and efforts (joints,) applied."""
    set_loads_and_contacts(arm, loads, q, qd, work)
    inverse_dynamics(arm, q, qd, qdd, work, force)
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
