"""Arms that a plan is designed for: payloads, errors of the frequencies, residual vibration."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from flex_robot_sim.analysis.constraint_terms import constraint_stiffness, gaps_and_jacobian
from flex_robot_sim.analysis.loop_forces import loop_accelerations
from flex_robot_sim.analysis.loop_motion import null_space_basis
from flex_robot_sim.analysis.natural_modes import frequencies
from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.analysis.tangent import tangent
from flex_robot_sim.dynamics.loads import make_loads
from flex_robot_sim.dynamics.mass_matrix import mass_matrix
from flex_robot_sim.model.arguments import array_or_nan
from flex_robot_sim.model.arm_model import ArmModel, with_stiffness
from flex_robot_sim.model.payload import with_payload
from flex_robot_sim.motion.joint_motion import Motion
from flex_robot_sim.planning.motion_response import MotionResponse, MotionSimulator
from flex_robot_sim.util.exceptions import SettingError, SimulationError, shortened

MAX_STEP_S = 1e-3  # time step of the simulation                                   [s]
STEPS_PER_PERIOD = 200  # in a period of the first mode, minimum
MIN_RIGID_STEPS = 300  # in a motion of a rigid arm
MIN_STEPS = 80  # in one motion
MAX_FREQUENCY_STEP = 1.12  # ratio of the first frequencies of adjacent arms
MAX_INTERVALS = 8  # between the softest and the stiffest arm


class PlannedArm:
    """An arm that moves between two poses, and its vibration at the end (C27)."""

    def __init__(self, arm: ArmModel, start: np.ndarray, goal: np.ndarray) -> None:
        """Compute its modes with drives at rest at the goal; poses are (joints,) [rad, m]."""
        from scipy.linalg import eigh  # imported late: slow

        self.arm, self._start = arm, equilibrium(arm, start).q
        self._rest = q = equilibrium(arm, goal).q
        self._undriven = undriven = arm.passive_q
        block, zero = np.ix_(undriven, undriven), np.zeros(arm.size)
        loads = make_loads(arm, closed_loops=True)
        K, M = tangent(arm, loads, q, zero, zero)[1], mass_matrix(arm.arrays, q)
        moves = np.eye(undriven.size)
        if arm.closed_loops:  # of the undriven coordinates, with the loops closed
            force = loop_accelerations(arm, loads, q, zero, None, arm.motor_q)[2]
            K = K - constraint_stiffness(arm, q, force)
            moves = null_space_basis(arm, gaps_and_jacobian(arm, q)[1], undriven).N[undriven]
        K, M = K[block], M[block]
        if arm.closed_loops:
            K, M = moves.T @ K @ moves, moves.T @ M
        # SciPy 1.8 rejects the empty matrices of a rigid arm
        squares, shapes = eigh((K + K.T) / 2, M @ moves) if len(K) else (np.zeros(0), K)
        self._modes, self._rates = shapes.T @ M, np.sqrt(np.maximum(squares, 1e-12))
        natural = frequencies(arm, goal)
        natural = natural[natural > 0.0]
        self.first = float(natural[0]) if natural.size else np.inf  # [Hz]

    def simulate(self, motion: Motion, duration: float, coarser: float = 1.0) -> MotionResponse:
        """Return the response to a Motion of `duration` [s], with longer steps if `coarser`."""
        longest = duration / MIN_RIGID_STEPS
        if np.isfinite(self.first):
            longest = coarser * min(MAX_STEP_S, 1.0 / (STEPS_PER_PERIOD * self.first))
        steps = max(int(np.ceil(duration / longest - 1e-9)), MIN_STEPS)
        try:
            return MotionSimulator(self.arm, self._start, duration / steps).run(motion, duration)
        except SimulationError as error:
            raise SettingError(
                f'a move in {duration:.3g} s tears the arm apart: {error}'
            ) from error

    def residual(self, response: MotionResponse) -> np.ndarray:
        """Residual vibration (2 modes,) at the end of a response."""
        offset = (response.path[-1] - self._rest)[self._undriven]
        return np.concatenate(
            [self._modes @ offset, self._modes @ response.rates[self._undriven] / self._rates]
        )


def arms_of_design(
    arm: ArmModel, payload: Mapping[str, object], uncertainty: float, pose: np.ndarray
) -> tuple[list[ArmModel], list[ArmModel]]:
    """
    Arms with all payloads and frequencies of a design, the nominal one first, and arms in between.

    The softest arm has the largest payload, the stiffest one the smallest payload. First
    frequencies of the arms of the design differ by MAX_FREQUENCY_STEP at most.

    :param payload: link -> mass, or smallest and largest mass [kg].
    :param uncertainty: relative error of the frequencies.
    """
    ranges = {link: _mass_range(link, mass) for link, mass in payload.items()}

    def loaded(share):
        out = with_stiffness(arm, (1.0 - share * uncertainty) ** 2)
        for link, (low, high) in ranges.items():
            out = with_payload(out, link, (low + high + share * (high - low)) / 2)
        return out

    nominal = loaded(0.0)
    if not uncertainty and all(low == high for low, high in ranges.values()):
        return [nominal], []
    first = [frequencies(loaded(share), pose) for share in (1.0, -1.0)]
    if not any((values > 0.0).any() for values in first):
        return [nominal], []  # a rigid arm
    low, high = (values[values > 0.0][0] for values in first)
    intervals = int(np.ceil(np.log(high / low) / np.log(MAX_FREQUENCY_STEP)))
    shares = np.linspace(-1.0, 1.0, min(max(intervals, 2), MAX_INTERVALS) + 1)
    design, between = (
        [loaded(share) for share in row.tolist() if abs(share) > 1e-9]
        for row in (shares, (shares[1:] + shares[:-1]) / 2)
    )
    return [nominal, *design], between


def _mass_range(link, mass):
    values = np.atleast_1d(array_or_nan(mass))
    if values.shape not in ((1,), (2,)) or not 0.0 <= values[0] <= values[-1] < np.inf:
        raise SettingError(
            f'payload of "{link}" = {shortened(repr(mass), 60)} must be a mass >= 0 [kg], or the '
            'smallest and the largest mass'
        )
    return float(values[0]), float(values[-1])
