"""
A simulated arm: its state, its time, and time stepping.

Python only holds the state; the steps between two calls are one compiled call without the GIL.
"""

from __future__ import annotations

from itertools import starmap
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.mobility import mobility_note
from flex_robot_sim.dynamics.constraints.closing import closed_rates, closed_start
from flex_robot_sim.dynamics.integrators import NON_FINITE_EFFORT
from flex_robot_sim.dynamics.loads import Push, expect_link, make_loads
from flex_robot_sim.dynamics.mass_matrix import refuse_massless
from flex_robot_sim.dynamics.parallel_warmup import start_parallel_warmup
from flex_robot_sim.formulations import make
from flex_robot_sim.model.arguments import (
    array_or_nan,
    checked,
    expect_arm,
    settings_or_default,
    whole,
)
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.free_base import base_rates, body_pose, is_tied, moved_to
from flex_robot_sim.model.payload import expect_payload_link, make_payload
from flex_robot_sim.model.start_pose import start_coordinates, start_note, state_note
from flex_robot_sim.motion.base_motion import BaseMotion
from flex_robot_sim.motion.prescribed_motion import PrescribedMotion
from flex_robot_sim.simulation.moved_base import MovedBase
from flex_robot_sim.simulation.prescribed_drives import PrescribedDrives
from flex_robot_sim.simulation.recorder import Recorder
from flex_robot_sim.simulation.simulated_arm import MakeFormulation, SimulatedArm
from flex_robot_sim.simulation.simulation_queries import SimulationQueries
from flex_robot_sim.simulation.simulation_state import SimulationState, expect_state
from flex_robot_sim.simulation.state_checks import (
    checked_effort,
    checked_servo,
    checked_state,
    steps_until,
)
from flex_robot_sim.simulation.step_monitor import StepMonitor, unusable_state_error
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.serialization import CopiedByState
from flex_robot_sim.util.settings import SimulationSettings
from flex_robot_sim.util.summary import SummaryRows, counted, listed, quantities, summarized

PARTS = (
    '_simulated',
    '_base',
    '_drives',
    '_monitor',
)  # rebuilt in copies from the saved state of each
# further attributes that a SimulationState contains; copies record no logs
STATE_ATTRIBUTES = ('arm', 'settings', 'time', 'reports', '_logs')


