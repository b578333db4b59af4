"""
Textbook joint-space control: PD with gravity compensation, and computed torque.

Both take the arm as rigid. With its mass matrix M and nonlinear effects h, the efforts of computed
torque are

    u = M(q) (q_r'' + 2 z w (q_r' - q') + w^2 (q_r - q)) + h(q, q').                  (C30)

The errors of a rigid arm then obey e'' + 2 z w e' + w^2 e = 0. Joints without a motor
accelerate as the others and their own springs and dampers make them. Both laws need encoders only,
and have no state of their own.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.constraint_terms import gaps_and_jacobian, second_rates
from flex_robot_sim.analysis.drive_conditions import Gains, servo_gains
from flex_robot_sim.analysis.joint_space_inertia import rigid_coordinates, rigid_moves
from flex_robot_sim.analysis.loop_motion import null_space_basis, pseudo_inverse
from flex_robot_sim.analysis.tangent import residual_force
from flex_robot_sim.control.free_base import actuated_arm
from flex_robot_sim.control.gains import carrying_efforts
from flex_robot_sim.control.joint_springs import spring_efforts
from flex_robot_sim.dynamics.forward_dynamics import inverse_dynamics
from flex_robot_sim.dynamics.loads import make_loads
from flex_robot_sim.dynamics.mass_matrix import mass_matrix
from flex_robot_sim.feedback.measurement import Measurement, checked_field
from flex_robot_sim.model.arguments import checked, expect_arm, positive
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.workspace import make_workspace
from flex_robot_sim.motion.joint_motion import Motion
from flex_robot_sim.motion.limits import effort_limits
from flex_robot_sim.motion.reference_function import ReferenceFunction
from flex_robot_sim.util.exceptions import SettingError

Reference = ArrayLike | Motion | Callable[[float], ArrayLike]


class PdControl:
    """
    PD control of the joints, with the gravity efforts of the rigid arm at the reference.

    Example::

        arm = frs.load('two_link')
        law = frs.control.PdControl(arm, reference=[0.0, 0.5, -0.8], gains=(40.0, 4.0))
        sim = frs.Simulation(arm)
        sim.effort = law.step(frs.feedback.measure(sim))
    """

    def __init__(
        self, arm: ArmModel, *, reference: Reference, gains: Gains, limits: ArrayLike | None = None
    ) -> None:
        """
        Prepare the law for an arm.

        :param reference: a pose (joints,) [rad, m], a Motion, or a function of time [s] that
            returns positions, velocities and accelerations (3, joints).
        :param gains: (stiffness, damping), numbers or (joints,) each
            [N m/rad, N m s/rad; N/m, N s/m].
        :param limits: largest efforts, (joints,) [N m, N]; default: those of the motors.
        """
        expect_arm(arm, closed_loops=True, free_base=True)
        self._arm = arm = actuated_arm(arm)
        self.reference = ReferenceFunction(reference, arm.joint_names)
        self.stiffness, self.damping = servo_gains(arm, gains)
        self.limits = _checked_limits(arm, limits)

    def step(self, measurement: Measurement) -> np.ndarray:
        """Efforts (joints,) [N m, N] for time, positions and velocities of a Measurement."""
        position, velocity = (
            checked_field(measurement, field, self._arm.joint_names)
            for field in ('position', 'velocity')
        )
        target, rate, _ = self.reference(measurement.time)
        effort = (
            carrying_efforts(self._arm, target)
            + self.stiffness * (target - position)
            + self.damping * (rate - velocity)
        )
        return np.clip(effort, -self.limits, self.limits)

    def reset(self) -> None:
        """Do nothing: the law has no state."""


class ComputedTorque:
    """
    Computed torque (C30): inverse dynamics of the rigid arm, linearised by feedback.

    Example::

        arm = frs.load('two_link')
        motion = frs.planning.minimum_jerk_motion([0.0] * 3, [0.3, 0.5, -0.8], duration=1.0)
        law = frs.control.ComputedTorque(arm, reference=motion, frequency=2.0)
        sim = frs.Simulation(arm)
        sim.effort = law.step(frs.feedback.measure(sim))
    """

    def __init__(
        self,
        arm: ArmModel,
        *,
        reference: Reference,
        frequency: ArrayLike = 1.0,
        damping_ratio: ArrayLike = 1.0,
        limits: ArrayLike | None = None,
    ) -> None:
        """
        Prepare the law for an arm, with the dynamics of the errors.

        :param reference: a pose (joints,) [rad, m], a Motion, or a function of time [s] that
            returns positions, velocities and accelerations (3, joints).
        :param frequency: natural frequency of the error dynamics, a number or (joints,) [Hz].
        :param damping_ratio: of the error dynamics, a number or (joints,).
        :param limits: largest efforts, (joints,) [N m, N]; default: those of the motors.
        """
        expect_arm(arm, closed_loops=True, free_base=True)
        arm = actuated_arm(arm)
        self._arm, names = arm, arm.joint_names
        self.reference = ReferenceFunction(reference, names)
        rate = 2 * np.pi * positive('frequency', frequency, names)
        self._stiffness = rate**2
        self._damping = 2 * positive('damping_ratio', damping_ratio, names) * rate
        self.limits = _checked_limits(arm, limits)
        self._work = make_workspace(arm.arrays)
        self._columns = np.zeros((0, 0))
        if not (arm.closed_loops or arm.has_free_base):
            self._columns = rigid_moves(arm)

    def step(self, measurement: Measurement) -> np.ndarray:
        """Efforts (joints,) [N m, N] for time, positions and velocities of a Measurement."""
        position, velocity = (
            checked_field(measurement, field, self._arm.joint_names)
            for field in ('position', 'velocity')
        )
        target, rate, acceleration = self.reference(measurement.time)
        wanted = (
            acceleration
            + self._damping * (rate - velocity)
            + self._stiffness * (target - position)
        )
        if self._arm.closed_loops:
            columns, q, v, a = self._in_loops(position, velocity, wanted)
        elif self._arm.has_free_base:
            columns, q, v, a = self._on_free_base(position, velocity, wanted)
        else:
            columns, wanted = self._columns, np.where(self._arm.actuated, wanted, 0.0)
            q, v, a = (columns @ values for values in (position, velocity, wanted))
            a += self._passive_accelerations(q, v, a)
        force = np.zeros(q.size)
        inverse_dynamics(self._arm.arrays, q, v, a, self._work, force)
        joints = self._arm.joint_q
        force[joints] += spring_efforts(self._arm, q[joints])
        return np.clip(force @ columns, -self.limits, self.limits)

    def _passive_accelerations(self, q, v, a):
        """Accelerations (n,) of passive joints in a tree, where the others have those of a."""
        arm, columns = self._arm, self._columns[:, ~self._arm.actuated]
        if not columns.size:
            return np.zeros(arm.size)
        missing = columns.T @ residual_force(arm, make_loads(arm), q, v, a)
        M = columns.T @ mass_matrix(arm.arrays, q) @ columns
        return -columns @ (pseudo_inverse(M)[0] @ missing)  # axes of a ball joint may coincide

    def _on_free_base(self, position, velocity, wanted):
        """Motion by each motor (n, joints), and coordinates, rates and accelerations (n,)."""
        arm, q = self._arm, rigid_coordinates(self._arm, position)
        columns, base = rigid_moves(arm, q), arm.base_q
        v, a = columns @ velocity, columns @ wanted
        missing = residual_force(arm, make_loads(arm, free_base=True), q, v, a)[base]
        a[base] -= np.linalg.solve(mass_matrix(arm.arrays, q)[base, base], missing)
        return columns, q, v, a

    def _in_loops(self, position, velocity, wanted):
        """Motion by each motor (n, joints), and coordinates, rates and accelerations (n,)."""
        arm, driven = self._arm, self._arm.actuated
        q = rigid_coordinates(arm, position)
        columns, zero = rigid_moves(arm, q), np.zeros(arm.size)
        v = columns @ np.where(driven, velocity, 0.0)
        follow = null_space_basis(arm, gaps_and_jacobian(arm, q)[1], arm.passive_q).follow
        a = follow(-second_rates(arm, q, v, zero)[:, None])[:, 0]
        return columns, q, v, a + columns @ np.where(driven, wanted, 0.0)

    def reset(self) -> None:
        """Do nothing: the law has no state."""


def _checked_limits(arm, limits):
    if limits is None:
        return effort_limits(arm)
    limits = checked('limits', limits, arm.joint_names)
    if not (limits[arm.actuated] > 0.0).all():
        raise SettingError('limits must be > 0, one per joint')
    return limits
