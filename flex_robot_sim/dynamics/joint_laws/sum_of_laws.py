"""All laws along one coordinate, solved for the rate with dry friction (T32, T33)."""

from flex_robot_sim.dynamics.joint_laws.creep import creep_force
from flex_robot_sim.dynamics.joint_laws.dc_motor import dc_motor_force
from flex_robot_sim.dynamics.joint_laws.maxwell_slip import slip_force
from flex_robot_sim.dynamics.joint_laws.motor import motor_force
from flex_robot_sim.dynamics.joint_laws.stops import stop_force
from flex_robot_sim.jit.compiled import compiled

STICTION_DAMPING = 1e9  # damping during static friction, over inertia / step
MAX_NEWTON_ITERATIONS = 60  # bisection alone reaches rounding within these


@compiled
def smooth_force(v, v0, h, laws, slip, creep, dc_motor):
    """
    Total force without the corners of dry friction, and minus its slope with the rate.

    :param laws: numbers of all laws but dry friction: a and s of the force a - s v of springs and
        dampers; demand p and ps of the motor with its limits, see `motor_force`; penetration of
        the upper and of the lower stop at the start of the step; k, d and depth of the stops.
    :param slip: arguments of `slip_force` after the displacement.
    :param creep: argument of `creep_force`; level 0: the friction does not creep.
    :param dc_motor: argument of `dc_motor_force`; motor constant 0: no such motor.
    """
    a, s, p, ps, limit, rate_limit, above, below, k, d, depth = laws
    motor, motor_slope = motor_force(v, p, ps, limit, rate_limit)
    if dc_motor[0] > 0.0:
        motor, motor_slope = dc_motor_force(v, h, motor, motor_slope, dc_motor)
    _, upper_force, upper_slope = stop_force(v, v0, h, above, k, d, depth)
    _, lower_force, lower_slope = stop_force(-v, -v0, h, below, k, d, depth)
    z, stiffness, limit, k_scale, x_scale = slip
    slip_total, slip_slope = slip_force(h * v, z, stiffness, limit, k_scale, x_scale)
    force = a - s * v + motor - upper_force + lower_force - slip_total
    slope = s + motor_slope + upper_slope + lower_slope + h * slip_slope
    if creep[0] > 0.0:
        friction, friction_slope = creep_force(v, v0, creep)
        return force - friction, slope + friction_slope
    return force, slope


@compiled
def solve_joint_laws(w, r, step_inertia, c, v, v0, h, laws, slip, creep, dc_motor):
    """
    Linear force f + g v that represents all laws near the rate that solves them (T33).

    The arm responds along this coordinate as r v = w + force. Where the laws have corners, the
    solution lies on the piece where the step ends.

    :param step_inertia: inertia over half the step; scales the damping during static friction.
    :param c: dry friction that sticks [N m, N]; the other arguments are those of `smooth_force`.
    :returns: f and g <= 0.
    """
    direction = 0.0
    if c > 0.0:
        # friction has corners where the rate is zero at the middle or at the end of the step
        low, high = min(0.0, 0.5 * v0), max(0.0, 0.5 * v0)
        force, slope = smooth_force(low, v0, h, laws, slip, creep, dc_motor)
        residual = w - r * low + force
        if residual < -c:
            direction = -1.0
        elif residual <= 0.0 or (low == high and residual <= c):
            stiction = STICTION_DAMPING * step_inertia
            return force + (slope + stiction) * low, -slope - stiction
        else:
            force, slope = smooth_force(high, v0, h, laws, slip, creep, dc_motor)
            residual = w - r * high + force
            if residual > c:
                direction = 1.0
            elif residual >= 0.0:
                stiction = STICTION_DAMPING * step_inertia
                return force + (slope + stiction) * high, -slope - stiction
    # r v - force(v) increases monotonically, so that its root can be bracketed
    low, high, has_low, has_high = v, v, False, False
    for _ in range(MAX_NEWTON_ITERATIONS):
        force, slope = smooth_force(v, v0, h, laws, slip, creep, dc_motor)
        residual = w - c * direction + force - r * v
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
    return force - c * direction + slope * v, -slope
