"""Response of the full nonlinear arm to a Motion, with prescribed drives."""

from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis.deflection import tip_deflection
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.free_base import with_base_at_rest
from flex_robot_sim.motion.joint_motion import Motion
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.settings import SimulationSettings
from flex_robot_sim.util.summary import summarized

DEFLECTION_SAMPLES = 40  # samples of the deflection in one motion


@summarized
class MotionResponse(NamedTuple):
    """Result of a simulated motion, a row per time step."""

    times: np.ndarray  # (t,)          [s]
    sample: np.ndarray  # (t, 3, joints)  positions, velocities, accelerations
    effort: np.ndarray  # (t, joints)   of the drives                           [N m, N]
    path: np.ndarray  # (t, n)        coordinates
    rates: np.ndarray  # (n,)          at the end

    def max_deflections(self, arm: ArmModel) -> dict[str, float]:
        """Return {flexible link: largest sampled deflection of its tip [m]}."""
        samples = self.path[1 :: max(1, (len(self.path) - 1) // DEFLECTION_SAMPLES)]
        return {
            link: max(
                (float(np.linalg.norm(tip_deflection(arm, link, q)[:3])) for q in samples),
                default=0.0,
            )
            for link in arm.tips
        }


class MotionSimulator:
    """Simulates motions of an arm with prescribed drives, one after another."""

    def __init__(self, arm: ArmModel, start: np.ndarray, time_step: float) -> None:
        """Take an ArmModel and its coordinates (n,) at rest at the start of the motions."""
        self.simulation = Simulation(
            with_base_at_rest(arm), SimulationSettings(time_step=time_step)
        )
        self.arm, self._start = arm, start

    def run(self, motion: Motion, duration: float) -> MotionResponse:
        """Return the MotionResponse to a Motion from 0 to `duration` [s], of whole time steps."""
        simulation = self.simulation
        h = simulation.settings.time_step
        times = h * np.arange(round(duration / h) + 1)
        samples = motion.samples(times)
        simulation.set_state(q=self._start)
        effort = np.zeros((len(times), len(self.arm.joint_names)))
        path = simulation.follow(samples[:, 0], samples[:, 1], effort)
        effort[0] = effort[min(1, len(times) - 1)]
        return MotionResponse(times, samples, effort, path, simulation.v)
