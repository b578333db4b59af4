"""
Drives of a simulation that are led: they go where they are told, whatever it takes.

Between the ends of a step their acceleration is even, and its ends lie on the motion. Where that
puts a drive elsewhere than it came to, what the arm has more energy for is work of the drive; a
motion that jumps there, because it does not go on from the drive or from its own rates, is told.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.dynamics.energy import set_energies
from flex_robot_sim.dynamics.monitors import Watch, lines_of
from flex_robot_sim.dynamics.prescribed_run import advance_prescribed
from flex_robot_sim.jit.compiled import bound
from flex_robot_sim.motion.prescribed_motion import PrescribedMotion, as_motion
from flex_robot_sim.simulation.explicit_schemes import StepLimits
from flex_robot_sim.simulation.queries import Queries
from flex_robot_sim.util.exceptions import SettingError, SimulationError

REMEDY = 'Take a shorter time_step or smaller efforts'
NEAR = 1e-6                 # that a drive may be beside its motion without a word      [rad, m]
CURVED = 0.1                # of its way in a step, that a motion may be bent aside


class PrescribedDrives(Queries):
    """A base of Simulation, whose state it changes."""

    time: float
    reports: list[str]
    _motions: dict[int, Callable[[float], tuple[float, float]]]     # by row of the joint
    _ends: dict[int, tuple[float, float]]       # of these motions, at the end of the step
    _set_energies: Callable[..., None] | None = None    # of the steps, once they are asked for
    _jumped: set[int]                           # joints whose motion jumped, and that was told
    _driven: np.ndarray
    _stage: np.ndarray
    _watch: Watch
    _limits: StepLimits
    _signs_of: Callable[[Watch], int]
    _by_midpoints: Callable[..., int] | None
    _reported: set[object]

    def prescribe(self, joint: str, motion: PrescribedMotion | None = None) -> None:
        """
        Move the drive of a joint as told, whatever it takes; None gives it back to its motor.

        The effort that it takes is in `applied_effort`. On the motor side where the drive gives.

        :param motion: function from time [s] to position and velocity [rad, m, per s], or a pair
            of arrays: times, rising, and positions, joined by a cubic spline; at rest beyond both
            ends. Every step begins and ends on the motion, and `set_state` puts the drive there,
            too. Where the motion begins elsewhere than the drive is, or jumps, the drive jumps
            along: a line in `reports` says so, and what it takes is in `energy().work`.
        """
        if joint not in self.arm.joint_names:
            raise SettingError(f'no joint "{joint}" moves. '
                               f'Known: {", ".join(self.arm.joint_names)}')
        row = self.arm.joint_names.index(joint)
        self._motions.pop(row, None)
        self._ends.pop(row, None)
        self._jumped.discard(row)
        self._work.prescribed[row] = self._work.prescribed_effort[row] = 0.0
        if motion is None:
            return
        motion = as_motion(joint, motion, self.arm.units[row])
        self._motions[row] = motion
        self._work.prescribed[row] = 1.0
        end = motion(self.time)
        self._tell_jump(row, self.time, self._q[self._driven[row]], end[0], 'its drive is at')
        self._put({row: end})
        self._work.step[:] = 0.0

    def follow(self, places: ArrayLike, rates: ArrayLike,
               efforts: np.ndarray | None = None) -> np.ndarray:
        """
        Lead all drives along samples, a step from one to the next; return all coordinates (k, n).

        The same as `prescribe` and `step` do, in one call: for many moves one after the other.
        Jumps of the samples are work as there, but are not told.

        :param places: of the drives (k, joints) [rad, m]; they are put on the first of them.
        :param rates: likewise [rad/s, m/s].
        :param efforts: gets what the motors gave on the way to each sample, (k, joints) [N m, N].
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
        self._put(dict(enumerate(zip(places[0], rates[0]))))
        out = np.tile(self._q, (len(places), 1))
        self._work.prescribed[:] = 1.0
        done = advance_prescribed(
            self._arrays, self._loads, self.settings.iterations, self._q, self._qd, self._qdd,
            self._effort, h, self._flow, self._watch, self._stage, self._work, self._driven,
            places, rates, out, np.empty(places.shape) if efforts is None else efforts)
        self._work.prescribed[:] = self._work.prescribed_effort[:] = 0.0
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
            (place, rate), end = motion(now), motion(then)
            self._ends[row] = end
            h, change = then - now, end[1] - rate
            self._work.prescribed_acceleration[row] = change / h
            led = place + 0.5 * h * (rate + end[1])
            # rates that change within the step may change at its begin or at its end
            allowed = h * (0.5 * abs(change) + CURVED * max(abs(rate), abs(end[1])))
            if row not in self._jumped and self._tell_jump(row, then, led, end[0],
                                                           'its velocity leads to', allowed):
                self._jumped.add(row)

    def _tell_jump(self, row, time, place, end, led_to, allowed=0.0):
        """Report a drive that jumps to its motion from elsewhere; return whether it does."""
        if abs(end - place) <= allowed + NEAR:
            return False
        unit, name = self.arm.units[row], self.arm.joint_names[row]
        self.reports.append(
            f'the motion of "{name}" is at {end:.6g} {unit} at {time:.6g} s, where {led_to} '
            f'{place:.6g} {unit}: the drive jumps. Prescribe a motion that goes on from there')
        return True

    def _lead_state(self, q, qd, is_straight):
        """
        Put prescribed drives onto their motions in a state that is to be.

        :param is_straight: whether links go where their drives are, by position and by rate.
        """
        for row, motion in self._motions.items():
            k, end = self._driven[row], motion(self.time)
            self._tell_jump(row, self.time, q[k], end[0], 'its drive was put to')
            for values, value, straight in zip((q, qd), end, is_straight):
                values[k] = value
                if straight:
                    values[row] = value

    def _put(self, ends):
        """Put drives (by row) to positions and velocities; they do the work for that."""
        before = self._own_energy()
        for row, (place, rate) in ends.items():
            self._q[self._driven[row]], self._qd[self._driven[row]] = place, rate
        self._flow[0] += self._own_energy() - before

    def _own_energy(self):
        """Energy of the arm now [J], by the scratch of the steps: others may be asking."""
        of_state = self._arrays, self._q, self._qd, self._work, self._work.energy
        if self._set_energies is None:
            self._set_energies = bound(set_energies, *of_state)
        self._set_energies(*of_state)
        self._take_energies_of_formulation(self._work.energy)
        return self._work.energy.sum()

    def _put_on_motions(self):
        self._put(self._ends)
        self._work.step[0] = 0.0

    def _forget_steps(self):
        """Begin afresh: what the last steps found no longer holds."""
        for left in (self._work.joint_force, self._work.own_inertia, self._work.last,
                     self._work.is_nonsmooth, self._work.step):
            left[:] = 0.0


def lost_state(time: float, remedy: str = REMEDY) -> SimulationError:
    """Return the error of a state that is not finite after a time [s]."""
    return SimulationError(f'the state is not finite after {time:.6g} s; the last good one is '
                           f'kept. {remedy}')
