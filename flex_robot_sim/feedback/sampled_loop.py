"""Sampled feedback loop around a simulation, with a period and a delay."""

from collections import deque
from collections.abc import Callable

import numpy as np

from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.motion.limits import effort_limits
from flex_robot_sim.simulation.loop_timing import LoopTiming, checked_timing
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.exceptions import SettingError

STEP_TOLERANCE = 1e-6   # deviation from whole time steps, over a step


class Measurement:
    """Sample of the sensors of an arm; the next sample overwrites the arrays."""

    def __init__(self, arm: ArmModel, feedback: str = 'motor') -> None:
        """Allocate; `feedback` is the side of the drives that the encoders measure."""
        self._gauges, self._by_motor = flex_sensors(arm).matrix, feedback == 'motor'
        self.time = 0.0
        self.position = self.velocity = None        # (joints,)             [rad, m, per s]
        self.curvature = None                       # (k,)                  [1/m]

    def sample(self, simulation: Simulation) -> None:
        """Take a sample."""
        side = 'motor_' if self._by_motor else ''
        self.time = simulation.time
        self.position = getattr(simulation, f'{side}position')
        self.velocity = getattr(simulation, f'{side}velocity')
        self.curvature = self._gauges @ simulation.coordinates


class SampledLoop:
    """Steps a Simulation with the efforts of a sampled control law."""

    def __init__(self, simulation: Simulation, law: Callable[[Measurement], np.ndarray],
                 loop: LoopTiming | None = None, feedback: str = 'motor') -> None:
        """
        Start the loop at the present time.

        :param law: function of a Measurement that returns efforts (joints,) [N m, N].
        :param loop: LoopTiming, of whole time steps.
        """
        loop = checked_timing(loop or LoopTiming())
        h = simulation.settings.time_step
        steps = np.array(loop) / h
        if (np.abs(steps - np.round(steps)) > STEP_TOLERANCE).any():
            raise SettingError(f'period and delay of a loop, {loop.period:g} and {loop.delay:g} '
                               f's, must be whole numbers of time steps of {h:g} s')
        self._steps_per_sample, self._delay_steps = (int(step) for step in np.round(steps))
        self.simulation, self.law = simulation, law
        self.measurement = Measurement(simulation.arm, feedback)
        self.limits = effort_limits(simulation.arm)
        self._lower_limits = -self.limits
        self._pending: deque[tuple[int, np.ndarray]] = deque()       # (step, efforts)
        self._step = 0

    def advance_to(self, time: float, watch: Callable[[Simulation], object] | None = None) -> None:
        """Advance to `time` [s]; `watch` is called with the simulation at every sample."""
        h = self.simulation.settings.time_step
        end = self._step + round((time - self.simulation.time) / h)
        while self._step < end:
            if self._step % self._steps_per_sample == 0:
                self.measurement.sample(self.simulation)
                effort = np.minimum(np.maximum(self.law(self.measurement), self._lower_limits),
                                    self.limits)
                self._pending.append((self._step + self._delay_steps, effort))
                if watch is not None:
                    watch(self.simulation)
            while self._pending and self._pending[0][0] <= self._step:
                self.simulation.effort = self._pending.popleft()[1]
            events = [
                self._step + self._steps_per_sample - self._step % self._steps_per_sample, end]
            if self._pending:
                events.append(self._pending[0][0])
            steps = min(events) - self._step
            self.simulation.step(steps)
            self._step += steps
