"""
Generalised forces of springs, dampers, friction, stops and motors.

Every force comes with its slope, so that a step can be implicit in it. The implicit scheme solves
for the acceleration over a step h with M + h/2 D + h^2/4 K instead of M (T40). With h = 0 the
forces are those of this instant and the slopes have no effect. The laws along the coordinates of a
joint are in joint_laws/ and model/friction.py.
"""

from math import inf

from flex_robot_sim.dynamics.cubic_strain import add_cubic_force, cubic_energy
from flex_robot_sim.dynamics.gear_forces import gear_law_energy, gear_law_loss, set_gear_force
from flex_robot_sim.dynamics.joint_laws.creep import NO_CREEP, end_weight
from flex_robot_sim.dynamics.joint_laws.dc_motor import NO_DC_MOTOR
from flex_robot_sim.dynamics.joint_laws.maxwell_slip import friction_elements, has_presliding
from flex_robot_sim.dynamics.joint_laws.motor import motor_force
from flex_robot_sim.dynamics.joint_laws.stops import stop_force
from flex_robot_sim.dynamics.joint_laws.sum_of_laws import smooth_force, solve_joint_laws
from flex_robot_sim.dynamics.motor_laws import (
    cogging_energy,
    cogging_force,
    dc_motor_of,
    drive_dc_motor,
    ripple_factor,
    set_motor_step,
)
from flex_robot_sim.dynamics.sliding_strain import (
    add_sliding_damping,
    add_sliding_strain,
    sliding_strain_energy,
)
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.body_kinds import ELASTIC, SLIDING
from flex_robot_sim.model.damping import add_shared_damping_force, shared_damping_power
from flex_robot_sim.model.dc_motor import CONSTANT
from flex_robot_sim.model.friction import (
    CREEP_RATE,
    VISCOUS,
    friction_level,
    smoothed_friction,
    static_friction,
)
from flex_robot_sim.spatial.screws import set_copy


