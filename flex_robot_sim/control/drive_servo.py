"""
The PD part of a joint controller in the drives, which carry it out at every time step.

Drives of industrial arms close this loop far faster than a controller sees the state. They also
hold beams on drives without rotors, which states that come every millisecond are too rare for.
"""

import numpy as np

from flex_robot_sim.control.joint_controller import JointController
from flex_robot_sim.simulation.simulation import Simulation


def pass_to_drives(controller: JointController, simulation: Simulation,
                   effort: np.ndarray) -> np.ndarray:
    """
    Give the drives of a Simulation the gains and the present target; return the other efforts.

    :param effort: of the controller for the present state, PD included, (joints,) [N m, N].
    """
    servo, target, rate = controller.servo, controller.target, controller.target_velocity
    if not controller.follows_by_servo:
        simulation.hold(target, 0.0, 0.0)
        return effort
    simulation.hold(target, servo.stiffness, servo.damping, rate)
    return (effort - servo.stiffness * (target - simulation.motor_position)
            - servo.damping * (rate - simulation.motor_velocity))
