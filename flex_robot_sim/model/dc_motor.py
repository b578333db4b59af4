"""DC motors of an arm: their numbers in the coordinates of the joints, `Workspace.dc_motor`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from flex_robot_sim.description.robot import RobotDescription

CONSTANT, RESISTANCE, INDUCTANCE, VOLTAGE, CURRENT = range(5)  # CONSTANT: N m/A or N/A
COLUMNS = 5
DcMotors: TypeAlias = Annotated[np.ndarray, COLUMNS]


def dc_motor_table(description: RobotDescription) -> np.ndarray:
    """Return the numbers of the motor of each joint, (joints, COLUMNS); without one: zeros."""
    joints = [joint for joint in description.joints if joint.moves]
    table = np.zeros((len(joints), COLUMNS))
    for row, joint in zip(table, joints):
        motor = joint.dc_motor
        if motor is not None:
            row[CONSTANT], row[RESISTANCE] = joint.gear_ratio * motor.motorconst, motor.resistance
            row[INDUCTANCE], row[VOLTAGE] = motor.inductance, motor.voltage
            row[CURRENT] = motor.current
    return table
