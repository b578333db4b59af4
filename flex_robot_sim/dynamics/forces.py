"""
What springs, dampers, friction, limits and motors do to the coordinates.

Every force is given with its slope, so that a step can be implicit in it: a scheme that knows the
acceleration over a step h solves with M + h/2 D + h^2/4 K in the place of M (T40). With h = 0 the
forces are those of this instant and the slopes do nothing. The laws along the coordinates of a
joint are those of joint_laws.py; nobody else knows them.
"""

from math import inf

from flex_robot_sim.dynamics.joint_laws import (
    friction_level,
    motor_pull,
    settle,
    smooth_force,
    smoothed_friction,
    stop_push,
)
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.damping import add_shared_pull, shared_loss


@compiled
def set_forces(arm, q, qd, effort, h, guess, work):
    """
    Forces on all coordinates, and what the implicit scheme adds to their inertia.

    :param arm: ArmModel with n coordinates.
    :param q: coordinates, (n,) [rad, m]; qd are their rates.
    :param effort: of the motors, by joint, (joints,) [N m, N].
    :param h: step in which the forces are implicit [s]; 0: explicit.
    :param guess: accelerations for which q and qd hold, (n,); not read if h = 0.
    :param work: Workspace; receives force, added, and the coupling of motors with their links.
    """
    for j in range(arm.motor.size):
        m = arm.motor[j]
        for side in range(1 if m < 0 else 2):
            # the link side bears spring and stops, the driven side motor and friction
            k = j if side == 0 else m
            drives = m < 0 or side == 1
            start = qd[k] - 0.5 * h * guess[k] if h > 0.0 else qd[k]
            place = q[k] - 0.5 * h * qd[k]
            above, below, a, s, p, ps = -inf, -inf, 0.0, 0.0, 0.0, 0.0
            touches, coulomb, dry = False, 0.0, 0.0
            if side == 0:
                above, below = place - arm.upper[j], arm.lower[j] - place
                touches = max(above, below) > 0.0 or max(above + h * qd[k],
                                                         below - h * qd[k]) > 0.0
                a = arm.spring[j] * (arm.spring_rest[j] - place)
                s = 0.5 * h * arm.spring[j]
            if drives:
                s += arm.viscous[j]
                coulomb, dry = arm.coulomb[j], arm.coulomb[j] + arm.stiction[j]
                kp, kd = work.servo_stiffness[j], work.servo_damping[j]
                p = effort[j] + kp * (work.target[j] - place) + kd * work.target_rate[j]
                ps = kd + 0.5 * h * kp
                if not abs(p - ps * qd[k]) <= work.effort_limit[j] or (
                        abs(qd[k]) > work.rate_limit[j]):
                    touches = True
            if h == 0.0 or (drives and work.prescribed[j] != 0.0):
                force, slope = smooth_force(
                    qd[k], start, h, a, s, p, ps, work.effort_limit[j], work.rate_limit[j],
                    above, below, arm.stop_stiffness[j], arm.stop_damping[j], arm.stop_depth[j])
                if dry > 0.0:
                    force -= smoothed_friction(qd[k], coulomb, arm.stiction[j], arm.stribeck[j],
                                               arm.coulomb_rate[j])[0]
                slope = 0.0
            elif touches or dry > 0.0 or work.is_nonsmooth[k]:
                own = work.own_inertia[k] if work.own_inertia[k] > 0.0 else arm.inertia_scale[k]
                r = 2.0 * own / h
                dry = 0.0 if dry == 0.0 else friction_level(start, coulomb, arm.stiction[j],
                                                            arm.stribeck[j])
                force, slope = settle(
                    work.relaxation[0] * r * qd[k] - work.joint_force[k],
                    work.relaxation[0] * r, r, dry, qd[k], start, h, a, s, p, ps,
                    work.effort_limit[j], work.rate_limit[j], above, below, arm.stop_stiffness[j],
                    arm.stop_damping[j], arm.stop_depth[j])
                work.is_nonsmooth[k] = touches or slope != -(s + ps)
            else:
                force, slope = a + p, -(s + ps)
            work.joint_force_at_rest[k], work.joint_force_slope[k] = force, slope
            work.force[k] = force + slope * start
            work.added_inertia[k] = -0.5 * h * slope
        if m < 0:
            work.added_inertia[j] += arm.rotor[j]
        else:
            # the motor pulls on the link through the gear, which gives
            spring = (arm.gear_stiffness[j] * (q[m] - q[j])
                      + arm.gear_damping[j] * (qd[m] - qd[j]))
            coupling = h * (0.25 * h * arm.gear_stiffness[j] + 0.5 * arm.gear_damping[j])
            if h > 0.0:
                spring -= coupling * (guess[m] - guess[j])
            work.force[j] += spring
            work.force[m] -= spring
            work.added_inertia[j] += coupling
            work.own_inertia[m] = arm.rotor[j] + coupling
            work.added_inertia[m] += work.own_inertia[m]
            work.coupling[j] = coupling

    for i in range(arm.parent.size):
        n, first = arm.modes[i], arm.first[i]
        for k in range(n):
            work.force[first + k] = 0.0
            for m in range(n):
                K, D = arm.stiffness[i, k, m], arm.damping[i, k, m]
                stiff = h * (0.25 * h * K + 0.5 * D)
                work.force[first + k] -= K * q[first + m] + D * qd[first + m]
                work.implicit[i, k, m] = stiff
                if h > 0.0:
                    work.force[first + k] += stiff * guess[first + m]
    if work.shared.size > 0:
        add_shared_pull(arm, -1.0, qd, work, work.force)


