"""DC motors of an arm: their numbers in the coordinates of the joints, `Workspace.dc_motor`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmModel

CONSTANT, RESISTANCE, INDUCTANCE, VOLTAGE, CURRENT = range(5)  # CONSTANT: N m/A or N/A
COLUMNS = 5
DcMotors: TypeAlias = Annotated[np.ndarray, COLUMNS]


def dc_motor_table(arm: ArmModel) -> np.ndarray:
    """Return the numbers of the motor of each joint, (joints, COLUMNS); without one: zeros."""
    table = np.zeros((len(arm.joint_names), COLUMNS))
    for row, joint in zip(table, (joint for joint in arm.description.joints if joint.moves)):
        motor = joint.dc_motor
        if motor is not None:
            row[CONSTANT], row[RESISTANCE] = joint.gear_ratio * motor.motorconst, motor.resistance
            row[INDUCTANCE], row[VOLTAGE] = motor.inductance, motor.voltage
            row[CURRENT] = motor.current
    return table
