"""
Linear quadratic regulator (LQR): sampled state feedback that holds an arm in a pose.

The default cost is the energy (C22) of the regulator of LQG, for all coordinates instead of the
drives and the first modes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.linear import zero_order_hold
from flex_robot_sim.analysis.loop_poses import pose_of_drives
from flex_robot_sim.analysis.natural_modes import frequencies
from flex_robot_sim.feedback.lqg_gains import energy_regulator
from flex_robot_sim.feedback.measurement import Measurement, checked_field
from flex_robot_sim.feedback.pose_model import pose_model, rates_of
from flex_robot_sim.model.arguments import array_or_nan, checked, expect_arm, number_or_nan
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.motion.limits import effort_limits
from flex_robot_sim.simulation.loop_timing import LoopTiming, checked_timing
from flex_robot_sim.util.eigenproblem import eigh
from flex_robot_sim.util.exceptions import SettingError, shortened
from flex_robot_sim.util.serialization import Serializable

MIN_STIFFNESS_SHARE = 1e-10  # squared frequency of a motion that something holds, over the highest


class Lqr(Serializable):
    """
    Efforts u = u0 - K (x - x0) of the state x = (q, v), about the equilibrium in a pose.

    `gain` is K, `q` and `effort` are the equilibrium, `poles` those of the closed loop [1/s].

    Example::

        arm = frs.load('single_link')
        law = frs.feedback.Lqr(arm, [0.3], period=1e-3)
        sim = frs.Simulation(arm)
        sim.effort = law.step(frs.feedback.measure(sim))
    """

    def __init__(
        self,
        arm: ArmModel,
        q: ArrayLike,
        *,
        period: float = 1e-3,
        bandwidth: float | None = None,
        state_cost: ArrayLike | None = None,
        effort_cost: ArrayLike | None = None,
        limits: ArrayLike | None = None,
    ) -> None:
        """
        Compute the gain at a pose.

        In closed loops, `gain` has columns of the independent coordinates, and rows of motors.

        :param q: positions of the joints, (joints,) [rad, m]; passive ones follow the drives.
        :param period: between two samples [s]; each sample acts without delay.
        :param bandwidth: of the joints in the default cost [Hz]; None: the first natural
            frequency with locked drives.
        :param state_cost: Q (2 nv, 2 nv) of (q, v); effort_cost: R (joints, joints). Both or none.
        :param limits: largest efforts, (joints,) [N m, N]; default: those of the motors.
        """
        expect_arm(arm, closed_loops=True)
        names = arm.joint_names
        q = checked('q', q, names)
        period = checked_timing(LoopTiming(period, 0.0)).period
        self.limits = effort_limits(arm) if limits is None else checked('limits', limits, names)
        if not (self.limits[arm.actuated] > 0.0).all():
            raise SettingError('limits must be > 0, one per joint')
        model = pose_model(arm, pose_of_drives(arm, q))
        A, B = zero_order_hold(model.A, model.B, period)
        if state_cost is None and effort_cost is None:
            gain = self._energy_gain(model, period, _bandwidth(arm, q, bandwidth, period))
        else:
            # costs of all coordinates are those of the independent ones that move them
            moves = np.kron(np.eye(2), model.shapes)
            Q = moves.T @ _cost('state_cost', state_cost, 2 * arm.size) @ moves
            R = _cost('effort_cost', effort_cost, len(names))
            gain = _gain(A, B, Q, R)
        self._names, self.period = arm.coordinate_names, period
        self.q, self.effort = model.rest, model.effort
        self.poles = rates_of(A - B @ gain, period)
        rows = np.concatenate([model.coordinates, arm.size + model.coordinates])
        self.gain = np.zeros((len(names), 2 * arm.size))
        self.gain[:, rows] = gain

    def step(self, measurement: Measurement) -> np.ndarray:
        """Efforts (joints,) [N m, N] for a Measurement with all coordinates q and rates v."""
        q = checked_field(measurement, 'q', self._names)
        v = checked_field(measurement, 'v', self._names)
        effort = self.effort - self.gain @ np.concatenate([q - self.q, v])
        return np.clip(effort, -self.limits, self.limits)

    def reset(self) -> None:
        """Do nothing: state feedback has no internal state."""

    @staticmethod
    def _energy_gain(model, period, bandwidth):
        """Gain (joints, 2 p) of (C22), computed in coordinates that begin with the drives."""
        _refuse_free_motion(model)
        reduced = model.reduced(model.undriven.size)
        reduced = replace(reduced, M=(reduced.M + reduced.M.T) / 2)  # without rounding errors
        A, B = zero_order_hold(reduced.A, reduced.B, period)
        J = np.diag(reduced.M)[: model.driven.size]
        motors = np.flatnonzero(np.any(model.actuation, axis=0))  # others are passive
        gain = np.zeros(B.T.shape)
        gain[motors] = energy_regulator(reduced, A, B[:, motors], J, 2 * np.pi * bandwidth)
        inverse = np.linalg.inv(reduced.shapes)
        p = len(inverse)
        return np.hstack([gain[:, :p] @ inverse, gain[:, p:] @ inverse])


def _refuse_free_motion(model):
    """Raise SettingError if nothing holds a motion without motors, such as the spin of a rod."""
    rows = model.undriven
    block = np.ix_(rows, rows)
    if model.arm.actuated.all() or not rows.size:
        return
    squares, shapes = eigh(model.K_symmetric[block], model.M[block])
    squares = np.abs(squares)
    freest = int(squares.argmin())
    if squares[freest] > MIN_STIFFNESS_SHARE * squares.max():
        return
    motion = np.abs(model.shapes[:, rows] @ shapes[:, freest])
    name = model.arm.coordinate_names[int(motion.argmax())]
    raise SettingError(
        f'nothing holds "{name}" of {model.arm.description.name} in this pose, and no motor moves '
        'it: give its joint a spring_stiffness'
    )


def _bandwidth(arm, q, bandwidth, period):
    if bandwidth is None:
        found = frequencies(arm, pose_of_drives(arm, q))
        bandwidth = next((frequency for frequency in found if frequency > 0.0), 1.0)
    if not 0.0 < number_or_nan(bandwidth) < 0.25 / period:
        raise SettingError(
            f'bandwidth = {shortened(repr(bandwidth), 60)} must be > 0 and below a quarter of the '
            f'{1 / period:g} samples per second [Hz]'
        )
    return float(bandwidth)


def _cost(name, matrix, size):
    array = array_or_nan(np.nan if matrix is None else matrix)
    if (
        array.shape != (size, size)
        or not np.isfinite(array).all()
        or (np.abs(array - array.T).max() > 1e-9 * np.abs(array).max())
    ):
        raise SettingError(
            f'{name} must be a symmetric matrix ({size}, {size}); give state_cost '
            'and effort_cost, or none of them'
        )
    return array


def _gain(A, B, Q, R):
    from scipy.linalg import solve_discrete_are  # imported late: slow

    try:
        X = solve_discrete_are(A, B, Q, R)
        return np.linalg.solve(R + B.T @ X @ B, B.T @ X @ A)
    except (ValueError, np.linalg.LinAlgError) as error:
        raise SettingError(
            'no regulator was found for these costs: effort_cost must be positive '
            'definite, and state_cost positive semidefinite'
        ) from error