@compiled
def set_forces(arm, q, qd, effort, h, guess, work):
    """
    Forces on all coordinates, and the inertia that the implicit scheme adds.

    :param arm: ArmModel with n coordinates.
    :param q: coordinates, (n,) [rad, m]; qd are their rates.
    :param effort: of the motors, by joint, (joints,) [N m, N].
    :param h: step in which the forces are implicit [s]; 0: explicit.
    :param guess: accelerations that belong to q and qd, (n,); not read if h = 0.
    :param work: Workspace; receives force, added_inertia, and the coupling of motors and links.
    """
    for j in range(arm.motor.size):
        m = arm.motor[j]
        for side in range(1 if m < 0 else 2):
            # spring and stops act on the link side, motor and friction on the driven side
            k = j if side == 0 else m
            is_driven = m < 0 or side == 1
            start = qd[k] - 0.5 * h * guess[k] if h > 0.0 else qd[k]
            position = q[k] - 0.5 * h * qd[k]
            above, below, a, s, p, ps = -inf, -inf, 0.0, 0.0, 0.0, 0.0
            is_nonlinear, slips, friction = False, False, 0.0
            effort_limit, dc_motor = work.effort_limit[j], NO_DC_MOTOR
            if side == 0:
                above, below = position - arm.upper[j], arm.lower[j] - position
                is_nonlinear = (
                    max(above, below) > 0.0 or max(above + h * qd[k], below - h * qd[k]) > 0.0
                )
                a = arm.spring[j] * (arm.spring_rest[j] - position)
                s = 0.5 * h * arm.spring[j]
            if is_driven:
                s += arm.friction[j, VISCOUS]
                slips = has_presliding(arm, work, j)
                friction = 0.0 if slips else static_friction(arm.friction[j])
                kp, kd = work.servo_stiffness[j], work.servo_damping[j]
                p = effort[j] + kp * (work.target[j] - position) + kd * work.target_rate[j]
                ps = kd + 0.5 * h * kp
                if arm.has_motor_law[j] != 0.0:
                    ripple = ripple_factor(arm, j, q[k])
                    p, ps, effort_limit = ripple * p, ripple * ps, ripple * effort_limit
                    work.cogging[j] = cogging_force(arm, j, q[k], h * qd[k])
                    a += work.cogging[j]
                    dc_motor = dc_motor_of(j, ripple, work)
                if not abs(p - ps * qd[k]) <= effort_limit or (abs(qd[k]) > work.rate_limit[j]):
                    is_nonlinear = True
                is_nonlinear = is_nonlinear or slips or dc_motor[0] > 0.0
            laws = (
                a,
                s,
                p,
                ps,
                effort_limit,
                work.rate_limit[j],
                above,
                below,
                arm.stop_stiffness[j],
                arm.stop_damping[j],
                arm.stop_depth[j],
            )
            if h == 0.0 or (is_driven and work.prescribed[j] != 0.0):
                slip = friction_elements(arm, j, start, slips, work)
                force, slope = smooth_force(qd[k], start, h, laws, slip, NO_CREEP, dc_motor)
                if friction > 0.0:
                    force -= smoothed_friction(qd[k], arm.friction[j])[0]
                slope = 0.0
            elif is_nonlinear or friction > 0.0 or work.is_nonsmooth[k]:
                inertia = (
                    work.own_inertia[k] if work.own_inertia[k] > 0.0 else arm.inertia_scale[k]
                )
                r = 2.0 * inertia / h
                slip = friction_elements(arm, j, start, slips, work)
                friction = 0.0 if friction == 0.0 else friction_level(start, arm.friction[j])
                creep, creep_rate = NO_CREEP, arm.friction[j, CREEP_RATE]
                if friction > 0.0 and creep_rate > 0.0:
                    creep = friction, creep_rate, end_weight(2.0 * friction / (r * creep_rate))
                    friction = 0.0
                force, slope = solve_joint_laws(
                    work.relaxation[0] * r * qd[k] - work.joint_force[k],
                    work.relaxation[0] * r,
                    r,
                    friction,
                    qd[k],
                    start,
                    h,
                    laws,
                    slip,
                    creep,
                    dc_motor,
                )
                work.is_nonsmooth[k] = is_nonlinear or slope != -(s + ps)
            else:
                force, slope = a + p, -(s + ps)
            work.joint_force_at_rest[k], work.joint_force_slope[k] = force, slope
            work.force[k] = force + slope * start
            work.added_inertia[k] = -0.5 * h * slope
        if m < 0:
            work.added_inertia[j] += arm.rotor[j]
        else:
            # the motor drives the link through an elastic gear
            if arm.has_gear_law[j] != 0.0:
                set_gear_force(arm, j, q, qd, h, guess, work)
                continue
            spring = arm.gear_stiffness[j] * (q[m] - q[j]) + arm.gear_damping[j] * (qd[m] - qd[j])
            coupling = h * (0.25 * h * arm.gear_stiffness[j] + 0.5 * arm.gear_damping[j])
            if h > 0.0:
                spring -= coupling * (guess[m] - guess[j])
            work.transmission[j] = 1.0
            work.force[j] += spring
            work.force[m] -= spring
            work.added_inertia[j] += coupling
            work.own_inertia[m] = arm.rotor[j] + coupling
            work.added_inertia[m] += work.own_inertia[m]
            work.coupling[j] = coupling

    for i in range(arm.parent.size):
        n, first = arm.modes[i], arm.first[i]
        if arm.kind[i] == SLIDING:
            add_sliding_strain(arm, i, q, qd, h, guess, work)
            continue
        for k in range(n):
            work.force[first + k] = 0.0
            for m in range(n):
                K, D = arm.stiffness[i, k, m], arm.damping[i, k, m]
                implicit_stiffness = h * (0.25 * h * K + 0.5 * D)
                work.force[first + k] -= K * q[first + m] + D * qd[first + m]
                work.implicit[i, k, m] = implicit_stiffness
                if h > 0.0:
                    work.force[first + k] += implicit_stiffness * guess[first + m]
        if arm.kind[i] == ELASTIC:
            add_cubic_force(arm, i, q, work)
    if work.shared.size > 0:
        add_shared_damping_force(arm, -1.0, qd, work, work.force)


