"""Outputs of a simulation loop: functions that receive the state at a rate."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from flex_robot_sim.simulation.simulation import Simulation

MAX_OUTPUT_PERIODS = 1e12  # from one output to the next


class Output:
    """A function that receives the state at a rate."""

    def __init__(
        self,
        function: Callable[[Simulation, np.ndarray], object],
        rate: float,
        period: float,
        is_answered: bool = False,
        is_lockstep: bool = False,
    ) -> None:
        """
        Call function(simulation, effort) at a rate [1/s of simulated time].

        The effort is that of the motors in the last step, within all limits.

        :param period: of the loop [s].
        :param is_answered: whether commands answer it, so that lockstep needs it every period.
        """
        self.function, self.is_answered, self._period = function, is_answered, period
        self._is_forced = is_answered and is_lockstep
        self.set_rate(rate)

    def set_rate(self, rate: float) -> None:
        """Change the rate; zero is never."""
        if rate == 0:
            self.every = 0
        elif self._is_forced:
            self.every = 1
        else:
            periods = 1.0 / max(rate * self._period, 1.0 / MAX_OUTPUT_PERIODS)
            self.every = max(1, round(periods))
