"""Linear model of an arm at a pose, with a servo that is sampled."""

import math

import numpy as np

from flex_robot_sim.analysis.constraint_terms import constraint_stiffness, gaps_and_jacobian
from flex_robot_sim.analysis.joint_space_inertia import (
    rigid_coordinates,
    rigid_inertia,
    rigid_moves,
)
from flex_robot_sim.analysis.linear import zero_order_hold
from flex_robot_sim.analysis.loop_motion import null_space_basis
from flex_robot_sim.analysis.tangent import tangent
from flex_robot_sim.control.loop_gravity import gravity_forces
from flex_robot_sim.dynamics.loads import make_loads
from flex_robot_sim.dynamics.mass_matrix import mass_matrix
from flex_robot_sim.dynamics.stability import spring_matrices
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.simulation.loop_timing import LoopTiming

MIN_INERTIA = 1e-9  # of a motion, over those of its coordinates


class SampledPose:
    """
    Sampled linear model of an arm at a pose, with undeformed links.

    In closed loops, its states are the motions that keep the loops closed (T82), and the values of
    passive joints are zero.
    """

    def __init__(
        self, arm: ArmModel, pose: np.ndarray, sampling: LoopTiming, feedback: str
    ) -> None:
        """
        Linearise the arm at joint positions (joints,) [rad, m].

        :param feedback: side of the drives that is measured, 'motor' or 'link'.
        """
        q, zero, drives = rigid_coordinates(arm, pose), np.zeros(arm.size), arm.motor_q
        rigid_motion = rigid_moves(arm, q)
        K = tangent(arm, make_loads(arm, closed_loops=True, free_base=True), q, zero, zero)[1]
        # friction holds at rest, and does not in motion
        M, D = mass_matrix(arm.arrays, q), spring_matrices(arm.arrays, q)[1]
        joints = slice(drives.size)
        motor_rows, joint_rows = np.eye(arm.size)[drives], np.eye(arm.size)[joints]
        if arm.closed_loops or not arm.actuated.all():
            K = K - constraint_stiffness(arm, q, gravity_forces(arm, q)[1])
            W = gaps_and_jacobian(arm, q)[1]
            N = _moving(null_space_basis(arm, W, np.arange(arm.size)).N, M)
            M, D, stiffness = (N.T @ matrix @ N for matrix in (M, D, K))
            motor_rows, joint_rows = (
                np.where(arm.actuated[:, None], rows @ N, 0.0) for rows in (motor_rows, joint_rows)
            )
        else:
            stiffness = K
        n = len(M)
        self.inertia = rigid_inertia(arm, pose)
        joint_stiffness = rigid_motion.T @ K @ rigid_motion
        self.joint_stiffness = (joint_stiffness + joint_stiffness.T) / 2
        inverse = np.linalg.inv(M)
        self._A = np.block([[np.zeros((n, n)), np.eye(n)], [-inverse @ stiffness, -inverse @ D]])
        self._B = np.vstack([np.zeros((n, drives.size)), inverse @ motor_rows.T])
        self._measured = joint_rows if feedback == 'link' else motor_rows
        self._sampling = sampling
        self._step = (self._A, self._B)
        if sampling.period:
            self._step = zero_order_hold(self._A, self._B, sampling.period)
        mobility = np.diag(motor_rows @ inverse @ motor_rows.T)
        self.light = np.divide(  # inertia of each drive while the others are free
            1.0, mobility, where=mobility > 0.0, out=np.zeros(drives.size)
        )

    def holds_weight(self, stiffness: np.ndarray) -> bool:
        """Whether the rigid arm is statically stable with a stiffness (joints,)."""
        driven = np.flatnonzero(np.diag(self.inertia))
        matrix = self.joint_stiffness + np.diag(stiffness)
        return bool(np.linalg.eigvalsh(matrix[np.ix_(driven, driven)])[0] > 0.0)

    def growth(
        self,
        stiffness: np.ndarray,
        damping: np.ndarray,
        is_sampled: bool = True,
        integral: np.ndarray | None = None,
    ) -> float:
        """Growth rate [1/s] of the least stable motion; `integral`: rates s w (joints,) [1/s]."""
        joints, n = self._measured.shape
        F = np.hstack([stiffness[:, None] * self._measured, damping[:, None] * self._measured])
        period = self._sampling.period if is_sampled else 0.0
        A, B = self._step if period else (self._A, self._B)
        zero, identity = np.zeros((joints, joints)), np.eye(joints)
        is_late = bool(period and self._sampling.delay)
        if integral is None:
            step = np.block([[A, B], [-F, zero]]) if is_late else A - B @ F
        else:  # states v' = -s w K y
            G = np.zeros((joints, 2 * n))
            G[:, :n] = (integral * stiffness)[:, None] * self._measured
            if not period:
                step = np.block([[A - B @ F, B], [-G, zero]])
            elif is_late:
                G *= period
                step = np.block([[A, B, 0 * B], [-F - G, zero, identity], [-G, zero, identity]])
            else:
                G *= period
                step = np.block([[A - B @ (F + G), B], [-G, identity]])
        values = np.linalg.eigvals(step)
        return math.log(np.abs(values).max()) / period if period else values.real.max()


def _moving(N, M):
    """Return N (n, k) without the motions that move no mass: two axes of a ball joint coincide."""
    inertia = N.T @ M @ N
    scale = np.sqrt(np.diag(inertia))
    values, vectors = np.linalg.eigh(inertia / np.outer(scale, scale))
    if values[0] > MIN_INERTIA:
        return N
    return N @ (vectors[:, values > MIN_INERTIA] / scale[:, None])
