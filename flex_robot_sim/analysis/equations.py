"""
The terms of the equations of motion at any state, as arrays of all coordinates.

    M(q) q'' + h(q, q') + s(q, q') = S u + loads

with the mass matrix M, the bias forces h of Coriolis, centrifugal and gravity terms, the forces s
of springs, dampers, stops and friction, and the efforts u of the motors. For payloads, pass
`with_payload(model, ...)`.
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


def mass_matrix(model: ArmModel, coordinates: ArrayLike) -> np.ndarray:
    """Inertia (n, n) of all coordinates, rotors included, at coordinates (n,) [rad, m]."""
    q, = checked_coordinates(model, coordinates=coordinates)
    with borrowed(model) as scratch:
        return mass.mass_matrix(model.arrays, q, scratch.work)


def bias_forces(model: ArmModel, coordinates: ArrayLike,
                rates: ArrayLike | None = None) -> np.ndarray:
    """Return the bias forces h (n,) [N m, N]: Coriolis, centrifugal and gravity terms."""
    q, qd = checked_coordinates(model, coordinates=coordinates, rates=rates)
    force = np.zeros(model.size)
    with borrowed(model) as scratch:
        scratch.call(set_required_force, model.arrays, NO_LOADS, q, qd, np.zeros(model.size),
                     scratch.work, force)
    return force


def gravity_forces(model: ArmModel, coordinates: ArrayLike) -> np.ndarray:
    """Return gravity forces (n,) [N m, N]: the gradient of the potential energy of gravity."""
    return bias_forces(model, coordinates)


def inverse_dynamics(model: ArmModel, coordinates: ArrayLike, rates: ArrayLike | None = None,
                     accelerations: ArrayLike | None = None,
                     pushes: Iterable[Push] = ()) -> np.ndarray:
    """
    Return the external forces S u (n,) [N m, N] that a motion requires.

    Motor efforts are at `driven_coordinates`. Forces at other coordinates are zero only if the
    motion is feasible.
    """
    q, qd, qdd = checked_coordinates(model, coordinates=coordinates, rates=rates,
                                     accelerations=accelerations)
    force = np.zeros(model.size)
    with borrowed(model) as scratch:
        scratch.call(set_residual_force, model.arrays, make_loads(model, pushes), q, qd, qdd,
                     np.zeros(len(model.joint_names)), scratch.work, force)
    return force


def forward_dynamics(model: ArmModel, coordinates: ArrayLike, rates: ArrayLike | None = None,
                     effort: ArrayLike | None = None, pushes: Iterable[Push] = ()) -> np.ndarray:
    """
    Return accelerations (n,) [rad/s2, m/s2] for motor efforts (joints,) [N m, N] and pushes.

    Dry friction is that of explicit schemes: it does not stick.
    """
    q, qd = checked_coordinates(model, coordinates=coordinates, rates=rates)
    effort = (np.zeros(len(model.joint_names)) if effort is None
              else checked('effort', effort, model.joint_names))
    mass.refuse_massless(model)
    qdd = np.zeros(model.size)
    with borrowed(model) as scratch:
        scratch.call(_set_accelerations, model.arrays, make_loads(model, pushes), q, qd, effort,
                     scratch.work, qdd)
    return qdd


def driven_coordinates(model: ArmModel) -> np.ndarray:
    """Return the coordinate of each motor, (joints,): the motor side of an elastic gear."""
    expect_arm(model)
    return model.motor_q


@compiled
def _set_accelerations(arm, loads, q, qd, effort, work, qdd):
    """Accelerations (n,) under efforts (joints,) and loads."""
    set_loads(arm, loads, q, qd, work)
    set_by_forces(arm, q, qd, effort, work, qdd)
