"""How hard a page pushes at a tip, and how much it hangs there: as much as can be seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flex_robot_sim.analysis.tangent import difference, driven, spring_stiffness
from flex_robot_sim.display.extent import reach
from flex_robot_sim.display.layout import round_length
from flex_robot_sim.display.posture import Posture

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmModel

MOVED = 0.05            # how far the largest push bends the arm, in reaches
STEP = 1e-5             # of the differences
STIFF = 0.5             # the largest push of an arm that nothing gives of, over its weight
CARRIED = 0.3           # the largest payload, over the mass of what moves
EARTH = 9.81            # [m/s2]
MAX_FORCE = 1e6         # of a push                                                          [N]
PUSHES = {f'{sign}{axis}': {'+': 1.0, '-': -1.0}[sign] * np.eye(3)[k]
              for k, axis in enumerate('xyz') for sign in '+-'}
"""Of the base frame."""


def compliance(arm: ArmModel, link: str) -> np.ndarray:
    """
    How far forces along x, y, z of the base move a link along themselves, (3,) [m/N].

    In the zero pose, with the motors locked and without what weight does to it.
    """
    posture, zero = Posture(arm), np.zeros(arm.size)
    frame = arm.frames[link]

    def place(q):
        posture.take(q)
        return np.array(posture.frame(frame)[1])
    gives = np.setdiff1d(np.arange(arm.size), driven(arm))
    if not gives.size:
        return np.zeros(3)
    J = np.column_stack([difference(place, zero, STEP * np.eye(arm.size)[k]) / STEP
                         for k in gives])
    K = spring_stiffness(arm, zero)[np.ix_(gives, gives)]
    return np.einsum('ak,ka->a', J, np.linalg.lstsq(K, J.T, rcond=None)[0])


def moving_mass(arm: ArmModel) -> float:
    """Mass of all that moves of an arm [kg]."""
    arrays = arm.arrays
    return float(arrays.inertia[:, 3, 3].sum() + arrays.point_mass.sum())


def largest_push(arm: ArmModel, link: str) -> tuple[float, str]:
    """Return a force that bends the arm well [N], and the DIRECTION in which it gives most."""
    gives = compliance(arm, link)
    if gives.max() <= 0.0:
        weight = max(moving_mass(arm), 1e-3) * EARTH
        return round_length(min(STIFF * weight, MAX_FORCE)), '-z'
    force = MOVED * reach(arm.description) / float(gives.max())
    return (round_length(min(force, MAX_FORCE)),
            f'-{"xyz"[int(gives.argmax())]}')


def largest_payload(arm: ArmModel) -> float:
    """Return a mass that an arm may carry, as far as can be guessed [kg]."""
    return round_length(CARRIED * max(moving_mass(arm), 1e-3))
