"""PD gains of a joint servo, and the gravity efforts of an arm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flex_robot_sim.control.joint_springs import spring_efforts
from flex_robot_sim.control.loop_feed_forward import hanging_efforts
from flex_robot_sim.control.loop_gravity import closed_pose, loop_gravity
from flex_robot_sim.dynamics.forward_dynamics import inverse_dynamics
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.free_base import without_free_fall
from flex_robot_sim.model.workspace import make_workspace


@dataclass(frozen=True, eq=False)
class Servo:
    """
    PD gains of the joints of an arm, and integral rates.

    Example::

        servo = frs.control.design_servo(frs.load('two_link'))
        servo.frequency, servo.warning
        sim = frs.Simulation(frs.load('two_link'))
        sim.hold([0.0, 0.5, -0.8], *servo.gains)
    """

    stiffness: np.ndarray  # (joints,)                                 [N m/rad, N/m]
    damping: np.ndarray  # (joints,)                                 [N m s/rad, N s/m]
    frequency: float  # of the slowest closed joint if the arm were rigid         [Hz]
    warning: str = ''  # why the gains do not hold the arm, and a remedy
    integral: np.ndarray | None = None  # (joints,)  rates of an integral action         [1/s]

    @property
    def gains(self) -> tuple[np.ndarray, np.ndarray]:
        """Stiffness and damping, as `modes` and `linearise` take them."""
        return self.stiffness, self.damping


def carrying_efforts(arm: ArmModel, position: Sequence[float] | np.ndarray) -> np.ndarray:
    """
    Efforts (joints,) [N m, N] that hold the straight arm at joint positions [rad, m].

    Passive joints take the nearest position that closes the loops, or hang at rest in a tree. The
    gravity in which a free base falls loads no joint.
    """
    arm = without_free_fall(arm)
    if arm.closed_loops:
        return loop_gravity(arm, closed_pose(arm, position))
    if not arm.actuated.all():
        return hanging_efforts(arm, np.array(position, float))
    q, zero, force = np.zeros((3, arm.size))
    q[: len(position)] = position
    inverse_dynamics(arm.arrays, q, zero, zero, make_workspace(arm.arrays), force)
    return force[: len(position)] + spring_efforts(arm, q[: len(position)])
