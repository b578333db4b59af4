"""Limits of the joints of an arm, and checks of targets against them."""

import math
from collections.abc import Sequence

import numpy as np

from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.motion.acceleration_extremes import signed_extremes
from flex_robot_sim.motion.joint_motion import Motion
from flex_robot_sim.util.exceptions import SettingError

STOP_MARGIN = 1e-3  # distance of a target beyond a stop, for an arm in contact [rad, m]
VELOCITY_MARGIN = 1.02  # factor on the limit, for interpolation between points at the limit
# On acceleration and jerk: time-optimal planners (TOTG of MoveIt) give the points on both sides of
# a switch the largest acceleration. The curve between these points exceeds it by up to 75 %.
ACCELERATION_MARGIN = 2.0
# peaks of a minimum-jerk motion over a distance d in a time T
PEAK_VELOCITY = 15 / 8  # over d/T
PEAK_ACCELERATION = 10 / math.sqrt(3)  # over d/T**2
PEAK_JERK = 60.0  # over d/T**3
MAX_STEP_TIME_S = 0.02  # of a step between two pieces, which is spread over half of each at most


def effort_limits(arm: ArmModel) -> np.ndarray:
    """
    Effort limits (joints,) of the motors, inf where the description has none [N m, N].

    That of a DC motor is at most its effort at stall. Passive joints of closed loops have no
    motor, and the limit 0.
    """
    joints = [joint for joint in arm.description.joints if joint.moves]
    return np.minimum(command_limits(arm), [joint.stall_effort for joint in joints])


def command_limits(arm: ArmModel) -> np.ndarray:
    """Return the same without those of DC motors, which a simulation has as such (joints,)."""
    return np.where(arm.actuated, _limits(arm, 'effort'), 0.0)


def rate_limits(arm: ArmModel) -> np.ndarray:
    """Velocity limits (joints,) of the motors, inf where there is none [rad/s, m/s]."""
    return _limits(arm, 'velocity')


def acceleration_limits(arm: ArmModel) -> np.ndarray:
    """Acceleration limits (joints,), inf where there is none [rad/s2, m/s2]."""
    return _limits(arm, 'acceleration')


def deceleration_limits(arm: ArmModel) -> np.ndarray:
    """Deceleration limits (joints,), by default those of acceleration [rad/s2, m/s2]."""
    limits = _limits(arm, 'deceleration')
    return np.where(np.isfinite(limits), limits, acceleration_limits(arm))


def jerk_limits(arm: ArmModel) -> np.ndarray:
    """Jerk limits (joints,), inf where there is none [rad/s3, m/s3]."""
    return _limits(arm, 'jerk')


def shortest_durations(arm: ArmModel, distance: np.ndarray) -> np.ndarray:
    """Times (joints,) [s] of minimum jerk over distances [rad, m] within the limits of rates."""
    return minimum_jerk_durations(arm, distance, rate_limits(arm))


def minimum_jerk_durations(
    arm: ArmModel, distance: np.ndarray, max_velocities: np.ndarray
) -> np.ndarray:
    """Return the same for velocities (joints,) [rad/s, m/s] instead of their limits."""
    length = np.abs(distance)
    accelerations = np.minimum(acceleration_limits(arm), deceleration_limits(arm))
    durations = [
        PEAK_VELOCITY * length / max_velocities,
        np.sqrt(PEAK_ACCELERATION * length / accelerations),
        np.cbrt(PEAK_JERK * length / jerk_limits(arm)),
    ]
    return np.max(durations, axis=0)


def refuse_short_profile(arm: ArmModel, positions: np.ndarray, duration: float) -> None:
    """
    Raise SettingError if a profile exceeds limits of velocity, acceleration or jerk.

    :param positions: ends of its minimum-jerk motions, in turn (k, joints) [rad, m].
    :param duration: of each motion [s].
    """
    distances = np.abs(np.diff(positions, axis=0)).max(axis=0, initial=0.0)
    shortest = shortest_durations(arm, distances)
    row = int(np.argmax(shortest))
    if shortest[row] > duration * (1 + 1e-9):
        raise SettingError(
            f'profile_duration = {duration:g} is too short for the limits of velocity, '
            f'acceleration and jerk of "{arm.joint_names[row]}": it must be at least '
            f'{shortest[row]:.4g} s'
        )


def _limits(arm, name):
    limits = {joint.name: getattr(joint, name) for joint in arm.description.joints}
    return np.array([limits[j] if limits[j] > 0.0 else np.inf for j in arm.joint_names])


