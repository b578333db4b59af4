"""
PD control of joint positions: joint states in, efforts of the motors out.

It knows no ROS, threads or clocks, so that a node, a loop of 1 kHz, a rig and a test use it. All
calls belong into one thread, and `now` is any clock in seconds that runs on.
"""

import contextlib
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.mode_table import loaded
from flex_robot_sim.control.hold_monitor import HoldMonitor
from flex_robot_sim.control.integral import Integral, resting_pull
from flex_robot_sim.control.overload import Overload
from flex_robot_sim.control.payload_model import ControllerModel
from flex_robot_sim.control.servo import Sampling, Servo
from flex_robot_sim.control.settings import ControllerSettings
from flex_robot_sim.feedback.vibration_feedback import VibrationFeedback
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.motion.bumpless_transfer import JUMP_THRESHOLD, has_jumped
from flex_robot_sim.motion.limits import effort_limits, rate_limits
from flex_robot_sim.motion.profile_settings import ProfileSettings
from flex_robot_sim.motion.reference import NO_PROFILE, Reference
from flex_robot_sim.motion.trajectory import Trajectory
from flex_robot_sim.motion.trajectory_queue import TrajectoryQueue
from flex_robot_sim.shaping.online_shaper import OnlineShaper
from flex_robot_sim.shaping.shaped_reference import ShapedReference
from flex_robot_sim.util.exceptions import SettingError

NEVER = -math.inf
LARGEST = 1e9           # position or velocity that is still believed              [rad, m, per s]
HELD = 'is held where it is'


