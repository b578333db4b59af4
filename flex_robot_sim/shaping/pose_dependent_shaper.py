"""
Pose-dependent shaping of whole motions, ahead of time.

An OnlineShaper samples the motion on a grid. Its state at a past time is stored. Another motion
that differs only from then on continues from exactly the same state.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING

import numpy as np

from flex_robot_sim.motion.motion import Motion

if TYPE_CHECKING:       # circular import
    from flex_robot_sim.shaping.shaper_specification import ShaperSpecification

GRID = 5e-3                 # time between two samples of a motion                              [s]


class PoseDependentShaper:
    """Stored state of an OnlineShaper at a time of its motion."""

    def __init__(self, specification: ShaperSpecification, position: np.ndarray,
                 time: float) -> None:
        """Begin with a constant history at a position (joints,) until a time [s]."""
        self._online, self.time = specification.online(len(position), GRID), time
        self._online.reset(position)

    @property
    def duration(self) -> float:
        """Time that the shaper adds to a motion, at most [s]."""
        return self._online.duration

    def advanced(self, motion: Motion, time: float) -> PoseDependentShaper:
        """Return a shaper advanced to the last sample at or before a time [s]."""
        other = deepcopy(self)
        while other.time + GRID <= time:
            other.time += GRID
            other._online.tick(motion.sample(other.time)[0])
        return other

    def run(self, motion: Motion) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """
        Shape a Motion from the next sample to the end.

        :returns: times (k,), positions and velocities (k, joints), on the grid.
        """
        online, time = deepcopy(self._online), self.time
        times, rows = [time], [online.position.copy()]
        while len(rows) < 4 or time < motion.end or not online.is_settled:
            time += GRID
            times.append(time)
            rows.append(online.tick(motion.sample(time)[0]).copy())
        rows = np.array(rows)
        speeds = np.gradient(rows, GRID, axis=0)
        speeds[-1] = 0.0
        return np.array(times)[1:], rows[1:], speeds[1:]
