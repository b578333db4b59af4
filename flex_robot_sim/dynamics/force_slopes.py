"""Slopes of springs, dampers and friction with the rates, D, and with the coordinates, K (T50)."""

from flex_robot_sim.dynamics.cubic_strain import add_cubic_slopes
from flex_robot_sim.dynamics.forces import add_stop_slopes
from flex_robot_sim.dynamics.gear_forces import add_gear_law_slopes
from flex_robot_sim.dynamics.motor_laws import cogging_stiffness
from flex_robot_sim.dynamics.sliding_strain import add_sliding_slopes
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.body_kinds import SLIDING
from flex_robot_sim.model.friction import (
    CREEP_RATE,
    SMOOTHING_RATE,
    VISCOUS,
    friction_direction,
    smoothed_friction,
    static_friction,
    stribeck_slope,
)
from flex_robot_sim.model.slip_elements import FRICTION
from flex_robot_sim.spatial.screws import dot


@compiled
def add_all_slopes(arm, q, qd, D, K):
    """
    Add the slopes of all forces but those of the motors, at rest those of smoothed friction.

    Maxwell-slip elements stick, as in a small vibration; those of friction only at rest.

    :param D: (n, n), slopes with the rates, added to; K: with the coordinates, added to.
    """
    add_linear_slopes(arm, q, D, K)
    add_gear_slopes(arm, q, qd, True, D, K)
    add_cubic_slopes(arm, q, K)
    add_stop_slopes(arm, q, qd, D, K)
    for j in range(arm.motor.size):
        m = arm.motor[j]
        k = j if m < 0 else m
        D[k, k] += _excess_slope(qd[k], arm.friction[j])
        stiffness = arm.slip_stiffness[j, FRICTION].sum()
        if stiffness > 0.0 and abs(qd[k]) <= arm.friction[j, SMOOTHING_RATE]:
            D[k, k] -= smoothed_friction(qd[k], arm.friction[j])[1]
            K[k, k] += static_friction(arm.friction[j]) * stiffness


@compiled
def add_smooth_slopes(arm, q, qd, D, K):
    """Add those of smooth forces; return whether no joint sticks or touches a stop."""
    add_linear_slopes(arm, q, D, K)
    add_gear_slopes(arm, q, qd, False, D, K)
    add_cubic_slopes(arm, q, K)
    is_smooth = True
    for j in range(arm.motor.size):
        k = j if arm.motor[j] < 0 else arm.motor[j]
        if not arm.lower[j] < q[j] < arm.upper[j]:
            is_smooth = False
        if static_friction(arm.friction[j]) > 0.0:
            sticks = arm.friction[j, CREEP_RATE] == 0.0
            if sticks and abs(qd[k]) <= arm.friction[j, SMOOTHING_RATE]:
                is_smooth = False
            else:
                D[k, k] += smoothed_friction(qd[k], arm.friction[j])[1] + _excess_slope(
                    qd[k], arm.friction[j]
                )
    return is_smooth


@compiled
def add_linear_slopes(arm, q, D, K):
    """Add those of springs, dampers and cogging, but damping of sliding links."""
    for j in range(arm.motor.size):
        m = arm.motor[j]
        driven = j if m < 0 else m
        D[driven, driven] += arm.friction[j, VISCOUS]
        K[j, j] += arm.spring[j]
        if arm.has_motor_law[j] != 0.0:
            K[driven, driven] += cogging_stiffness(arm, j, q[driven])
    for i in range(arm.parent.size):
        first = arm.first[i]
        if arm.kind[i] == SLIDING:
            add_sliding_slopes(arm, i, q, K)
            continue
        for k in range(arm.modes[i]):
            for m in range(arm.modes[i]):
                K[first + k, first + m] += arm.stiffness[i, k, m]
                D[first + k, first + m] += arm.damping[i, k, m]
    start = D.shape[0] - arm.shared.shape[0]
    for k in range(arm.shared.shape[0]):
        for m in range(k + 1):
            slope = dot(arm.shared[k], arm.shared[m])
            D[start + k, start + m] += slope
            if m < k:
                D[start + m, start + k] += slope


@compiled
def add_gear_slopes(arm, q, qd, is_vibration, D, K):
    """
    Add those of gears.

    :param is_vibration: whether slipping elements stick, and flanks within the backlash touch.
    """
    for j in range(arm.motor.size):
        m = arm.motor[j]
        if m >= 0 and arm.has_gear_law[j] != 0.0:
            add_gear_law_slopes(arm, j, q, qd, is_vibration, is_vibration, D, K)
        elif m >= 0:
            for a, b, sign in ((j, j, 1.0), (m, m, 1.0), (j, m, -1.0), (m, j, -1.0)):
                K[a, b] += sign * arm.gear_stiffness[j]
                D[a, b] += sign * arm.gear_damping[j]


@compiled
def _excess_slope(v, row):
    """Part of the slope of `smoothed_friction` that its stiction adds, which is negative."""
    return stribeck_slope(v, row) * friction_direction(v, row)
