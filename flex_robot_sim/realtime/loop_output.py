"""Outputs of a simulation loop: functions that receive the state at a rate."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from flex_robot_sim.realtime.loop import SimulationLoop
    from flex_robot_sim.simulation.simulation import Simulation

MAX_OUTPUT_PERIODS = 1e12  # from one output to the next


class Output:
    """A function that receives the state at a rate."""

    def __init__(
        self,
        function: Callable[[Simulation, np.ndarray], object],
        rate: float,
        loop: SimulationLoop,
        is_answered: bool = False,
    ) -> None:
        """
        Let `loop` call function(simulation, effort) at a rate [1/s of simulated time].

        The effort is what the motors gave in the last step, within all limits.

        :param is_answered: whether commands answer it, so that lockstep needs it every period.
        """
        self.function, self._loop, self.is_answered = function, loop, is_answered
        self._is_forced = is_answered and loop.is_lockstep
        self.set_rate(rate)

    def set_rate(self, rate: float) -> None:
        """Change the rate; zero is never."""
        loop = self._loop
        periods = (
            0.0
            if rate == 0
            else 1.0
            if self._is_forced
            else 1.0 / max(rate * loop.period, 1.0 / MAX_OUTPUT_PERIODS)
        )
        self.every = 0 if periods == 0.0 else max(1, round(periods))
