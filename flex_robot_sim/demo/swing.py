"""
A swing between two poses for any arm: poses, duration and joint gains.

Joint limits determine the amplitude. Motor limits and the first natural frequency determine the
duration, without too much bending. A flexible arm gets stiff gains, so that its links vibrate and
not its servo. A rigid arm has the default gains.
"""

import math
from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis.joint_space_inertia import rigid_inertia
from flex_robot_sim.analysis.loop_poses import followed_pose
from flex_robot_sim.analysis.mode_table import excited_modes
from flex_robot_sim.analysis.natural_modes import frequencies
from flex_robot_sim.control.gains import Servo, carrying_efforts
from flex_robot_sim.control.servo import DEFAULT_RATIO, ServoFit
from flex_robot_sim.control.steady_state_error import hold_tolerance
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.start_pose import start_position
from flex_robot_sim.motion.limits import PEAK_ACCELERATION, effort_limits, shortest_durations
from flex_robot_sim.simulation.loop_timing import one_period_late
from flex_robot_sim.util.exceptions import UsageError

MAX_SWING = {'rad': 0.6, 'm': 0.3}  # to either side, by the unit of the joint
SWING_SHARE = 0.35  # swing over half the range of a joint
GRAVITY_EFFORT_SHARE = 0.6  # share of a motor limit for gravity
MOTION_EFFORT_SHARE = 0.5  # share of the remaining effort for the motion
VELOCITY_SHARE = 0.9  # share of the velocity limit
MAX_BENDING_RATIO = 0.06  # acceleration over the square of the first natural rate: a link
# that turns like this bends by about this share of its length
MIN_DURATION_S = 0.5  # of a swing
START_REST_S = 1.0  # rest before the first swing
REST_PERIODS = 8  # of the first mode in a rest, at least
REST_DECAYS = 3  # decay times of a joint in a rest, at least
MIN_REST_S, MAX_REST_S = 1.5, 20.0  # [s]
SERVO_RATIO = 2.5  # frequency of a closed joint over that of the first mode: drives
# that yield would damp the vibration of the links
MIN_SERVO_HZ, MAX_SERVO_HZ = 2.5, 8.0  # and that of a stiff one                            [Hz]
SAMPLING = one_period_late(4e-3)  # period of received commands, some of which are late


class Swing(NamedTuple):
    """Poses, timing and joint gains of a swing."""

    poses: np.ndarray  # (2, joints)                           [rad, m]
    duration: float  # of the motion between two of them     [s]
    rest: float  # in each of them                       [s]
    servo: Servo
    is_stiff: bool  # whether these are not the default gains

    def seconds(self, moves: int) -> float:
        """Time until the pause after a number of motions has passed [s]."""
        return START_REST_S + moves * (self.duration + self.rest)

    @property
    def parameters(self) -> dict[str, object]:
        """Parameters of the controller node, for its profile `swing`."""
        gains = (
            {
                'position_gain': self.servo.stiffness.tolist(),
                'velocity_gain': self.servo.damping.tolist(),
            }
            if self.is_stiff
            else {}
        )
        return {
            'profile_start': START_REST_S,
            'profile_poses': self.poses.ravel().tolist(),
            'profile_duration': self.duration,
            'profile_dwell': self.rest,
            'state_period': SAMPLING.period,
            **gains,
        }


def can_carry_itself(arm: ArmModel) -> bool:
    """Whether the motors hold the arm in its start pose; those of a space arm cannot."""
    holding_efforts = np.abs(carrying_efforts(arm, start_position(arm)))
    return bool(np.all(holding_efforts <= effort_limits(arm)))


