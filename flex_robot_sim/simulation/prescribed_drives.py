"""
Prescribed joint motion: drives that follow a given motion exactly, whatever effort it takes.

Within a step the acceleration of a prescribed drive is constant; both ends of the step lie on the
motion. If the drive must be moved onto its motion, the change of energy counts as work of the
drive. A jump of the motion, in position or against its own velocity, is reported.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.dynamics.energy import set_energies
from flex_robot_sim.dynamics.monitors import Watch, report_lines
from flex_robot_sim.dynamics.prescribed_run import advance_prescribed
from flex_robot_sim.jit.compiled import bind
from flex_robot_sim.motion.prescribed_motion import PrescribedMotion, as_motion
from flex_robot_sim.simulation.explicit_schemes import StepLimits
from flex_robot_sim.simulation.queries import Queries
from flex_robot_sim.util.exceptions import SettingError, SimulationError

DEFAULT_REMEDY = 'Take a shorter time_step or smaller efforts'
JUMP_TOLERANCE = 1e-6       # larger jumps of a drive are reported                [rad, m]
MAX_CURVATURE_SHARE = 0.1   # largest deviation from even acceleration, over the travel of a step


class PrescribedDrives(Queries):
    """Base class of Simulation for prescribed drives; it changes the state of the simulation."""

    time: float
    reports: list[str]
    _motions: dict[int, Callable[[float], tuple[float, float]]]     # by row of the joint
    _ends: dict[int, tuple[float, float]]       # of these motions, at the end of the step
    _set_energies: Callable[..., None] | None = None    # bound to the workspace of the steps
    _jumped: set[int]                           # joints whose jump was reported
    _driven: np.ndarray
    _stage: np.ndarray
    _watch: Watch
    _limits: StepLimits
    _count_events: Callable[[Watch], int]
    _advance_midpoint: Callable[..., int] | None
    _reported: set[object]

    def prescribe(self, joint: str, motion: PrescribedMotion | None = None) -> None:
        """
        Prescribe the motion of the drive of a joint; None returns it to its motor.

        `applied_effort` includes the required effort. With an elastic gear, the motor side moves.

        :param motion: function from time [s] to position and velocity [rad, m, per s], or a pair
            of arrays: increasing times, and positions, joined by a cubic spline; at rest beyond
            both ends. Every step begins and ends on the motion, and so does `set_state`. If the
            motion jumps or does not start at the drive, the drive jumps with it: `reports` has
            a line about it, and `energy().work` includes the energy.
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
        start_state = motion(self.time)
        self._report_jump(row, self.time, self._q[self._driven[row]], start_state[0],
                          'its drive is at')
        self._set_drives({row: start_state})
        self._work.step[:] = 0.0

    def follow(self, places: ArrayLike, rates: ArrayLike,
               efforts: np.ndarray | None = None) -> np.ndarray:
        """
        Move all drives along samples, one step apart; return all coordinates (k, n).

        It does the same as `prescribe` and `step`, in one call, which suits many moves in a row.
        Jumps of the samples count as work, as there, but are not reported.

        :param places: drive positions (k, joints) [rad, m]; the drives start at the first row.
        :param rates: drive velocities (k, joints) [rad/s, m/s].
        :param efforts: receives the mean motor efforts before each sample, (k, joints) [N m, N].
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
        self._set_drives(dict(enumerate(zip(places[0], rates[0]))))
        trajectory = np.tile(self._q, (len(places), 1))
        self._work.prescribed[:] = 1.0
        completed = advance_prescribed(
            self._arrays, self._loads, self.settings.iterations, self._q, self._qd, self._qdd,
            self._effort, h, self._flow, self._watch, self._stage, self._work, self._driven,
            places, rates, trajectory, np.empty(places.shape) if efforts is None else efforts)
        self._work.prescribed[:] = self._work.prescribed_effort[:] = 0.0
        start, self.time = self.time, self.time + completed * h
        self._clear_step_history()
        self.reports.extend(report_lines(self.arm, self.settings, self._watch, self._reported,
                                     lambda step: start))
        if completed < steps:
            raise non_finite_state_error(self.time)
        return trajectory

    def _set_prescribed_accelerations(self, start_time, end_time):
        """Set the accelerations of prescribed drives between two times [s]."""
        for row, motion in self._motions.items():
            (position, velocity), end = motion(start_time), motion(end_time)
            self._ends[row] = end
            h, change = end_time - start_time, end[1] - velocity
            self._work.prescribed_acceleration[row] = change / h
            predicted = position + 0.5 * h * (velocity + end[1])
            # a change of velocity may happen at either end of the step
            tolerance = h * (0.5 * abs(change)
                             + MAX_CURVATURE_SHARE * max(abs(velocity), abs(end[1])))
            if row not in self._jumped and self._report_jump(
                    row, end_time, predicted, end[0], 'its velocity leads to', tolerance):
                self._jumped.add(row)

    def _report_jump(self, row, time, position, target, origin, tolerance=0.0):
        """Report a drive that jumps to its motion; return whether it does."""
        if abs(target - position) <= tolerance + JUMP_TOLERANCE:
            return False
        unit, name = self.arm.units[row], self.arm.joint_names[row]
        self.reports.append(
            f'the motion of "{name}" is at {target:.6g} {unit} at {time:.6g} s, where {origin} '
            f'{position:.6g} {unit}: the drive jumps. Prescribe a motion that goes on from there')
        return True

    def _apply_prescribed_motions(self, q, qd, is_straight):
        """
        Move prescribed drives onto their motions in a new state.

        :param is_straight: whether the link side follows the drive, in position and in velocity.
        """
        for row, motion in self._motions.items():
            k, target = self._driven[row], motion(self.time)
            self._report_jump(row, self.time, q[k], target[0], 'its drive was put to')
            for values, value, follows_drive in zip((q, qd), target, is_straight):
                values[k] = value
                if follows_drive:
                    values[row] = value

    def _set_drives(self, states):
        """Set positions and velocities of drives (by row); the change of energy is their work."""
        energy_before = self._current_energy()
        for row, (position, velocity) in states.items():
            self._q[self._driven[row]], self._qd[self._driven[row]] = position, velocity
        self._flow[0] += self._current_energy() - energy_before

    def _current_energy(self):
        """Present energy of the arm [J]; uses the workspace of the steps, not that of queries."""
        arguments = self._arrays, self._q, self._qd, self._work, self._work.energy
        if self._set_energies is None:
            self._set_energies = bind(set_energies, *arguments)
        self._set_energies(*arguments)
        self._take_energies_of_formulation(self._work.energy)
        return self._work.energy.sum()

    def _set_drives_on_motions(self):
        self._set_drives(self._ends)
        self._work.step[0] = 0.0

    def _clear_step_history(self):
        """Clear the results of previous steps, which no longer hold."""
        for array in (self._work.joint_force, self._work.own_inertia, self._work.last,
                     self._work.is_nonsmooth, self._work.step):
            array[:] = 0.0


def non_finite_state_error(time: float, remedy: str = DEFAULT_REMEDY) -> SimulationError:
    """Return the error for a state that is not finite after a time [s]."""
    return SimulationError(f'the state is not finite after {time:.6g} s; the last good one is '
                           f'kept. {remedy}')
