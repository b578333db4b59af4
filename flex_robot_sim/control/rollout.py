"""What an arm does while its drives follow a Motion: the full nonlinear model, without a servo."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis.deflection import tip_deflection
from flex_robot_sim.control.motion import Motion
from flex_robot_sim.core.model import ArmModel
from flex_robot_sim.settings import SimulationSettings
from flex_robot_sim.simulation import Simulation

LOOKS = 40              # at the deflection, in one motion


class Rollout(NamedTuple):
    """Rows by time step."""

    times: np.ndarray           # (t,)          [s]
    sample: np.ndarray          # (t, 3, joints)  of the motion: places, speeds, accelerations
    effort: np.ndarray          # (t, joints)   that it takes                           [N m, N]
    bent: dict                  # flexible link -> largest distance of its tip              [m]
    coordinates: np.ndarray     # (n,)          at the end
    rates: np.ndarray           # (n,)


class Roller:
    """An arm whose drives can be led along one motion after another."""

    def __init__(self, arm: ArmModel, start: np.ndarray, time_step: float) -> None:
        """Put an ArmModel at rest at the coordinates (n,) where its motions begin."""
        self.simulation = Simulation(arm, SimulationSettings(time_step=time_step))
        self.arm, self._start = arm, start

    def roll(self, motion: Motion, duration: float,
             watch: Callable[[Simulation], object] | None = None) -> Rollout:
        """
        Return the Rollout of a Motion from 0 to `duration` [s], of whole time steps.

        :param watch: is called with the simulation after every step.
        """
        simulation, arm = self.simulation, self.arm
        h, names = simulation.settings.time_step, arm.joint_names
        count, begin = round(duration / h), simulation.time
        samples = np.array([motion.sample(k * h) for k in range(count + 1)])
        for name in names:      # the last motion lets go, or it would have its drives back
            simulation.prescribe(name)
        simulation.set_state(coordinates=self._start)

        for j, name in enumerate(names):
            places, speeds = samples[:, 0, j], samples[:, 1, j]

            def along(time, places=places, speeds=speeds):
                k = min(max(round((time - begin) / h), 0), count)
                return places[k], speeds[k]
            simulation.prescribe(name, along)
        effort, bent = np.zeros((count + 1, len(names))), dict.fromkeys(arm.tips, 0.0)
        every = max(1, count // LOOKS)
        for k in range(count):
            simulation.step()
            effort[k + 1] = simulation.mean_effort
            if watch is not None:
                watch(simulation)
            if k % every == 0:
                q = simulation.coordinates
                for link in bent:
                    tip = tip_deflection(arm, link, q)[:3]
                    bent[link] = max(bent[link], float(np.linalg.norm(tip)))
        effort[0] = effort[1] if count else 0.0
        return Rollout(h * np.arange(count + 1), samples, effort, bent, simulation.coordinates,
                       simulation.rates)
