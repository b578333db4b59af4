"""
Efforts of a log: means around its rows, with half a period before each and half behind.

Straight lines between such means have the impulse of what acted, so that a model driven by them
does what the arm did. An effort of the moment may be that of the end of a step, or of a peak.
"""

from typing import Protocol

import numpy as np

from flex_robot_sim.simulation.simulation import Simulation


class Driver(Protocol):
    """What makes a simulation go on."""

    def advance(self, steps: int) -> None:
        """Take steps."""


class MeanEfforts:
    """A simulation that is driven from row to row."""

    def __init__(self, simulation: Simulation, driver: Driver, steps: int) -> None:
        """Begin at a row; :param steps: from this to the next, at most."""
        self._simulation, self._driver, self._half = simulation, driver, 0.5 * steps
        # sums (k, joints) of the efforts of all steps before, since half a period before a row
        self._sums = [np.zeros(len(simulation.arm.joint_names))]
        self._last = 0          # row of the sums, at which the last row of the log was

    def advance(self, steps: int) -> None:
        """Take the steps to the next row."""
        self._sums = self._sums[max(0, self._last - int(np.ceil(self._half))):]
        self._last = len(self._sums) - 1
        for _ in range(steps):
            self._driver.advance(1)
            self._sums.append(self._sums[-1] + self._simulation.mean_effort)

    def around_last(self) -> np.ndarray:
        """Return mean efforts (joints,) around the row before this one [N m, N]."""
        return self._around(self._last)

    def at_end(self) -> np.ndarray:
        """Return mean efforts (joints,) of the half of a period before this row."""
        return self._around(len(self._sums) - 1)

    def _around(self, row):
        ends = np.clip([row - self._half, row + self._half], 0, len(self._sums) - 1)
        sums = np.array(self._sums)
        below = np.minimum(ends.astype(int), len(sums) - 2)
        share = (ends - below)[:, None]
        before, behind = (1 - share) * sums[below] + share * sums[below + 1]
        return (behind - before) / (ends[1] - ends[0])