@compiled
def store_joint_forces(arm, qd, work):
    """Store the joint forces at the rates qd that an implicit step has just found."""
    for k in range(arm.motor.size):
        work.joint_force[k] = work.joint_force_at_rest[k] + work.joint_force_slope[k] * qd[k]
        m = arm.motor[k]
        if m >= 0:
            work.joint_force[m] = work.joint_force_at_rest[m] + work.joint_force_slope[m] * qd[m]
            work.gear_law[k, 0] = work.gear_law[k, 1] + work.gear_law[k, 2] * (
                work.transmission[k] * qd[m] - qd[k]
            )


@compiled
def restore_joint_forces(joint_force, gear_force, work):
    """Restore the forces of joints (n,) and of gears (j,) from before a rejected step."""
    set_copy(joint_force, work.joint_force)
    for j in range(work.gear_law.shape[0]):
        work.gear_law[j, 0] = gear_force[j]


@compiled
def add_powers(arm, q, qd, qdd, effort, h, weight, work, flow):
    """
    Add the work of motors and loads, and the energy dissipated, over a time `weight` [s].

    The accelerations for q and qd have just been computed, so that `work` is up to date.

    :param qdd: accelerations, (n,); effort: of the motors, (joints,) [N m, N].
    :param h: step with q and qd at its middle, 0 for an instant [s].
    :param flow: (2,) [J].
    """
    delivered = dissipated = 0.0
    for j in range(arm.motor.size):
        m = arm.motor[j]
        driven = j if m < 0 else m
        v, position = qd[driven], q[driven] - 0.5 * h * qd[driven]
        kp, kd = work.servo_stiffness[j], work.servo_damping[j]
        motor, _ = motor_force(
            v,
            effort[j] + kp * (work.target[j] - position) + kd * work.target_rate[j],
            kd + 0.5 * h * kp,
            work.effort_limit[j],
            work.rate_limit[j],
        )
        work.applied[j] = motor
        if arm.has_motor_law[j] != 0.0:
            ripple = ripple_factor(arm, j, q[driven])
            motor = drive_dc_motor(j, v, h, ripple * motor, ripple, work)
        if work.prescribed[j] != 0.0:
            motor += work.prescribed_effort[j]
            work.applied[j] += work.prescribed_effort[j]
            if work.dc_motor[j, CONSTANT] > 0.0:
                current = work.applied[j] / work.dc_motor[j, CONSTANT]
                set_motor_step(j, motor * v * h, h * current * current, current, work)
        delivered += motor * v
        dissipated += arm.friction[j, VISCOUS] * v * v
        # dissipation of the stops
        rate, k = qd[j], arm.stop_stiffness[j]
        start, start_rate = q[j] - 0.5 * h * rate, rate - 0.5 * h * qdd[j]
        d, depth = arm.stop_damping[j], arm.stop_depth[j]
        upper_spring, upper, _ = stop_force(rate, start_rate, h, start - arm.upper[j], k, d, depth)
        dissipated += (upper - upper_spring) * rate
        lower_spring, lower, _ = stop_force(
            -rate, -start_rate, h, arm.lower[j] - start, k, d, depth
        )
        dissipated -= (lower - lower_spring) * rate
        if m >= 0 and arm.has_gear_law[j] != 0.0:
            dissipated += gear_law_loss(arm, j, q, qd, h)
        elif m >= 0:
            gear_rate = qd[m] - qd[j]
            dissipated += arm.gear_damping[j] * gear_rate * gear_rate
        if static_friction(arm.friction[j]) > 0.0 and not has_presliding(arm, work, j):
            if h == 0.0 or work.prescribed[j] != 0.0:
                friction = smoothed_friction(v, arm.friction[j])[0]
            else:
                # static friction is the remainder of the force balance
                friction = motor - arm.friction[j, VISCOUS] * v - work.joint_force[driven]
                if arm.has_motor_law[j] != 0.0:
                    friction += work.cogging[j]  # that at `q` would miss the last correction
                if m < 0:
                    friction += lower - upper + arm.spring[j] * (arm.spring_rest[j] - q[j])
            dissipated += friction * v
    for i in range(arm.parent.size):
        first = arm.first[i]
        for r in range(6):
            delivered += work.load[i, r] * work.V[i, r]
        if arm.kind[i] == SLIDING:
            dissipated += add_sliding_damping(arm, i, q, qd, work.force, 0.0)
            continue
        for k in range(arm.modes[i]):
            for m in range(arm.modes[i]):
                dissipated += qd[first + k] * arm.damping[i, k, m] * qd[first + m]
    dissipated += shared_damping_power(arm, qd)
    flow[0] += weight * delivered
    flow[1] += weight * dissipated


