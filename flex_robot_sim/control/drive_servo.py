"""
PD control in the drives: the joint controller passes its gains to them.

Drives of industrial arms close this loop much faster than the period of the joint states. They
also hold beams on drives without rotors, for which a state period of 1 ms is too long.
"""

import numpy as np

from flex_robot_sim.control.joint_controller import JointController
from flex_robot_sim.simulation.simulation import Simulation


def pass_to_drives(
    controller: JointController, simulation: Simulation, effort: np.ndarray
) -> np.ndarray:
    """
    Set gains and present target of the drives of a Simulation; return the efforts without PD.

    :param effort: of the controller for the present state, PD included, (joints,) [N m, N].
    """
    servo, target, rate = controller.servo, controller.target, controller.target_velocity
    if not controller.follows_by_servo:
        simulation.hold(target, 0.0, 0.0)
        return effort
    simulation.hold(target, servo.stiffness, servo.damping, rate)
    return (
        effort
        - servo.stiffness * (target - simulation.motor_position)
        - servo.damping * (rate - simulation.motor_velocity)
    )
