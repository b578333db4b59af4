"""
Reference of the joints: constant, along a motion, or replaced by the efforts of a profile.

It does not depend on efforts, nor on the controller. A refused command does not change it.
"""

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.model.arguments import checked
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.motion.bumpless_transfer import return_motion
from flex_robot_sim.motion.joint_motion import Motion
from flex_robot_sim.motion.limits import (
    MAX_STEP_TIME_S,
    acceleration_limits,
    deceleration_limits,
    limits_accelerations,
    rate_limits,
    refuse_beyond_stops,
    refuse_curve_beyond_limits,
    refuse_short_profile,
    refuse_steps,
)
from flex_robot_sim.motion.loop_targets import refuse_open_loops, refuse_passive_joints
from flex_robot_sim.motion.profile_settings import ProfileSettings
from flex_robot_sim.motion.profiles import Doublet, doublet_of_profile, motion_of_profile
from flex_robot_sim.motion.trajectory import Interpolation, Trajectory, joint_rows
from flex_robot_sim.util.exceptions import SettingError

NO_PROFILE = ProfileSettings()
JOIN_DELAYS = (0.0, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32)
"""Candidate delays until the point at which the reference joins a late trajectory [s]."""
MAX_EVENTS = 1000  # unread events; older ones are dropped
JOIN_TIME_S = 0.1  # to reach the velocity limit while a joint joins a trajectory
ACCEPTED, REFUSED, REPLACED, COMPLETED = 'accepted', 'refused', 'replaced', 'completed'


class PlannedTrajectory(NamedTuple):
    """Validated trajectory with the polynomials between its points."""

    pieces: Interpolation
    start: float | None  # None: at the call of `follow`                             [s]
    identifier: int | None = None  # of its events; None: no events


class TrajectoryEvent(NamedTuple):
    """A change in the state of a trajectory that has an identifier."""

    identifier: int
    state: str  # ACCEPTED, REFUSED, REPLACED or COMPLETED
    reason: str = ''  # why it was refused


