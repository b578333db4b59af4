"""Motion of a base from poses and twists that arrive with stamps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flex_robot_sim.dynamics.moved_base import COLUMNS, RATE, TWIST
from flex_robot_sim.motion.streamed_base import ApproachingBaseMotion
from flex_robot_sim.util.exceptions import CommandError

if TYPE_CHECKING:
    from flex_robot_sim.simulation.simulation import Simulation

FIRST_INTERVAL_S, MAX_INTERVAL_S = 0.1, 1.0  # between two messages
DELAY_INTERVALS = 2.0  # of the base behind its messages; late messages need more than one
AVERAGING = 0.25  # share of a new interval in the mean
MAX_JUMP = 0.05  # of a pose from the base, beyond the way at the present twist       [m, rad]
QUATERNION_TOLERANCE = 1e-2  # of its length
NANOSECONDS = 1e9


class BaseStream:
    """Moves the base of a Simulation smoothly to each pose that arrives, and stops it there."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._motion: ApproachingBaseMotion | None = None
        self._stamp, self._interval = 0, FIRST_INTERVAL_S

    @property
    def is_moving(self) -> bool:
        """Whether the base is on its way to the last pose."""
        motion, time = self._motion, self._simulation.time
        return motion is not None and motion.times[0] <= time <= motion.times[1]

    def take(self, stamp: int, pose: np.ndarray, twist: np.ndarray) -> None:
        """
        Move the base to a pose (7,) with a twist (6,), in its axes, angular first.

        :param stamp: of the pose [ns].
        :raises CommandError: the base does not follow; it goes on to the pose before, and stops.
        """
        simulation, description = self._simulation, self._simulation.arm.description
        if description.base_motion is None:
            raise CommandError(
                f'base_motion: the base of "{description.name}" does not move. Give it a <base> '
                'in <flexibility>'
            )
        end = np.append(pose, twist)
        length = np.linalg.norm(end[3:TWIST])
        if not np.isfinite(end).all() or abs(length - 1.0) > QUATERNION_TOLERANCE:
            raise CommandError(
                'base_motion: pose and twist must be finite, and the orientation a unit '
                'quaternion. The base stops at its last pose'
            )
        end[3:TWIST] /= length
        interval = FIRST_INTERVAL_S
        if self.is_moving:
            if stamp <= self._stamp:
                raise CommandError(
                    'base_motion: a stamp is not later than the one before. Send stamps that '
                    'rise; the base stops at its last pose'
                )
            passed = min((stamp - self._stamp) / NANOSECONDS, MAX_INTERVAL_S)
            interval = self._interval + AVERAGING * (passed - self._interval)
        duration = max(DELAY_INTERVALS * interval, DELAY_INTERVALS * simulation.settings.time_step)
        self._refuse_jump(end, duration)
        sample = np.zeros(COLUMNS)
        sample[:TWIST], sample[TWIST:RATE] = simulation.base_pose, simulation.base_twist
        if self.is_moving:
            assert self._motion is not None
            sample[RATE:] = self._motion.samples(np.array([simulation.time]))[0, RATE:]
        motion = ApproachingBaseMotion(simulation.time, duration, sample, end)
        simulation.move_base(motion)
        self._motion, self._stamp, self._interval = motion, stamp, interval

    def passed_end(self) -> bool:
        """Whether the base has passed the last pose, since no other one has arrived; once."""
        motion = self._motion
        if motion is None or self._simulation.time <= motion.times[1]:
            return False
        self._motion = None
        return True

    def _refuse_jump(self, end, duration):
        pose, twist = self._simulation.base_pose, self._simulation.base_twist
        way = float(np.linalg.norm(end[:3] - pose[:3]))
        turn = 2.0 * float(np.arccos(min(abs(end[3:TWIST] @ pose[3:]), 1.0)))
        for distance, part, unit in ((turn, slice(0, 3), 'rad'), (way, slice(3, 6), 'm')):
            speed = max(np.linalg.norm(end[TWIST:][part]), np.linalg.norm(twist[part]))
            if distance > MAX_JUMP + 2.0 * duration * speed:
                raise CommandError(
                    f'base_motion: a pose jumps by {distance:.3g} {unit}. Send poses that go on '
                    'from base_odometry, with their twists; the base stops at its last pose'
                )
