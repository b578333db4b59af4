"""
Motion of the links of the wrench-DAE formulation, each with a frame and a twist of its own.

The paper integrates angles and places of every body and finds that the constraints hold; nothing
in its index-1 system pulls the links back together once they have drifted apart. Its outlook asks
for integration on SE(3) instead, and this is it: frames go on by the exponential of their twist,
and how far links have drifted apart is measured and reported, not mended.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flex_robot_sim.formulations.turning import turn
from flex_robot_sim.formulations.wrench_dae import Solution, WrenchDae
from flex_robot_sim.util.exceptions import SettingError, SimulationError

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmModel

EXPLICIT = ('forward_euler', 'midpoint')
FASTEST = 1e6               # twist of a link that is still a motion       [rad/s, m/s]


class Drift(NamedTuple):
    """How far joints are torn apart, the largest over all of them."""

    gap: float              # between both sides of a joint                 [m]
    tilt: float             # of the axis of one side against the other     [rad]
    rate: float             # twist of one side against the other, not along the axis [1/s, m/s]


class WrenchMotion:
    """An arm as separate links that wrenches hold together."""

    def __init__(self, arm: ArmModel, q: np.ndarray | None = None, qd: np.ndarray | None = None,
                 sections_turn: bool = True) -> None:
        """Start `arm` (ArmModel) at q and qd (n,), by default at rest in its zero position."""
        self.arm, self.system = arm, WrenchDae(arm, sections_turn)
        n, bodies = arm.size, arm.arrays.parent.size
        self.time = 0.0
        self.q = np.zeros(n) if q is None else np.array(q, float)
        self.qd = np.zeros(n) if qd is None else np.array(qd, float)
        self.R, self.p = np.zeros((bodies, 3, 3)), np.zeros((bodies, 3))
        self.V = np.zeros((bodies, 6))
        for i, parent in enumerate(arm.arrays.parent):
            j = arm.arrays.joint[i]
            before = self.V[parent] if parent >= 0 else np.zeros(6)
            seat = self.system.seat(i, before, self.q, self.qd, self.q[j] if j >= 0 else 0.0)
            R, p = self._frame(parent)
            self.R[i], self.p[i] = R @ seat.R, p + R @ seat.p
            self.V[i] = seat.X @ seat.V + (arm.arrays.screw[i] * self.qd[j] if j >= 0 else 0.0)
        self.solution: Solution | None = None

    def step(self, h: float, force: Callable[[np.ndarray, np.ndarray, float], np.ndarray],
             scheme: str = 'midpoint') -> None:
        """
        Go on by h [s].

        :param force: function of q, qd and time that gives the forces on the coordinates (n,).
        :param scheme: 'forward_euler' as in the paper, or 'midpoint', which is of second order.
        """
        if scheme not in EXPLICIT:
            raise SettingError(f'scheme = {scheme!r} must be one of: {", ".join(EXPLICIT)}')
        if not np.abs(self.V).max(initial=0.0) < FASTEST:
            raise SimulationError(f'the links fly apart after {self.time:.6g} s. '
                                  'Take a shorter step')
        state = self.R, self.p, self.V, self.q, self.qd
        self.solution = found = self._solve(force)
        V, qd = self.V, self.qd
        dV, qdd = self._rates(found), found.qdd
        if scheme == 'midpoint':
            self._go_on(state, V, qd, dV, qdd, 0.5 * h)
            self.time += 0.5 * h
            found = self._solve(force)
            V, qd, qdd = self.V, self.qd, found.qdd
            dV = self._rates(found)
            self.time -= 0.5 * h
        self._go_on(state, V, qd, dV, qdd, h)
        self.time += h

    def drift(self) -> Drift:
        """Return the Drift of all joints."""
        gap = tilt = rate = 0.0
        for i, seat in enumerate(self._seats(self.q)):
            j, S = self.arm.arrays.joint[i], self.arm.arrays.screw[i]
            between = self.V[i] - seat.X @ seat.V
            free = between - S * (S @ between)
            parent = self.arm.arrays.parent[i]
            R, p = self._frame(parent)
            moved = seat.R.T @ (R.T @ (self.p[i] - p) - seat.p)
            turned = seat.R.T @ R.T @ self.R[i]
            if j >= 0:
                moved = moved - S[3:] * (S[3:] @ moved)
                if S[:3].any():
                    turned = np.column_stack([S[:3], turned @ S[:3]])
            off = (np.linalg.norm(turned[:, 1] - turned[:, 0]) if turned.shape == (3, 2)
                   else np.linalg.norm(turned - np.eye(3)) / np.sqrt(2))
            gap, tilt = max(gap, float(np.linalg.norm(moved))), max(tilt, float(off))
            rate = max(rate, float(np.linalg.norm(free)))
        return Drift(gap, tilt, rate)

    def _frame(self, parent):
        return (self.R[parent], self.p[parent]) if parent >= 0 else (np.eye(3), np.zeros(3))

    def _seats(self, q):
        arrays = self.arm.arrays
        for i, parent in enumerate(arrays.parent):
            j = arrays.joint[i]
            before = self.V[parent] if parent >= 0 else np.zeros(6)
            yield self.system.seat(i, before, q, self.qd, q[j] if j >= 0 else 0.0)

    def _solve(self, force):
        """Solve the stacked system for the twists as they are; joints have the rates of these."""
        seats = list(self._seats(self.q))
        for i, seat in enumerate(seats):
            j = self.arm.arrays.joint[i]
            if j >= 0:
                self.qd[j] = self.arm.arrays.screw[i] @ (self.V[i] - seat.X @ seat.V)
        return self.system.solve_stacked(seats, self.V, self.q, self.qd,
                                         force(self.q, self.qd, self.time))

    def _rates(self, solution):
        """Rates of the twists, (bodies, 6), with gravity for what it is."""
        rates = solution.twist_rates.copy()
        rates[:, 3:] -= np.einsum('iba,b->ia', self.R, self.arm.arrays.base_acceleration[3:])
        return rates

    def _go_on(self, state, V, qd, dV, qdd, h):
        """Set the state to `state` after h [s] with these rates."""
        R, p, old_V, q, old_qd = state
        self.R, self.p = np.empty_like(R), np.empty_like(p)
        for i, twist in enumerate(V):
            # g exp(h V): the exponential on SE(3)
            turned, J, _ = turn(h * twist[:3], np.zeros(3))
            self.R[i], self.p[i] = R[i] @ turned, p[i] + R[i] @ (J @ (h * twist[3:]))
        self.V = old_V + h * dV
        self.q, self.qd = q + h * qd, old_qd + h * qdd
