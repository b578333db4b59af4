"""
Twist of a gear with kinematic error (T37).

The twist is q_m - q - e(q_m), with the kinematic error e. Over a step it changes by
h (g q_m' - q'), where g = 1 - (e1 - e0) / (q_m1 - q_m0).
"""

from flex_robot_sim.dynamics.joint_laws.harmonics import harmonic_value, mean_harmonic_slope
from flex_robot_sim.jit.compiled import compiled


@compiled
def transmission_of(arm, j, q, qd, h):
    """Return g of joint j: rate of the twist by the rate of the motor (T37)."""
    if arm.kinematic_error[j, 0, 0] == 0.0:
        return 1.0
    m = arm.motor[j]
    return 1.0 - mean_harmonic_slope(q[m], h * qd[m], arm.kinematic_error[j])


@compiled
def start_twist(arm, j, q, qd, h):
    """Twist of the gear of joint j at the start of a step with q and qd at its middle."""
    m = arm.motor[j]
    motor = q[m] - 0.5 * h * qd[m]
    twist = motor - (q[j] - 0.5 * h * qd[j])
    if arm.kinematic_error[j, 0, 0] != 0.0:
        twist -= harmonic_value(motor, arm.kinematic_error[j])
    return twist
