"""A simulated fall of Canadarm2."""

from typing import NamedTuple

import numpy as np

from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.reproduce.motion import Run


class Drop(NamedTuple):
    """One simulated fall."""

    arm: ArmModel
    run: Run
    outline_time: np.ndarray    # (k,)             times of `outline`                   [s]
    outline: np.ndarray         # (k, points, 3)   of the arm, in the base frame        [m]
    energy_error: np.ndarray    # (k,)             of the energy balance, over the kinetic energy
