"""
What springs, dampers, friction, limits and motors do to the coordinates.

Every force is given with its slope, so that a step can be implicit in it: a scheme that knows the
acceleration over a step h solves with M + h/2 D + h^2/4 K in the place of M (T40). With h = 0 the
forces are those of this instant and the slopes do nothing.
"""

from math import tanh

from flex_robot_sim.compiled import compiled, inlined


@inlined
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
        link_force, slope, rate = limit_force(arm, j, q[j], qd[j])
        if h > 0.0 and slope > 0.0:
            work.touching[j] = rate if q[j] > arm.upper[j] else -rate
        elif h > 0.0 and work.touching[j] != 0.0:
            # a stop touched in this step holds on to its end, or iterations go in and out for ever
            slope, rate = arm.stop_stiffness[j], abs(work.touching[j])
            end = arm.upper[j] if work.touching[j] > 0.0 else arm.lower[j]
            link_force = -slope * (q[j] - end) - rate * qd[j]
        m = arm.motor[j]
        driven = j if m < 0 else m
        pull, pull_slope, pull_rate = motor_force(effort[j], j, q[driven], qd[driven], work)
        work.applied[j] = pull
        if m < 0:
            friction, friction_rate = friction_force(arm, j, qd[j])
            work.force[j] = pull + link_force + friction
            work.added[j] = arm.rotor[j]
            slope += pull_slope
            rate += pull_rate + friction_rate
        else:
            # the motor pulls on the link through the gear, which gives
            twist, spin = q[m] - q[j], qd[m] - qd[j]
            spring = arm.gear_stiffness[j] * twist + arm.gear_damping[j] * spin
            friction, friction_rate = friction_force(arm, j, qd[m])
            coupling = h * (0.25 * h * arm.gear_stiffness[j] + 0.5 * arm.gear_damping[j])
            work.force[j] = spring + link_force
            own = h * (0.25 * h * pull_slope + 0.5 * (pull_rate + friction_rate))
            work.force[m] = pull - spring + friction
            work.added[j] = coupling
            work.added[m] = arm.rotor[j] + coupling + own
            work.coupling[j] = coupling
            if h > 0.0:
                work.force[m] += (coupling + own) * guess[m] - coupling * guess[j]
                work.force[j] += coupling * (guess[j] - guess[m])
        stiff = h * (0.25 * h * slope + 0.5 * rate)
        work.added[j] += stiff
        if h > 0.0:
            work.force[j] += stiff * guess[j]

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


@inlined
def motor_force(effort, j, q, qd, work):
    """Force of motor j, with its servo if that is on, and its slopes with position and rate."""
    kp, kd, limit = work.servo_stiffness[j], work.servo_damping[j], work.effort_limit[j]
    pull = effort + kp * (work.target[j] - q) - kd * qd
    if abs(pull) > limit:
        return (limit if pull > 0.0 else -limit), 0.0, 0.0
    return pull, kp, kd


@inlined
def limit_force(arm, j, q, qd):
    """Force of the stops of joint j, and its slopes with position and rate."""
    excess = 0.0
    if q > arm.upper[j]:
        excess = q - arm.upper[j]
    elif q < arm.lower[j]:
        excess = q - arm.lower[j]
    if excess == 0.0:
        return 0.0, 0.0, 0.0
    k, d = arm.stop_stiffness[j], arm.stop_damping[j]
    # the damping sets in with the depth, so that the force starts and ends at zero
    depth = min(abs(excess) / arm.stop_depth[j], 1.0)
    force = -k * excess - d * depth * qd
    if force * excess > 0.0:        # a stop pushes and never pulls
        return 0.0, 0.0, 0.0
    return force, k, d * depth


@inlined
def friction_force(arm, j, rate):
    """Friction in the drive of joint j, and its slope with the rate."""
    turned = tanh(rate / arm.coulomb_rate[j])
    coulomb = arm.coulomb[j]
    return (-arm.viscous[j] * rate - coulomb * turned,
            arm.viscous[j] + coulomb * (1.0 - turned * turned) / arm.coulomb_rate[j])


@compiled
def add_powers(arm, q, qd, weight, work, flow):
    """
    Add the work of motors and loads, and the energy dissipated, over a time `weight` [s].

    The accelerations for q and qd have just been computed, so that work has what they need.

    :param flow: (2,) [J].
    """
    done = taken = 0.0
    for j in range(arm.motor.size):
        m = arm.motor[j]
        driven = j if m < 0 else m
        done += work.applied[j] * qd[driven]
        taken -= friction_force(arm, j, qd[driven])[0] * qd[driven]
        if m >= 0:
            spin = qd[m] - qd[j]
            taken += arm.gear_damping[j] * spin * spin
        # what a stop stores and does not give back is lost, also where it does not push
        excess = max(q[j] - arm.upper[j], 0.0) + min(q[j] - arm.lower[j], 0.0)
        force, _, _ = limit_force(arm, j, q[j], qd[j])
        taken -= (force + arm.stop_stiffness[j] * excess) * qd[j]
    for i in range(arm.parent.size):
        first = arm.first[i]
        for r in range(6):
            done += work.load[i, r] * work.V[i, r]
        for k in range(arm.modes[i]):
            for m in range(arm.modes[i]):
                taken += qd[first + k] * arm.damping[i, k, m] * qd[first + m]
    flow[0] += weight * done
    flow[1] += weight * taken


@compiled
def stored_in_springs(arm, q):
    """Energy in elastic links, gears and stops [J]."""
    total = 0.0
    for j in range(arm.motor.size):
        if arm.motor[j] >= 0:
            twist = q[arm.motor[j]] - q[j]
            total += 0.5 * arm.gear_stiffness[j] * twist * twist
        excess = max(q[j] - arm.upper[j], arm.lower[j] - q[j], 0.0)
        total += 0.5 * arm.stop_stiffness[j] * excess * excess
    for i in range(arm.parent.size):
        first = arm.first[i]
        for k in range(arm.modes[i]):
            for m in range(arm.modes[i]):
                total += 0.5 * q[first + k] * arm.stiffness[i, k, m] * q[first + m]
    return total
