"""A simulation that a feedback law closes: seen every period, answered after a delay."""

from collections import deque
from collections.abc import Callable

import numpy as np

from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.feedback.pose_model import Loop, checked_loop
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.motion.limits import effort_limits
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.exceptions import SettingError

WHOLE = 1e-6            # by which a time may miss whole steps, over a step


class Seen:
    """What a sample of an arm shows, arrays that the next sample overwrites."""

    def __init__(self, arm: ArmModel, feedback: str = 'motor') -> None:
        """Make room; `feedback` is the side of the drives that encoders see."""
        self._gauges, self._by_motor = flex_sensors(arm).matrix, feedback == 'motor'
        self.time = 0.0
        self.position = self.velocity = None        # (joints,)             [rad, m, per s]
        self.curvature = None                       # (k,)                  [1/m]

    def look(self, simulation: Simulation) -> None:
        """Take a sample."""
        side = 'motor_' if self._by_motor else ''
        self.time = simulation.time
        self.position = getattr(simulation, f'{side}position')
        self.velocity = getattr(simulation, f'{side}velocity')
        self.curvature = self._gauges @ simulation.coordinates


class SampledLoop:
    """Steps of a Simulation with the efforts of a law that sees it now and then."""

    def __init__(self, simulation: Simulation, law: Callable[[Seen], np.ndarray],
                 loop: Loop | None = None, feedback: str = 'motor') -> None:
        """
        Close a loop that begins now.

        :param law: function of Seen that returns efforts (joints,) [N m, N].
        :param loop: Loop, of whole time steps.
        """
        loop = checked_loop(loop or Loop())
        h = simulation.settings.time_step
        steps = np.array(loop) / h
        if (np.abs(steps - np.round(steps)) > WHOLE).any():
            raise SettingError(f'period and delay of a loop, {loop.period:g} and {loop.delay:g} '
                               f's, must be whole numbers of time steps of {h:g} s')
        self._every, self._late = (int(step) for step in np.round(steps))
        self.simulation, self.law = simulation, law
        self.seen = Seen(simulation.arm, feedback)
        self.limits = effort_limits(simulation.arm)
        self._lowest = -self.limits
        self._under_way: deque[tuple[int, np.ndarray]] = deque()     # (step, efforts)
        self._step = 0

    def advance_to(self, time: float, watch: Callable[[Simulation], object] | None = None) -> None:
        """Go on until `time` [s]; `watch` is called with the simulation at every sample."""
        h = self.simulation.settings.time_step
        end = self._step + round((time - self.simulation.time) / h)
        while self._step < end:
            if self._step % self._every == 0:
                self.seen.look(self.simulation)
                effort = np.minimum(np.maximum(self.law(self.seen), self._lowest), self.limits)
                self._under_way.append((self._step + self._late, effort))
                if watch is not None:
                    watch(self.simulation)
            while self._under_way and self._under_way[0][0] <= self._step:
                self.simulation.effort = self._under_way.popleft()[1]
            coming = [self._step + self._every - self._step % self._every, end]
            if self._under_way:
                coming.append(self._under_way[0][0])
            steps = min(coming) - self._step
            self.simulation.step(steps)
            self._step += steps
