"""What the joints of an arm can do, and targets that they cannot reach."""

from collections.abc import Sequence

import numpy as np

from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.motion.motion import Motion
from flex_robot_sim.util.exceptions import SettingError

MARGIN = 1e-3       # by which a target may lie behind a stop: an arm that leans there     [rad, m]
FASTER = 1.02       # than a joint can: what a curve between points at its limit may be
PEAK_VELOCITY = 15 / 8      # of a minimum-jerk motion, over its mean velocity


def effort_limits(arm: ArmModel) -> np.ndarray:
    """Effort limits (joints,) of the motors, inf where the description has none [N m, N]."""
    return _limits(arm, 'effort')


def rate_limits(arm: ArmModel) -> np.ndarray:
    """Rates (joints,) from which motors no longer push, inf where none is said [rad/s, m/s]."""
    return _limits(arm, 'velocity')


def shortest_durations(arm: ArmModel, distance: np.ndarray) -> np.ndarray:
    """
    Times (joints,) of minimum-jerk motions whose largest velocity is the limit of the joint [s].

    :param distance: of each joint, (joints,) [rad, m].
    """
    return PEAK_VELOCITY * np.abs(distance) / rate_limits(arm)


def _limits(arm, name):
    limits = [getattr(arm.description.joint(joint), name) for joint in arm.joint_names]
    return np.array([limit if limit > 0.0 else np.inf for limit in limits])


def refuse_curve_beyond_stops(arm: ArmModel, motion: Motion) -> None:
    """Raise SettingError if a Motion that begins and ends within the stops leads beyond them."""
    lower, upper = arm.arrays.lower - MARGIN, arm.arrays.upper + MARGIN
    lowest, highest, knots = motion.extremes(lower, upper)
    beyond = (lowest < lower) | (highest > upper)
    # a joint that leans beyond its stop at the start is led back
    start, end = motion.corners[0], motion.corners[-1]
    beyond &= ~((np.minimum(start, end) <= lowest) & (highest <= np.maximum(start, end)))
    if beyond.any():
        k, j = np.argwhere(beyond)[0]
        where = lowest[k, j] if lowest[k, j] < lower[j] else highest[k, j]
        raise SettingError(
            f'the trajectory leads "{arm.joint_names[j]}" to {where:.6g}, beyond its stops at '
            f'{arm.arrays.lower[j]:.6g} and {arm.arrays.upper[j]:.6g} {arm.units[j]}, between '
            f'{knots[k]:.6g} and {knots[k + 1]:.6g} s. Give points with smaller velocities there')


def refuse_curve_beyond_rates(arm: ArmModel, motion: Motion) -> None:
    """Raise SettingError if a Motion leads a joint faster than it can."""
    limits = rate_limits(arm)
    speeds = motion.fastest(FASTER * limits)
    beyond = speeds > FASTER * limits
    if beyond.any():
        k, j = np.argwhere(beyond)[0]
        raise SettingError(
            f'the trajectory moves "{arm.joint_names[j]}" at {speeds[k, j]:.6g} up to '
            f'{motion.knots[k + 1]:.6g} s, faster than its {limits[j]:.6g} {arm.units[j]}/s: give '
            'it more time from where the arm is led now')


def refuse_beyond_stops(arm: ArmModel, rows: Sequence[int] | np.ndarray,
                        positions: np.ndarray) -> None:
    """
    Raise SettingError if a joint is to go where it cannot.

    :param rows: of the joints, (m,); positions: of these joints, (m,) or (points, m) [rad, m].
    """
    lower, upper = arm.arrays.lower[rows], arm.arrays.upper[rows]
    beyond = (positions < lower - MARGIN) | (positions > upper + MARGIN)
    if beyond.any():
        where = tuple(np.argwhere(beyond)[0])
        row = rows[where[-1]]
        raise SettingError(
            f'target {positions[where]:.6g} of "{arm.joint_names[row]}" is beyond its stops at '
            f'{lower[where[-1]]:.6g} and {upper[where[-1]]:.6g} {arm.units[row]}')