def refuse_curve_beyond_limits(arm: ArmModel, motion: Motion) -> None:
    """Raise SettingError if a Motion passes the stops, or exceeds a limit in one of its pieces."""
    refuse_curve_beyond_stops_and_velocities(arm, motion)
    if not limits_accelerations(arm):
        return
    _refuse_accelerations(arm, motion)
    _refuse_jerks(arm, motion)


def refuse_curve_beyond_stops_and_velocities(arm: ArmModel, motion: Motion) -> None:
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


def _refuse_accelerations(arm, motion):
    limits = np.array([acceleration_limits(arm), deceleration_limits(arm)])
    bounds = ACCELERATION_MARGIN * limits
    lower = bounds.min(axis=0)
    for k, j in np.argwhere(motion.max_accelerations(lower) > lower):
        found = signed_extremes(*motion.rates_of_piece(k, j))
        for verb, value, bound, limit in zip(
            ('accelerates', 'decelerates'), found, bounds[:, j], limits[:, j]
        ):
            if value > bound:
                raise SettingError(
                    f'the trajectory {verb} "{arm.joint_names[j]}" at {value:.6g} up to '
                    f'{motion.knots[k + 1]:.6g} s, more than its {limit:.6g} {arm.units[j]}/s2: '
                    'give it more time'
                )


def refuse_accelerations_of_samples(arm: ArmModel, positions: np.ndarray, period: float) -> None:
    """Raise SettingError if samples (k, joints) [rad, m] of a period [s] exceed accelerations."""
    limits = np.maximum(acceleration_limits(arm), deceleration_limits(arm))
    if not np.isfinite(limits).any():
        return
    found = np.abs(np.diff(positions, 2, axis=0)) / period**2
    beyond = found > ACCELERATION_MARGIN * limits
    if beyond.any():
        k, j = np.argwhere(beyond)[0]
        raise SettingError(
            f'shaped by pose, the trajectory accelerates "{arm.joint_names[j]}" at '
            f'{found[k, j]:.6g} after {(k + 1) * period:.6g} s, more than its {limits[j]:.6g} '
            f'{arm.units[j]}/s2: give it more time'
        )


def _refuse_jerks(arm, motion):
    limits = jerk_limits(arm)
    jerks = motion.max_jerks(ACCELERATION_MARGIN * limits)
    beyond = jerks > ACCELERATION_MARGIN * limits
    if beyond.any():
        k, j = np.argwhere(beyond)[0]
        raise SettingError(
            f'the trajectory moves "{arm.joint_names[j]}" with a jerk of {jerks[k, j]:.6g} up to '
            f'{motion.knots[k + 1]:.6g} s, more than its {limits[j]:.6g} {arm.units[j]}/s3: give '
            'it more time'
        )


def limits_accelerations(arm: ArmModel) -> bool:
    """Whether a joint has a limit of acceleration, deceleration or jerk."""
    return any(
        min(joint.acceleration, joint.deceleration, joint.jerk) < np.inf
        for joint in arm.description.joints
    )


def refuse_steps(arm: ArmModel, motion: Motion, present: np.ndarray | None = None) -> None:
    """
    Raise SettingError if velocity or acceleration jump between the pieces of a Motion.

    A step counts as spread over half of each adjacent piece, and over MAX_STEP_TIME_S at most, as
    at the start and at the end. Of points at short intervals, finite differences count.

    :param present: positions, velocities and accelerations before the motion (3, n); None: the
        motion into the first piece is unknown.
    """
    if not limits_accelerations(arm):
        return
    for order, limits, noun in (
        (1, acceleration_limits(arm), 'velocity'),
        (2, jerk_limits(arm), 'acceleration'),
    ):
        if order == 1:
            limits = np.maximum(limits, deceleration_limits(arm))
        if not np.isfinite(limits).any() or len(motion.knots) < 2:
            continue
        before, after, times = motion.rates_at_knots(order, present)
        steps = np.abs(after - before) / np.minimum(times, MAX_STEP_TIME_S)[:, None]
        beyond = steps > ACCELERATION_MARGIN * limits
        if beyond.any():
            k, j = np.argwhere(beyond)[0]
            unit, seconds = arm.units[j], min(times[k], MAX_STEP_TIME_S)
            rates = ('', '/s', '/s2', '/s3')
            raise SettingError(
                f'at {motion.knots[k]:.6g} s the trajectory changes the {noun} of '
                f'"{arm.joint_names[j]}" by {abs(after[k, j] - before[k, j]):.6g} {unit}'
                f'{rates[order]}, which is {steps[k, j]:.6g} {unit}{rates[order + 1]} even over '
                f'{seconds:.3g} s, more than its {limits[j]:.6g}: give velocities'
                f'{" and accelerations" if order == 2 else ""} to its points, or more time'
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
