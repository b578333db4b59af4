"""Largest pushes and payloads on the sliders of a page: large enough to be visible."""

import numpy as np

from flex_robot_sim.analysis.differences import difference
from flex_robot_sim.analysis.tangent import spring_stiffness
from flex_robot_sim.display.extent import reach
from flex_robot_sim.display.posture import Posture
from flex_robot_sim.display.rviz_layout import round_length
from flex_robot_sim.model.arm_model import ArmModel

PUSH_DEFLECTION = 0.05  # deflection by the largest push, in reaches
DIFFERENCE_STEP = 1e-5  # of finite differences
RIGID_ARM_PUSH_RATIO = 0.5  # largest push of a rigid arm over its weight
PAYLOAD_MASS_RATIO = 0.3  # largest payload over the moving mass
EARTH_GRAVITY = 9.81  # [m/s2]
MAX_FORCE_N = 1e6  # of a push                                                      [N]
PUSH_DIRECTIONS = {
    f'{sign}{axis}': {'+': 1.0, '-': -1.0}[sign] * np.eye(3)[k]
    for k, axis in enumerate('xyz')
    for sign in '+-'
}
"""Unit vectors in the base frame."""


def compliance(arm: ArmModel, link: str) -> np.ndarray:
    """
    Return the compliance of a link along forces in x, y, z of the base, (3,) [m/N].

    Valid for the zero pose, with locked motors and without geometric stiffness from gravity.
    """
    posture, zero = Posture(arm), np.zeros(arm.size)
    frame = arm.frames[link]

    def origin(q):
        posture.take(q)
        return np.array(posture.frame(frame)[1])

    flexible = arm.passive_q
    if not flexible.size:
        return np.zeros(3)
    J = np.column_stack(
        [
            difference(origin, zero, DIFFERENCE_STEP * np.eye(arm.size)[k]) / DIFFERENCE_STEP
            for k in flexible
        ]
    )
    K = spring_stiffness(arm, zero)[np.ix_(flexible, flexible)]
    return np.einsum('ak,ka->a', J, np.linalg.lstsq(K, J.T, rcond=None)[0])


def moving_mass(arm: ArmModel) -> float:
    """Moving mass of an arm [kg]."""
    arrays = arm.arrays
    return float(arrays.inertia[:, 3, 3].sum() + arrays.point_mass.sum())


def largest_push(arm: ArmModel, link: str) -> tuple[float, str]:
    """Return a force [N] that visibly bends the arm, and its most compliant direction."""
    compliances = compliance(arm, link)
    if compliances.max() <= 0.0:
        weight = max(moving_mass(arm), 1e-3) * EARTH_GRAVITY
        return round_length(min(RIGID_ARM_PUSH_RATIO * weight, MAX_FORCE_N)), '-z'
    force = PUSH_DEFLECTION * reach(arm.description) / float(compliances.max())
    return (round_length(min(force, MAX_FORCE_N)), f'-{"xyz"[int(compliances.argmax())]}')


def largest_payload(arm: ArmModel) -> float:
    """Return a plausible largest payload of an arm [kg]."""
    return round_length(PAYLOAD_MASS_RATIO * max(moving_mass(arm), 1e-3))
