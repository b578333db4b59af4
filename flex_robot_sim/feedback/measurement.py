"""Measurement of the encoders and flex sensors of an arm, for sampled control laws."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.motion.limits import effort_limits
from flex_robot_sim.simulation.rollout import Controller
from flex_robot_sim.simulation.simulation import Simulation


class Measurement(NamedTuple):
    """Sample of the sensors of an arm."""

    time: float
    position: np.ndarray        # (joints,) of the encoders, motor side [rad, m]
    velocity: np.ndarray        # (joints,)                     [rad/s, m/s]
    curvature: np.ndarray       # (k,)                          [1/m]


def sensor_feedback(arm: ArmModel, law: Callable[[Measurement], np.ndarray]) -> Controller:
    """Return a controller that limits efforts (joints,) [N m, N] of a law, for a rollout."""
    gauges, limits = flex_sensors(arm).matrix, effort_limits(arm)

    def controller(time: float, simulation: Simulation) -> np.ndarray:
        effort = law(Measurement(time, simulation.motor_position, simulation.motor_velocity,
                                 gauges @ simulation.q))
        return np.minimum(np.maximum(effort, -limits), limits)

    return controller
