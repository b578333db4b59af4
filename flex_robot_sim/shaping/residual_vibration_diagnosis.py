"""
Diagnosis of the motion after a move: link vibration, or the slow response of a soft servo.

A soft servo adds modes that are slower than those of the links and well damped. They dominate the
motion after a move then, and neither shapers nor link feedback reduce them.
"""

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.mode_table import RINGS
from flex_robot_sim.analysis.natural_modes import modes
from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.model.arm_model import ArmModel


def slow_servo_diagnosis(arm: ArmModel, position: ArrayLike,
                         gains: tuple[ArrayLike, ArrayLike] | None) -> str:
    """
    Describe the slowest mode if it is well damped, a servo mode; else ''.

    :param position: of the joints, (joints,) [rad, m].
    :param gains: (stiffness, damping) of the servo; None: the joints are locked.
    """
    if gains is None:
        return ''
    q = equilibrium(arm, np.asarray(position, float)).coordinates
    found = modes(arm, q, gains=gains)
    rows = np.flatnonzero(found.frequencies > 0.0)
    if not rows.size or found.damping_ratios[rows[0]] < RINGS:
        return ''
    frequency, ratio = found.frequencies[rows[0]], found.damping_ratios[rows[0]]
    return (f'the servo is soft and comes to rest slowly by itself, at {frequency:.2g} Hz with '
            f'{ratio:.0%} of critical damping')
