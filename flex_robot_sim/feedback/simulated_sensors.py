"""Measurements of a Simulation, and laws in closed loop with it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.feedback.measurement import Measurement
from flex_robot_sim.model.arguments import expect_arm, expect_kind
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.motion.limits import effort_limits
from flex_robot_sim.simulation.rollout import Controller
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.exceptions import SettingError, shortened


def measure(simulation: Simulation) -> Measurement:
    """
    Return the Measurement of a `simulation`: encoders on the motor side, and no noise.

    Example::

        sim = frs.Simulation(frs.load('single_link'))
        measured = frs.feedback.measure(sim)
        measured.position, measured.curvature, measured.q
    """
    expect_kind('simulation', simulation, Simulation, 'a Simulation(arm)')
    q = simulation.q
    return Measurement(
        simulation.time,
        simulation.motor_position,
        simulation.motor_velocity,
        flex_sensors(simulation.arm).matrix @ q,
        q,
        simulation.v,
    )


def sensor_feedback(arm: ArmModel, law: Callable[[Measurement], np.ndarray]) -> Controller:
    """
    Return the controller of a rollout that limits the efforts of a law.

    :param law: function of a Measurement that returns efforts (joints,) [N m, N], such as
        `Lqr(...).step`, or the sum of a servo and of `StrainFeedback(...).step`.

    Example::

        arm = frs.load('single_link')
        law = frs.feedback.Lqr(arm, [0.0])
        controller = frs.feedback.sensor_feedback(arm, law.step)
        effort = controller(0.0, frs.Simulation(arm))
    """
    expect_arm(arm, closed_loops=True)
    if not callable(law):
        raise SettingError(
            f'law = {shortened(repr(law), 60)} must be a function of a Measurement '
            'that returns efforts'
        )
    limits = effort_limits(arm)

    def controller(_time: float, simulation: Simulation) -> np.ndarray:
        return np.minimum(np.maximum(law(measure(simulation)), -limits), limits)

    return controller
