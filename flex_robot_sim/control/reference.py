"""
Where the joints are to be: held, led along a motion, or left to efforts of a profile.

It knows nothing of efforts and of who leads the arm. What it refuses leaves it as it was.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.control.hand_over import way_back
from flex_robot_sim.control.limits import (
    refuse_beyond_stops,
    refuse_curve_beyond_rates,
    refuse_curve_beyond_stops,
)
from flex_robot_sim.control.motion import Motion
from flex_robot_sim.control.profiles import Doublet, doublet_of_profile, motion_of_profile
from flex_robot_sim.control.settings import ProfileSettings
from flex_robot_sim.control.trajectory import Interpolation, Trajectory, joint_rows
from flex_robot_sim.core.arguments import checked
from flex_robot_sim.core.model import ArmModel
from flex_robot_sim.exceptions import SettingError

NO_PROFILE = ProfileSettings()


class PlannedTrajectory(NamedTuple):
    """A trajectory that was checked, and the polynomials between its points."""

    pieces: Interpolation
    start: float | None         # None: when it is followed                                 [s]


class Reference:
    """Targets of the joints of an arm, one after the other."""

    def __init__(self, arm: ArmModel) -> None:
        """Stand at zero."""
        n = len(arm.joint_names)
        self.arm, self.joint_names = arm, arm.joint_names
        self._values = np.zeros(3 * n)
        self.position, self.velocity = self._values[:n], self._values[n:2 * n]  # [rad, m; per s]
        self.profile = NO_PROFILE       # ProfileSettings of what goes on
        self.doublet: Doublet | None = None         # that takes the place of targets
        self._motion: Motion | None = None
        self._waiting: tuple[Interpolation, float] | None = None    # and its start    [s]
        self.interruptions = 0          # times that something else replaced a trajectory
        self._start, self._velocity_ends = 0.0, math.inf
        self._now = -math.inf           # until when it has moved                           [s]

    @property
    def is_moving(self) -> bool:
        """Whether a trajectory or a profile is under way, or joints were left to swing freely."""
        return bool(self._motion or self._waiting or self.doublet)

    def changes(self, now: float) -> bool:
        """Whether `move` has anything to do at a time [s]."""
        return self.is_moving or now > self._velocity_ends

    def move(self, now: float, measured: np.ndarray) -> None:
        """
        Go on to a time [s]; SettingError if a trajectory that waited for its start is over by now.

        :param measured: where the joints are, (joints,) [rad, m].
        """
        self._now = now
        t = now - self._start
        if self._motion is not None:
            self._motion.set_sample(t, self._values)
            if t >= self._motion.end:
                self._motion = None
        elif self.doublet is not None and t >= self.doublet.start:
            driven = self.doublet.driven
            self.position[driven] = measured[driven]
            if t >= self.doublet.end and not self.doublet.ends_free:
                self.doublet = None
        if now > self._velocity_ends:
            self.velocity[:] = 0.0
            self._velocity_ends = math.inf
        if self._waiting is not None and now >= self._waiting[1]:
            pieces, start = self._waiting
            self._waiting = None
            self._begin(pieces, start, now)

    def drive_openly(self, now: float, efforts: np.ndarray) -> None:
        """Replace the efforts (joints,) of the joints that a doublet drives [N m, N]."""
        t = now - self._start
        if self.doublet is not None and t >= self.doublet.start:
            np.copyto(efforts, self.doublet.effort(t), where=self.doublet.driven)

    def set(self, position: ArrayLike, velocity: ArrayLike | None, names: Sequence[str] | None,
            until: float) -> None:
        """Stand at once at a target for some joints, with a velocity until a time [s]."""
        names = self.joint_names if names is None else tuple(names)
        rows = joint_rows(names, self.joint_names)
        position = checked('position', position, names)
        velocity = None if velocity is None else checked('velocity', velocity, names)
        refuse_beyond_stops(self.arm, rows, position)
        self.interruptions += 1
        self.stop()
        self.position[rows] = position
        if velocity is not None:
            self.velocity[rows] = velocity
            self._velocity_ends = until

    def plan(self, trajectory: Trajectory, now: float,
             start: float | None = None) -> PlannedTrajectory:
        """
        Check a Trajectory and compute what takes long; SettingError if it cannot be followed.

        It changes nothing, and may run in another thread than the other methods.

        :param now: present time; start: of the trajectory, default: when it is followed [s].
        """
        if start is not None and not math.isfinite(start):
            raise SettingError('the start of a trajectory must be finite [s]')
        refuse_beyond_stops(self.arm, trajectory.rows(self.joint_names), trajectory.positions)
        plan = PlannedTrajectory(Interpolation(trajectory, self.joint_names), start)
        motion = plan.pieces.motion(self._values.reshape(3, -1).copy(),
                                    0.0 if start is None else max(now - start, 0.0))
        self._refuse_beyond_limits(motion)
        return plan

    def follow(self, plan: PlannedTrajectory, now: float) -> None:
        """Follow a PlannedTrajectory; what goes on goes on until its start [s]."""
        now = max(now, self._now)       # a shaper looks ahead by a sample
        start = now if plan.start is None else plan.start
        if start > now:
            self._waiting = plan.pieces, start
        else:
            self._begin(plan.pieces, start, now)

    def planned(self, profile: ProfileSettings,
                start: np.ndarray | None = None) -> tuple[Motion | None, Doublet | None]:
        """Motion and doublet of ProfileSettings; `start` is None as long as it is unknown."""
        names = self.joint_names
        motion = motion_of_profile(profile, names, self.position if start is None else start)
        if motion is not None and (start is not None or profile.profile == 'swing'):
            ends = motion.corners[1:] if len(motion.knots) > 1 else motion.corners
            moving = np.flatnonzero((ends != self.position).any(axis=0))
            refuse_beyond_stops(self.arm, moving, ends[:, moving])
        return motion, doublet_of_profile(profile, names)

    def run(self, motion: Motion | None, doublet: Doublet | None, now: float) -> None:
        """Begin now with what `planned` has returned [s]."""
        self.interruptions += 1
        self.stop()
        self._motion, self.doublet, self._start = motion, doublet, max(now, self._now)

    def lead_back(self, goal: np.ndarray, now: float) -> None:
        """Go from here to a goal (joints,), no faster than a careful person would [rad, m; s]."""
        self._motion, self._start = way_back(self.arm, self.position, goal), now
        if self._motion is None:
            self.position[:] = goal

    def stop(self) -> None:
        """End every motion; the target stays where it is."""
        self._motion = self.doublet = self._waiting = None
        self.profile = NO_PROFILE
        self._values[self.position.size:] = 0.0
        self._velocity_ends = math.inf

    def hold(self, position: np.ndarray) -> None:
        """End every motion, and stand at a position (joints,) [rad, m]."""
        self.interruptions += 1
        self.stop()
        self.position[:] = position
        self._now = -math.inf

    def _begin(self, pieces, start, now):
        """Join an Interpolation to the present reference, from a time on [s]."""
        motion = pieces.motion(self._values.reshape(3, -1), now - start)
        # `plan` has checked all pieces but the first one, which begins here
        self._refuse_beyond_limits(motion.first_piece())
        self.stop()
        self._motion, self._start = motion, start

    def _refuse_beyond_limits(self, motion):
        refuse_curve_beyond_stops(self.arm, motion)
        refuse_curve_beyond_rates(self.arm, motion)
