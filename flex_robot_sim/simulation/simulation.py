"""
A simulated arm: its state, its time, and time stepping.

Python only holds the state; the steps between two calls are one compiled call without the GIL.
"""

from dataclasses import replace
from itertools import starmap
from math import hypot, isfinite
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.deflection import Deflections
from flex_robot_sim.analysis.flex_sensors import curvatures
from flex_robot_sim.dynamics.adaptive import advance_adaptively
from flex_robot_sim.dynamics.integrators import SCHEME_NUMBERS, advance, advance_explicitly
from flex_robot_sim.dynamics.joint_laws import motor_force
from flex_robot_sim.dynamics.loads import Push, expect_link, make_loads, payload_inertia
from flex_robot_sim.dynamics.mass_matrix import refuse_massless
from flex_robot_sim.dynamics.monitors import make_watch, report_lines, turn_limits
from flex_robot_sim.dynamics.parallel_warmup import start_parallel_warmup
from flex_robot_sim.formulations import make
from flex_robot_sim.formulations.driving import FormulationDynamics, advance_with_formulation
from flex_robot_sim.jit.compiled import bind
from flex_robot_sim.model.arguments import (
    checked,
    expect_arm,
    is_known,
    settings_or_default,
    whole,
)
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.start_pose import start_note, start_position, state_note
from flex_robot_sim.motion.limits import effort_limits, rate_limits
from flex_robot_sim.simulation.explicit_schemes import (
    ENERGY_CHECK_STEPS,
    EXPLICIT_SCHEMES,
    EnergyGain,
)
from flex_robot_sim.simulation.prescribed_drives import (
    DEFAULT_REMEDY,
    PrescribedDrives,
    non_finite_state_error,
)
from flex_robot_sim.simulation.simulation_state import make_tables, state_of, write_state
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.serialization import STAMP, Serializable, make_blank
from flex_robot_sim.util.settings import SimulationSettings
from flex_robot_sim.util.summary import SummaryRows, counted, listed, quantities, summarized

MAX_STEPS_PER_CALL = 10000  # between two checks for Ctrl-C


