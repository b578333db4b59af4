"""
Queries of a simulated arm at its present state: accelerations, wrenches and energy.

Queries use a workspace of their own, so that another thread can query a simulation while it steps.
"""

from typing import NamedTuple

import numpy as np

from flex_robot_sim.dynamics.forces import store_joint_forces
from flex_robot_sim.dynamics.forward_dynamics import implicit_dynamics, inverse_dynamics
from flex_robot_sim.dynamics.joint_laws import motor_force
from flex_robot_sim.dynamics.loads import set_loads
from flex_robot_sim.model.arguments import is_known
from flex_robot_sim.model.friction import has_dry_friction
from flex_robot_sim.simulation.simulated_arm import SimulatedArm
from flex_robot_sim.util.exceptions import SettingError

FRICTION_PROBE_STEP_S = 1e-6    # step that moves nothing, but determines static friction  [s]
FRICTION_PROBE_ITERATIONS = 6   # iterations of that step


class Energy(NamedTuple):
    """Where the energy is [J]."""

    kinetic: float
    strain: float           # in elastic links, gears and stops
    gravity: float
    work: float             # done by motors and loads since the start
    dissipated: float       # since the start
    # of these: zero except for rounding; for the errors of explicit schemes, formulations and
    # steps with prescribed drives; and for uncorrected losses of coarse implicit steps (T44, T46)
    balance: float


def energy(simulated: SimulatedArm) -> Energy:
    """Return the Energy of the arm, with its balance."""
    kinetic, strain, gravity = simulated.energies()
    work, dissipated = simulated.state.flow[:2]
    balance = kinetic + strain + gravity + dissipated - work - simulated.start_energy
    return Energy(*map(float, (kinetic, strain, gravity, work, dissipated, balance)))


def applied_effort(simulated: SimulatedArm) -> np.ndarray:
    """Motor efforts including the servo at this instant, (joints,) [N m, N]."""
    work, motor_q = simulated.work, simulated.motor_q
    position, velocity = simulated.state.q[motor_q], simulated.state.qd[motor_q]
    wanted = (simulated.state.effort + work.servo_stiffness * (work.target - position)
              + work.servo_damping * work.target_rate)
    rows = zip(*(values.tolist() for values in (
        velocity, wanted, work.servo_damping, work.effort_limit, work.rate_limit)))
    return np.array([motor_force(*row)[0] for row in rows]) + work.prescribed_effort


def accelerations(simulated: SimulatedArm) -> np.ndarray:
    """Accelerations of all coordinates (n,) at this instant."""
    arrays, (q, qd, qdd, effort, *_) = simulated.arrays, simulated.state
    qdd, guess, work = qdd.copy(), np.empty(q.size), simulated.query_work
    is_dry = simulated.settings.scheme == 'implicit_midpoint' and has_dry_friction(arrays.friction)
    work.joint_force[:] = simulated.work.joint_force
    work.own_inertia[:] = simulated.work.own_inertia
    work.relaxation[0] = 1.0
    set_loads(arrays, simulated.loads, q, qd, work)
    # static friction follows from a step too short to move anything
    for _ in range(FRICTION_PROBE_ITERATIONS if is_dry else 1):
        guess[:] = qdd
        implicit_dynamics(arrays, q, qd, effort, FRICTION_PROBE_STEP_S if is_dry else 0.0, guess,
                          work, qdd)
        store_joint_forces(arrays, qd + 0.5 * FRICTION_PROBE_STEP_S * (qdd - guess), work)
    return qdd


def wrench(simulated: SimulatedArm, joint: str) -> np.ndarray:
    """Moment and force (6,) [N m, N] that a joint transmits to its link, in the link frame."""
    arm, state, work = simulated.arm, simulated.state, simulated.query_work
    if not is_known(joint, arm.carried_bodies):
        raise SettingError(f'no joint "{joint}" carries a body. Known: '
                           f'{", ".join(arm.carried_bodies)}')
    body, frame = arm.carried_bodies[joint]
    inverse_dynamics(simulated.arrays, state.q, state.qd, accelerations(simulated), work,
                     np.zeros(arm.size))
    moment, force = work.F[body, :3], work.F[body, 3:]
    return np.concatenate([frame.R.T @ (moment - np.cross(frame.p, force)), frame.R.T @ force])
