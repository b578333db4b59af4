"""
PD control of joint positions: joint states in, efforts of the motors out.

It is independent of ROS, threads and clocks: a node, a 1 kHz loop, a rig and a test use it. Make
all calls from one thread. `now` is any monotonic clock in seconds.
"""

import contextlib
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.mode_table import loaded
from flex_robot_sim.control.controller_settings import ControllerSettings
from flex_robot_sim.control.gains import Servo
from flex_robot_sim.control.hold_monitor import HoldMonitor, Overload
from flex_robot_sim.control.integral import Integral, rest_spring_effort
from flex_robot_sim.control.payload_model import ControllerModel
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
from flex_robot_sim.simulation.loop_timing import LoopTiming
from flex_robot_sim.util.exceptions import SettingError

NEVER = -math.inf
MAX_STATE_MAGNITUDE = 1e9  # larger positions and velocities are refused     [rad, m, per s]
HELD_IN_PLACE = 'is held where it is'


class JointController:
    """
    Holds joints at a reference, or moves them along one.

    It starts at the position of the first joint state. The same applies after another controller
    has moved the arm, and after a reset of its pose. After a timeout of joint states it moves the
    arm back to the old target. Each of these ends the present motion; only a swing starts again.
    """

    def __init__(
        self,
        arm: ArmModel,
        settings: ControllerSettings | None = None,
        profile: ProfileSettings | None = None,
        sampling: LoopTiming | None = None,
    ) -> None:
        """Get ready for an arm; `sampling` of its states replaces that of the settings."""
        n = len(arm.joint_names)
        self.arm, self.joint_names = arm, arm.joint_names
        self.effort = np.zeros(n)  # as applied, within the limits             [N m, N]
        self.refused = 0  # count of targets, trajectories and joint states
        self.newest = NEVER  # time of the newest joint state [s]
        self.is_live = False  # whether joint states arrive
        self.drives_arm = True  # whether efforts move the arm, by the newest state
        self.state_timeouts = 0  # number of timeouts of joint states
        self.saturated = np.zeros(n, int)  # updates at the effort limit, by joint
        self.reports: list[str] = []  # lines for the log, removed by the reader
        self.servo: Servo  # the gains, and a warning if they are unstable
        self.hold_monitor = HoldMonitor(arm)  # see `update_hold_monitor`
        self.feedback = VibrationFeedback(n, self.reports)
        self._arm_without_payload, self._sampling = arm, sampling
        self._model = ControllerModel(arm, sampling)
        self._reported_sag_divergence = False
        self._reference = Reference(arm)
        self.trajectories = TrajectoryQueue(self._reference)  # planned in another thread
        self._points = ShapedReference(self._reference, rate_limits(arm))
        self._unlimited, self._error, self._rate_error = np.zeros((3, n))
        self._measured, self._rate = np.zeros((2, n))  # of the side that is controlled
        self._position, self._velocity, self._position_change = np.zeros((3, n))
        self._is_blind = False
        self._is_pending = True  # the profile has not begun
        self._overload = Overload()
        self._integral = Integral(n)
        self.change(settings or ControllerSettings())
        self._reference.planned(profile or NO_PROFILE)  # raises if it does not fit the arm
        self._reference.profile = profile or NO_PROFILE

    def fit(self, settings: ControllerSettings) -> None:
        """Precompute the gains for `change`, which takes a while; SettingError if unusable."""
        self._model.servo_for(settings)

    def build_model(self, payload: tuple[str, float, ArrayLike] | None) -> ControllerModel:
        """Return the model for `use_model` with a payload of `mode_table.loaded`; this is slow."""
        model = ControllerModel(loaded(self._arm_without_payload, payload), self._sampling)
        model.servo_for(self.settings)
        return model

    def use_model(self, model: ControllerModel) -> None:
        """Use a model of `build_model` from now on, without a step in the efforts."""
        self.arm, self._model = model.arm, model
        self.feedback.smooth()
        self.change(self.settings)

    def change(self, settings: ControllerSettings) -> None:
        """Apply ControllerSettings; on SettingError the present ones stay in force."""
        limits = self._model.joint_array(settings, 'effort_limits')
        self.servo = servo = self._model.servo_for(settings)
        self._limits = effort_limits(self.arm) if limits is None else limits * self.arm.actuated
        self._stiffness, self._damping = servo.stiffness, servo.damping
        self._lower_limits = -self._limits
        self._integral.set_rates(servo.integral, rest_spring_effort(self.arm, servo.stiffness))
        self._feed = self._model.feeds.get(settings.feed_forward)
        self._by_motor = settings.feedback == 'motor'
        self._compensates_sag = self._by_motor and settings.feed_forward == 'sag'
        self.settings = settings

    @property
    def target(self) -> np.ndarray:
        """Present target positions, (joints,) [rad, m]."""
        return self._active_reference.position.copy()

    @property
    def target_velocity(self) -> np.ndarray:
        """Present target velocities, (joints,) [rad/s, m/s]."""
        return self._active_reference.velocity.copy()

    @property
    def limits(self) -> np.ndarray:
        """Effort limits in force, (joints,), inf where there is none [N m, N]."""
        return self._limits.copy()

    @property
    def is_moving(self) -> bool:
        """Whether a motion is under way, including a free swing."""
        return self._reference.is_moving or self._points.is_arriving

    @property
    def follows_by_servo(self) -> bool:
        """Whether the servo controls the arm, not an effort doublet or another control law."""
        return self._reference.doublet is None and not self.feedback.replaces_servo

    @property
    def shaper_duration(self) -> float:
        """Time that the shaper adds to every motion, at most [s]."""
        return self._points.duration

    def update(  # noqa: C901 - one sample of a real-time loop, without calls between its parts
        self,
        now: float,
        position: np.ndarray,
        velocity: np.ndarray,
        motor_position: np.ndarray | None = None,
        motor_velocity: np.ndarray | None = None,
        drives_arm: bool = True,
    ) -> np.ndarray:
        """
        Efforts for a joint state, (joints,) [N m, N]; the array is overwritten by the next call.

        :param now: when it was measured [s].
        :param position: of the joints on the link side, (joints,) [rad, m]; velocity: their
            rates, (joints,) [rad/s, m/s].
        :param motor_position: on the motor side, (joints,) [rad, m]; motor_velocity: their rates;
            None: all drives are rigid.
        :param drives_arm: whether the efforts move the arm; False: it is disabled, or another
            controller moves it.
        """
        measured, rate = position, velocity
        if self._by_motor and motor_position is not None and motor_velocity is not None:
            measured, rate = motor_position, motor_velocity
        # false for nan, too
        if not math.hypot(*position, *measured, *rate) < MAX_STATE_MAGNITUDE:
            return self._refuse_state(now)
        self._measured[:] = position if self._compensates_sag else measured
        self._rate = rate
        change = self._position_change
        np.subtract(position, self._position, out=change)
        if not self.is_live or self._is_late(now):
            self._begin(now, drives_arm)
        elif not drives_arm:
            self._track_arm()
        elif not self.drives_arm:
            self._resume_control(now, f'the controller drives the arm again: it {HELD_IN_PLACE}')
        elif change.dot(change) > JUMP_THRESHOLD**2 and has_jumped(
            change, now - self.newest, self._velocity, velocity
        ):
            self._resume_control(
                now, f'the arm is suddenly elsewhere, as after a reset: it {HELD_IN_PLACE}'
            )
        self._position[:], self._velocity[:], self.drives_arm = position, velocity, drives_arm
        self.newest, self._is_blind = now, False
        reference, points = self._reference, self._points
        if self.trajectories:
            self.trajectories.follow(now, self._refuse_trajectory)
        if points.is_shaped:
            points.update(now, self._move)
        elif reference.changes(now):
            self._move(now)
        if not points.is_shaped:
            points = reference

        unlimited, error, rate_error = self._unlimited, self._error, self._rate_error
        np.subtract(points.position, measured, out=error)
        np.subtract(points.velocity, rate, out=rate_error)
        feed = self._feed
        if feed is not None:
            feed.update(points.position)
            if self._compensates_sag:
                error += feed.motor_offset
        error *= self._stiffness
        rate_error *= self._damping
        np.add(error, rate_error, out=unlimited)
        if reference.doublet is not None:
            reference.drive_openly(now, unlimited)
        if feed is not None:
            unlimited += feed.effort
            if feed.has_diverged and not self._reported_sag_divergence:
                self._reported_sag_divergence = True
                self.reports.append(
                    'feed_forward sag: the arm bends too much for it, and is taken as straight'
                )
        feedback = self.feedback
        if feedback.is_on:
            if reference.doublet is None:
                feedback.update(now, measured, points, unlimited, self.effort)
            else:
                feedback.reset()
        if self._integral.is_on and not feedback.replaces_servo:
            if reference.doublet is None:
                self._integral.update(now, error, unlimited, self._limits)
            unlimited += self._integral.effort
        effort = self.effort
        if feedback.is_on:
            feedback.fade(now, unlimited, effort)
        np.minimum(unlimited, self._limits, out=effort)
        np.maximum(effort, self._lower_limits, out=effort)
        if effort.tobytes() != unlimited.tobytes():
            self.saturated += effort != unlimited
        return effort

    def is_stale(self, now: float) -> bool:
        """Whether the newest joint state is too old; efforts are zero then."""
        if self.is_live and self._is_late(now):
            self.is_live = False
            self.state_timeouts += 1
            why = 'the clock was set back'
            if now > self.newest:
                why = f'no joint state for {self.settings.state_timeout:g} s'
            self.reports.append(f'{why}: efforts are zero until the next joint state')
        if not self.is_live:
            self.effort[:] = 0.0
        return not self.is_live

    def update_hold_monitor(self) -> None:
        """Update `hold_monitor` and report joints that are not held; call it at about 10 Hz."""
        if not self.is_live or not self.drives_arm:
            return
        was_reported = bool(self.hold_monitor.line)
        self.hold_monitor.update(
            self.newest,
            self.is_moving,
            self._active_reference.position,
            self._measured,
            self._rate,
            self.servo.frequency,
            self.servo,
            self._position,
        )
        if self.hold_monitor.line and not was_reported:
            self.reports.append(self.hold_monitor.line)
        if self._feed is not None:
            sinking = self._overload.check(self.arm, self._feed.effort, self._limits)
            self.reports += [sinking] if sinking else []

    def set_target(
        self,
        position: ArrayLike,
        velocity: ArrayLike | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        """
        Step the target to positions; SettingError if they are not possible.

        :param position: [rad, m]; velocity: at which the target moves, zero after state_timeout
            without a new one; default: zero [rad/s, m/s].
        :param names: joints of these positions; all other joints stop. Default: all.
        """
        with self._counting_refusals():
            self.refuse_if_inactive()
            self._reference.set(
                position, velocity, names, self.newest + self.settings.state_timeout
            )

    def follow(self, trajectory: Trajectory, now: float, start: float | None = None) -> None:
        """
        Replace the present motion by a Trajectory; SettingError if it is not possible.

        :param now: present time [s].
        :param start: of the trajectory; the present motion continues until then. Default: now [s].
        """
        start = now if start is None else start
        with self._counting_refusals():
            self.refuse_if_inactive()
            self._reference.follow(self._reference.plan(trajectory, now, start), now)

    def use_shaper(self, shaper: OnlineShaper | None) -> None:
        """Shape the target from now on by an OnlineShaper, or not, without a step in motion."""
        self._points.use(shaper)

    def run_profile(self, profile: ProfileSettings, now: float) -> None:
        """Run ProfileSettings from the present reference, or from the first joint state."""
        with self._counting_refusals():
            start = self._reference.position if self.is_live else None
            plan = self._reference.planned(profile, start)
        self._is_pending = not (self.is_live and self.drives_arm)
        if not self._is_pending:
            self._reference.run(*plan, now)
        self._reference.profile = profile

    def hold(self, position: ArrayLike | None = None) -> None:
        """Stop every motion, at a position (joints,) or at the present one [rad, m]."""
        if position is not None:
            self.set_target(position)
            return
        self._reference.hold(self._measured)
        self._points.reset()

    @property
    def _active_reference(self):
        """Source of the present target: the shaped or the unshaped reference."""
        return self._points if self._points.is_shaped else self._reference

    def _is_late(self, now):
        """Whether the newest joint state is too old, or in the future."""
        return not abs(now - self.newest) <= self.settings.state_timeout

    def _begin(self, now, drives_arm):
        """Hold the arm at its first joint state, or move it back after a timeout of states."""
        is_resumed, goal = NEVER < self.newest < now, self._reference.position.copy()
        if self.newest != NEVER:
            self.is_stale(now)
        self.is_live, self.drives_arm = True, drives_arm
        if not drives_arm:
            self._track_arm()
            return
        self._resume_control(
            now,
            ''
            if self.newest == NEVER
            else 'joint states arrive again: the '
            f'arm {"goes back to its target" if is_resumed else HELD_IN_PLACE}',
        )
        if is_resumed and not self.is_moving:
            self._reference.lead_back(goal, now)

    def _resume_control(self, now, line):
        """Hold the arm at its position; start a pending profile, or a swing."""
        profile = self._reference.profile
        if line:
            self.reports.append(line)
        self.drives_arm = True
        self._stop_at_arm()
        if self._is_pending or profile.profile == 'swing':
            self._is_pending = False
            try:
                self.run_profile(profile, now)
            except SettingError as error:
                self.reports.append(f'profile refused: {error}')

    def _track_arm(self):
        """Set the target to the position of the arm while another controller moves it."""
        profile = self._reference.profile
        self._stop_at_arm()
        self._reference.profile = profile

    def _stop_at_arm(self):
        self._integral.reset()
        self.feedback.reset()
        self.hold()

    def _move(self, now):
        """Advance the reference; refuse a waiting trajectory that does not fit."""
        try:
            self._reference.move(now, self._measured)
        except SettingError as error:  # trajectory is shorter than the state period
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

    def refuse_if_inactive(self) -> None:
        """Raise SettingError if the arm accepts no targets now."""
        if not self.is_live:
            raise SettingError('there is no joint state to start from: wait for the first one')
        if not self.drives_arm:
            raise SettingError('the arm ignores efforts now: enable it, or let others end first')

    @contextlib.contextmanager
    def _counting_refusals(self):
        """Count refused inputs."""
        try:
            yield
        except SettingError:
            self.refused += 1
            raise