class JointController:
    """
    Holds joints at a reference, or leads them along one.

    It begins with the first joint state, at the position that it finds; likewise after somebody
    else has led the arm, or put it elsewhere. After a time without joint states it leads the arm
    back to the old target. All that ends whatever went on; only a swing begins anew then.
    """

    def __init__(self, arm: ArmModel, settings: ControllerSettings | None = None,
                 profile: ProfileSettings | None = None, sampling: Sampling | None = None) -> None:
        """
        Get ready for `arm` (ArmModel), with ControllerSettings and ProfileSettings.

        :param sampling: Sampling of the states, in place of that of the settings.
        """
        n = len(arm.joint_names)
        self.arm, self.joint_names = arm, arm.joint_names
        self.effort = np.zeros(n)           # as applied, within the limits             [N m, N]
        self.refused = 0                    # targets, trajectories and joint states
        self.silences = 0                   # times without joint states
        self.saturated = np.zeros(n, int)   # updates in which a joint wanted more than its limit
        self.reports: list[str] = []        # lines to be said once
        self.servo: Servo                   # the gains, and whether they hold the arm
        self.holding = HoldMonitor(arm)         # renewed by `look`
        self.feedback = VibrationFeedback(n, self.reports)
        self._bare, self._sampling = arm, sampling
        self._laden = ControllerModel(arm, sampling)
        self._told_straight = False
        self._reference = Reference(arm)
        self.trajectories = TrajectoryQueue(self._reference)    # planned in other threads
        self._points = ShapedReference(self._reference, rate_limits(arm))
        self._wanted, self._error, self._rate_error = np.zeros((3, n))
        self._measured = np.zeros(n)        # where the reference would be without error
        self._place, self._speed, self._change = np.zeros((3, n))   # of the newest state
        self._rate = np.zeros(n)            # against which the damping acts, likewise
        self._last, self._is_live, self._is_blind = NEVER, False, False
        self._leads_arm = True              # nobody else does
        self._is_pending = True             # the profile has not begun
        self._overload = Overload()
        self._integral = Integral(n)
        self.change(settings or ControllerSettings())
        self._reference.planned(profile or NO_PROFILE)          # refuses what does not fit
        self._reference.profile = profile or NO_PROFILE

    def fit(self, settings: ControllerSettings) -> None:
        """Get ready for a `change`, which takes a while here; SettingError if it is useless."""
        self._laden.fitted(settings)

    def load(self, payload: tuple[str, float, ArrayLike] | None) -> ControllerModel:
        """Return what `carry` takes for a payload of `mode_table.loaded`; this takes a while."""
        laden = ControllerModel(loaded(self._bare, payload), self._sampling)
        laden.fitted(self.settings)
        return laden

    def carry(self, laden: ControllerModel) -> None:
        """Reckon with what `load` has returned from now on, without a jump."""
        self.arm, self._laden = laden.arm, laden
        self.feedback.smooth()
        self.change(self.settings)

    def change(self, settings: ControllerSettings) -> None:
        """Take over ControllerSettings; SettingError leaves the present ones in force."""
        limits = self._laden.given(settings, 'effort_limits')
        self.servo = servo = self._laden.fitted(settings)
        self._limits = effort_limits(self.arm) if limits is None else limits
        self._stiffness, self._damping = servo.stiffness, servo.damping
        self._lowest = -self._limits
        self._integral.set_rates(servo.integral, resting_pull(self.arm, servo.stiffness))
        self._feed = self._laden.feeds.get(settings.feed_forward)
        self._by_motor = settings.feedback == 'motor'
        self._leads = self._by_motor and settings.feed_forward == 'sag'
        self.settings = settings

    @property
    def target(self) -> np.ndarray:
        """Positions to be held now, (joints,) [rad, m]."""
        return self._present.position.copy()

    @property
    def target_velocity(self) -> np.ndarray:
        """Velocities of the reference now, (joints,) [rad/s, m/s]."""
        return self._present.velocity.copy()

    @property
    def limits(self) -> np.ndarray:
        """Effort limits in force, (joints,), inf where there is none [N m, N]."""
        return self._limits.copy()

    @property
    def newest(self) -> float:
        """When the newest joint state was measured [s]; -inf without any."""
        return self._last

    @property
    def is_live(self) -> bool:
        """Whether joint states arrive."""
        return self._is_live

    @property
    def leads_arm(self) -> bool:
        """Whether the efforts move the arm, as far as the newest state says."""
        return self._leads_arm

    @property
    def is_moving(self) -> bool:
        """Whether a motion is under way, or joints were left to swing freely."""
        return self._reference.is_moving or self._points.is_arriving

    @property
    def follows_by_servo(self) -> bool:
        """Whether the servo leads the arm, not a doublet of efforts or another law."""
        return self._reference.doublet is None and not self.feedback.leads

    @property
    def shaper_duration(self) -> float:
        """Time that the shaper adds to every motion, at most [s]."""
        return self._points.duration

    def update(self, now: float, position: np.ndarray, velocity: np.ndarray,
               motor_position: np.ndarray | None = None, motor_velocity: np.ndarray | None = None,
               leads_arm: bool = True) -> np.ndarray:
        """
        Efforts for a joint state, (joints,) [N m, N]; the array is overwritten by the next call.

        :param now: when it was measured [s].
        :param position: of the joints on the link side, arrays (joints,) [rad, m]; velocity
            likewise [rad/s, m/s].
        :param motor_position: likewise on the motor side; None: all drives are rigid.
        :param leads_arm: whether the efforts move the arm, or it is let go, or led by others.
        """
        measured, rate = position, velocity
        if self._by_motor and motor_position is not None and motor_velocity is not None:
            measured, rate = motor_position, motor_velocity
        if not math.hypot(*position, *measured, *rate) < LARGEST:       # nan is not less either
            return self._refuse_state(now)
        self._measured[:] = position if self._leads else measured
        self._rate = rate
        change = self._change
        np.subtract(position, self._place, out=change)
        if not self._is_live or self._is_late(now):
            self._begin(now, leads_arm)
        elif not leads_arm:
            self._watch_others()
        elif not self._leads_arm:
            self._take_arm_over(now, f'the controller leads the arm again: it {HELD}')
        elif change.dot(change) > JUMP_THRESHOLD**2 and has_jumped(
                change, now - self._last, self._speed, velocity):
            self._take_arm_over(now, f'the arm is suddenly elsewhere, as after a reset: it {HELD}')
        self._place[:], self._speed[:], self._leads_arm = position, velocity, leads_arm
        self._last, self._is_blind = now, False
        reference, points = self._reference, self._points
        if self.trajectories:
            self.trajectories.follow(now, self._refuse_trajectory)
        if points.is_shaped:
            points.update(now, self._move)
        elif reference.changes(now):
            self._move(now)
        if not points.is_shaped:
            points = reference

        wanted, error, rate_error = self._wanted, self._error, self._rate_error
        np.subtract(points.position, measured, out=error)
        np.subtract(points.velocity, rate, out=rate_error)
        feed = self._feed
        if feed is not None:
            feed.update(points.position)
            if self._leads:
                error += feed.lead
        error *= self._stiffness
        rate_error *= self._damping
        np.add(error, rate_error, out=wanted)
        if reference.doublet is not None:
            reference.drive_openly(now, wanted)
        if feed is not None:
            wanted += feed.effort
            if feed.gave_up and not self._told_straight:
                self._tell_straight()
        feedback = self.feedback
        if feedback.is_on:
            if reference.doublet is None:
                feedback.update(now, measured, points, wanted, self.effort)
            else:
                feedback.reset()
        if self._integral.is_on and not feedback.leads:
            if reference.doublet is None:
                self._integral.update(now, error, wanted, self._limits)
            wanted += self._integral.effort
        effort = self.effort
        if feedback.is_on:
            feedback.fade(now, wanted, effort)
        np.minimum(wanted, self._limits, out=effort)
        np.maximum(effort, self._lowest, out=effort)
        if effort.tobytes() != wanted.tobytes():
            self.saturated += effort != wanted
        return effort

    def is_stale(self, now: float) -> bool:
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

    def look(self) -> None:
        """Renew `holding`, and report what is not held; every tenth of a second or so."""
        if not self._is_live or not self._leads_arm:
            return
        was_loose = bool(self.holding.line)
        self.holding.look(self._last, self.is_moving, self._present.position, self._measured,
                          self._rate, self.servo.frequency, self.servo)
        if self.holding.line and not was_loose:
            self.reports.append(self.holding.line)
        if self._feed is not None:
            sinking = self._overload.look(self.arm, self._feed.effort, self._limits)
            self.reports += [sinking] if sinking else []

    def set_target(self, position: ArrayLike, velocity: ArrayLike | None = None,
                   names: Sequence[str] | None = None) -> None:
        """
        Go to positions at once; SettingError if that cannot be.

        :param position: [rad, m]; velocity: at which the target moves, zero after state_timeout
            without a new one; default: zero [rad/s, m/s].
        :param names: joints that these are about; the others stand still. Default: all.
        """
        with self._counting():
            self.refuse_if_dead()
            self._reference.set(position, velocity, names,
                                self._last + self.settings.state_timeout)

    def follow(self, trajectory: Trajectory, now: float, start: float | None = None) -> None:
        """
        Follow a Trajectory in place of what goes on; SettingError if that cannot be.

        :param now: present time [s].
        :param start: of the trajectory; what goes on goes on until then. Default: now [s].
        """
        start = now if start is None else start
        with self._counting():
            self.refuse_if_dead()
            self._reference.follow(self._reference.plan(trajectory, now, start), now)

    def use_shaper(self, shaper: OnlineShaper | None) -> None:
        """Shape the target from now on by `design_shaper`, or not, without a jump in motion."""
        self._points.use(shaper)

    def run_profile(self, profile: ProfileSettings, now: float) -> None:
        """
        Make the motion of ProfileSettings, from the present reference; 'none' stands still.

        Without an arm to lead it begins with the first joint state of one.
        """
        with self._counting():
            start = self._reference.position if self._is_live else None
            plan = self._reference.planned(profile, start)
        self._is_pending = not (self._is_live and self._leads_arm)
        if not self._is_pending:
            self._reference.run(*plan, now)
        self._reference.profile = profile

    def hold(self, position: ArrayLike | None = None) -> None:
        """Stop, at a position (joints,) or where the arm is [rad, m]; end every motion."""
        if position is not None:
            self.set_target(position)
            return
        self._reference.hold(self._measured)
        self._points.reset()

    @property
    def _present(self):
        """What holds `position` and `velocity` of the joints as they should be now."""
        return self._points if self._points.is_shaped else self._reference

    def _is_late(self, now):
        """Whether the newest joint state is older than allowed, or from a later time."""
        return not abs(now - self._last) <= self.settings.state_timeout

    def _begin(self, now, leads_arm):
        """Hold the arm where the first joint state found it, or lead it back after a silence."""
        is_run_on, goal = NEVER < self._last < now, self._reference.position.copy()
        if self._last != NEVER:
            self.is_stale(now)
        self._is_live, self._leads_arm = True, leads_arm
        if not leads_arm:
            self._watch_others()
            return
        self._take_arm_over(now, '' if self._last == NEVER else 'joint states arrive again: the '
                            f'arm {"goes back to its target" if is_run_on else HELD}')
        if is_run_on and not self.is_moving:
            self._reference.lead_back(goal, now)

    def _take_arm_over(self, now, line):
        """Hold the arm where it is; a profile begins, if it has not, or is a swing."""
        profile = self._reference.profile
        if line:
            self.reports.append(line)
        self._leads_arm = True
        self._integral.reset()
        self.feedback.reset()
        self.hold()
        if self._is_pending or profile.profile == 'swing':
            self._start_profile(profile, now)

    def _watch_others(self):
        """Let the target be where the arm is, as long as it is not ours to lead."""
        profile = self._reference.profile
        self._integral.reset()
        self.feedback.reset()
        self.hold()
        self._reference.profile = profile

    def _start_profile(self, profile, now):
        self._is_pending = False
        try:
            self.run_profile(profile, now)
        except SettingError as error:
            self.reports.append(f'profile refused: {error}')

    def _move(self, now):
        """Move the reference on; what has waited in vain is refused."""
        try:
            self._reference.move(now, self._measured)
        except SettingError as error:       # shorter than the time between two joint states
            self._refuse_trajectory(error)

    def _refuse_trajectory(self, error):
        self.refused += 1
        self.reports.append(f'trajectory refused: {error}')

    def _refuse_state(self, now):
        self.refused += 1
        if not self._is_blind:
            self._is_blind = True
            self.reports.append('a joint state is not finite, or beyond all reason: it is refused')
        self.is_stale(now)
        return self.effort

    def refuse_if_dead(self) -> None:
        """Raise SettingError if the arm takes no targets now."""
        if not self._is_live:
            raise SettingError('there is no joint state to start from: wait for the first one')
        if not self._leads_arm:
            raise SettingError('the arm takes no efforts now: enable it, or let others end first')

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
