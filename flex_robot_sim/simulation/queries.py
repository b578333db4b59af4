"""
Queries of a simulated arm at its present state: accelerations, wrenches and energy.

Queries use a separate workspace, so that another thread can query a simulation while it steps.
"""

from typing import NamedTuple

import numpy as np

from flex_robot_sim.dynamics.constraints.rows import add_constraint_loads, set_constraint_wrench
from flex_robot_sim.dynamics.forward_dynamics import inverse_dynamics
from flex_robot_sim.dynamics.instant import set_applied_effort, set_instant_accelerations
from flex_robot_sim.dynamics.momentum import set_total_momentum
from flex_robot_sim.jit.compiled import call_with_tables
from flex_robot_sim.model.arguments import is_known
from flex_robot_sim.model.arm_model import ArmModel, ClosedLoop, Frame
from flex_robot_sim.model.friction import has_dry_friction
from flex_robot_sim.simulation.simulated_arm import SimulatedArm
from flex_robot_sim.util.exceptions import SettingError


class Energy(NamedTuple):
    """Energies of an arm and their balance [J]."""

    kinetic: float
    strain: float  # in elastic links, gears, stops and contacts
    gravity: float
    work: float  # done by motors and loads since the start
    dissipated: float  # since the start
    # of these: zero except for rounding; for the errors of explicit schemes, formulations and
    # steps with prescribed drives; and for uncorrected losses of coarse implicit steps (T44, T46)
    balance: float


def energy(simulated: SimulatedArm) -> Energy:
    """Return the Energy of the arm, with its balance."""
    kinetic, strain, gravity = simulated.energies()
    work, dissipated = simulated.state.flow[:2]
    balance = kinetic + strain + gravity + dissipated - work - simulated.start_energy
    return Energy(*map(float, (kinetic, strain, gravity, work, dissipated, balance)))


def momentum(simulated: SimulatedArm) -> np.ndarray:
    """Momentum about the centre of mass (6,) of an arm, and this centre (3,), as one array."""
    out, (q, qd, *_) = np.zeros(9), simulated.state
    work = simulated.query_work
    call_with_tables(set_total_momentum, simulated.arrays, q, qd, out, work)
    return out


def applied_effort(simulated: SimulatedArm) -> np.ndarray:
    """Motor efforts including the servo at this instant, (joints,) [N m, N]."""
    applied, (q, qd, _, effort, *_) = np.empty(simulated.motor_q.size), simulated.state
    set_applied_effort(simulated.arrays, q, qd, effort, simulated.work, applied)
    return applied


def accelerations(simulated: SimulatedArm) -> np.ndarray:
    """Accelerations of all coordinates (n,) at this instant."""
    arrays, (q, qd, qdd, effort, *_) = simulated.arrays, simulated.state
    qdd, work = qdd.copy(), simulated.query_work
    is_sticky = set_solver_start(simulated)
    set_instant_accelerations(
        arrays, simulated.loads, q, qd, effort, is_sticky, work, np.empty(q.size), qdd
    )
    return qdd


def set_solver_start(simulated: SimulatedArm) -> bool:
    """Prepare `query_work` for accelerations; return whether dry friction may stick."""
    work, last = simulated.query_work, simulated.work
    work.joint_force[:] = last.joint_force
    work.gear_law[:] = last.gear_law
    work.own_inertia[:] = last.own_inertia
    return simulated.settings.scheme == 'implicit_midpoint' and has_dry_friction(
        simulated.arrays.friction
    )


def carried_body(arm: ArmModel, joint: str) -> tuple[int, Frame]:
    """Return the body of the child link of a joint, and the Frame of this link there."""
    if not is_known(joint, arm.carried_bodies):
        raise SettingError(
            f'no joint "{joint}" carries a body. Known: {", ".join(arm.carried_bodies)}'
        )
    return arm.carried_bodies[joint]


def wrench(simulated: SimulatedArm, joint: str) -> np.ndarray:
    """Moment and force (6,) [N m, N] that a joint transmits to its link, in the link frame."""
    arm, state, work = simulated.arm, simulated.state, simulated.query_work
    body, frame = carried_body(arm, joint)
    qdd = accelerations(simulated)
    if arm.closed_loops:
        add_constraint_loads(simulated.arrays, work)
    inverse_dynamics(simulated.arrays, state.q, state.qd, qdd, work, np.zeros(arm.size))
    return _in_frame(work.F[body], frame.R, frame.p)


def closed_loop(arm: ArmModel, name: str) -> ClosedLoop:
    """Return the ClosedLoop of a constraint; SettingError if there is none."""
    if not is_known(name, arm.closed_loops):
        raise SettingError(
            f'no constraint "{name}". Known: {", ".join(arm.closed_loops) or "none"}'
        )
    return arm.closed_loops[name]


def constraint_force(simulated: SimulatedArm, name: str) -> np.ndarray:
    """Moment and force (6,) [N m, N] of a constraint on its child link, in the link frame."""
    arm, work = simulated.arm, simulated.query_work
    loop, wrench = closed_loop(arm, name), np.zeros(6)
    accelerations(simulated)
    set_constraint_wrench(simulated.arrays, loop.rows.start, loop.rows.stop, work, wrench)
    body, R, p = arm.frames[loop.constraint.child]
    if body >= 0:
        R, p = work.base_R[body] @ R, work.base_R[body] @ p + work.base_p[body]
    return _in_frame(wrench, R, p)


def _in_frame(wrench, R, p):
    """Moment and force (6,) in a frame with the pose (R, p)."""
    moment, force = wrench[:3], wrench[3:]
    return np.concatenate([R.T @ (moment - np.cross(p, force)), R.T @ force])
