"""Queries at an instant of a motion: accelerations and motor efforts, with the present inputs."""

from flex_robot_sim.dynamics.constraints.instant import constrain_accelerations
from flex_robot_sim.dynamics.contact.instant import add_last_contact_forces
from flex_robot_sim.dynamics.factor_reuse import solve_dynamics
from flex_robot_sim.dynamics.forces import store_joint_forces
from flex_robot_sim.dynamics.forward_dynamics import implicit_dynamics
from flex_robot_sim.dynamics.joint_laws.dc_motor import dc_motor_current
from flex_robot_sim.dynamics.joint_laws.motor import motor_force
from flex_robot_sim.dynamics.loads import set_loads
from flex_robot_sim.dynamics.motor_laws import dc_motor_of, ripple_factor
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.dc_motor import CONSTANT
from flex_robot_sim.spatial.screws import set_copy

FRICTION_PROBE_STEP_S = 1e-6  # step that moves nothing, but determines static friction  [s]
FRICTION_PROBE_ITERATIONS = 6  # iterations of that step


@compiled
def set_instant_accelerations(arm, loads, q, qd, effort, is_sticky, work, rates, qdd):
    """
    Accelerations of all coordinates under the present efforts, servo and loads.

    :param is_sticky: whether dry friction may stick; it follows from a step too short to move
        anything.
    :param work: Workspace with inputs, and `joint_force`, `gear_law` and `own_inertia` of the
        last step.
    :param rates: temporary, (n,).
    :param qdd: a guess; receives the accelerations, (n,).
    """
    h, iterations = 0.0, 1
    if is_sticky:
        h, iterations = FRICTION_PROBE_STEP_S, FRICTION_PROBE_ITERATIONS
    work.relaxation[0] = 1.0
    set_loads(arm, loads, q, work)
    if arm.contact_kind.size > 0:
        add_last_contact_forces(arm, q, qd, work)
    for _ in range(iterations):
        set_copy(qdd, rates)
        if arm.constraint_kind.size > 0:
            solve_dynamics(arm, q, qd, effort, h, rates, work, qdd)
            constrain_accelerations(arm, qd, work, qdd)
        else:
            implicit_dynamics(arm, q, qd, effort, h, rates, work, qdd)
        for k in range(q.size):
            rates[k] = qd[k] + 0.5 * FRICTION_PROBE_STEP_S * (qdd[k] - rates[k])
        store_joint_forces(arm, rates, work)


@compiled
def set_applied_effort(arm, q, qd, effort, work, applied):
    """Set the motor efforts (joints,) with servo, limits and prescribed motions [N m, N]."""
    for j in range(arm.motor.size):
        k = j if arm.motor[j] < 0 else arm.motor[j]
        wanted = (
            effort[j]
            + work.servo_stiffness[j] * (work.target[j] - q[k])
            + work.servo_damping[j] * work.target_rate[j]
        )
        force, _ = motor_force(
            qd[k], wanted, work.servo_damping[j], work.effort_limit[j], work.rate_limit[j]
        )
        if arm.has_motor_law[j] != 0.0:
            motor = dc_motor_of(j, ripple_factor(arm, j, q[k]), work)
            if motor[0] > 0.0:
                K = work.dc_motor[j, CONSTANT]
                force = K * dc_motor_current(qd[k], 0.0, force / K, 0.0, motor)[0]
        applied[j] = force + work.prescribed_effort[j]
