"""Rollout: a simulation over a time, with a controller, along a trajectory, or by itself."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from inspect import signature
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.model.arguments import array_or_nan, number_or_nan
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.free_base import without_free_fall
from flex_robot_sim.motion.joint_trajectory import JointTrajectory
from flex_robot_sim.motion.trajectory import Trajectory
from flex_robot_sim.simulation.loop_timing import (
    STEP_TOLERANCE,
    LoopTiming,
    checked_timing,
    whole_steps,
)
from flex_robot_sim.simulation.quantities import DEFAULT_QUANTITIES
from flex_robot_sim.simulation.recorder import Recorder
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.simulation.simulation_log import SimulationLog
from flex_robot_sim.util.exceptions import SettingError, shortened

Controller = Callable[..., 'ArrayLike | None']
"""Function of time [s] and simulation: efforts (joints,) [N m, N]; None: it has set all inputs."""


class ControlLoop:
    """Steps a Simulation or a Batch with a sampled controller, and records it."""

    def __init__(
        self,
        simulation: Any,
        controller: Controller | None = None,
        timing: LoopTiming | None = None,
        record: Callable[[Any], object] | None = None,
        record_period: float | None = None,
    ) -> None:
        """
        Start now.

        :param timing: LoopTiming of whole time steps; default: one time step, without delay.
        :param record: called with the simulation after the controller, every `record_period` [s],
            by default the period of the controller.
        """
        h = simulation.settings.time_step
        timing = LoopTiming(h, 0.0) if timing is None else checked_timing(timing)
        steps = np.array([seconds / h for seconds in timing])
        if (
            not np.isfinite(steps).all()
            or (np.abs(steps - np.round(steps)) > STEP_TOLERANCE).any()
        ):
            raise SettingError(
                f'period and delay of a loop, {timing.period:g} and {timing.delay:g} s, must be '
                f'whole numbers of time steps of {h:g} s'
            )
        if controller is not None and not callable(controller):
            raise SettingError(
                f'controller = {shortened(repr(controller), 60)} must be a '
                'function of time and simulation that returns efforts'
            )
        self.simulation, self.controller, self._record = simulation, controller, record
        self._period, self._delay = (int(step) for step in np.round(steps))
        self._record_period = self._period
        if record_period is not None:
            self._record_period = whole_steps('record_period', record_period, h)
        self._pending: deque[tuple[int, np.ndarray]] = deque()  # (step, efforts)
        self._step = 0

    def advance(self, steps: int) -> None:
        """Take time steps; the end is not recorded, it is the start of the next call."""
        end = self._step + steps
        while self._step < end:
            self._sample()
            events = [end, *(step for step, _ in self._pending)]
            events += [
                self._step + period - self._step % period
                for call, period in (
                    (self.controller, self._period),
                    (self._record, self._record_period),
                )
                if call is not None
            ]
            count = min(events) - self._step
            self.simulation.step(count)
            self._step += count

    def _sample(self):
        """Do what is due at the present step: controller, efforts, record."""
        step, simulation = self._step, self.simulation
        if self.controller is not None and step % self._period == 0:
            effort = self.controller(simulation.time, simulation)
            if effort is not None:
                self._pending.append((step + self._delay, self._checked(effort)))
        while self._pending and self._pending[0][0] <= step:
            simulation.effort = self._pending.popleft()[1]
        if self._record is not None and step % self._record_period == 0:
            self._record(simulation)

    def _checked(self, effort):
        """Return efforts of the controller as an array; SettingError if they are unusable."""
        simulation, efforts = self.simulation, array_or_nan(effort)
        shape = simulation.effort.shape
        if efforts.shape not in (shape, shape[-1:]) or not np.isfinite(efforts).all():
            raise SettingError(
                f'the controller "{_name_of(self.controller)}" returned '
                f'{shortened(repr(effort), 100)} at {simulation.time:.6g} s: it must return '
                f'{" x ".join(map(str, shape))} finite efforts '
                f'({", ".join(simulation.arm.joint_names)}), or None'
            )
        return efforts


def rollout(
    arm_or_simulation: Any,
    *,
    duration: float,
    controller: Controller | None = None,
    trajectory: Any = None,
    record: Any = DEFAULT_QUANTITIES,
    period: float | None = None,
    delay: float = 0.0,
    record_period: float | None = None,
) -> SimulationLog:
    """
    Run a simulation for a time; return the SimulationLog of the recorded quantities.

    Without a controller, the drives follow a trajectory exactly, whatever effort this requires.
    With a controller, the trajectory is its target: the third argument of the controller is the
    present TrajectoryPoint (position, velocity, acceleration).

    :param arm_or_simulation: an ArmModel starts, with default settings, at rest in its start pose,
        or in equilibrium on the trajectory; a Simulation or a Batch continues.
    :param duration: rounded to whole time steps [s].
    :param controller: function of time [s] and simulation; it returns motor efforts, (joints,)
        [N m, N], or None if it has set all inputs itself, as by `hold`.
    :param trajectory: function of time [s], which returns positions (joints,) [rad, m] or rows of
        positions, velocities and accelerations; a pair of times (k,) and positions (k, joints); a
        Trajectory, Motion or Plan. Its times count from the start of the rollout.
    :param record: names such as 'q', 'v', 'position', 'velocity', 'effort', 'applied_effort',
        'deflection', 'curvature', 'energy', 'momentum', 'base_pose', 'pose:LINK', 'twist:LINK',
        'wrench:JOINT', functions of the simulation, or a mapping from names to these.
    :param period: between two calls of the controller [s]; default: one time step.
    :param delay: from a call of the controller to the resulting effort [s].
    :param record_period: between two samples [s]; default: `period`. The end is a sample, too.

    Example::

        def controller(time, sim):
            return 40.0 * ([0.5, 0.5, -0.8] - sim.position) - 4.0 * sim.velocity

        log = frs.rollout(frs.load('two_link'), duration=0.2, controller=controller)
        assert log.q.shape == (len(log.time), log.arm.nq)
    """
    simulation, follow = _start(arm_or_simulation, trajectory, controller is not None)
    h = simulation.settings.time_step
    steps = number_or_nan(duration) / h
    if not isfinite(steps) or not steps >= 0.5:
        raise SettingError(
            f'duration = {shortened(repr(duration), 60)} must be finite '
            f'and at least a time step of {h:g} s'
        )
    log, call = SimulationLog(simulation, record), controller
    if callable(controller):
        _expect_parameters(controller, follow is not None)
        if follow is not None:
            call = _TrackingController(controller, follow)
    loop = ControlLoop(
        simulation,
        call,
        LoopTiming(h if period is None else period, delay),
        log.sample,
        record_period,
    )
    prescribed = simulation.arm.joint_names if follow is not None and controller is None else ()
    try:
        for row, joint in enumerate(prescribed):
            simulation.prescribe(joint, follow.of_joint(row))
        loop.advance(round(steps))
        log.sample(simulation)
    finally:
        for joint in prescribed:
            simulation.prescribe(joint)
    return log


class _TrackingController:
    """A controller with the present point of a trajectory as third argument."""

    def __init__(self, controller, trajectory):
        self._controller, self._trajectory = controller, trajectory
        self.__name__ = _name_of(controller)

    def __call__(self, time, simulation):
        return self._controller(time, simulation, self._trajectory(time))


def _name_of(controller):
    return getattr(controller, '__name__', type(controller).__name__)


def _expect_parameters(controller, has_trajectory):
    """Raise SettingError if the parameters of a controller do not fit its call."""
    words = ['time', 'simulation', *['target'] * has_trajectory]
    try:
        signature(controller).bind(*words)
    except TypeError as error:
        raise SettingError(
            f'the controller "{_name_of(controller)}" must be a function of {", ".join(words)}'
            + (': the target is the present point of the trajectory' if has_trajectory else '')
        ) from error
    except ValueError:  # a builtin may have no signature
        pass


def _start(arm_or_simulation, trajectory, is_target):
    """Return the simulation, and the JointTrajectory or None."""
    is_arm = isinstance(arm_or_simulation, ArmModel)
    if not is_arm and not isinstance(arm_or_simulation, Recorder):
        raise SettingError(
            f'{shortened(repr(arm_or_simulation), 60)} is no ArmModel, Simulation or '
            'Batch: make one by frs.load(robot) or frs.Simulation(arm)'
        )
    simulation: Any = Simulation(arm_or_simulation) if is_arm else arm_or_simulation
    if trajectory is None:
        return simulation, None
    position = simulation.motor_position
    if not isinstance(simulation, Simulation):
        if not is_target:
            raise SettingError(
                'the drives of a Batch follow no trajectory exactly: give a '
                'controller, which receives it as its target'
            )
        if isinstance(trajectory, Trajectory) and (position != position[0]).any():
            raise SettingError(
                'a Trajectory starts at the position of the drives, and those of '
                'the arms of this Batch differ: give a Motion or a function'
            )
        position = position[0]
    follow = JointTrajectory(simulation.arm, trajectory, position, simulation.time)
    if is_arm:  # the new simulation starts on the trajectory
        first = follow(simulation.time)
        # a base that falls leaves no weight on the joints
        q = equilibrium(without_free_fall(simulation.arm), first.position).q
        v = np.zeros(simulation.arm.size)
        simulation.arm.set_joints(v, first.velocity)
        simulation.set_state(q, v)
    return simulation, follow
