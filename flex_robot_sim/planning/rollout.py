"""What an arm does while its drives follow a Motion: the full nonlinear model, without a servo."""

from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis.deflection import tip_deflection
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.motion.motion import Motion
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.settings import SimulationSettings
from flex_robot_sim.util.summary import summarized

LOOKS = 40              # at the deflection, in one motion


@summarized
class Rollout(NamedTuple):
    """Rows by time step."""

    times: np.ndarray           # (t,)          [s]
    sample: np.ndarray          # (t, 3, joints)  of the motion: places, speeds, accelerations
    effort: np.ndarray          # (t, joints)   that it takes                           [N m, N]
    path: np.ndarray            # (t, n)        coordinates
    rates: np.ndarray           # (n,)          at the end

    def bent(self, arm: ArmModel) -> dict[str, float]:
        """Return {flexible link: largest distance of its tip [m]}, as far as looks tell."""
        looks = self.path[1::max(1, (len(self.path) - 1) // LOOKS)]
        return {link: max((float(np.linalg.norm(tip_deflection(arm, link, q)[:3]))
                           for q in looks), default=0.0) for link in arm.tips}


class Roller:
    """An arm whose drives can be led along one motion after another."""

    def __init__(self, arm: ArmModel, start: np.ndarray, time_step: float) -> None:
        """Put an ArmModel at rest at the coordinates (n,) where its motions begin."""
        self.simulation = Simulation(arm, SimulationSettings(time_step=time_step))
        self.arm, self._start = arm, start

    def roll(self, motion: Motion, duration: float) -> Rollout:
        """Return the Rollout of a Motion from 0 to `duration` [s], of whole time steps."""
        simulation = self.simulation
        h = simulation.settings.time_step
        times = h * np.arange(round(duration / h) + 1)
        samples = motion.samples(times)
        simulation.set_state(coordinates=self._start)
        effort = np.zeros((len(times), len(self.arm.joint_names)))
        path = simulation.follow(samples[:, 0], samples[:, 1], effort)
        effort[0] = effort[min(1, len(times) - 1)]
        return Rollout(times, samples, effort, path, simulation.rates)