@summarized
class Simulation(PrescribedDrives, Serializable):
    """An arm in motion."""

    def __init__(self, arm: ArmModel, settings: SimulationSettings | None = None) -> None:
        """
        Start `arm` (ArmModel) at rest in its zero position.

        If zero is beyond a limit of a joint, the joint starts at this limit, and `reports` has a
        line about it.
        """
        expect_arm(arm)
        settings = settings_or_default(settings)
        if arm.arrays.modes.size == 0 or arm.size == 0:
            raise SettingError('the arm has no coordinates: it has nothing to simulate')
        start_parallel_warmup()
        refuse_massless(arm)
        self.arm, self.settings = arm, settings
        self.time = 0.0
        self._effort = np.zeros(len(arm.joint_names))
        self.reports = []               # warnings: the state is outside the validity of the model
        self._start_lines = tuple(line for line in [start_note(arm)] if line)
        self._motions, self._ends, self._jumped = {}, {}, set()
        self._watch = make_watch(arm, self.settings)
        make_tables(self)
        if self.settings.drive_limits:
            self._work.effort_limit[:] = effort_limits(arm)
            self._work.rate_limit[:] = rate_limits(arm)
        self._drive = self._make_drive()
        self._q, self._qd, self._qdd = np.zeros((3, arm.size))
        self._flow = np.zeros(3)
        self._set_joints(self._q, start_position(arm))
        self._payload: dict[str, tuple[int, np.ndarray]] = {}
        self._pushes: dict[str, Push] = {}
        self._loads = make_loads(arm)
        self._reported = set()
        self._gain = EnergyGain()
        self._start_energy = self._energies().sum()
        self._check_step_stability(0.0, 0.0)
        self.reports += self._start_lines

    def __copy__(self):
        """Return an independent simulation with the same state; it shares the arm."""
        other = make_blank(STAMP, type(self))
        other.__setstate__(self.__getstate__())
        return other

    def __getstate__(self):
        return state_of(self)

    def __setstate__(self, state):
        write_state(self, state)

    @property
    def effort(self) -> np.ndarray:
        """Motor efforts, (joints,) [N m, N]: assign all of them, or single elements."""
        return self._effort

    @effort.setter
    def effort(self, values: ArrayLike) -> None:
        self._effort[:] = checked('effort', values, self.arm.joint_names)

    @property
    def applied_effort(self) -> np.ndarray:
        """
        Present motor efforts including the servo, (joints,) [N m, N].

        They follow from the present target and state; see `mean_effort` for the last step.
        """
        work = self._work
        push = (self._effort + work.servo_stiffness * (work.target - self.motor_position)
                + work.servo_damping * work.target_rate)
        rows = zip(*(values.tolist() for values in (
            self.motor_velocity, push, work.servo_damping, work.effort_limit, work.rate_limit)))
        return np.array([motor_force(*row)[0] for row in rows]) + work.prescribed_effort

    @property
    def mean_effort(self) -> np.ndarray:
        """
        Mean motor efforts of the last step, (joints,) [N m, N], for a balance of torques.

        They include the servo, the limits and the effort of prescribed motion.
        """
        return self._work.applied.copy()

    @property
    def corrected_energy(self) -> float:
        """Sum of the absolute energy corrections of the default scheme since the start [J]."""
        return float(self._flow[2])

    @property
    def hard_steps(self) -> tuple[int, int]:
        """Number of subdivided steps, and number of inaccurate substeps that were accepted."""
        subdivided, inaccurate = self._watch.hard[:2]
        return int(subdivided), int(inaccurate)

    @property
    def position(self) -> np.ndarray:
        """Joint positions on the link side, (joints,) [rad, m]."""
        return self._q[:self._effort.size].copy()

    @property
    def velocity(self) -> np.ndarray:
        """Joint velocities on the link side, (joints,) [rad/s, m/s]."""
        return self._qd[:self._effort.size].copy()

    @property
    def motor_position(self) -> np.ndarray:
        """Joint positions on the motor side, behind the gear, (joints,) [rad, m]."""
        return self._q[self._driven]

    @property
    def motor_velocity(self) -> np.ndarray:
        """Joint velocities on the motor side, behind the gear, (joints,) [rad/s, m/s]."""
        return self._qd[self._driven]

    @property
    def coordinates(self) -> np.ndarray:
        """All coordinates, in the order of arm.coordinate_names, (n,)."""
        return self._q.copy()

    @property
    def rates(self) -> np.ndarray:
        """Rates of all coordinates, (n,)."""
        return self._qd.copy()

    @property
    def deflection(self) -> Deflections:
        """Tip translation and rotation vector, (6,) [m, rad], of each flexible link, by name."""
        return Deflections(self.arm, self.coordinates)

    @property
    def curvature(self) -> dict[str, float]:
        """Mean curvature [1/m] that each flex sensor of the description measures, by name."""
        return curvatures(self.arm, self._q)

    def set_state(self, position: ArrayLike | None = None, velocity: ArrayLike | None = None,
                  coordinates: ArrayLike | None = None, rates: ArrayLike | None = None) -> None:
        """
        Set the state; time continues, and prescribed drives stay on their motion.

        Beyond a joint limit the stop pushes back, and `reports` gets a line about it.

        :param position: of the joints, motor and link side, (joints,); elastic parts straight.
            Default: as at the start.
        :param coordinates: all coordinates, (n,), instead of a position; rates: all rates.
        """
        q, qd = np.zeros((2, self.arm.size))
        if position is None and coordinates is None:
            self._set_joints(q, start_position(self.arm))
        for name, values, all_name, total, out in (
                ('position', position, 'coordinates', coordinates, q),
                ('velocity', velocity, 'rates', rates, qd)):
            if total is not None:
                if values is not None:
                    raise SettingError(f'{name} and {all_name} say the same: give one of them')
                out[:] = checked(all_name, total, self.arm.coordinate_names)
            elif values is not None:
                self._set_joints(out, checked(name, values, self.arm.joint_names))
        self._report_state(q)
        self._apply_prescribed_motions(q, qd, (coordinates is None, rates is None))
        self._q[:], self._qd[:], self._qdd[:] = q, qd, 0.0
        self._clear_step_history()
        self._flow[:] = 0.0
        self._gain.forget()
        self._start_energy = self._energies().sum()

    def reset(self) -> None:
        """
        Return the arm to rest in its start pose, without efforts, servo and pushes.

        Time continues, and payloads stay.
        """
        self._effort[:] = self._work.applied[:] = 0.0
        self.hold(np.zeros(self._effort.size), 0.0, 0.0)
        for row in [*self._motions]:
            self.prescribe(self.arm.joint_names[row])
        self._pushes.clear()
        self._loads = make_loads(self.arm)
        self._reported.clear()
        self.reports.clear()
        self._watch.bent[:] = self._watch.turned[:] = -1
        self._watch.hard[:], self._watch.coarse[:] = (0, 0, -1), 0.0
        self._gain = EnergyGain()
        self._limits.forget()
        self._check_step_stability(0.0, 0.0)        # repeats its warning
        self.set_state()
        self.reports += self._start_lines

    def hold(self, target: ArrayLike, stiffness: ArrayLike, damping: ArrayLike,
             rate: ArrayLike | None = None) -> None:
        """
        Hold `target` with a PD servo in addition to `effort`; zero gains switch it off.

        :param target: (joints,) [rad, m].
        :param stiffness: one or (joints,) [N m/rad, N/m].
        :param damping: one or (joints,) [N m s/rad, N s/m].
        :param rate: velocity of the target, the reference of the damping, (joints,)
            [rad/s, m/s]; default: zero.
        """
        names, work = self.arm.joint_names, self._work
        gains = [checked(name, values if np.ndim(values) else np.full(len(names), values), names)
                 for name, values in (('stiffness', stiffness), ('damping', damping))]
        new = [gain.tolist() for gain in gains]
        if any(gain < 0 for row in new for gain in row):
            raise SettingError('stiffness and damping of a servo must be >= 0')
        target = checked('target', target, names)
        rate = 0.0 if rate is None else checked('rate', rate, names)
        if new != [work.servo_stiffness.tolist(), work.servo_damping.tolist()]:
            self._check_step_stability(*gains)
            work.servo_stiffness[:], work.servo_damping[:] = gains
        work.target[:], work.target_rate[:] = target, rate

    @property
    def pushed_links(self) -> tuple[str, ...]:
        """Names of the links that are pushed."""
        return tuple(self._pushes)

    def push(self, link: str, force: ArrayLike = (0.0, 0.0, 0.0),
             moment: ArrayLike = (0.0, 0.0, 0.0), point: ArrayLike = (0.0, 0.0, 0.0),
             follows: bool = False) -> None:
        """
        Apply a force and a moment to a link until the next call; without both, remove them.

        :param force: [N] and moment [N m], (3,), 1e6 at most, in the base frame, or in the link
            frame if it `follows` the link.
        :param point: where the force acts, in the link frame (3,) [m].
        """
        expect_link(self.arm, link)
        pushes = {**self._pushes, link: Push(link, force, moment, point, follows)}
        self._loads = make_loads(self.arm, pushes.values())
        if not np.any(force) and not np.any(moment):
            del pushes[link]
        else:       # the caller may write into its own arrays
            pushes[link] = Push(link, np.array(force), np.array(moment), np.array(point), follows)
        self._pushes = pushes

    def set_payload(self, link: str, mass: float, centre: ArrayLike = (0.0, 0.0, 0.0),
                    inertia: ArrayLike | None = None) -> None:
        """
        Attach a rigid body to a link, in place of its previous payload.

        :param mass: [kg]; centre: of mass in the link frame (3,) [m]; inertia: about it, in the
            axes of the link (3, 3) [kg m2].
        """
        frame = self._frame(link)
        if frame.body < 0:
            raise SettingError(f'link "{link}" is fixed to the base and carries no payload')
        added_inertia = payload_inertia(link, frame, mass, centre, inertia)
        energy_before, previous = self._energies().sum(), dict(self._payload)
        self._payload[link] = (frame.body, added_inertia)
        self._sum_inertias()
        try:
            self._check_step_stability(self._work.servo_stiffness, self._work.servo_damping)
        except SettingError:
            self._payload = previous
            self._sum_inertias()
            raise
        self._watch.turn[:] = turn_limits(self.arm, self._arrays, self.settings)
        self._start_energy += self._energies().sum() - energy_before   # added by the payload

    def _sum_inertias(self):
        self._arrays.inertia[:] = self.arm.arrays.inertia
        for body, matrix in self._payload.values():
            self._arrays.inertia[body] += matrix
        self._drive = self._make_drive()
        self._work.step[:] = 0.0

    def advance_to(self, time: float) -> None:
        """Advance to `time` [s], to the nearest whole step."""
        steps = steps_until(time, self.time, self.settings.time_step)
        if steps > 0:
            self.step(steps)

    def step(self, steps: int = 1) -> None:
        """Take steps of settings.time_step; SimulationError leaves the last good state."""
        steps = whole('steps', steps)
        if not isfinite(hypot(*self._effort.tolist())):
            checked('effort', self._effort, self.arm.joint_names)
        h, start = float(self.settings.time_step), self.time
        # Ctrl-C interrupts plain Python anywhere, and time must stay consistent with the state
        in_python = self._drive is not None or self.settings.scheme == 'reference'
        is_explicit = self.settings.scheme in EXPLICIT_SCHEMES
        steps_per_call = (1 if in_python or self._motions else
                          ENERGY_CHECK_STEPS if is_explicit else MAX_STEPS_PER_CALL)
        for first in range(0, steps, steps_per_call):
            requested = min(steps_per_call, steps - first)
            if self._motions:
                self._set_prescribed_accelerations(self.time, start + (first + 1) * h)
            counts: list[int] = []
            try:
                # all in C, which Ctrl-C cannot interrupt: completed steps are always counted
                counts.extend(starmap(*self._step_call(h, requested)))
            finally:
                for completed in counts:
                    self.time = start + (first + completed) * h
            if self._motions and completed:
                self._set_drives_on_motions()
            if self._count_events(self._watch) != len(self._reported):
                self.reports.extend(report_lines(
                    self.arm, self.settings, self._watch, self._reported,
                    _end_times(start, first, h)))
            if (is_explicit or self._drive is not None) and self._gain.is_due(completed):
                self._current_energy()
                corrected = 0.0 if self._drive is None else self._work.step[3]
                self.reports += self._gain.report(
                    self._work.energy, self._flow, self._start_energy - corrected, self.time,
                    self.settings)
            if completed < requested:
                self._clear_step_history()
                self._work.applied[:] = 0.0
                raise non_finite_state_error(self.time, self._limits.remedy(
                    self.position, self._work.servo_stiffness,
                    self._work.servo_damping) or DEFAULT_REMEDY)

    def _step_call(self, h, steps):
        """Return the stepping function, which returns the steps taken, and its arguments."""
        if self._advance_midpoint is not None:      # the default scheme; its speed matters
            return self._advance_midpoint, ((
                self._arrays, self._loads, self.settings.iterations, self._q, self._qd, self._qdd,
                self._effort, h, steps, self._flow, self._watch, self._stage, self._work),)
        motion = (self._q, self._qd, self._qdd, self._effort, h, steps, self._flow, self._watch)
        if self._drive is not None:
            return advance_with_formulation, ((
                self._drive, self._arrays, self._loads, self.settings.scheme,
                self.settings.iterations, *motion, self._work),)
        if self.settings.scheme == 'reference':
            return advance_adaptively, ((self._arrays, self._loads, *motion, self._work),)
        if self.settings.scheme in EXPLICIT_SCHEMES:
            return advance_explicitly, ((self._arrays, self._loads,
                                         SCHEME_NUMBERS[self.settings.scheme],
                                         *motion, self._stage, self._work),)
        self._advance_midpoint = bind(
            advance, self._arrays, self._loads, self.settings.iterations, *motion, self._stage,
            self._work)
        return self._step_call(h, steps)

    def _make_drive(self):
        """Return the formulation with the present payloads; None: the recursion."""
        if self.settings.formulation == 'recursion':
            return None
        arm = replace(self.arm, arrays=self._arrays)
        return FormulationDynamics(make(self.settings.formulation, arm), self._arrays)

    def _set_joints(self, coordinates, values):
        """Write joint values (joints,) to the link and the motor side of coordinates (n,)."""
        coordinates[:values.size] = coordinates[self._driven] = values

    def _report_state(self, q):
        """Report joints beyond limits in a new state (n,), and drop the line about the start."""
        line = state_note(self.arm, q[self._driven])
        self.reports[:] = [report for report in self.reports if report not in self._start_lines]
        self.reports += [line] if line and line not in self.reports else []

    def _frame(self, link):
        if not is_known(link, self.arm.frames):
            raise SettingError(f'no link "{link}". Known: {", ".join(self.arm.frames)}')
        return self.arm.frames[link]

    def _summary(self) -> tuple[str, SummaryRows]:
        names, units, settings = self.arm.joint_names, self.arm.units, self.settings
        lists = (('payloads', self._payload), ('pushes', self._pushes),
                 ('prescribed', [names[row] for row in self._motions]))
        return f'Simulation of "{self.arm.description.name}" at {self.time:.6g} s', [
            ('position', quantities(names, self.position, units)),
            ('velocity', quantities(names, self.velocity, [f'{unit}/s' for unit in units])),
            ('effort', quantities(names, self._effort, self.arm.effort_units)),
            *((label, listed(words)) for label, words in lists if words),
            ('settings', f'{settings.scheme}, {settings.formulation}, time_step = '
             f'{settings.time_step:g} s'),
            *[('reports', f'{counted(len(self.reports), "line")}, the last: {line}')
              for line in self.reports[-1:]]]

    def _check_step_stability(self, stiffness, damping):
        """Raise SettingError if an explicit scheme cannot follow the arm with such a servo."""
        self.reports += self._limits.fit(stiffness, damping)


def steps_until(time: float, now: float, step: float) -> int:
    """Return the number of steps [s] closest to a time [s]; SettingError if it has passed."""
    if not isinstance(time, Real) or not isfinite(time):
        raise SettingError(f'time = {time!r} must be finite [s]')
    steps = round((time - now) / step)
    if steps < 0:
        raise SettingError(f'time = {time!r} is over: it is {now:.6g} s by now')
    return steps


def _end_times(start, first, h):
    """Return the function from a step number, relative to `first`, to its end time [s]."""
    return lambda step: start + (first + step + 1) * h