@compiled
def keep_laws(arm, qd, work):
    """Keep the forces of all laws at the rates qd that an implicit step has just found."""
    for k in range(arm.motor.size):
        work.joint_force[k] = work.joint_force_at_rest[k] + work.joint_force_slope[k] * qd[k]
        m = arm.motor[k]
        if m >= 0:
            work.joint_force[m] = work.joint_force_at_rest[m] + work.joint_force_slope[m] * qd[m]


@compiled
def add_powers(arm, q, qd, qdd, effort, h, weight, work, flow):
    """
    Add the work of motors and loads, and the energy dissipated, over a time `weight` [s].

    The accelerations for q and qd have just been computed, so that work has what they need.

    :param qdd: accelerations, (n,); effort: of the motors, (joints,) [N m, N].
    :param h: step in whose middle q and qd are, 0 for an instant [s].
    :param flow: (2,) [J].
    """
    done = taken = 0.0
    for j in range(arm.motor.size):
        m = arm.motor[j]
        driven = j if m < 0 else m
        v, place = qd[driven], q[driven] - 0.5 * h * qd[driven]
        kp, kd = work.servo_stiffness[j], work.servo_damping[j]
        pull, _ = motor_pull(
            v, effort[j] + kp * (work.target[j] - place) + kd * work.target_rate[j],
            kd + 0.5 * h * kp, work.effort_limit[j], work.rate_limit[j])
        if work.prescribed[j] != 0.0:
            pull += work.prescribed_effort[j]
        work.applied[j] = pull
        done += pull * v
        taken += arm.viscous[j] * v * v
        # what a stop takes beyond its spring
        rate, k = qd[j], arm.stop_stiffness[j]
        start, turn = q[j] - 0.5 * h * rate, rate - 0.5 * h * qdd[j]
        d, depth = arm.stop_damping[j], arm.stop_depth[j]
        spring, upper, _ = stop_push(rate, turn, h, start - arm.upper[j], k, d, depth)
        taken += (upper - spring) * rate
        back, lower, _ = stop_push(-rate, -turn, h, arm.lower[j] - start, k, d, depth)
        taken -= (lower - back) * rate
        if m >= 0:
            spin = qd[m] - qd[j]
            taken += arm.gear_damping[j] * spin * spin
        if arm.coulomb[j] + arm.stiction[j] > 0.0:
            if h == 0.0 or work.prescribed[j] != 0.0:
                friction = smoothed_friction(v, arm.coulomb[j], arm.stiction[j], arm.stribeck[j],
                                             arm.coulomb_rate[j])[0]
            else:
                # what sticks has no law: its friction is what is left
                friction = pull - arm.viscous[j] * v - work.joint_force[driven]
                if m < 0:
                    friction += lower - upper + arm.spring[j] * (arm.spring_rest[j] - q[j])
            taken += friction * v
    for i in range(arm.parent.size):
        first = arm.first[i]
        for r in range(6):
            done += work.load[i, r] * work.V[i, r]
        for k in range(arm.modes[i]):
            for m in range(arm.modes[i]):
                taken += qd[first + k] * arm.damping[i, k, m] * qd[first + m]
    taken += shared_loss(arm, qd)
    flow[0] += weight * done
    flow[1] += weight * taken


@compiled
def stored_in_springs(arm, q):
    """Energy in elastic links, gears, springs across joints and stops [J]."""
    total = 0.0
    for j in range(arm.motor.size):
        if arm.motor[j] >= 0:
            twist = q[arm.motor[j]] - q[j]
            total += 0.5 * arm.gear_stiffness[j] * twist * twist
        wound = q[j] - arm.spring_rest[j]
        total += 0.5 * arm.spring[j] * wound * wound
        excess = max(q[j] - arm.upper[j], arm.lower[j] - q[j], 0.0)
        total += 0.5 * arm.stop_stiffness[j] * excess * excess
    for i in range(arm.parent.size):
        first = arm.first[i]
        for k in range(arm.modes[i]):
            for m in range(arm.modes[i]):
                total += 0.5 * q[first + k] * arm.stiffness[i, k, m] * q[first + m]
    return total


@compiled
def add_joint_slopes(arm, q, qd, D, K):
    """
    Add what the laws of all joints lose by rate and by position, drives without servo (T50).

    :param D: (n, n), added to; K likewise.
    """
    for j in range(arm.motor.size):
        m = arm.motor[j]
        driven = j if m < 0 else m
        D[driven, driven] += arm.viscous[j] + smoothed_friction(
            qd[driven], arm.coulomb[j], arm.stiction[j], arm.stribeck[j], arm.coulomb_rate[j])[1]
        K[j, j] += arm.spring[j]
        for sign, gap in ((1.0, q[j] - arm.upper[j]), (-1.0, arm.lower[j] - q[j])):
            k, d, depth, rate = (arm.stop_stiffness[j], arm.stop_damping[j], arm.stop_depth[j],
                                 sign * qd[j])
            spring, push, slope = stop_push(rate, rate, 0.0, gap, k, d, depth)
            if push > 0.0:
                D[j, j] += slope
                K[j, j] += k * (1.0 + d * rate / (k * depth) if gap < depth else 1.0)
        if m >= 0:
            for a, b, sign in ((j, j, 1.0), (m, m, 1.0), (j, m, -1.0), (m, j, -1.0)):
                K[a, b] += sign * arm.gear_stiffness[j]
                D[a, b] += sign * arm.gear_damping[j]
