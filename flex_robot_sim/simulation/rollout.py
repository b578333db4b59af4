"""Rollout: a controller in closed loop with a simulation, sampled with a period and a delay."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.simulation.loop_timing import LoopTiming, checked_timing
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.exceptions import SettingError

STEP_TOLERANCE = 1e-6   # deviation from whole time steps, over a step

Controller = Callable[[float, Any], 'ArrayLike | None']
"""Function of time [s] and simulation: efforts (joints,) [N m, N]; None: it has set all inputs."""


class ControlLoop:
    """Steps a Simulation or a Batch with a sampled controller, and records it."""

    def __init__(self, simulation: Any, controller: Controller | None = None,
                 timing: LoopTiming | None = None, record: Callable[[Any], object] | None = None,
                 record_period: float | None = None) -> None:
        """Start now, with the arguments of `rollout`; `record` is called after the controller."""
        h = simulation.settings.time_step
        timing = LoopTiming(h, 0.0) if timing is None else checked_timing(timing)
        steps = np.array(timing) / h
        if (np.abs(steps - np.round(steps)) > STEP_TOLERANCE).any():
            raise SettingError(f'period and delay of a loop, {timing.period:g} and '
                               f'{timing.delay:g} s, must be whole numbers of time steps of {h:g} '
                               's')
        self.simulation, self.controller, self._record = simulation, controller, record
        self._period, self._delay = (int(step) for step in np.round(steps))
        self._record_period = (self._period if record_period is None
                               else max(1, round(record_period / h)))
        self._pending: deque[tuple[int, ArrayLike]] = deque()       # (step, efforts)
        self._step = 0

    def advance(self, steps: int) -> None:
        """Take time steps; the end is not recorded, it is the start of the next call."""
        end = self._step + steps
        while self._step < end:
            self._sample()
            events = [end, *(step for step, _ in self._pending)]
            events += [self._step + period - self._step % period
                       for call, period in ((self.controller, self._period),
                                            (self._record, self._record_period))
                       if call is not None]
            count = min(events) - self._step
            self.simulation.step(count)
            self._step += count

    def _sample(self):
        """Do what is due at the present step: controller, efforts, record."""
        step, simulation = self._step, self.simulation
        if self.controller is not None and step % self._period == 0:
            effort = self.controller(simulation.time, simulation)
            if effort is not None:
                self._pending.append((step + self._delay, effort))
        while self._pending and self._pending[0][0] <= step:
            simulation.effort = self._pending.popleft()[1]
        if self._record is not None and step % self._record_period == 0:
            self._record(simulation)


def state_sample(simulation: Simulation) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """Return time [s], coordinates (n,), rates (n,) and applied efforts (joints,) [N m, N]."""
    return (simulation.time, simulation.q, simulation.v, simulation.applied_effort)


def rollout(simulation: Any, controller: Controller | None, seconds: float,
            timing: LoopTiming | None = None,
            record: Callable[[Any], Sequence[Any]] = state_sample,
            record_period: float | None = None) -> tuple[np.ndarray, ...]:
    """
    Run a simulation with a controller for a time; return the samples, an array per quantity.

    :param controller: function of time and simulation that returns efforts (joints,).
    :param seconds: duration, to the nearest time step [s].
    :param timing: LoopTiming of whole time steps; default: one time step, without delay.
    :param record: returns the quantities to sample; default: `state_sample`.
    :param record_period: to the nearest time step [s]; default: the period of the controller.
    """
    rows: list[Sequence[Any]] = []
    loop = ControlLoop(simulation, controller, timing,
                       lambda simulation: rows.append(record(simulation)), record_period)
    loop.advance(round(seconds / simulation.settings.time_step))
    rows.append(record(simulation))
    return tuple(np.array(column) for column in zip(*rows))
