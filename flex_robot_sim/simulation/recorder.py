"""Recording of a simulation during its steps."""

from __future__ import annotations

from typing import Any

from flex_robot_sim.simulation.loop_timing import whole_steps
from flex_robot_sim.simulation.quantities import DEFAULT_QUANTITIES
from flex_robot_sim.simulation.simulation_log import SimulationLog


class Recorder:
    """Base of Simulation and Batch with the logs that they record during steps."""

    _logs: tuple[SimulationLog, ...] = ()
    arm: Any
    settings: Any

    def record(self, *record: Any, period: float | None = None) -> SimulationLog:
        """
        Record quantities from now on, during `step` and `advance_to`; return the growing log.

        :param record: names and functions, see `rollout`.
        :param period: between two samples [s], whole time steps; default: one step.

        Example::

            sim = frs.Simulation(frs.load('two_link'))
            log = sim.record('position', 'deflection', period=2e-3)
            sim.step(10)
            log.stop()
            assert log.position.shape == (6, 3)
        """
        h = self.settings.time_step
        steps = 1 if period is None else whole_steps('period', period, h)
        log = SimulationLog(self, record or DEFAULT_QUANTITIES, steps)
        log.sample(self)
        self._logs = (*self._logs, log)
        return log

    def step(self, steps: int = 1) -> None:
        """Take time steps; the subclasses define it."""
        raise NotImplementedError

    def _step_and_record(self, steps):
        """Take steps, and sample each log when it is due."""
        logs = tuple(log for log in self._logs if log.is_recording)
        self._logs = ()  # the steps between two samples are plain ones
        try:
            while steps:
                count = min([steps, *(log.steps_to_sample for log in logs)])
                self.step(count)
                steps -= count
                for log in logs:
                    log.steps_to_sample -= count
                    if not log.steps_to_sample:
                        log.sample(self)
        finally:
            self._logs = logs