@summarized
class Simulation(SimulationQueries, Recorder, CopiedByState):
    """
    Simulation of an arm in time: efforts, servos, pushes and payloads in, motion out.

    Example::

        sim = frs.Simulation(frs.load('two_link'))
        sim.hold([0.5, 0.5, -0.8], stiffness=40, damping=4)     # [N m/rad], [N m s/rad]
        sim.push('tool', force=(0.0, 2.0, 0.0))                 # [N]
        sim.advance_to(0.1)                                     # [s]
        sim.position, sim.deflection['forearm'], sim.energy().balance
    """

    def __init__(self, arm: ArmModel, settings: SimulationSettings | None = None) -> None:
        """
        Start `arm` (ArmModel) at rest in its zero position.

        If zero is beyond a limit of a joint, the joint starts at this limit, and `reports` has a
        line about it.
        """
        expect_arm(arm, closed_loops=True, free_base=True)
        settings = settings_or_default(settings)
        if arm.arrays.modes.size == 0 or arm.size == 0:
            raise SettingError('the arm has no coordinates: it has nothing to simulate')
        start_parallel_warmup()
        refuse_massless(arm)
        self.arm, self.settings = arm, settings
        self.time = 0.0
        self.reports: list[str] = []  # warnings: the state is outside the validity of the model
        self._make_parts()
        q = self._simulated.state.q
        q[:] = closed_start(arm, start_coordinates(arm))
        self._start_lines = tuple(filter(None, (start_note(arm), mobility_note(arm, q))))
        self._simulated.start_energy = self._simulated.energies().sum()
        self._check_step_stability(0.0, 0.0)
        self.reports += self._start_lines

    def __getstate__(self) -> dict[str, Any]:
        return {
            **{
                name: value
                for name, value in vars(self).items()
                if name not in (*PARTS, *STATE_ATTRIBUTES)
            },
            'state': self.save_state(),
        }

    def __setstate__(self, attributes: dict[str, Any]) -> None:
        state = attributes['state']
        super().__setstate__(
            {name: value for name, value in attributes.items() if name != 'state'}
        )
        self.arm, self.settings, self.reports = state.arm, state.settings, []
        self._make_parts()
        self.restore_state(state)

    def save_state(self) -> SimulationState:
        """
        Return the state: motion, time, loads, payloads, servo and prescribed motions.

        Example::

            sim = frs.Simulation(frs.load('two_link'))
            state = sim.save_state()
            sim.step(20)
            sim.restore_state(state)
            assert sim.time == 0.0
        """
        return SimulationState(
            self.time,
            self.arm,
            self.settings,
            [*self.reports],
            {name: getattr(self, name).saved() for name in PARTS},
        )

    def restore_state(self, state: SimulationState) -> None:
        """
        Restore a state of this arm; the simulation continues bit for bit as after it.

        :param state: as `save_state` returns it, also from a pickle.
        """
        expect_state(state, self.arm, self.settings)
        for name in PARTS:
            getattr(self, name).restore(state.parts[name])
        self.time, self.reports[:] = state.time, state.reports

    def _make_parts(self):
        self._simulated = SimulatedArm(self.arm, self.settings, self._formulation_maker())
        self._base = MovedBase(self._simulated)
        self._drives = PrescribedDrives(self._simulated)
        self._monitor = StepMonitor(self._simulated)

    def _formulation_maker(self) -> MakeFormulation | None:
        """Return the function that makes the formulation of an arm; None: the recursion."""
        name = self.settings.formulation
        return None if name == 'recursion' else lambda arm: make(name, arm)

    @property
    def effort(self) -> np.ndarray:
        """
        Motor efforts, (joints,) [N m, N]: assign all of them, or single elements.

        Passive joints of closed loops have no motor: their efforts must be zero.
        """
        return self._simulated.state.effort

    @effort.setter
    def effort(self, values: ArrayLike) -> None:
        self._simulated.state.effort[:] = checked_effort(self.arm, values)

    def set_state(
        self,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        *,
        base_pose: ArrayLike | None = None,
        base_twist: ArrayLike | None = None,
    ) -> None:
        """
        Set the state; time continues, and prescribed drives stay on their motion.

        Beyond a joint limit the stop pushes back, and `reports` gets a line about it.

        :param q: all coordinates, (nq,), or joint positions, (joints,), of motor and link side
            with straight elastic parts; default: as at the start.
        :param v: rates of all coordinates, (nv,), or of the joints; default: zero.
        :param base_pose: of a free base, as the property of this name; default: as described.
            The coordinates of the base in q move it from there.
        :param base_twist: of a free base, as the property of this name; default: that of v.
        """
        simulated = self._simulated
        is_by_joint = [
            values is None or array_or_nan(values).size != self.arm.size for values in (q, v)
        ]
        arm = self.arm
        if base_pose is not None or arm.has_free_base:
            pose = body_pose(arm, base_pose)
            if is_tied(arm):
                arm = moved_to(arm, pose)
        q, v = checked_state(arm, q, v)
        if base_twist is not None:
            v[arm.base_q] = base_rates(arm, base_twist)
            v = closed_rates(arm, q, v)
        self._report_state(q)
        self.reports += self._drives.put_on_motions(arm, q, v, is_by_joint, self.time)
        state = simulated.state
        state.q[:], state.qd[:], state.qdd[:], state.flow[:] = q, v, 0.0, 0.0
        if self.arm.has_free_base:
            simulated.set_base_pose(pose)
        simulated.clear_step_history()
        simulated.relax_joints()
        self._monitor.gain.forget()
        simulated.start_energy = simulated.energies().sum()

    def reset(self) -> None:
        """
        Return the arm to rest in its start pose, without efforts, servo and pushes.

        Time continues, and payloads stay.
        """
        simulated = self._simulated
        simulated.state.effort[:] = simulated.work.applied[:] = 0.0
        self.hold(np.zeros(len(self.arm.joint_names)), 0.0, 0.0)
        for row in [*self._drives.motions]:
            self.prescribe(self.arm.joint_names[row])
        simulated.set_pushes({})
        self._monitor.reset()
        self.reports.clear()
        self._check_step_stability(0.0, 0.0)  # repeats its warning
        self.set_state()
        self.reports += self._start_lines

    def hold(
        self,
        target: ArrayLike,
        stiffness: ArrayLike,
        damping: ArrayLike,
        rate: ArrayLike | None = None,
    ) -> None:
        """
        Hold `target` with a PD servo in addition to `effort`; zero gains switch it off.

        :param target: (joints,) [rad, m].
        :param stiffness: one or (joints,) [N m/rad, N/m]; one applies to all joints with a motor.
        :param damping: one or (joints,) [N m s/rad, N s/m].
        :param rate: velocity of the target, the reference of the damping, (joints,)
            [rad/s, m/s]; default: zero.
        """
        gains, target, rate = checked_servo(self.arm, target, stiffness, damping, rate)
        if self._simulated.has_other_gains(*gains):
            self._check_step_stability(*gains)
        self._simulated.set_servo(target, rate, *gains)

    @property
    def pushed_links(self) -> tuple[str, ...]:
        """Names of the links that are pushed."""
        return tuple(self._simulated.pushes)

    def push(
        self,
        link: str,
        force: ArrayLike = (0.0, 0.0, 0.0),
        moment: ArrayLike = (0.0, 0.0, 0.0),
        point: ArrayLike = (0.0, 0.0, 0.0),
        follows: bool = False,
    ) -> None:
        """
        Apply a force and a moment to a link until the next call; without both, remove them.

        :param force: [N] and moment [N m], (3,), 1e6 at most, in the base frame, or in the link
            frame if it `follows` the link.
        :param point: where the force acts, in the link frame (3,) [m].
        """
        expect_link(self.arm, link)
        # checks the numbers
        make_loads(
            self.arm,
            [Push(link, force, moment, point, follows)],
            closed_loops=True,
            free_base=True,
        )
        pushes = {
            **self._simulated.pushes,  # copies: the caller may write into its own arrays
            link: Push(link, np.array(force), np.array(moment), np.array(point), follows),
        }
        if not np.any(force) and not np.any(moment):
            del pushes[link]
        self._simulated.set_pushes(pushes)

    def set_payload(
        self,
        link: str,
        mass: float,
        centre: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike | None = None,
    ) -> None:
        """
        Attach a rigid body to a link, in place of its previous payload.

        :param mass: [kg]; centre: of mass in the link frame (3,) [m]; inertia: about it, in the
            axes of the link (3, 3) [kg m2].
        """
        expect_payload_link(self.arm, link)
        simulated = self._simulated
        previous, energy_before = simulated.payloads, simulated.energies().sum()
        simulated.set_payloads(
            {**previous, link: make_payload(self.arm, link, mass, centre, inertia)}
        )
        try:
            self._check_step_stability(
                simulated.work.servo_stiffness, simulated.work.servo_damping
            )
        except SettingError:
            simulated.set_payloads(previous)
            raise
        simulated.update_turn_limits()
        # the payload adds energy
        simulated.start_energy += simulated.energies().sum() - energy_before

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
        self.reports += self._drives.prescribe(joint, motion, self.time)

    def move_base(self, motion: BaseMotion | None = None) -> None:
        """
        Prescribe the motion of the base, as of a ship that carries the arm; None: it stands still.

        `energy().work` includes its work. A motion that jumps is reported in `reports`.

        :param motion: function from time [s] to the pose of the base, (7,): position [m] and
            quaternion x y z w; or to this pose, the twist (6,) in the axes of the base, angular
            first, and the rate (6,) of the twist. Or a pair of arrays: times that rise, and
            poses (k, 7), joined by smooth splines; at rest beyond both ends.
        """
        self.reports += self._base.move(motion, self.time)

    def follow(
        self, positions: ArrayLike, velocities: ArrayLike, efforts: np.ndarray | None = None
    ) -> np.ndarray:
        """
        Move all drives along samples, one step apart; return all coordinates (k, n).

        It does the same as `prescribe` and `step`, in one call, which suits many moves in a row.
        Jumps of the samples count as work, as there, but are not reported.

        :param positions: of the drives (k, joints) [rad, m]; the drives start at the first row.
            Passive joints follow the closed loops, and their columns are not used.
        :param velocities: of the drives (k, joints) [rad/s, m/s].
        :param efforts: receives the mean motor efforts before each sample, (k, joints) [N m, N].
        """
        trajectory, completed = self._drives.follow(positions, velocities, efforts)
        start, self.time = self.time, self.time + completed * float(self.settings.time_step)
        self.reports += self._monitor.lines(completed, None, self.time, lambda step: start)
        if completed < len(trajectory) - 1:
            self._drives.refuse_open_loops(positions, completed + 1)
            raise self._unusable_state_error()
        return trajectory

    def advance_to(self, time: float) -> None:
        """Advance to `time` [s], to the nearest whole step."""
        steps = steps_until(time, self.time, self.settings.time_step)
        if steps > 0:
            self.step(steps)

    def step(self, steps: int = 1) -> None:
        """Take steps of settings.time_step; SimulationError leaves the last good state."""
        simulated, start = self._simulated, self.time
        # the usual case: the call of the last step still applies, so a single step is fast
        last_steps, last_loads, function, arguments = simulated.last_call
        if (
            steps is not last_steps
            or last_loads is not simulated.loads
            or self._drives.motions
            or self._logs
        ):
            self._step_in_parts(steps)
            return
        results: list[tuple[int, int | None]] = []
        try:
            results.extend(starmap(function, arguments))  # in C, see `_step_in_parts`
        finally:
            if results:
                completed, events = results[0]
                self.time = start + completed * simulated.time_step
        if completed < steps or events != len(self._monitor.reported):
            self._report_steps(steps, completed, events, start, 0)

    def _step_in_parts(self, steps):
        """Take steps of any scheme, also with prescribed motions, and record them."""
        steps = whole('steps', steps)
        if self._logs:
            self._step_and_record(steps)
            return
        simulated, base = self._simulated, self._base
        motions, start = self._drives.motions, self.time
        h = simulated.time_step
        checked_effort(self.arm, self.effort)
        per_call = 1 if simulated.steps_in_python or motions else self._monitor.steps_per_check
        for first in range(0, steps, per_call):
            requested = min(per_call, steps - first)
            samples = base.samples(requested, self.time) if base.is_moved else None
            if motions:
                self.reports += self._drives.begin_step(self.time, start + (first + 1) * h)
            call = simulated.take_steps(requested) if samples is None else base.take_steps(samples)
            results: list[tuple[int, int | None]] = []
            try:
                # Ctrl-C interrupts plain Python anywhere, and time must stay consistent with the
                # state: C code takes the steps and stores their number without interruption
                results.extend(call)
            finally:
                if results:
                    completed, events = results[0]
                    self.time = start + (first + completed) * h
            if samples is not None:
                self.reports += base.end_steps(samples, completed, self.time)
            if motions and completed:
                self._drives.end_step()
            self._report_steps(requested, completed, events, start, first)

    def _report_steps(self, requested, completed, events, start, first):
        """Report events of the last steps; raise the error that ended them."""
        simulated, h = self._simulated, self._simulated.time_step
        if events == NON_FINITE_EFFORT:
            checked('effort', self.effort, self.arm.joint_names)
        self.reports += self._monitor.lines(
            completed, events, self.time, lambda step: start + (first + step + 1) * h
        )
        if completed < requested:
            simulated.clear_step_history()
            simulated.work.applied[:] = 0.0
            raise self._unusable_state_error(
                self._monitor.limits.remedy(
                    self.position, simulated.work.servo_stiffness, simulated.work.servo_damping
                )
            )

    def _unusable_state_error(self, remedy=''):
        """Error for the state that the last step would have reached."""
        return unusable_state_error(self.arm, self._simulated.state, self.time, remedy)

    def _report_state(self, q):
        """Report joints beyond limits in a new state (n,), and drop the line about the start."""
        line = state_note(self.arm, q[self.arm.motor_q])
        reports = [report for report in self.reports if report not in self._start_lines]
        self.reports[:] = [*reports, line] if line and line not in reports else reports

    def _summary(self) -> tuple[str, SummaryRows]:
        names, units, settings = self.arm.joint_names, self.arm.units, self.settings
        lists = (
            ('payloads', self._simulated.payloads),
            ('pushes', self.pushed_links),
            ('prescribed', [names[row] for row in self._drives.motions]),
        )
        return f'Simulation of "{self.arm.description.name}" at {self.time:.6g} s', [
            ('position', quantities(names, self.position, units)),
            ('velocity', quantities(names, self.velocity, [f'{unit}/s' for unit in units])),
            ('effort', quantities(names, self.effort, self.arm.effort_units)),
            *((label, listed(words)) for label, words in lists if words),
            (
                'settings',
                f'{settings.scheme}, {settings.formulation}, time_step = {settings.time_step:g} s',
            ),
            *[
                ('reports', f'{counted(len(self.reports), "line")}, the last: {line}')
                for line in self.reports[-1:]
            ],
        ]

    def _check_step_stability(self, stiffness, damping):
        """Raise SettingError if an explicit scheme cannot follow the arm with such a servo."""
        self.reports += self._monitor.limits.fit(stiffness, damping)
