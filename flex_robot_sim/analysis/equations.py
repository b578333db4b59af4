"""
The terms of the equations of motion at any state, as arrays of all coordinates.

    M(q) q'' + h(q, q') + s(q, q') = S u + loads

with the mass matrix M, the nonlinear effects h (Coriolis, centrifugal and gravity terms), the
forces s of springs, dampers, stops and friction, and the efforts u of the motors. For payloads,
pass `with_payload(arm, ...)`.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.tangent import set_required_force, set_residual_force
from flex_robot_sim.analysis.workspace_pool import borrowed
from flex_robot_sim.dynamics import mass_matrix as mass
from flex_robot_sim.dynamics.forward_dynamics import forward_dynamics as set_by_forces
from flex_robot_sim.dynamics.loads import NO_LOADS, Push, make_loads, set_loads
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.arguments import checked, checked_coordinates, expect_arm
from flex_robot_sim.model.arm_model import ArmModel


def mass_matrix(arm: ArmModel, q: ArrayLike) -> np.ndarray:
    """
    Mass matrix M(q) of all coordinates, rotors included, (nv, nv) [kg m2, kg m, kg].

    :param q: coordinates, (nq,) [rad, m].

    Example::

        arm = frs.load('two_link')
        M = frs.mass_matrix(arm, np.zeros(arm.nq))
        assert np.allclose(M, M.T) and np.linalg.eigvalsh(M).min() > 0
    """
    q, = checked_coordinates(arm, q=q)
    with borrowed(arm) as scratch:
        return mass.mass_matrix(arm.arrays, q, scratch.work)


def nonlinear_effects(arm: ArmModel, q: ArrayLike, v: ArrayLike | None = None) -> np.ndarray:
    """
    Nonlinear effects h(q, v), (nv,) [N m, N]: Coriolis, centrifugal and gravity terms.

    :param q: coordinates, (nq,) [rad, m]; v: their rates, (nv,); default: at rest.

    Example::

        arm = frs.load('two_link')
        h = frs.nonlinear_effects(arm, np.full(arm.nq, 0.1), np.ones(arm.nv))
        assert h.shape == (arm.nv,)
    """
    q, v = checked_coordinates(arm, q=q, v=v)
    force = np.zeros(arm.size)
    with borrowed(arm) as scratch:
        scratch.call(set_required_force, arm.arrays, NO_LOADS, q, v, np.zeros(arm.size),
                     scratch.work, force)
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


def inverse_dynamics(arm: ArmModel, q: ArrayLike, v: ArrayLike | None = None,
                     a: ArrayLike | None = None, *, pushes: Iterable[Push] = ()) -> np.ndarray:
    """
    External forces S u, (nv,) [N m, N], that a motion requires.

    Motor efforts are at `actuated_coordinates`. Forces at other coordinates are zero only if the
    motion is feasible.

    :param q: coordinates, (nq,) [rad, m]; v: their rates; a: their accelerations, (nv,) each;
        default: zero.
    :param pushes: [Push] on links.

    Example::

        arm, q = frs.load('two_link'), np.zeros(16)
        force = frs.inverse_dynamics(arm, q, a=np.ones(16))
        effort = force[frs.actuated_coordinates(arm)]
    """
    q, v, a = checked_coordinates(arm, q=q, v=v, a=a)
    force = np.zeros(arm.size)
    with borrowed(arm) as scratch:
        scratch.call(set_residual_force, arm.arrays, make_loads(arm, pushes), q, v, a,
                     np.zeros(len(arm.joint_names)), scratch.work, force)
    return force


def forward_dynamics(arm: ArmModel, q: ArrayLike, v: ArrayLike | None = None,
                     effort: ArrayLike | None = None, *,
                     pushes: Iterable[Push] = ()) -> np.ndarray:
    """
    Accelerations a, (nv,) [rad/s2, m/s2], under motor efforts and pushes.

    Dry friction is that of explicit schemes: it does not stick.

    :param q: coordinates, (nq,) [rad, m]; v: their rates, (nv,); default: at rest.
    :param effort: of the motors, (joints,) [N m, N]; default: zero.
    :param pushes: [Push] on links.

    Example::

        arm = frs.load('two_link')
        rest = frs.equilibrium(arm, [0.0, 0.5, -0.8])
        a = frs.forward_dynamics(arm, rest.q, rest.v, rest.effort)
        assert np.abs(a).max() < 1e-6
    """
    q, v = checked_coordinates(arm, q=q, v=v)
    effort = (np.zeros(len(arm.joint_names)) if effort is None
              else checked('effort', effort, arm.joint_names))
    mass.refuse_massless(arm)
    a = np.zeros(arm.size)
    with borrowed(arm) as scratch:
        scratch.call(_set_accelerations, arm.arrays, make_loads(arm, pushes), q, v, effort,
                     scratch.work, a)
    return a


def actuated_coordinates(arm: ArmModel) -> np.ndarray:
    """
    Coordinate that each motor moves, (joints,): the motor side of an elastic gear.

    Example::

        arm = frs.load('two_link')
        S = np.eye(arm.nv)[:, frs.actuated_coordinates(arm)]    # M a + h + s = S u
    """
    expect_arm(arm)
    return arm.motor_q


@compiled
def _set_accelerations(arm, loads, q, qd, effort, work, qdd):
    """Accelerations (n,) under efforts (joints,) and loads."""
    set_loads(arm, loads, q, qd, work)
    set_by_forces(arm, q, qd, effort, work, qdd)
