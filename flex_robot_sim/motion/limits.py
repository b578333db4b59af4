"""Limits of the joints of an arm, and checks of targets against them."""

from collections.abc import Sequence

import numpy as np

from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.motion.joint_motion import Motion
from flex_robot_sim.util.exceptions import SettingError

STOP_MARGIN = 1e-3  # distance of a target beyond a stop, for an arm in contact [rad, m]
VELOCITY_MARGIN = 1.02  # factor on the limit, for interpolation between points at the limit
PEAK_VELOCITY = 15 / 8  # of a minimum-jerk motion, over its mean velocity


def effort_limits(arm: ArmModel) -> np.ndarray:
    """Effort limits (joints,) of the motors, inf where the description has none [N m, N]."""
    return _limits(arm, 'effort')


def rate_limits(arm: ArmModel) -> np.ndarray:
    """Velocity limits (joints,) of the motors, inf where there is none [rad/s, m/s]."""
    return _limits(arm, 'velocity')


def shortest_durations(arm: ArmModel, distance: np.ndarray) -> np.ndarray:
    """Times (joints,) [s] of minimum jerk over distances [rad, m] at the velocity limits."""
    return PEAK_VELOCITY * np.abs(distance) / rate_limits(arm)


def _limits(arm, name):
    limits = [getattr(arm.description.joint(joint), name) for joint in arm.joint_names]
    return np.array([limit if limit > 0.0 else np.inf for limit in limits])


def refuse_curve_beyond_limits(arm: ArmModel, motion: Motion) -> None:
    """Raise SettingError if a Motion passes the stops or exceeds a velocity limit."""
    refuse_curve_beyond_stops(arm, motion)
    limits = rate_limits(arm)
    speeds = motion.max_speeds(VELOCITY_MARGIN * limits)
    beyond = speeds > VELOCITY_MARGIN * limits
    if beyond.any():
        k, j = np.argwhere(beyond)[0]
        raise SettingError(
            f'the trajectory moves "{arm.joint_names[j]}" at {speeds[k, j]:.6g} up to '
            f'{motion.knots[k + 1]:.6g} s, faster than its {limits[j]:.6g} {arm.units[j]}/s: give '
            'it more time from its present target'
        )


def refuse_curve_beyond_stops(arm: ArmModel, motion: Motion) -> None:
    """Raise SettingError if a Motion passes the stops between its start and its end."""
    lower, upper = arm.arrays.lower - STOP_MARGIN, arm.arrays.upper + STOP_MARGIN
    lowest, highest, knots = motion.extremes(lower, upper)
    beyond = (lowest < lower) | (highest > upper)
    # a joint that leans beyond its stop at the start may return
    start, end = motion.knot_positions[0], motion.knot_positions[-1]
    beyond &= ~((np.minimum(start, end) <= lowest) & (highest <= np.maximum(start, end)))
    if beyond.any():
        k, j = np.argwhere(beyond)[0]
        where = lowest[k, j] if lowest[k, j] < lower[j] else highest[k, j]
        raise SettingError(
            f'the trajectory leads "{arm.joint_names[j]}" to {where:.6g}, beyond its stops at '
            f'{arm.arrays.lower[j]:.6g} and {arm.arrays.upper[j]:.6g} {arm.units[j]}, between '
            f'{knots[k]:.6g} and {knots[k + 1]:.6g} s. Give points with smaller velocities there'
        )


def refuse_beyond_stops(
    arm: ArmModel, rows: Sequence[int] | np.ndarray, positions: np.ndarray
) -> None:
    """Refuse positions (m,) or (points, m) [rad, m] of joints `rows` beyond their stops."""
    lower, upper = arm.arrays.lower[rows], arm.arrays.upper[rows]
    beyond = (positions < lower - STOP_MARGIN) | (positions > upper + STOP_MARGIN)
    if beyond.any():
        where = tuple(np.argwhere(beyond)[0])
        row = rows[where[-1]]
        raise SettingError(
            f'target {positions[where]:.6g} of "{arm.joint_names[row]}" is beyond its stops at '
            f'{lower[where[-1]]:.6g} and {upper[where[-1]]:.6g} {arm.units[row]}'
        )
