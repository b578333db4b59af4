"""Trials of a move in the simulation: drives with a servo, and what the tip misses."""

from bisect import bisect_right
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.jacobians import pose
from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.feedback.pose_model import Loop
from flex_robot_sim.feedback.sampled_loop import SampledLoop
from flex_robot_sim.feedback.strain_feedback import StrainFeedback
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.motion.motion import Motion
from flex_robot_sim.simulation.simulation import Simulation


class SimulatedTrials:
    """An arm, its servo, and where its tip is to be."""

    def __init__(self, arm: ArmModel, link: str, motion: Motion, duration: float,
                 stiffness: ArrayLike, damping: ArrayLike, loop: Loop, every: int = 10) -> None:
        """
        Find where the tip is to be: where it were if the motion took for ever.

        :param link: whose origin is the tip; motion: of the drives, from 0 on.
        :param stiffness: of the servo, (joints,) [N m/rad, N/m]; damping: likewise.
        :param loop: Loop; every: samples of it from one look at the tip to the next.
        """
        self.link, self.loop, self.every, self.duration = link, loop, every, duration
        self.servo = np.asarray(stiffness, float), np.asarray(damping, float)
        times = np.arange(0.0, duration, every * loop.period)
        rests = [equilibrium(arm, motion.sample(t)[0]) for t in times]
        self.target = np.array([pose(arm, rest.coordinates, link)[:3, 3] for rest in rests])
        self._times, self._carrying = times.tolist(), np.array([rest.effort for rest in rests])
        self._rising = np.diff(self._carrying, axis=0) / np.diff(times)[:, None]
        self._start = motion.sample(0.0)[0]

    def run(self, arm: ArmModel, reference: Callable[[float], np.ndarray],
            damping: StrainFeedback | None = None) -> np.ndarray:
        """
        Return what the tip of an ArmModel misses, rows by look (t, 3) [m].

        :param reference: function from time to places and speeds of the drives.
        :param damping: a StrainFeedback, new and on, that helps the servo.
        """
        simulation = Simulation(arm)
        simulation.set_state(coordinates=equilibrium(arm, self._start).coordinates)
        stiffness, slowing = self.servo
        missed: list[np.ndarray] = []
        looks = 0

        def law(seen):
            place, speed = reference(seen.time)[:2]
            effort = (self._feed(seen.time) + stiffness * (place - seen.position)
                      + slowing * (speed - seen.velocity))
            if damping is not None:
                effort += damping.update(seen.position, seen.velocity, seen.curvature)
            return effort

        def watch(simulation):
            nonlocal looks
            if looks % self.every == 0 and len(missed) < len(self.target):
                missed.append(simulation.pose(self.link)[:3, 3] - self.target[len(missed)])
            looks += 1

        SampledLoop(simulation, law, self.loop).advance_to(self.duration, watch)
        return np.array(missed)

    def _feed(self, time):
        """Efforts (joints,) that carry the arm, on even lines between those of its rests."""
        row = bisect_right(self._times, time) - 1
        if row >= len(self._rising):
            return self._carrying[-1]
        return self._rising[row] * (time - self._times[row]) + self._carrying[row]
