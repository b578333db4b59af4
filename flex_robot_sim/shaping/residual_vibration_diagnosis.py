"""
Whether what an arm does after a move is ringing at all, or a servo that comes to rest slowly.

A servo that is soft has modes of its own, slower than those of the links and well damped. They are
what is left of a move then, and neither shapers nor feedback from the links mend them.
"""

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.mode_table import RINGS
from flex_robot_sim.analysis.natural_modes import modes
from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.model.arm_model import ArmModel


def slow_servo(arm: ArmModel, position: ArrayLike,
               gains: tuple[ArrayLike, ArrayLike] | None) -> str:
    """
    Say how the slowest mode comes to rest, if it is one that does not ring; else ''.

    :param position: of the joints, (joints,) [rad, m].
    :param gains: (stiffness, damping) of the servo that holds them; None: they are locked.
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
