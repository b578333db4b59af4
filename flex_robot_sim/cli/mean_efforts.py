"""
Mean efforts of a log, each over half a period before its row and half a period after it.

Linear interpolation of these means preserves the impulse, so that a model driven by them follows
the arm. An instantaneous effort may belong to the end of a step, or to a peak.
"""

from collections.abc import Callable

import numpy as np

from flex_robot_sim.simulation.simulation import Simulation


class MeanEfforts:
    """Averages the efforts of a simulation that advances from row to row."""

    def __init__(
        self, simulation: Simulation, take_steps: Callable[[int], None], steps: int
    ) -> None:
        """
        Start at a row.

        :param take_steps: advances the simulation by a number of steps.
        :param steps: largest number of steps to the next row.
        """
        self._simulation, self._take_steps, self._half = simulation, take_steps, 0.5 * steps
        # cumulative sums (k, joints) of efforts, from half a period before the last row
        self._sums = [np.zeros(len(simulation.arm.joint_names))]
        self._last = 0  # row of the sums at the last row of the log

    def advance(self, steps: int) -> None:
        """Advance by the steps to the next row."""
        self._sums = self._sums[max(0, self._last - int(np.ceil(self._half))) :]
        self._last = len(self._sums) - 1
        for _ in range(steps):
            self._take_steps(1)
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
        before, after = (1 - share) * sums[below] + share * sums[below + 1]
        return (after - before) / (ends[1] - ends[0])
