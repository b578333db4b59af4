"""The controller of ELLA in the paper."""

from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis.equations import gravity_forces
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.simulation.simulation import Simulation

GOAL = np.array([-0.4928, 0.6922, 0.4270])  # theta_y1, theta_z1, theta_z2          [rad]
STIFFNESS = np.array([3000.0, 3000.0, 800.0])  # of PD                                 [N m/rad]
DAMPING = np.array([250.0, 250.0, 60.0])  #                                       [N m s/rad]
MOVE_DURATION = 1.5  # time to the goal                      [s]


class EllaController(NamedTuple):
    """PD along a minimum-jerk motion (83), with optional gravity compensation."""

    arm: ArmModel
    compensates_gravity: bool

    def effort(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Return torques (joints,) as a function of time, coordinates and rates [N m]."""
        fraction, rate = minimum_jerk(t)
        return (
            STIFFNESS * (GOAL * fraction - q[:3])
            + DAMPING * (GOAL * rate - qd[:3])
            + self.gravity_torque(q[:3])
        )

    def servo(self, simulation: Simulation, t: float) -> None:
        """Set the same inputs as gains, which a step treats implicitly: 1 ms is long for them."""
        fraction, rate = minimum_jerk(t)
        simulation.hold(GOAL * fraction, STIFFNESS, DAMPING)
        simulation.effort = DAMPING * GOAL * rate + self.gravity_torque(simulation.position)

    def gravity_torque(self, angles: np.ndarray) -> np.ndarray:
        """Return the gravity torques [N m] of the undeformed arm at joint angles (3,)."""
        if not self.compensates_gravity:
            return np.zeros(3)
        q = np.zeros(self.arm.size)
        q[:3] = angles
        return gravity_forces(self.arm, q)[:3]


def minimum_jerk(t: float) -> tuple[float, float]:
    """Return the completed fraction of a minimum-jerk move at time t, and its rate [1/s]."""
    s = min(t / MOVE_DURATION, 1.0)
    return s**3 * (10 - 15 * s + 6 * s * s), 30 * s * s * (1 - s) ** 2 / MOVE_DURATION
