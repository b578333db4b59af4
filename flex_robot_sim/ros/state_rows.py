"""Coordinates of an arm in `joint_states` and in `flex_states`."""

import numpy as np

from flex_robot_sim.model.arm_model import ArmModel


def joint_rows(arm: ArmModel) -> np.ndarray:
    """Return the rows of the coordinates that joint_states have: the joints of the URDF."""
    return np.array([arm.idx_q[name] for name in arm.description.urdf_joint_names], int)


def flex_rows(arm: ArmModel) -> np.ndarray:
    """Return the rows of flex_states: elastic coordinates, and those of ball and planar joints."""
    joints = np.setdiff1d(np.arange(len(arm.joint_names)), joint_rows(arm))
    return np.concatenate([np.arange(arm.size)[arm.elastic_q], joints])