def fitting_swing(arm: ArmModel, is_stiff: bool = False) -> Swing:
    """
    Return the Swing for an ArmModel; UsageError if no controller can hold it.

    :param is_stiff: whether gains are as stiff as they can be, in place of the default ones;
        not where dry friction would keep a joint off its target.
    """
    joints = [arm.description.joint(name) for name in arm.joint_names]
    middle, reach = _range(joints)
    if arm.closed_loops:
        middle = followed_pose(arm, middle)[0]
    poses, holding_efforts = _feasible_poses(arm, middle, reach)
    inertias = [rigid_inertia(arm, pose) for pose in (middle, *poses)]
    first = next(iter(frequencies(arm, middle)), 0.0)

    distance = poses[0] - poses[1]
    effort_reserve = MOTION_EFFORT_SHARE * (effort_limits(arm) - holding_efforts)
    inertial_efforts = np.max([np.abs(M @ distance) for M in inertias], axis=0)
    driven = arm.actuated if arm.closed_loops else np.ones(distance.size, bool)
    times = [
        MIN_DURATION_S,
        *np.sqrt(PEAK_ACCELERATION * inertial_efforts[driven] / effort_reserve[driven]),
        *(shortest_durations(arm, distance) / VELOCITY_SHARE),
    ]
    period = 1.0 / first if first > 0.0 else 0.0
    motion = np.abs(distance[driven]).max()
    times.append(
        period / (2 * math.pi) * math.sqrt(PEAK_ACCELERATION * motion / MAX_BENDING_RATIO)
    )

    if is_stiff:
        fit = ServoFit(arm, SAMPLING, poses=np.array([middle, *poses]))
        servo = fit.servo(min(max(SERVO_RATIO * first, MIN_SERVO_HZ), MAX_SERVO_HZ), DEFAULT_RATIO)
        # integral action against dry friction belongs to the default gains
        is_stiff = bool((fit.offsets(servo) <= hold_tolerance(arm)).all())
    if not is_stiff:
        fit = ServoFit(arm, SAMPLING)
        servo = fit.with_default_integral(fit.servo())
    if servo.warning:
        raise UsageError(servo.warning)
    # a soft joint is slower and settles later
    times.append(0.7 / servo.frequency)
    decay = np.max(2 * fit.inertia[driven] / servo.damping[driven])
    rest = min(
        max(MIN_REST_S, REST_PERIODS * period, 2.0 / servo.frequency, REST_DECAYS * decay),
        MAX_REST_S,
    )
    return Swing(poses, float(max(times)), float(rest), servo, is_stiff)


def vibration_span(arm: ArmModel, swing: Swing) -> float:
    """Evaluated time after a motion: two periods of the arm [s]."""
    modes = excited_modes(arm, swing.poses[0], (swing.servo.stiffness, swing.servo.damping))
    return min(max(2.0 / modes.frequencies[0], 0.5), swing.rest) if modes.frequencies.size else 1.0


def _range(joints):
    """Middle and reach (joints,) of the swing of each joint."""
    lower, upper = np.array([(joint.lower, joint.upper) for joint in joints]).T
    max_swing = [MAX_SWING[joint.type.unit] for joint in joints]
    reach = np.minimum(max_swing, SWING_SHARE * (upper - lower) / 2)
    margin = reach / SWING_SHARE / 2
    signs = np.where(np.arange(len(joints)) % 3 == 2, -1.0, 1.0)  # elbows fold back
    return np.clip(0.0, lower + margin, upper - margin), reach * signs


def _feasible_poses(arm, middle, reach):
    """Poses on either side of the middle with motor reserve, and the holding efforts there."""
    limits = effort_limits(arm)
    for share in (1.0, 0.75, 0.5, 0.25):
        poses = np.array([middle + share * reach, middle - share * reach])
        if arm.closed_loops:
            poses = np.array([followed_pose(arm, pose)[0] for pose in poses])
        holding_efforts = np.abs([carrying_efforts(arm, pose) for pose in poses]).max(axis=0)
        if np.all(holding_efforts <= GRAVITY_EFFORT_SHARE * limits):
            break
    return poses, np.minimum(holding_efforts, 0.9 * limits)
