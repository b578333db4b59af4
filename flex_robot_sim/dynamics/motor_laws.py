"""Cogging and torque ripple of the motors (T38)."""

from flex_robot_sim.dynamics.joint_laws.harmonics import (
    harmonic_potential,
    harmonic_value,
    mean_harmonic_slope,
    mean_harmonic_value,
)
from flex_robot_sim.jit.compiled import compiled


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
