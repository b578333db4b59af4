"""
Two poses that any arm can swing between, how fast, and the gains of its joints.

Its joint limits say how far, its motors how fast and whether they carry its weight at all, and its
first natural frequency how fast it may be without bending too much. The gains of an arm that bends
are stiff, as those of a drive, so that its links vibrate and not its servo. A rigid arm has the
default gains.
"""

import math
from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis.joint_space_inertia import rigid_inertia
from flex_robot_sim.analysis.mode_table import excited_modes
from flex_robot_sim.analysis.natural_modes import frequencies
from flex_robot_sim.control.gains import carrying_efforts
from flex_robot_sim.control.hold_monitor import hold_tolerance
from flex_robot_sim.control.servo import DEFAULT_RATIO, Sampling, Servo, ServoFit
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.start_pose import start_position
from flex_robot_sim.motion.limits import effort_limits, shortest_durations
from flex_robot_sim.util.exceptions import UsageError

ANGLE, DISTANCE = 0.6, 0.3      # largest swing to either side                          [rad, m]
ROOM = 0.35                     # and its share of half the way between the stops
CARRYING = 0.6                  # share of a motor's limit that weight may take
SWINGING = 0.5                  # share of what is left that a swing may take
SPEED = 0.9                     # share of the velocity limit
BENDING = 0.06                  # acceleration over the square of the first natural rate: a link
                                # that turns like this bends by about this share of its length
SHORTEST = 0.5                  # time of a swing                                       [s]
PEAK_ACCELERATION = 10 / math.sqrt(3)   # of a minimum-jerk motion, over d/T**2
BEGINNING = 1.0                 # rest before the first one                             [s]
RINGING = 8                     # periods of the first mode that a rest lasts, at least
DECAYS = 3                      # times in which the swing of a joint decays, likewise
SHORTEST_REST, LONGEST_REST = 1.5, 20.0                         # [s]
STIFFNESS = 2.5                 # frequency of a closed joint over that of the first mode: drives
                                # that give way would take the ringing out of the links
WISH, FASTEST = 2.5, 8.0        # and that of a stiff one                               [Hz]
SAMPLING = Sampling(4e-3)       # of commands that arrive, some being late


class Swing(NamedTuple):
    """Poses in turn, the time from one to the next, and the gains of the joints."""

    poses: np.ndarray       # (2, joints)                           [rad, m]
    duration: float         # of the motion between two of them     [s]
    rest: float             # in each of them                       [s]
    servo: Servo
    is_stiff: bool          # whether these are not the default gains

    def seconds(self, moves: int) -> float:
        """Time that it takes to come to rest after so many motions [s]."""
        return BEGINNING + moves * (self.duration + self.rest)

    @property
    def parameters(self) -> dict[str, object]:
        """Parameters of the controller node, for its profile `swing`."""
        gains = {'position_gain': self.servo.stiffness.tolist(),
                 'velocity_gain': self.servo.damping.tolist()} if self.is_stiff else {}
        return {'profile_start': BEGINNING, 'profile_poses': self.poses.ravel().tolist(),
                'profile_duration': self.duration, 'profile_dwell': self.rest,
                'state_period': SAMPLING.period, **gains}


def can_carry_itself(arm: ArmModel) -> bool:
    """Whether the motors hold the straight arm where it starts; an arm for orbit cannot."""
    carried = np.abs(carrying_efforts(arm, start_position(arm)))
    return bool(np.all(carried <= effort_limits(arm)))


def fitting_swing(arm: ArmModel, is_stiff: bool = False) -> Swing:
    """
    Return the Swing for an ArmModel; UsageError if no controller can hold it.

    :param is_stiff: whether gains are as stiff as they can be, in place of the default ones;
        not where dry friction would keep a joint off its target.
    """
    joints = [arm.description.joint(name) for name in arm.joint_names]
    middle, reach = _range(joints)
    poses, carried = _carried_poses(arm, middle, reach)
    inertias = [rigid_inertia(arm, pose) for pose in (middle, *poses)]
    first = next(iter(frequencies(arm, middle)), 0.0)

    distance = poses[0] - poses[1]
    left = SWINGING * (effort_limits(arm) - carried)
    pull = np.max([np.abs(M @ distance) for M in inertias], axis=0)
    times = [SHORTEST, *np.sqrt(PEAK_ACCELERATION * pull / left),
             *(shortest_durations(arm, distance) / SPEED)]
    period = 1.0 / first if first > 0.0 else 0.0
    turn = np.abs(distance).max()
    times.append(period / (2 * math.pi) * math.sqrt(PEAK_ACCELERATION * turn / BENDING))

    if is_stiff:
        fit = ServoFit(arm, SAMPLING, poses=np.array([middle, *poses]))
        servo = fit.servo(min(max(STIFFNESS * first, WISH), FASTEST), DEFAULT_RATIO)
        # integral action against dry friction belongs to the default gains
        is_stiff = bool((fit.offsets(servo) <= hold_tolerance(arm)).all())
    if not is_stiff:
        fit = ServoFit(arm, SAMPLING)
        servo = fit.with_default_integral(fit.servo())
    if servo.complaint:
        raise UsageError(servo.complaint)
    # a soft joint takes its time, and comes to rest later
    times.append(0.7 / servo.frequency)
    decay = np.max(2 * fit.inertia / servo.damping)
    rest = min(max(SHORTEST_REST, RINGING * period, 2.0 / servo.frequency, DECAYS * decay),
               LONGEST_REST)
    return Swing(poses, float(max(times)), float(rest), servo, is_stiff)


def ringing_span(arm: ArmModel, swing: Swing) -> float:
    """Time after a motion in which its ringing is looked at: two periods of the arm [s]."""
    found = excited_modes(arm, swing.poses[0], (swing.servo.stiffness, swing.servo.damping))
    return min(max(2.0 / found.frequencies[0], 0.5), swing.rest) if found.frequencies.size else 1.0


def _range(joints):
    """Middle and reach (joints,) of the swing of each joint."""
    lower, upper = np.array([(joint.lower, joint.upper) for joint in joints]).T
    largest = [DISTANCE if joint.kind == 'prismatic' else ANGLE for joint in joints]
    reach = np.minimum(largest, ROOM * (upper - lower) / 2)
    room = reach / ROOM / 2
    signs = np.where(np.arange(len(joints)) % 3 == 2, -1.0, 1.0)     # elbows fold back
    return np.clip(0.0, lower + room, upper - room), reach * signs


def _carried_poses(arm, middle, reach):
    """Poses to either side of the middle that leave the motors something, and efforts there."""
    limits = effort_limits(arm)
    for share in (1.0, 0.75, 0.5, 0.25):
        poses = np.array([middle + share * reach, middle - share * reach])
        carried = np.abs([carrying_efforts(arm, pose) for pose in poses]).max(axis=0)
        if np.all(carried <= CARRYING * limits):
            break
    return poses, np.minimum(carried, 0.9 * limits)
