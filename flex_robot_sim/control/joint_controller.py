"""
PD control of joint positions: joint states in, efforts of the motors out.

It knows nothing of ROS, threads or clocks, so that a node, a loop of 1 kHz, a rig and a test use
the same one. All calls belong into one thread, and `now` is any clock in seconds that runs on.
"""

import contextlib
import math

import numpy as np

from flex_robot_sim.control.feed_forward import FeedForward
from flex_robot_sim.control.gains import felt_inertia
from flex_robot_sim.control.limits import effort_limits, refuse_beyond_stops
from flex_robot_sim.control.profiles import doublet_of_profile, motion_of_profile
from flex_robot_sim.control.settings import FEED_FORWARDS, ControllerSettings, ProfileSettings
from flex_robot_sim.control.trajectory import joint_rows
from flex_robot_sim.exceptions import SettingError
from flex_robot_sim.tangent import checked

NEVER = -math.inf
LARGEST = 1e9           # position or velocity that is still believed              [rad, m, per s]
NO_PROFILE = ProfileSettings()


class JointController:
    """
    Holds joints at a reference, or leads them along one.

    It begins with the first joint state, at the position that it finds; likewise after a time
    without joint states, which ends whatever went on. Only a swing begins anew then.
    """

    def __init__(self, arm, settings=None, profile=None):
        """Get ready for `arm` (ArmModel), with ControllerSettings and ProfileSettings."""
        n = len(arm.joint_names)
        self.arm, self.joint_names = arm, arm.joint_names
        self.effort = np.zeros(n)           # as applied, within the limits             [N m, N]
        self.refused = 0                    # targets, trajectories and joint states
        self.silences = 0                   # times without joint states
        self.saturated = np.zeros(n, int)   # updates in which a joint wanted more than its limit
        self.reports = []                   # lines to be said once
        self._inertia = felt_inertia(arm)
        # all made at the start, so that a change while it runs takes no time
        self._feeds = {kind: FeedForward(arm, kind) for kind in FEED_FORWARDS if kind != 'none'}
        self._told_straight = False
        self._reference = np.zeros(3 * n)
        self._target, self._target_velocity = self._reference[:n], self._reference[n:2 * n]
        self._wanted, self._error, self._rate_error = np.zeros((3, n))
        self._measured = np.zeros(n)        # where the reference would be without error
        self._last, self._is_live, self._is_blind = NEVER, False, False
        self._motion = self._doublet = self._waiting = None
        self._motion_start, self._velocity_ends = 0.0, math.inf
        self.change(settings or ControllerSettings())
        self._profile = profile or NO_PROFILE
        self._plan(self._profile)           # refuses what does not fit

    def change(self, settings):
        """Take over ControllerSettings; SettingError leaves the present ones in force."""
        names, inertia = self.joint_names, self._inertia

        def given(name):
            values = getattr(settings, name)
            return checked(name, values, names) if values else None

        stiffness, damping = given('position_gain'), given('velocity_gain')
        limits = given('effort_limits')
        if stiffness is None:
            stiffness = inertia * (2 * math.pi * settings.bandwidth)**2
        if damping is None:
            damping = 2 * settings.damping_ratio * np.sqrt(stiffness * inertia)
        self._limits = effort_limits(self.arm) if limits is None else limits
        self._stiffness, self._damping, self._lowest = stiffness, damping, -self._limits
        self._feed = self._feeds.get(settings.feed_forward)
        self._by_motor = settings.feedback == 'motor'
        self._leads = self._by_motor and settings.feed_forward == 'sag'
        self.settings = settings

    @property
    def target(self):
        """Positions to be held now, (joints,) [rad, m]."""
        return self._target.copy()

    @property
    def target_velocity(self):
        """Velocities of the reference now, (joints,) [rad/s, m/s]."""
        return self._target_velocity.copy()

    @property
    def limits(self):
        """Effort limits in force, (joints,), inf where there is none [N m, N]."""
        return self._limits.copy()

    @property
    def newest(self):
        """When the newest joint state was measured [s]; -inf without any."""
        return self._last

    @property
    def is_live(self):
        """Whether joint states arrive."""
        return self._is_live

    @property
    def is_moving(self):
        """Whether a trajectory or a profile is under way, or joints were left to swing freely."""
        return bool(self._motion or self._waiting or self._doublet)

    def update(self, now, position, velocity, motor_position=None, motor_velocity=None):
        """
        Efforts for a joint state, (joints,) [N m, N]; the array is overwritten by the next call.

        :param now: when it was measured [s].
        :param position: of the joints on the link side, arrays (joints,) [rad, m]; velocity
            likewise [rad/s, m/s].
        :param motor_position: likewise on the motor side; None: all drives are rigid.
        """
        measured, rate = position, velocity
        if self._by_motor and motor_position is not None:
            measured, rate = motor_position, motor_velocity
        if not math.hypot(*position, *measured, *rate) < LARGEST:       # nan is not less either
            return self._refuse_state(now)
        self._measured[:] = position if self._leads else measured
        if self._is_late(now):
            self._begin(now)
        self._last, self._is_blind = now, False
        if self._motion or self._waiting or self._doublet or now > self._velocity_ends:
            self._move_reference(now)

        wanted, error, rate_error = self._wanted, self._error, self._rate_error
        np.subtract(self._target, measured, out=error)
        np.subtract(self._target_velocity, rate, out=rate_error)
        feed = self._feed
        if feed is not None:
            feed.update(self._target)
            if self._leads:
                error += feed.lead
        error *= self._stiffness
        rate_error *= self._damping
        np.add(error, rate_error, out=wanted)
        if self._doublet is not None:
            self._drive_openly(now)
        if feed is not None:
            wanted += feed.effort
            if feed.gave_up and not self._told_straight:
                self._tell_straight()
        effort = self.effort
        np.minimum(wanted, self._limits, out=effort)
        np.maximum(effort, self._lowest, out=effort)
        if effort.tobytes() != wanted.tobytes():
            self.saturated += effort != wanted
        return effort

    def is_stale(self, now):
        """Whether the newest joint state is too old; efforts are zero then."""
        if self._is_live and self._is_late(now):
            self._is_live = False
            self.silences += 1
            why = (f'no joint state for {self.settings.state_timeout:g} s' if now > self._last
                   else 'the clock was set back')
            self.reports.append(f'{why}: efforts are zero until the next joint state')
        if not self._is_live:
            self.effort[:] = 0.0
        return not self._is_live

    def set_target(self, position, velocity=None, names=None):
        """
        Go to positions at once; SettingError if that cannot be.

        :param position: [rad, m]; velocity: at which the target moves, zero after state_timeout
            without a new one; default: zero [rad/s, m/s].
        :param names: joints that these are about; the others stand still. Default: all.
        """
        with self._counting():
            self._refuse_if_dead()
            names = self.joint_names if names is None else tuple(names)
            rows = joint_rows(names, self.joint_names)
            position = checked('position', position, names)
            velocity = None if velocity is None else checked('velocity', velocity, names)
            refuse_beyond_stops(self.arm, rows, position)
        self._stop()
        self._target[rows] = position
        if velocity is not None:
            self._target_velocity[rows] = velocity
            self._velocity_ends = self._last + self.settings.state_timeout

    def follow(self, trajectory, now, start=None):
        """
        Follow a Trajectory in place of what goes on; SettingError if that cannot be.

        :param now: present time [s].
        :param start: of the trajectory; what goes on goes on until then. Default: now [s].
        """
        start = now if start is None else start
        with self._counting():
            self._refuse_if_dead()
            refuse_beyond_stops(self.arm, trajectory.rows(self.joint_names), trajectory.positions)
            if not math.isfinite(start):
                raise SettingError('the start of a trajectory must be finite [s]')
            motion = None if start > now else self._motion_along(trajectory, now - start)
        if motion is None:
            self._waiting = trajectory, start
            return
        self._stop()
        self._motion, self._motion_start = motion, start

    def run_profile(self, profile, now):
        """
        Make the motion of ProfileSettings, from the present reference; 'none' stands still.

        Without joint states it begins with the first one.
        """
        with self._counting():
            motion, doublet = self._plan(profile, self._target if self._is_live else None)
        if self._is_live:
            self._stop()
            self._motion, self._doublet, self._motion_start = motion, doublet, now
        self._profile = profile

    def hold(self, position=None):
        """Stop, at a position (joints,) or where the arm is [rad, m]; end every motion."""
        if position is not None:
            self.set_target(position)
            return
        self._stop()
        self._target[:] = self._measured

    def _is_late(self, now):
        """Whether the newest joint state is older than allowed, or from a later time."""
        return not abs(now - self._last) <= self.settings.state_timeout

    def _begin(self, now):
        """Hold the arm where the first joint state found it."""
        profile = self._profile
        if self._last != NEVER:
            self.is_stale(now)
            if profile.profile != 'swing':
                profile = NO_PROFILE
            self.reports.append('joint states arrive again: the arm is held where it is')
        self._is_live = True
        self.hold()
        try:
            self.run_profile(profile, now)
        except SettingError as error:
            self.reports.append(f'profile refused: {error}')

    def _stop(self):
        """End every motion; the target stays where it is."""
        self._motion = self._doublet = self._waiting = None
        self._profile = NO_PROFILE
        self._target_velocity[:] = 0.0
        self._reference[2 * self._target.size:] = 0.0
        self._velocity_ends = math.inf

    def _move_reference(self, now):
        t = now - self._motion_start
        if self._motion is not None:
            self._motion.set_sample(t, self._reference)
            if t >= self._motion.end:
                self._motion = None
        elif self._doublet is not None and t >= self._doublet.start:
            driven = self._doublet.driven
            self._target[driven] = self._measured[driven]
            if t >= self._doublet.end and not self._doublet.ends_free:
                self._doublet = None
        if now > self._velocity_ends:
            self._target_velocity[:] = 0.0
            self._velocity_ends = math.inf
        if self._waiting is not None and now >= self._waiting[1]:
            self._take_over(*self._waiting, now)

    def _take_over(self, trajectory, start, now):
        """Follow the trajectory that waited for its start."""
        try:
            motion = self._motion_along(trajectory, now - start)
        except SettingError as error:       # shorter than the time between two joint states
            self.refused += 1
            self.reports.append(f'trajectory refused: {error}')
            self._waiting = None
            return
        self._stop()
        self._motion, self._motion_start = motion, start

    def _motion_along(self, trajectory, elapsed):
        present = self._reference.reshape(3, -1)
        return trajectory.motion(self.joint_names, present, elapsed)

    def _drive_openly(self, now):
        """Replace the PD efforts of the joints that the doublet drives."""
        t = now - self._motion_start
        if t >= self._doublet.start:
            np.copyto(self._wanted, self._doublet.effort(t), where=self._doublet.driven)

    def _plan(self, profile, start=None):
        """Motion and doublet of ProfileSettings; `start` is None as long as it is unknown."""
        names = self.joint_names
        motion = motion_of_profile(profile, names, self._target if start is None else start)
        if motion is not None and (start is not None or profile.profile == 'swing'):
            ends = motion.corners[1:] if len(motion.knots) > 1 else motion.corners
            moving = np.flatnonzero((ends != self._target).any(axis=0))
            refuse_beyond_stops(self.arm, moving, ends[:, moving])
        return motion, doublet_of_profile(profile, names)

    def _refuse_state(self, now):
        self.refused += 1
        if not self._is_blind:
            self._is_blind = True
            self.reports.append('a joint state is not finite, or beyond all reason: it is refused')
        self.is_stale(now)
        return self.effort

    def _refuse_if_dead(self):
        if not self._is_live:
            raise SettingError('there is no joint state to start from: wait for the first one')

    def _tell_straight(self):
        self._told_straight = True
        self.reports.append('feed_forward sag: the arm bends too much for it, and is taken as '
                            'straight')

    @contextlib.contextmanager
    def _counting(self):
        """Count what is refused."""
        try:
            yield
        except SettingError:
            self.refused += 1
            raise
