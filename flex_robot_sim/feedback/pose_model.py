"""
Linear model of an arm at a pose for feedback design: sampled, delayed, optionally reduced.

Near its equilibrium at a pose the arm obeys M x'' + D x' + K x = S u (T50). A loop samples it with
the period T and acts after the delay L. The state of the sampled arm includes the pending efforts
(C20). Its outputs are positions and rates of the joints, and curvatures of the flex sensors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.constraint_terms import gaps_and_jacobian
from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.analysis.linear import zero_order_hold
from flex_robot_sim.analysis.loop_forces import loop_accelerations
from flex_robot_sim.analysis.loop_motion import independent_basis, small_motions
from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.analysis.tangent import tangent
from flex_robot_sim.dynamics.loads import make_loads
from flex_robot_sim.dynamics.mass_matrix import mass_matrix
from flex_robot_sim.dynamics.stability import spring_matrices
from flex_robot_sim.model.arguments import expect_one_of
from flex_robot_sim.model.arm_model import ArmModel, with_stiffness
from flex_robot_sim.simulation.loop_timing import LoopTiming
from flex_robot_sim.util.eigenproblem import eigh
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.summary import summarized


class SampledArm(NamedTuple):
    """x[k+1] = A x[k] + old u[k-d] + new u[k-d+1]; without delay all of it is in `new`."""

    A: np.ndarray  # (s, s)
    old: np.ndarray  # (s, joints)
    new: np.ndarray  # (s, joints)
    # d, periods of delay, rounded up; it shadows tuple.count
    count: int  # type: ignore[assignment]


@summarized
@dataclass(frozen=True, eq=False)
class PoseModel:
    """
    Small motions about the equilibrium in a pose; changes of coordinates are shapes @ x.

    The x of a tree are all coordinates; those of closed loops are the independent ones (T82).
    """

    arm: ArmModel
    M: np.ndarray  # (p, p)
    D: np.ndarray  # (p, p)
    K: np.ndarray  # (p, p)
    actuation: np.ndarray  # (p, joints)  input matrix S of the efforts
    encoders: np.ndarray  # (joints, p)  positions measured by encoders
    gauges: np.ndarray  # (k, p)       curvatures                                   [1/m]
    shapes: np.ndarray  # (n, p)
    rest: np.ndarray  # (n,)         coordinates of the equilibrium
    effort: np.ndarray  # (joints,)    at equilibrium                            [N m, N]
    encoders_rest: np.ndarray  # (joints,)    encoders at equilibrium                  [rad, m]
    gauges_rest: np.ndarray  # (k,)         flex sensors at equilibrium                  [1/m]
    coordinates: np.ndarray  # (p,)         rows of the independent coordinates

    @cached_property
    def A(self) -> np.ndarray:
        """State matrix (2 p, 2 p) of (x, x')."""
        p, inverse = len(self.M), np.linalg.inv(self.M)
        return np.block([[np.zeros((p, p)), np.eye(p)], [-inverse @ self.K, -inverse @ self.D]])

    @cached_property
    def B(self) -> np.ndarray:
        """Input matrix (2 p, joints) of the efforts."""
        return np.vstack([np.zeros_like(self.actuation), np.linalg.solve(self.M, self.actuation)])

    @property
    def driven(self) -> np.ndarray:
        """Rows of x that motors move, in the order of the joints; SettingError if one is not."""
        drives = self.arm.drive_q
        missing = np.setdiff1d(drives, self.coordinates)
        if missing.size:
            name = self.arm.coordinate_names[missing[0]]
            raise SettingError(
                f'the motor of "{name}" cannot move independently of the others in this pose: '
                'take another pose, or write effort="0" for one of them'
            )
        return np.array([int(np.flatnonzero(self.coordinates == drive)[0]) for drive in drives])

    @property
    def undriven(self) -> np.ndarray:
        """Rows of x that no motor moves."""
        return np.setdiff1d(np.arange(len(self.M)), self.driven)

    def sampled(self, loop: LoopTiming) -> SampledArm:
        """Return the exact SampledArm of a LoopTiming, also for a fractional delay."""
        T = loop.period
        count = math.ceil(loop.delay / T - 1e-9)
        newer = count * T - loop.delay  # of the newer effort within a period
        if count == 0 or newer < 1e-9 * T:
            A, B = zero_order_hold(self.A, self.B, T)
            zero = np.zeros_like(B)
            return SampledArm(A, *((B, zero) if count else (zero, B)), count)
        first, second = (zero_order_hold(self.A, self.B, time) for time in (T - newer, newer))
        return SampledArm(second[0] @ first[0], second[0] @ first[1], second[1], count)

    def servo_modes(self, stiffness: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Squared undamped rates (p,) [1/s2] and shapes (p, p) with a stiffness of the drives."""
        return eigh(
            self.K_symmetric + self.encoders.T @ np.diag(stiffness) @ self.encoders, self.M
        )

    @property
    def K_symmetric(self) -> np.ndarray:
        """Symmetric part (p, p) of the stiffness, without circulatory forces."""
        return (self.K + self.K.T) / 2

    def reduced(self, count: int, like: PoseModel | None = None) -> PoseModel:
        """
        Keep the drives and the first modes with locked drives (Craig & Bampton, 1968).

        The static response is exact: omitted modes contribute their compliance.

        :param like: reduced PoseModel at another pose; the modes are aligned with its modes.
        """
        motors, undriven = self.driven, self.undriven
        n = len(self.M)
        count = min(count, undriven.size)
        block = np.ix_(undriven, undriven)
        K = self.K_symmetric
        modes = (
            eigh(K[block], self.M[block])[1][:, :count] if count else np.zeros((undriven.size, 0))
        )
        T = np.zeros((n, motors.size + count))
        T[motors, range(motors.size)] = 1.0
        if undriven.size:
            T[undriven, : motors.size] = -np.linalg.solve(K[block], K[np.ix_(undriven, motors)])
        if like is not None and count:
            # the rotation that aligns the modes with those of `like`
            u, _, v = np.linalg.svd(modes.T @ self.M[block] @ like.shapes[undriven, motors.size :])
            modes = modes @ u @ v
        T[undriven, motors.size :] = modes
        return replace(
            self,
            M=T.T @ self.M @ T,
            D=T.T @ self.D @ T,
            K=T.T @ self.K @ T,
            actuation=T.T @ self.actuation,
            encoders=self.encoders @ T,
            gauges=self.gauges @ T,
            shapes=T,
        )


def pose_model(
    arm: ArmModel, position: ArrayLike, feedback: str = 'motor', stiffness: float = 1.0
) -> PoseModel:
    """
    Return the PoseModel of an ArmModel in a pose.

    :param position: of the joints, (joints,) [rad, m].
    :param feedback: side of the drives that the encoders measure, 'motor' or 'link'.
    :param stiffness: factor on the stiffness of links and gears, for an arm that deviates from
        its description.
    """
    expect_one_of('feedback', feedback, ('motor', 'link'))
    arm = with_stiffness(arm, stiffness)
    rest = equilibrium(arm, position)
    q, zero = rest.q, np.zeros(arm.size)
    loads = make_loads(arm, closed_loops=True)
    K = tangent(arm, loads, q, zero, zero)[1]
    N, drives = np.eye(arm.size), arm.motor_q
    encoders = drives if feedback == 'motor' else np.arange(drives.size)
    # without dry friction, which acts at rest only
    matrices = mass_matrix(arm.arrays, q), spring_matrices(arm.arrays, q)[1], K
    gauges, coordinates = flex_sensors(arm).matrix, np.arange(arm.size)
    inputs, outputs = N[drives], N[encoders]
    if arm.closed_loops or not arm.actuated.all():
        a, _, force = loop_accelerations(arm, loads, q, zero, rest.effort, drives[:0])
        basis = independent_basis(arm, gaps_and_jacobian(arm, q)[1], np.arange(arm.size))
        small = small_motions(arm, (q, zero, 0.0 * a), force, basis, matrices)
        N, matrices, coordinates = small.N, small[:3], basis.independent
        inputs, outputs = (
            np.where(arm.actuated[:, None], N[rows], 0.0) for rows in (drives, encoders)
        )
    return PoseModel(
        arm,
        *matrices,
        inputs.T,
        outputs,
        gauges @ N,
        N,
        q,
        rest.effort,
        q[encoders],
        gauges @ q,
        coordinates,
    )


def closed_loop_step(
    arm_step: SampledArm, laws: Sequence[np.ndarray], outputs: np.ndarray
) -> np.ndarray:
    """
    Step matrix of a SampledArm with a linear control law.

    :param laws: (P, Q, R, S): z[k] = P z[k-1] + Q y[k], u[k] = R z[k-1] + S y[k].
    :param outputs: output matrix (y, s) of the law.
    """
    A, old, new, d = arm_step
    P, Q, R, S = laws
    s, m, z = len(A), old.shape[1], len(P)
    size = s + m * d + z
    step = np.zeros((size, size))
    u = np.zeros((m, size))  # the effort from the whole state
    u[:, :s], u[:, s + m * d :] = S @ outputs, R
    step[:s, :s] = A
    if d == 0:
        step[:s] += new @ u
    else:
        late = s + m * (d - 1)
        step[:s, late : late + m] += old  # u[k-d]
        if d == 1:
            step[:s] += new @ u
        else:
            step[:s, late - m : late] += new  # u[k-d+1]
        step[s : s + m] = u
        step[s + m : s + m * d, s : s + m * (d - 1)] = np.eye(m * (d - 1))
    step[s + m * d :, :s], step[s + m * d :, s + m * d :] = Q @ outputs, P
    return step


def rates_of(step: np.ndarray, period: float) -> np.ndarray:
    """Eigenvalues of a step as rates [1/s], one of each conjugate pair, slowest first."""
    values = np.linalg.eigvals(step)
    values = values[np.abs(values) > 1e-12]
    rates = np.log(values.astype(complex)) / period
    rates = rates[rates.imag >= -1e-9]
    return rates[np.argsort(np.abs(rates))]
