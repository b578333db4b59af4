"""
An arm near a pose, as feedback is designed for it: sampled, late, and with few modes if wanted.

Near its equilibrium in a pose the arm obeys M x'' + D x' + K x = S u (T50). A loop sees it every
T and acts L later, so that the state of the sampled arm holds the efforts under way (C20). What it
sees are the positions and rates of its joints, and the curvatures of its flex sensors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.analysis.sampling import zero_order_hold
from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.analysis.tangent import driven, tangent
from flex_robot_sim.dynamics.loads import make_loads
from flex_robot_sim.dynamics.mass_matrix import mass_matrix
from flex_robot_sim.dynamics.stability import spring_matrices
from flex_robot_sim.model.arm_model import ArmModel, with_stiffness
from flex_robot_sim.util.eigenproblem import eigh
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.summary import summarized


class Loop(NamedTuple):
    """When a feedback law sees the arm, and how late it acts."""

    period: float = 1e-3        # between two samples                                       [s]
    delay: float = 1e-3         # from a sample to the effort that answers it               [s]


class Sampled(NamedTuple):
    """x[k+1] = A x[k] + old u[k-d] + new u[k-d+1]; without delay all of it is in `new`."""

    A: np.ndarray               # (s, s)
    old: np.ndarray             # (s, joints)
    new: np.ndarray             # (s, joints)
    # d, periods of delay, rounded up; tuples have a `count`, too
    count: int                  # type: ignore[assignment]


@summarized
@dataclass(frozen=True, eq=False)
class PoseModel:
    """Small motions about the equilibrium in a pose; coordinates x = shapes @ part (n, p)."""

    arm: ArmModel
    M: np.ndarray               # (p, p)
    D: np.ndarray               # (p, p)
    K: np.ndarray               # (p, p)
    push: np.ndarray            # (p, joints)  what efforts act on
    seen: np.ndarray            # (joints, p)  joints as encoders see them
    gauges: np.ndarray          # (k, p)       curvatures                                   [1/m]
    shapes: np.ndarray          # (n, p)
    rest: np.ndarray            # (n,)         coordinates of the equilibrium
    effort: np.ndarray          # (joints,)    that holds it                             [N m, N]
    seen_rest: np.ndarray       # (joints,)    what encoders see there                  [rad, m]
    gauges_rest: np.ndarray     # (k,)         and flex sensors                            [1/m]

    @cached_property
    def A(self) -> np.ndarray:
        """Slopes (2 p, 2 p) of the rates of (x, x') with them."""
        p, inverse = len(self.M), np.linalg.inv(self.M)
        return np.block([[np.zeros((p, p)), np.eye(p)], [-inverse @ self.K, -inverse @ self.D]])

    @cached_property
    def B(self) -> np.ndarray:
        """Likewise with efforts, (2 p, joints)."""
        return np.vstack([np.zeros_like(self.push), np.linalg.solve(self.M, self.push)])

    def sampled(self, loop: Loop) -> Sampled:
        """Return the Sampled arm of a Loop, exactly, whatever share of a period its delay is."""
        T = loop.period
        count = math.ceil(loop.delay / T - 1e-9)
        early = count * T - loop.delay          # how long the newer effort acts
        if count == 0 or early < 1e-9 * T:
            A, B = zero_order_hold(self.A, self.B, T)
            nothing = np.zeros_like(B)
            return Sampled(A, *((B, nothing) if count else (nothing, B)), count)
        first, second = (zero_order_hold(self.A, self.B, time) for time in (T - early, early))
        return Sampled(second[0] @ first[0], second[0] @ first[1], second[1], count)

    def held(self, stiffness: ArrayLike, damping: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Undamped squares of rates (p,) [1/s2] and shapes (p, p) with PD gains of the drives."""
        return eigh(self.K_symmetric + self.seen.T @ np.diag(stiffness) @ self.seen, self.M)

    @property
    def K_symmetric(self) -> np.ndarray:
        """Stiffness (p, p) without what only followers have."""
        return (self.K + self.K.T) / 2

    def reduced(self, count: int, like: PoseModel | None = None) -> PoseModel:
        """
        Keep drives and the first modes that are left when these stand (Craig & Bampton, 1968).

        What the arm does under slow efforts is kept exactly: modes that are left out still give.

        :param like: PoseModel reduced likewise in another pose, whose modes these resemble.
        """
        motors, n = driven(self.arm), len(self.M)
        others = np.setdiff1d(np.arange(n), motors)
        count = min(count, others.size)
        part = np.ix_(others, others)
        K = self.K_symmetric
        modes = eigh(K[part], self.M[part])[1][:, :count] if count else \
            np.zeros((others.size, 0))
        T = np.zeros((n, motors.size + count))
        T[motors, range(motors.size)] = 1.0
        if others.size:
            T[others, :motors.size] = -np.linalg.solve(K[part], K[np.ix_(others, motors)])
        if like is not None and count:
            # the rotation of the modes that brings them nearest to the others
            u, _, v = np.linalg.svd(modes.T @ self.M[part] @ like.shapes[others, motors.size:])
            modes = modes @ u @ v
        T[others, motors.size:] = modes
        return replace(self, M=T.T @ self.M @ T, D=T.T @ self.D @ T, K=T.T @ self.K @ T,
                       push=T.T @ self.push, seen=self.seen @ T, gauges=self.gauges @ T, shapes=T)


def pose_model(arm: ArmModel, position: ArrayLike, feedback: str = 'motor',
               stiffness: float = 1.0) -> PoseModel:
    """
    Return the PoseModel of an ArmModel in a pose.

    :param position: of the joints, (joints,) [rad, m].
    :param feedback: side of the drives that the encoders see, 'motor' or 'link'.
    :param stiffness: factor on that of links and gears: what an arm may have that is not as
        described.
    """
    arm = with_stiffness(arm, stiffness)
    rest = equilibrium(arm, position)
    q, still = rest.coordinates, np.zeros(arm.size)
    K = tangent(arm, make_loads(arm), q, still, still)[1]
    units, drives = np.eye(arm.size), driven(arm)
    seen = drives if feedback == 'motor' else np.arange(drives.size)
    # friction holds at rest, and does not in motion
    gauges = flex_sensors(arm).matrix
    return PoseModel(arm, mass_matrix(arm.arrays, q), spring_matrices(arm.arrays)[1], K,
                     units[:, drives], units[seen], gauges, units, q, rest.effort, q[seen],
                     gauges @ q)


def checked_loop(loop: Loop) -> Loop:
    """Return a Loop of sound numbers; SettingError if they are not."""
    period, delay = float(loop.period), float(loop.delay)
    if not 0.0 < period < math.inf:
        raise SettingError(f'the period of a loop = {period!r} must be > 0 and finite [s]')
    if not 0.0 <= delay <= 1000 * period:
        raise SettingError(f'the delay of a loop = {delay!r} must be >= 0 and at most 1000 of its '
                           f'periods of {period:g} s')
    return Loop(period, delay)


def closing(arm_step: Sampled, laws: Sequence[np.ndarray], outputs: np.ndarray) -> np.ndarray:
    """
    Matrix of one step of a Sampled arm that a linear law closes.

    :param laws: (P, Q, R, S): z[k] = P z[k-1] + Q y[k], u[k] = R z[k-1] + S y[k].
    :param outputs: rows (y, s) of what the law sees of the state.
    """
    A, old, new, d = arm_step
    P, Q, R, S = laws
    s, m, z = len(A), old.shape[1], len(P)
    size = s + m * d + z
    step = np.zeros((size, size))
    u = np.zeros((m, size))                     # the effort by the state of all
    u[:, :s], u[:, s + m * d:] = S @ outputs, R
    step[:s, :s] = A
    if d == 0:
        step[:s] += new @ u
    else:
        late = s + m * (d - 1)
        step[:s, late:late + m] += old          # u[k-d]
        if d == 1:
            step[:s] += new @ u
        else:
            step[:s, late - m:late] += new      # u[k-d+1]
        step[s:s + m] = u
        step[s + m:s + m * d, s:s + m * (d - 1)] = np.eye(m * (d - 1))
    step[s + m * d:, :s], step[s + m * d:, s + m * d:] = Q @ outputs, P
    return step


def rates_of(step: np.ndarray, period: float) -> np.ndarray:
    """Rates [1/s] of the motions of a step, one of every conjugate pair, slowest first."""
    values = np.linalg.eigvals(step)
    values = values[np.abs(values) > 1e-12]
    rates = np.log(values.astype(complex)) / period
    rates = rates[rates.imag >= -1e-9]
    return rates[np.argsort(np.abs(rates))]
