"""
The terms of the equations of motion at any state, as arrays of all coordinates.

    M(q) q'' + h(q, q') + s(q, q') = S u + loads

with the mass matrix M and the nonlinear effects h (Coriolis, centrifugal and gravity terms). The
forces s are those of springs, dampers, stops and friction; u are the efforts of the motors. For
payloads, pass `with_payload(arm, ...)`.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.compliance import compliance_force
from flex_robot_sim.analysis.constraint_terms import gaps_and_jacobian
from flex_robot_sim.analysis.loop_forces import constraint_forces
from flex_robot_sim.analysis.tangent import set_required_force, set_residual_force
from flex_robot_sim.analysis.workspace_pool import borrowed
from flex_robot_sim.dynamics.compiled_mass_matrix import set_mass_matrix
from flex_robot_sim.dynamics.constraints.instant import constrain_accelerations
from flex_robot_sim.dynamics.contact.instant import set_loads_and_contacts
from flex_robot_sim.dynamics.factor_reuse import solve_dynamics
from flex_robot_sim.dynamics.forward_dynamics import forward_dynamics as set_by_forces
from flex_robot_sim.dynamics.loads import NO_LOADS, Push, make_loads
from flex_robot_sim.dynamics.mass_matrix import refuse_massless
from flex_robot_sim.dynamics.sliding_body import is_valid
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.arguments import (
    checked,
    checked_coordinates,
    expect_arm,
    one_per_name,
    sized,
)
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.spatial.screws import is_finite


def mass_matrix(arm: ArmModel, q: ArrayLike) -> np.ndarray:
    """
    Mass matrix M(q) of all coordinates, rotors included, (nv, nv) [kg m2, kg m, kg].

    :param q: coordinates, (nq,) [rad, m].

    Example::

        arm = frs.load('two_link')
        M = frs.mass_matrix(arm, np.zeros(arm.nq))
        assert np.allclose(M, M.T) and np.linalg.eigvalsh(M).min() > 0
    """
    expect_arm(arm, closed_loops=True, free_base=True)
    q = sized('q', q, arm.coordinate_names)
    M = np.zeros((q.size, q.size))
    with borrowed(arm) as scratch:
        if not scratch.call(_set_mass_matrix, arm.arrays, q, scratch.work, M):
            checked_coordinates(arm, q=q)
    return M


def nonlinear_effects(arm: ArmModel, q: ArrayLike, v: ArrayLike | None = None) -> np.ndarray:
    """
    Nonlinear effects h(q, v), (nv,) [N m, N]: Coriolis, centrifugal and gravity terms.

    :param q: coordinates, (nq,) [rad, m]; v: their rates, (nv,); default: at rest.

    Example::

        arm = frs.load('two_link')
        h = frs.nonlinear_effects(arm, np.full(arm.nq, 0.1), np.ones(arm.nv))
        assert h.shape == (arm.nv,)
    """
    expect_arm(arm, closed_loops=True, free_base=True)
    q = one_per_name('q', q, arm.coordinate_names)
    v = one_per_name('v', v, arm.coordinate_names)
    force = np.zeros(q.size)
    with borrowed(arm) as scratch:
        if not scratch.call(
            _set_nonlinear_effects,
            arm.arrays,
            NO_LOADS,
            q,
            v,
            np.zeros(q.size),
            scratch.work,
            force,
        ):
            checked_coordinates(arm, q=q, v=v)
    return force


def gravity_forces(arm: ArmModel, q: ArrayLike) -> np.ndarray:
    """
    Gravity forces g(q), (nv,) [N m, N]: the gradient of the potential energy of gravity.

    :param q: coordinates, (nq,) [rad, m].

    Example::

        arm = frs.load('two_link', gravity=(0.0, 0.0, 0.0))
        assert not frs.gravity_forces(arm, np.full(arm.nq, 0.1)).any()
    """
    return nonlinear_effects(arm, q)


def inverse_dynamics(
    arm: ArmModel,
    q: ArrayLike,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    *,
    pushes: Iterable[Push] = (),
) -> np.ndarray:
    """
    External forces S u, (nv,) [N m, N], that a motion requires.

    Motor efforts are at `actuated_coordinates`. Forces at other coordinates are zero only if the
    motion is feasible. In closed loops, these are the forces that constraints leave to the motors,
    with the least efforts if there are more motors than degrees of freedom.

    :param q: coordinates, (nq,) [rad, m]; v: their rates; a: their accelerations, (nv,) each;
        default: zero.
    :param pushes: loads on links, each a Push.

    Example::

        arm, q = frs.load('two_link'), np.zeros(16)
        force = frs.inverse_dynamics(arm, q, a=np.ones(16))
        effort = force[frs.actuated_coordinates(arm)]
    """
    loads = make_loads(arm, pushes, closed_loops=True, free_base=True)
    q = one_per_name('q', q, arm.coordinate_names)
    v = one_per_name('v', v, arm.coordinate_names)
    a = one_per_name('a', a, arm.coordinate_names)
    force = np.zeros(q.size)
    with borrowed(arm) as scratch:
        if not scratch.call(
            _set_inverse_dynamics,
            arm.arrays,
            loads,
            q,
            v,
            a,
            np.zeros(len(arm.joint_names)),
            scratch.work,
            force,
        ):
            checked_coordinates(arm, q=q, v=v, a=a)
    if arm.closed_loops:
        force += compliance_force(arm, q, v)
        _, W = gaps_and_jacobian(arm, q)
        return constraint_forces(arm, W, force, arm.drive_q)[1]
    return force


def forward_dynamics(
    arm: ArmModel,
    q: ArrayLike,
    v: ArrayLike | None = None,
    effort: ArrayLike | None = None,
    *,
    pushes: Iterable[Push] = (),
) -> np.ndarray:
    """
    Accelerations a, (nv,) [rad/s2, m/s2], under motor efforts and pushes; loops stay closed.

    Dry friction is smoothed, as in explicit schemes, so joints do not stick.

    :param q: coordinates, (nq,) [rad, m]; v: their rates, (nv,); default: at rest.
    :param effort: of the motors, (joints,) [N m, N]; default: zero.
    :param pushes: loads on links, each a Push.

    Example::

        arm = frs.load('two_link')
        rest = frs.equilibrium(arm, [0.0, 0.5, -0.8])
        a = frs.forward_dynamics(arm, rest.q, rest.v, rest.effort)
        assert np.abs(a).max() < 1e-6
    """
    loads = make_loads(arm, pushes, closed_loops=True, free_base=True)
    refuse_massless(arm)
    q = one_per_name('q', q, arm.coordinate_names)
    v = one_per_name('v', v, arm.coordinate_names)
    effort = one_per_name('effort', effort, arm.joint_names)
    a = np.zeros(q.size)
    function = _set_loop_accelerations if arm.closed_loops else _set_accelerations
    with borrowed(arm) as scratch:
        if not scratch.call(function, arm.arrays, loads, q, v, effort, scratch.work, a):
            checked_coordinates(arm, q=q, v=v)
            checked('effort', effort, arm.joint_names)
    return a


def actuated_coordinates(arm: ArmModel) -> np.ndarray:
    """
    Index in q of the coordinate that each motor moves, (joints,): motor side of elastic gears.

    Example::

        arm = frs.load('two_link')
        S = np.eye(arm.nv)[:, frs.actuated_coordinates(arm)]    # M a + h + s = S u
    """
    expect_arm(arm, closed_loops=True, free_base=True)
    return arm.motor_q


# These functions return False, and compute nothing, if an argument is not valid: a check in
# Python takes a third of the time of the equations.


@compiled
def _set_mass_matrix(arm, q, work, M):
    """Mass matrix (n, n) in M, which is zero before."""
    if not is_valid(arm, q):
        return False
    set_mass_matrix(arm, q, work, M)
    return True


@compiled
def _set_nonlinear_effects(arm, loads, q, qd, qdd, work, force):
    """Force (n,) on every coordinate for accelerations of zero, (n,)."""
    if not (is_valid(arm, q) and is_finite(qd)):
        return False
    set_required_force(arm, loads, q, qd, qdd, work, force)
    return True


@compiled
def _set_inverse_dynamics(arm, loads, q, qd, qdd, effort, work, force):
    """Force (n,) that is missing for the accelerations (n,), at efforts of zero (joints,)."""
    if not (is_valid(arm, q) and is_finite(qd) and is_finite(qdd)):
        return False
    set_residual_force(arm, loads, q, qd, qdd, effort, work, force)
    return True


@compiled
def _set_accelerations(arm, loads, q, qd, effort, work, qdd):
    """Accelerations (n,) under efforts (joints,) and loads."""
    if not (is_valid(arm, q) and is_finite(qd) and is_finite(effort)):
        return False
    set_loads_and_contacts(arm, loads, q, qd, work)
    set_by_forces(arm, q, qd, effort, work, qdd)
    return True


@compiled
def _set_loop_accelerations(arm, loads, q, qd, effort, work, qdd):
    """Accelerations (n,) under efforts (joints,) and loads that keep loops closed."""
    if not (is_valid(arm, q) and is_finite(qd) and is_finite(effort)):
        return False
    set_loads_and_contacts(arm, loads, q, qd, work)
    solve_dynamics(arm, q, qd, effort, 0.0, qdd, work, qdd)
    constrain_accelerations(arm, qd, work, qdd)
    return True
