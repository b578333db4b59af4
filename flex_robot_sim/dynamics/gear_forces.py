"""
Forces of gears with hysteresis, backlash, several stiffnesses or kinematic error (T36, T37).

A gear pushes the link with F and the motor with -g F, where g is the rate of the twist by that of
the motor. So the arm loses exactly the energy that the gear stores and dissipates.
"""

from flex_robot_sim.dynamics.joint_laws.gear_spring import (
    gear_spring_energy,
    gear_spring_force,
    gear_spring_slope,
)
from flex_robot_sim.dynamics.joint_laws.gear_twist import start_twist, transmission_of
from flex_robot_sim.dynamics.joint_laws.harmonics import harmonic_curvature
from flex_robot_sim.dynamics.joint_laws.maxwell_slip import gear_elements, slip_force
from flex_robot_sim.dynamics.joint_laws.sum_of_laws import MAX_NEWTON_ITERATIONS
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.slip_elements import GEAR


@compiled
def set_gear_force(arm, j, q, qd, h, guess, work):
    """
    Set the force of the gear of joint j at the start of a step, and its implicit coupling.

    Its laws are solved for the rate of the twist, as those of the joints (T33).
    """
    m, g = arm.motor[j], transmission_of(arm, j, q, qd, h)
    rate, twist = g * qd[m] - qd[j], start_twist(arm, j, q, qd, h)
    slip = gear_elements(arm, j, work)
    force, coupling = 0.0, 0.0
    if h == 0.0:
        force = gear_law_force(arm, j, rate, h, twist, slip)[0]
    else:
        start = rate - 0.5 * h * (g * guess[m] - guess[j])
        link, motor = arm.inertia_scale[j], arm.rotor[j]
        if work.own_inertia[j] > 0.0:
            link = work.own_inertia[j]
        r = 2.0 / h * link * motor / (g * g * link + motor)
        force, slope = solve_gear_law(
            arm,
            j,
            work.relaxation[0] * r * rate - work.gear_law[j, 0],
            work.relaxation[0] * r,
            rate,
            h,
            twist,
            slip,
        )
        work.gear_law[j, 1], work.gear_law[j, 2] = force, slope
        force, coupling = -(force + slope * start), -0.5 * h * slope
    work.transmission[j] = g
    work.force[j] += force
    work.force[m] -= g * force
    work.added_inertia[j] += coupling
    work.own_inertia[m] = arm.rotor[j] + g * g * coupling
    work.added_inertia[m] += work.own_inertia[m]
    work.coupling[j] = g * coupling


@compiled
def gear_law_force(arm, j, rate, h, twist, slip):
    """
    Force of spring, damper and slipping elements of a gear, and its slope with the rate.

    :param rate: of the twist at mid-step; twist: at the start of the step.
    """
    _, force, slope = gear_spring_force(
        rate,
        h,
        twist,
        arm.gear_stiffness[j],
        arm.gear_damping[j],
        arm.gear_corner[j],
        arm.gear_share[j],
    )
    z, stiffness, limit, k_scale, x_scale = slip
    slip_total, slip_slope = slip_force(h * rate, z, stiffness, limit, k_scale, x_scale)
    return force + slip_total, slope + h * slip_slope


@compiled
def solve_gear_law(arm, j, w, r, v, h, twist, slip):
    """
    Linear force f + g v against the twist near the rate that solves r v = w - force(v) (T33).

    :param v: a first guess of the rate of the twist; see `solve_joint_laws`.
    :returns: f and g <= 0.
    """
    low, high, has_low, has_high = v, v, False, False
    for _ in range(MAX_NEWTON_ITERATIONS):
        force, slope = gear_law_force(arm, j, v, h, twist, slip)
        residual = w - force - r * v
        correction = residual / (r + slope)
        if abs(correction) <= 1e-12 * (abs(v) + abs(correction)) or residual == 0.0:
            break
        if residual > 0.0:
            low, has_low = v, True
        else:
            high, has_high = v, True
        v += correction
        if has_low and has_high:
            if not low < v < high:
                v = 0.5 * (low + high)
            if high - low <= 1e-13 * (abs(low) + abs(high)):
                break
    return slope * v - force, -slope


@compiled
def gear_law_loss(arm, j, q, qd, h):
    """Power that spring and damper of the gear of joint j dissipate [W]."""
    rate = transmission_of(arm, j, q, qd, h) * qd[arm.motor[j]] - qd[j]
    spring, force, _ = gear_spring_force(
        rate,
        h,
        start_twist(arm, j, q, qd, h),
        arm.gear_stiffness[j],
        arm.gear_damping[j],
        arm.gear_corner[j],
        arm.gear_share[j],
    )
    return (force - spring) * rate


@compiled
def gear_law_energy(arm, j, q):
    """Energy in the spring of the gear of joint j [J]."""
    return gear_spring_energy(
        start_twist(arm, j, q, q, 0.0),
        arm.gear_stiffness[j],
        arm.gear_corner[j],
        arm.gear_share[j],
    )


@compiled
def add_gear_law_slopes(arm, j, q, qd, is_engaged, has_slip, D, K):
    """
    Add the slopes of the gear of joint j with the rates, D, and with the coordinates, K.

    :param is_engaged: whether the stiffness within the backlash is that of the engaged flank.
    :param has_slip: whether its Maxwell-slip elements stick; otherwise they have no force.
    """
    m, table = arm.motor[j], arm.kinematic_error[j]
    g, twist = transmission_of(arm, j, q, qd, 0.0), start_twist(arm, j, q, qd, 0.0)
    rate, corner, share = g * qd[m] - qd[j], arm.gear_corner[j], arm.gear_share[j]
    k, d = arm.gear_stiffness[j], arm.gear_damping[j]
    _, force, damping = gear_spring_force(rate, 0.0, twist, k, d, corner, share)
    stiffness = gear_spring_slope(twist, k, corner, share, is_engaged)
    if is_engaged:
        damping = d
    if has_slip:
        for e in range(arm.slip_stiffness.shape[2]):
            stiffness += arm.slip_stiffness[j, GEAR, e]
    for a, b, factor in ((j, j, 1.0), (m, m, g * g), (j, m, -g), (m, j, -g)):
        K[a, b] += factor * stiffness
        D[a, b] += factor * damping
    if table[0, 0] != 0.0:
        curvature = harmonic_curvature(q[m], table)
        K[j, m] += damping * curvature * qd[m]
        K[m, m] -= curvature * force + g * damping * curvature * qd[m]