@compiled
def spring_energy(arm, q):
    """Energy in elastic links, gears, springs across joints and stops [J]."""
    total = 0.0
    for j in range(arm.motor.size):
        if arm.motor[j] >= 0 and arm.has_gear_law[j] != 0.0:
            total += gear_law_energy(arm, j, q)
        elif arm.motor[j] >= 0:
            twist = q[arm.motor[j]] - q[j]
            total += 0.5 * arm.gear_stiffness[j] * twist * twist
        if arm.has_motor_law[j] != 0.0:
            total += cogging_energy(arm, j, q[j if arm.motor[j] < 0 else arm.motor[j]])
        stretch = q[j] - arm.spring_rest[j]
        total += 0.5 * arm.spring[j] * stretch * stretch
        excess = max(q[j] - arm.upper[j], arm.lower[j] - q[j], 0.0)
        total += 0.5 * arm.stop_stiffness[j] * excess * excess
    for i in range(arm.parent.size):
        first = arm.first[i]
        if arm.kind[i] == SLIDING:
            total += sliding_strain_energy(arm, i, q)
            continue
        for k in range(arm.modes[i]):
            for m in range(arm.modes[i]):
                total += 0.5 * q[first + k] * arm.stiffness[i, k, m] * q[first + m]
        if arm.kind[i] == ELASTIC:
            total += cubic_energy(arm, i, q)
    return total


@compiled
def add_stop_slopes(arm, q, qd, D, K):
    """
    Add the slopes of stops, and of dry friction at a constant level: never negative.

    :param D: (n, n), slopes with the rates, added to; K: with the coordinates, added to.
    """
    for j in range(arm.motor.size):
        driven = j if arm.motor[j] < 0 else arm.motor[j]
        D[driven, driven] += smoothed_friction(qd[driven], arm.friction[j])[1]
        for sign, gap in ((1.0, q[j] - arm.upper[j]), (-1.0, arm.lower[j] - q[j])):
            k = arm.stop_stiffness[j]
            d = arm.stop_damping[j]
            depth = arm.stop_depth[j]
            rate = sign * qd[j]
            spring, force, slope = stop_force(rate, rate, 0.0, gap, k, d, depth)
            if force > 0.0:
                D[j, j] += slope
                K[j, j] += k * (1.0 + d * rate / (k * depth) if gap < depth else 1.0)


@compiled
def add_motor_slopes(arm, q, qd, effort, work, D, K):
    """
    Add the slopes of the motors with their servo, within their limits.

    :param effort: of the motors, by joint, (joints,) [N m, N].
    :param D: (n, n), slopes with the rates, added to; K: with the coordinates, added to.
    """
    for j in range(arm.motor.size):
        driven = j if arm.motor[j] < 0 else arm.motor[j]
        kp, kd, v = work.servo_stiffness[j], work.servo_damping[j], qd[driven]
        wanted = effort[j] + kp * (work.target[j] - q[driven]) + kd * (work.target_rate[j] - v)
        pull, slope = motor_force(v, wanted + kd * v, kd, work.effort_limit[j], work.rate_limit[j])
        D[driven, driven] += slope
        if abs(wanted) <= work.effort_limit[j]:
            # a motor near its largest rate delivers a share of the demand
            K[driven, driven] += kp if pull == wanted else kp * pull / wanted
