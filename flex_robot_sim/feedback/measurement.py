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
    position: np.ndarray        # (joints,) of the encoders     [rad, m]
    velocity: np.ndarray        # (joints,)                     [rad/s, m/s]
    curvature: np.ndarray       # (k,)                          [1/m]


def sensor_feedback(arm: ArmModel, law: Callable[[Measurement], np.ndarray],
                    feedback: str = 'motor') -> Controller:
    """
    Return a controller for a rollout: it measures, and limits the efforts of a control law.

    :param law: function of a Measurement that returns efforts (joints,) [N m, N].
    :param feedback: side of the drives that the encoders measure.
    """
    gauges, limits = flex_sensors(arm).matrix, effort_limits(arm)
    side = 'motor_' if feedback == 'motor' else ''

    def controller(time: float, simulation: Simulation) -> np.ndarray:
        effort = law(Measurement(time, getattr(simulation, f'{side}position'),
                                 getattr(simulation, f'{side}velocity'),
                                 gauges @ simulation.coordinates))
        return np.minimum(np.maximum(effort, -limits), limits)

    return controller
