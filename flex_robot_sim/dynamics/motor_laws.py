"""Cogging and torque ripple of the motors (T38), and DC motors (T124)."""

from flex_robot_sim.dynamics.joint_laws.dc_motor import NO_DC_MOTOR, dc_motor_current
from flex_robot_sim.dynamics.joint_laws.harmonics import (
    harmonic_potential,
    harmonic_value,
    mean_harmonic_slope,
    mean_harmonic_value,
)
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.dc_motor import CONSTANT, CURRENT, INDUCTANCE, RESISTANCE, VOLTAGE


@compiled
def ripple_factor(arm, j, position):
    """Effort of the motor of joint j over that of its current, at a position of the motor side."""
    if arm.has_motor_law[j] == 0.0:
        return 1.0
    return 1.0 + harmonic_value(position, arm.torque_ripple[j])


@compiled
def ripple_slope(arm, j, position):
    """Slope of `ripple_factor` with the position."""
    return mean_harmonic_slope(position, 0.0, arm.torque_ripple[j])


@compiled
def cogging_force(arm, j, position, travel):
    """
    Force of cogging over a step: the difference of its potential over the travel.

    :param position: of the motor side at mid-step; travel: over the step [rad, m].
    """
    return mean_harmonic_value(position, travel, arm.cogging[j])


@compiled
def cogging_energy(arm, j, position):
    """Potential of cogging at a position of the motor side [J]; its mean is zero."""
    return harmonic_potential(position, arm.cogging[j])


@compiled
def cogging_stiffness(arm, j, position):
    """Stiffness of cogging at a position of the motor side, of either sign [N m/rad, N/m]."""
    return -mean_harmonic_slope(position, 0.0, arm.cogging[j])


@compiled
def dc_motor_of(j, ripple, work):
    """
    Argument of `dc_motor_force` for joint j; motor constant 0: it has no such motor.

    :param ripple: `ripple_factor`; it acts on the torque and on the back-EMF.
    """
    if work.dc_motor[j, CONSTANT] == 0.0 or work.prescribed[j] != 0.0:
        return NO_DC_MOTOR
    motor = work.dc_motor[j]
    return (
        ripple * motor[CONSTANT],
        motor[RESISTANCE],
        motor[INDUCTANCE],
        motor[VOLTAGE],
        motor[CURRENT],
        work.motor_current[j],
    )


@compiled
def drive_dc_motor(j, v, h, demand, ripple, work):
    """
    Mean force of the motor of joint j over a step, for a demand at mid-step [N m, N].

    If it is a DC motor, `work.motor_step` and `work.applied` receive its results.
    """
    motor = dc_motor_of(j, ripple, work)
    K = motor[0]
    if K == 0.0:
        return demand
    mean, _, end, square = dc_motor_current(v, h, demand / K, 0.0, motor)
    work.applied[j] = K * mean / ripple
    set_motor_step(j, K * mean * v * h, h * square, end, work)
    return K * mean


@compiled
def set_motor_step(j, mechanical, charge, end, work):
    """
    Set the results of a step of a DC motor: current at its end, electrical energy, and heat.

    :param mechanical: work of the motor [J]; charge: integral of the squared current [A2 s].
    """
    motor, start, step = work.dc_motor[j], work.motor_current[j], work.motor_step[j]
    heat = motor[RESISTANCE] * charge
    step[0], step[2] = end, heat
    step[1] = mechanical + heat + 0.5 * motor[INDUCTANCE] * (end * end - start * start)


@compiled
def accept_motor_step(work):
    """Take over the currents at the end of a step, and add its energies."""
    for j in range(work.motor_step.shape[0]):
        step = work.motor_step[j]
        work.motor_current[j] = step[0]
        work.motor_energy[j, 0] += step[1]
        work.motor_energy[j, 1] += step[2]
