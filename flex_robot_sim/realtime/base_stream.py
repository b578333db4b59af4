"""Motion of a base from poses and twists that arrive with stamps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flex_robot_sim.dynamics.moved_base import RATE, TWIST
from flex_robot_sim.motion.streamed_base import StreamedBaseMotion
from flex_robot_sim.spatial.turns import angle_between, are_unit
from flex_robot_sim.util.exceptions import CommandError

if TYPE_CHECKING:
    from flex_robot_sim.simulation.simulation import Simulation

DELAY_S = 0.1  # of the base behind its messages: later ones make it slow down
MIN_DELAY_S, MAX_DELAY_S = 0.03, 0.3  # beyond them, the clock of the motion is corrected
CLOCK_CORRECTION = 0.02  # relative rate of the motion
MAX_LEAD_S = 1.0  # of a stamp before the simulation
STOP_TIME_S = 0.5  # from the last pose to rest
MAX_JUMP = 0.05  # between two poses, beyond the way at their twists                  [m, rad]
NANOSECONDS = 1e9


class BaseStream:
    """
    Moves the base of a Simulation through the poses that arrive, a fixed time late.

    The differences of stamps time the motion, so delays of single messages do not disturb it. At
    the end of the messages the base stops.
    """

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._motion: StreamedBaseMotion | None = None
        self._stamp = 0  # of the last pose
        self._still_pose: np.ndarray | None = None  # the first one of those without a twist

    @property
    def is_moving(self) -> bool:
        """Whether the base is on its way to the last pose, or to rest."""
        motion, time = self._motion, self._simulation.time
        return motion is not None and bool(motion.times[0] <= time <= motion.times[-1])

    def take(self, stamp: int, pose: np.ndarray, twist: np.ndarray) -> None:
        """
        Move the base to a pose (7,) with a twist (6,), in its axes, angular first.

        :param stamp: of the pose [ns].
        :raises CommandError: the base does not follow; it goes on to the pose before, and stops.
        """
        description = self._simulation.arm.description
        if description.base_motion is None:
            raise CommandError(
                f'base_motion: the base of "{description.name}" does not move. Give it a <base> '
                'in <flexibility>'
            )
        state = np.append(pose, twist)
        if not np.isfinite(state).all() or not are_unit(state[3:TWIST]):
            raise CommandError(
                'base_motion: pose and twist must be finite, and the orientation a unit '
                'quaternion. The base stops at its last pose'
            )
        state[3:TWIST] /= np.linalg.norm(state[3:TWIST])
        times, states = self._pending(stamp)
        passed = DELAY_S
        if len(times) > 1:
            passed = (stamp - self._stamp) / NANOSECONDS
            delay = times[-1] + passed - self._simulation.time
            if delay > MAX_LEAD_S:
                raise CommandError(
                    f'base_motion: a stamp is {delay:.3g} s before the simulation. Send stamps '
                    'and poses at the rate of its clock; the base stops at its last pose'
                )
            rate = 1.0 + CLOCK_CORRECTION * (int(delay > MAX_DELAY_S) - int(delay < MIN_DELAY_S))
            passed, state[TWIST:] = passed / rate, state[TWIST:] * rate
        self._refuse_jump(states[-1], state, passed)
        self._refuse_missing_twist(state)
        motion = StreamedBaseMotion(
            np.append(times, times[-1] + passed), np.vstack([states, state]), STOP_TIME_S
        )
        self._simulation.move_base(motion)
        self._motion, self._stamp = motion, stamp

    def passed_end(self) -> bool:
        """Whether the base has stopped, since no other pose has arrived; once."""
        motion = self._motion
        if motion is None or self._simulation.time <= motion.times[-1]:
            return False
        self._motion = None
        return True

    def _pending(self, stamp):
        """Times and states of the motion from the present on; one if none lies ahead."""
        simulation = self._simulation
        if self._motion is not None and self.is_moving:
            if stamp <= self._stamp:
                raise CommandError(
                    'base_motion: a stamp is not later than the one before. Send stamps that '
                    'rise; the base stops at its last pose'
                )
            times = self._motion.times[:-1]
            first = max(int(np.searchsorted(times, simulation.time, side='right')) - 1, 0)
            if first < len(times) - 1:
                return times[first:], self._motion.states[first:]
        state = np.append(simulation.base_pose, simulation.base_twist)
        return np.array([simulation.time]), state[None, :RATE]

    @staticmethod
    def _refuse_jump(last, state, duration):
        distance, turn = _distances(last, state)
        for way, part, unit in ((turn, slice(0, 3), 'rad'), (distance, slice(3, 6), 'm')):
            speed = max(np.linalg.norm(one[TWIST:][part]) for one in (last, state))
            if way > MAX_JUMP + 2.0 * duration * speed:
                raise CommandError(
                    f'base_motion: a pose jumps by {way:.3g} {unit}. Send poses that go on '
                    'from base_odometry, with their twists; the base stops at its last pose'
                )

    def _refuse_missing_twist(self, state):
        """Raise CommandError if poses move while all twists are zero."""
        if state[TWIST:].any():
            self._still_pose = None
        elif self._still_pose is None:
            self._still_pose = state
        elif max(_distances(self._still_pose, state)) > MAX_JUMP:
            raise CommandError(
                'base_motion: poses move, but the twists are zero. Fill twist.twist with the '
                'velocities in the axes of the base, which stops at its last pose'
            )


def _distances(first, second):
    """Distance [m] and turn [rad] between two states (13,)."""
    way = float(np.linalg.norm(second[:3] - first[:3]))
    return way, angle_between(second[3:TWIST], first[3:TWIST])