class Reference:
    """Position and velocity reference of the joints of an arm."""

    def __init__(self, arm: ArmModel) -> None:
        """Begin at the zero position."""
        n = len(arm.joint_names)
        self.arm, self.joint_names = arm, arm.joint_names
        self._values = np.zeros(3 * n)
        self.position, self.velocity = self._values[:n], self._values[n : 2 * n]  # [rad, m; per s]
        self.profile = NO_PROFILE  # ProfileSettings of the present profile
        self.doublet: Doublet | None = None  # replaces targets by efforts
        self._motion: Motion | None = None
        self._identifier: int | None = None  # of the trajectory that _motion follows
        # trajectories with a later start, and their start times [s], in order of time
        self._waiting: list[tuple[float, PlannedTrajectory]] = []
        self.events: deque[TrajectoryEvent] = deque(maxlen=MAX_EVENTS)
        self.interruptions = 0  # times that something else replaced a trajectory
        self._start, self._velocity_ends = 0.0, math.inf
        self._now = -math.inf  # time of the last `move`                           [s]

    @property
    def is_moving(self) -> bool:
        """Whether a trajectory or a profile is active, or joints swing freely after one."""
        return bool(self._motion or self._waiting or self.doublet)

    def changes(self, now: float) -> bool:
        """Whether `move` changes the reference at a time [s]."""
        return self.is_moving or now > self._velocity_ends

    def move(self, now: float, measured: np.ndarray) -> None:
        """Advance to a time [s] at measured positions; SettingError if a trajectory is over."""
        self._now = now
        t = now - self._start
        if self._motion is not None:
            self._motion.set_sample(t, self._values)
        elif self.doublet is not None and t >= self.doublet.start:
            driven = self.doublet.driven
            self.position[driven] = measured[driven]
            if t >= self.doublet.end and not self.doublet.ends_free:
                self.doublet = None
        if now > self._velocity_ends:
            self.velocity[:] = 0.0
            self._velocity_ends = math.inf
        while self._waiting and now >= self._waiting[0][0]:
            start, plan = self._waiting.pop(0)
            try:
                plan.pieces.refuse_if_over(now - start)
                motion = self._begin(plan, start, start)
            except SettingError as error:
                self._report(plan.identifier, REFUSED, str(error))
                raise
            motion.set_sample(now - start, self._values)
        if self._motion is not None and now - self._start >= self._motion.end:
            self._motion = None
            self._report(self._identifier, COMPLETED)
            self._identifier = None

    def drive_openly(self, now: float, efforts: np.ndarray) -> None:
        """Replace the efforts (joints,) of the joints that a doublet drives [N m, N]."""
        t = now - self._start
        if self.doublet is not None and t >= self.doublet.start:
            np.copyto(efforts, self.doublet.effort(t), where=self.doublet.driven)

    def set(
        self,
        position: ArrayLike,
        velocity: ArrayLike | None,
        names: Sequence[str] | None,
        until: float,
    ) -> None:
        """
        Set a target for some joints immediately, with a velocity until a time [s].

        :param names: of the joints; None: all, of which passive ones keep their position.
        """
        is_all = names is None
        names = self.joint_names if names is None else tuple(names)
        rows = np.array(joint_rows(names, self.joint_names))
        position = checked('position', position, names)
        velocity = None if velocity is None else checked('velocity', velocity, names)
        if is_all and not self.arm.actuated.all():
            driven = self.arm.actuated
            rows, position = rows[driven], position[driven]
            velocity = None if velocity is None else velocity[driven]
        refuse_passive_joints(self.arm, [self.joint_names[row] for row in rows])
        refuse_beyond_stops(self.arm, rows, position)
        refuse_open_loops(self.arm, self.position, rows, position)
        self.interruptions += 1
        self.stop()
        self.position[rows] = position
        if velocity is not None:
            self.velocity[rows] = velocity
            self._velocity_ends = until

    def plan(
        self,
        trajectory: Trajectory,
        now: float,
        start: float | None = None,
        identifier: int | None = None,
    ) -> PlannedTrajectory:
        """
        Check a Trajectory and compute its polynomials; SettingError if it cannot be followed.

        It does not change the reference, and may run in any thread. The motion to the first point
        depends on the reference at the start; `follow` checks it.

        :param now: present time; start: of the trajectory, default: at the call of `follow` [s].
        :param identifier: for the events of the trajectory.
        """
        if start is not None and not math.isfinite(start):
            raise SettingError('the start of a trajectory must be finite [s]')
        rows = trajectory.rows(self.joint_names)
        refuse_passive_joints(self.arm, trajectory.names)
        refuse_beyond_stops(self.arm, rows, trajectory.positions)
        refuse_open_loops(self.arm, self.position, rows, trajectory.positions)
        plan = PlannedTrajectory(Interpolation(trajectory, self.joint_names), start, identifier)
        elapsed = 0.0 if start is None else max(now - start, 0.0)
        plan.pieces.refuse_if_over(elapsed)
        later = plan.pieces.later_pieces(elapsed)
        refuse_curve_beyond_limits(self.arm, later)
        refuse_steps(self.arm, later)
        return plan

    def follow(self, plan: PlannedTrajectory, now: float) -> None:
        """Follow a PlannedTrajectory from its start [s] on; SettingError if limits forbid it."""
        now = max(now, self._now)  # a shaper looks ahead by a sample
        start = now if plan.start is None else plan.start
        if start > now:
            present = self._state_at(start)
            refuse_curve_beyond_limits(self.arm, plan.pieces.first_piece(present, 0.0))
            self._refuse_steps(plan, present)
        else:
            self._begin(plan, start, now)
        # a trajectory replaces all that would start later
        for time, pending in self._waiting:
            if time >= start:
                self._report(pending.identifier, REPLACED)
        self._waiting = [each for each in self._waiting if each[0] < start]
        if start > now:
            self._waiting.append((start, plan))
        self._report(plan.identifier, ACCEPTED)

    def planned(
        self, profile: ProfileSettings, start: np.ndarray | None = None
    ) -> tuple[Motion | None, Doublet | None]:
        """Return Motion and Doublet of ProfileSettings; `start` is None if it is unknown."""
        names = self.joint_names
        motion = motion_of_profile(profile, names, self.position if start is None else start)
        if motion is not None and (start is not None or profile.profile == 'swing'):
            ends = motion.knot_positions[1:] if len(motion.knots) > 1 else motion.knot_positions
            moving = np.flatnonzero((ends != self.position).any(axis=0))
            refuse_beyond_stops(self.arm, moving, ends[:, moving])
        if motion is not None and profile.profile in ('minimum_jerk', 'swing'):
            # the first motion of a swing begins at the start, which may be unknown
            is_unknown = start is None and profile.profile == 'swing'
            ends = motion.knot_positions[1 if is_unknown else 0 :]
            refuse_short_profile(self.arm, ends, profile.profile_duration)
        return motion, doublet_of_profile(profile, names)

    def run(self, motion: Motion | None, doublet: Doublet | None, now: float) -> None:
        """Start a motion or a doublet from `planned` at the present time [s]."""
        self.interruptions += 1
        self.stop()
        self._motion, self.doublet, self._start = motion, doublet, max(now, self._now)

    def lead_back(self, goal: np.ndarray, now: float) -> None:
        """Return slowly from the present position to a goal (joints,) [rad, m; s]."""
        self._motion, self._start = return_motion(self.arm, self.position, goal), now
        if self._motion is None:
            self.position[:] = goal

    def stop(self) -> None:
        """End every motion; the target remains at its present position."""
        self._end_motion()
        for _, plan in self._waiting:
            self._report(plan.identifier, REPLACED)
        self._waiting = []
        self.profile = NO_PROFILE
        self._values[self.position.size :] = 0.0
        self._velocity_ends = math.inf

    def hold(self, position: np.ndarray) -> None:
        """End every motion, and set a constant position (joints,) [rad, m]."""
        self.interruptions += 1
        self.stop()
        self.position[:] = position
        self._now = -math.inf

    def _end_motion(self):
        if self._motion is not None:
            self._report(self._identifier, REPLACED)
        self._motion = self.doublet = self._identifier = None

    def _begin(self, plan, start, time):
        """Join a PlannedTrajectory to the reference at a time [s]; return its Motion."""
        present, elapsed = self._state_at(time), time - start
        plan.pieces.refuse_if_over(elapsed)
        first = self._joining_point(plan.pieces, present, elapsed)
        # `plan` has checked all pieces but the first one
        refuse_curve_beyond_limits(self.arm, plan.pieces.first_piece(present, elapsed, first))
        self._refuse_steps(plan, present, elapsed, first)
        self._end_motion()
        self.profile, self._velocity_ends = NO_PROFILE, math.inf
        self._motion = motion = plan.pieces.motion(present, elapsed, first)
        self._start, self._identifier = start, plan.identifier
        return motion

    def _refuse_steps(self, plan, present, elapsed=0.0, first=None):
        if limits_accelerations(self.arm):
            # `plan` has checked all later ones
            beginning = plan.pieces.first_two_pieces(present, elapsed, first)
            refuse_steps(self.arm, beginning, present)

    def _joining_point(self, pieces, present, elapsed):
        """
        Return the index of the point at which the reference joins an Interpolation.

        It is the next point. The reference joins a late trajectory at the first point that is
        reachable within limits, or else at the point that exceeds them least.
        """
        times = pieces.trajectory.times
        first = best = bisect_right(times, elapsed)
        if elapsed <= 0.0 or first + 1 == len(times):
            return first
        smallest_share, previous = math.inf, -1
        for delay in JOIN_DELAYS:
            first = bisect_right(times, elapsed + delay)
            if first == len(times):
                break
            if first != previous:
                share = self._share_of_limits(
                    pieces.first_piece(present, elapsed, first), present[1]
                )
                if share < smallest_share:
                    smallest_share, best = share, first
                if share <= 1.0:
                    break
            previous = first
        return best

    def _state_at(self, time):
        """Return the future positions, velocities and accelerations (3, joints) at a time [s]."""
        state, motion, begin = self._values.reshape(3, -1).copy(), self._motion, self._start
        if motion is not None:
            state = motion.sample(time - begin)
        for start, plan in self._waiting:
            if start > time:
                break
            if motion is not None:
                state = motion.sample(start - begin)
            motion, begin = plan.pieces.motion(state, 0.0), start
            state = motion.sample(time - begin)
        return state

    def _share_of_limits(self, piece, velocity):
        """Largest rate of a one-piece Motion over its limit, also of its step from a velocity."""
        limits = rate_limits(self.arm)
        ups, downs = acceleration_limits(self.arm), deceleration_limits(self.arm)
        times = np.linspace(piece.knots[0], piece.knots[1], 5)[:-1]
        samples = piece.samples(times)
        accelerations = np.abs(samples[:, 2]).max(axis=0)
        step = np.abs(samples[0, 1] - velocity) / MAX_STEP_TIME_S
        return max(
            (piece.max_speeds() / limits).max(),
            (accelerations * JOIN_TIME_S / limits).max(),
            (accelerations / np.minimum(ups, downs)).max(),
            (step / np.maximum(ups, downs)).max(),
        )

    def _report(self, identifier, state, reason=''):
        if identifier is not None:
            self.events.append(TrajectoryEvent(identifier, state, reason))
