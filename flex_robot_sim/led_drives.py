"""
Drives of a simulation that are led: they go where they are told, whatever it takes.

Between the ends of a step their acceleration is even, and its ends lie on the motion.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.core.led import advance_led
from flex_robot_sim.core.prescribed_motion import GivenMotion, as_motion
from flex_robot_sim.core.validity import Watch, lines_of
from flex_robot_sim.exceptions import SettingError, SimulationError
from flex_robot_sim.questions import Questions

REMEDY = 'Take a shorter time_step or smaller efforts'


class LedDrives(Questions):
    """A base of Simulation, whose state it changes."""

    time: float
    reports: list[str]
    _motions: dict[int, Callable[[float], tuple[float, float]]]     # by row of the joint
    _driven: np.ndarray
    _stage: np.ndarray
    _watch: Watch
    _reported: set[object]

    def prescribe(self, joint: str, motion: GivenMotion | None = None) -> None:
        """
        Move the drive of a joint as told, whatever it takes; None gives it back to its motor.

        The effort that it takes is in `applied_effort`. On the motor side where the drive gives.

        :param motion: function from time [s] to position and velocity [rad, m, per s], or a pair
            of arrays: times, rising, and positions, joined by a cubic spline; at rest beyond both
            ends. Every step begins and ends on the motion.
        """
        if joint not in self.arm.joint_names:
            raise SettingError(f'no joint "{joint}" moves. '
                               f'Known: {", ".join(self.arm.joint_names)}')
        row = self.arm.joint_names.index(joint)
        self._motions.pop(row, None)
        self._work.given[row] = self._work.given_effort[row] = 0.0
        if motion is None:
            return
        motion = as_motion(joint, motion, self.arm.units[row])
        self._motions[row] = motion
        self._work.given[row] = 1.0
        k = self._driven[row]
        self._q[k], self._qd[k] = motion(self.time)
        self._work.step[:] = 0.0

    def follow(self, places: ArrayLike, rates: ArrayLike) -> np.ndarray:
        """
        Lead all drives along samples, a step from one to the next; return all coordinates (k, n).

        The same as `prescribe` and `step` do, in one call: for many moves one after the other.

        :param places: of the drives (k, joints) [rad, m]; they are put on the first of them.
        :param rates: likewise [rad/s, m/s].
        """
        places, rates = (np.ascontiguousarray(table, float) for table in (places, rates))
        size = len(self.arm.joint_names)
        if places.ndim != 2 or places.shape != (len(places), size) or rates.shape != places.shape:
            raise SettingError(f'places and rates of drives to follow must be (k, {size}) each')
        if not np.isfinite([places, rates]).all() or not len(places):
            raise SettingError('places and rates of drives to follow must be finite, one row at '
                               'least')
        settings = self.settings
        if (settings.formulation != 'recursion' or settings.scheme != 'implicit_midpoint'
                or self._motions):
            raise SettingError('drives that follow samples need the recursion, the scheme '
                               'implicit_midpoint, and no other motion that is prescribed')
        h, steps = float(self.settings.time_step), len(places) - 1
        self._q[self._driven], self._qd[self._driven] = places[0], rates[0]
        out = np.tile(self._q, (len(places), 1))
        self._work.given[:] = 1.0
        done = advance_led(
            self._arrays, self._loads, self.settings.iterations, self._q, self._qd, self._qdd,
            self._effort, h, self._flow, self._watch, self._stage, self._work, self._driven,
            places, rates, out)
        self._work.given[:] = self._work.given_effort[:] = 0.0
        start, self.time = self.time, self.time + done * h
        self._forget_steps()
        self.reports.extend(lines_of(self.arm, self.settings, self._watch, self._reported,
                                     lambda step: start))
        if done < steps:
            raise lost_state(self.time)
        return out

    def _lead(self, now, then):
        """Accelerations that lead the prescribed drives from their rates now to those then."""
        for row, motion in self._motions.items():
            rates = motion(now)[1], motion(then)[1]
            self._work.given_rate[row] = (rates[1] - rates[0]) / (then - now)

    def _put_on_motions(self, now):
        for row, motion in self._motions.items():
            self._q[self._driven[row]], self._qd[self._driven[row]] = motion(now)
        self._work.step[0] = 0.0

    def _forget_steps(self):
        """Begin afresh: what the last steps found no longer holds."""
        for left in (self._work.law, self._work.own, self._work.last, self._work.cornered,
                     self._work.step):
            left[:] = 0.0


def lost_state(time: float, remedy: str = REMEDY) -> SimulationError:
    """Return the error of a state that is not finite after a time [s]."""
    return SimulationError(f'the state is not finite after {time:.6g} s; the last good one is '
                           f'kept. {remedy}')
