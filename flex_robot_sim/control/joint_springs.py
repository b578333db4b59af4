"""Efforts of springs across joints, which motors hold in addition to the weight."""

from dataclasses import replace

import numpy as np

from flex_robot_sim.model.arm_model import ArmModel


def spring_efforts(arm: ArmModel, position: np.ndarray) -> np.ndarray:
    """Efforts (joints,) [N m, N] that hold the springs across joints at positions [rad, m]."""
    return arm.arrays.spring * (position - arm.arrays.spring_rest)


def without_springs(arm: ArmModel) -> ArmModel:
    """Return the arm without springs across its joints."""
    none = np.zeros(arm.arrays.spring.size)
    return replace(arm, arrays=arm.arrays._replace(spring=none))
