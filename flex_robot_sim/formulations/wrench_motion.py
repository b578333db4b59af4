"""
Motion of the links of the wrench-DAE formulation; each link has its own frame and twist.

The paper integrates angles and positions of every body and reports that the constraints hold. Its
index-1 system does not correct constraint drift. Its outlook proposes integration on SE(3), which
this module implements: frames advance by the exponential of their twist. Constraint drift of the
joints is measured and reported, not corrected.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from flex_robot_sim.formulations.turning import rotation_and_jacobian
from flex_robot_sim.formulations.wrench_dae import Solution, WrenchDae
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.exceptions import SettingError, SimulationError

EXPLICIT_SCHEMES = ('forward_euler', 'midpoint')
MAX_TWIST = 1e6  # beyond it, the integration has diverged      [rad/s, m/s]


class Drift(NamedTuple):
    """Constraint drift of the joints, the largest over all of them."""

    gap: float  # distance between both sides of a joint        [m]
    tilt: float  # angle between the axes of both sides          [rad]
    rate: float  # relative twist of both sides off the axis     [1/s, m/s]


class WrenchMotion:
    """An arm as separate links, held together by the wrenches of the joints."""

    def __init__(
        self, arm: ArmModel, q: np.ndarray | None = None, qd: np.ndarray | None = None
    ) -> None:
        """Start `arm` (ArmModel) at q and qd (n,), by default at rest in its zero position."""
        self.arm, self.system = arm, WrenchDae(arm)
        n, bodies = arm.size, arm.arrays.parent.size
        self.time = 0.0
        self.q = np.zeros(n) if q is None else np.array(q, float)
        self.qd = np.zeros(n) if qd is None else np.array(qd, float)
        self.R, self.p = np.zeros((bodies, 3, 3)), np.zeros((bodies, 3))
        self.V = np.zeros((bodies, 6))
        for i, parent in enumerate(arm.arrays.parent):
            j = arm.arrays.joint[i]
            parent_twist = self.V[parent] if parent >= 0 else np.zeros(6)
            attachment = self.system.attachment(
                i, parent_twist, self.q, self.qd, self.q[j] if j >= 0 else 0.0
            )
            R, p = self._frame(parent)
            self.R[i], self.p[i] = R @ attachment.R, p + R @ attachment.p
            self.V[i] = attachment.X @ attachment.V + (
                arm.arrays.screw[i] * self.qd[j] if j >= 0 else 0.0
            )
        self.solution: Solution | None = None

    def step(
        self,
        h: float,
        force: Callable[[np.ndarray, np.ndarray, float], np.ndarray],
        scheme: str = 'midpoint',
    ) -> None:
        """
        Advance by h [s].

        :param force: function of q, qd and time that returns the forces on the coordinates (n,).
        :param scheme: 'forward_euler' as in the paper, or 'midpoint', which is of second order.
        """
        if scheme not in EXPLICIT_SCHEMES:
            raise SettingError(
                f'scheme = {scheme!r} must be one of: {", ".join(EXPLICIT_SCHEMES)}'
            )
        if not np.abs(self.V).max(initial=0.0) < MAX_TWIST:
            raise SimulationError(
                f'the links fly apart after {self.time:.6g} s. Take a shorter step'
            )
        state = self.R, self.p, self.V, self.q, self.qd
        self.solution = solution = self._solve(force)
        V, qd = self.V, self.qd
        dV, qdd = self._rates(solution), solution.qdd
        if scheme == 'midpoint':
            self._advance_state(state, V, qd, dV, qdd, 0.5 * h)
            self.time += 0.5 * h
            solution = self._solve(force)
            V, qd, qdd = self.V, self.qd, solution.qdd
            dV = self._rates(solution)
            self.time -= 0.5 * h
        self._advance_state(state, V, qd, dV, qdd, h)
        self.time += h

    def drift(self) -> Drift:
        """Return the Drift of all joints."""
        gap = tilt = rate = 0.0
        for i, attachment in enumerate(self._attachments(self.q)):
            j, S = self.arm.arrays.joint[i], self.arm.arrays.screw[i]
            relative_twist = self.V[i] - attachment.X @ attachment.V
            squared = S @ S or 1.0  # above 1 for a screw joint
            constraint_twist = relative_twist - S * (S @ relative_twist) / squared
            parent = self.arm.arrays.parent[i]
            R, p = self._frame(parent)
            offset = attachment.R.T @ (R.T @ (self.p[i] - p) - attachment.p)
            relative_R = attachment.R.T @ R.T @ self.R[i]
            if j >= 0:
                along = S[3:] / (np.linalg.norm(S[3:]) or 1.0)
                offset = offset - along * (along @ offset)
                if S[:3].any():
                    relative_R = np.column_stack([S[:3], relative_R @ S[:3]])
            angle = (
                np.linalg.norm(relative_R[:, 1] - relative_R[:, 0])
                if relative_R.shape == (3, 2)
                else np.linalg.norm(relative_R - np.eye(3)) / np.sqrt(2)
            )
            gap, tilt = max(gap, float(np.linalg.norm(offset))), max(tilt, float(angle))
            rate = max(rate, float(np.linalg.norm(constraint_twist)))
        return Drift(gap, tilt, rate)

    def _frame(self, parent):
        return (self.R[parent], self.p[parent]) if parent >= 0 else (np.eye(3), np.zeros(3))

    def _attachments(self, q):
        arrays = self.arm.arrays
        for i, parent in enumerate(arrays.parent):
            j = arrays.joint[i]
            parent_twist = self.V[parent] if parent >= 0 else np.zeros(6)
            yield self.system.attachment(i, parent_twist, q, self.qd, q[j] if j >= 0 else 0.0)

    def _solve(self, force):
        """Solve the stacked system for the current twists; joint rates follow from them."""
        attachments = list(self._attachments(self.q))
        for i, attachment in enumerate(attachments):
            j = self.arm.arrays.joint[i]
            if j >= 0:
                S = self.arm.arrays.screw[i]
                self.qd[j] = S @ (self.V[i] - attachment.X @ attachment.V) / (S @ S)
        return self.system.solve_stacked(
            attachments, self.V, self.q, self.qd, force(self.q, self.qd, self.time)
        )

    def _rates(self, solution):
        """Rates of the twists, (bodies, 6), without the acceleration of the base by gravity."""
        rates = solution.twist_rates.copy()
        rates[:, 3:] -= np.einsum('iba,b->ia', self.R, self.arm.arrays.base_acceleration[3:])
        return rates

    def _advance_state(self, state, V, qd, dV, qdd, h):
        """Advance `state` by h [s] at these rates, and store the result."""
        R, p, old_V, q, old_qd = state
        self.R, self.p = np.empty_like(R), np.empty_like(p)
        for i, twist in enumerate(V):
            # g exp(h V): the exponential on SE(3)
            rotation, J, _ = rotation_and_jacobian(h * twist[:3], np.zeros(3))
            self.R[i], self.p[i] = R[i] @ rotation, p[i] + R[i] @ (J @ (h * twist[3:]))
        self.V = old_V + h * dV
        self.q, self.qd = q + h * qd, old_qd + h * qdd
