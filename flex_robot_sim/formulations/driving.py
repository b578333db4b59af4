"""
Time integration with the accelerations of any formulation, in plain Python.

Springs, motors, friction, stops and external forces are those of the simulation: the inverse
dynamics of the accelerations of the recursion yields the generalised forces. The schemes are those
of integrators.py and adaptive.py. The implicit midpoint rule solves v' = a at the middle of the
step by a quasi-Newton iteration with the residual r = a - v' of an estimate,

    v' += (1 + W S)^-1 r,    S = h/2 D + h^2/4 K

where K and D are the slopes of springs, dampers, motors, friction and stops. W is the inverse of a
mass matrix of the recursion. It affects the convergence only: at r = 0 the solution depends on the
formulation alone. The iteration has the tolerance of the recursion (T43). A substep that needs too
many iterations is halved. A substep that never converges is reported, as in the recursion.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isfinite, sqrt
from typing import Any

import numpy as np

from flex_robot_sim.dynamics import integrators
from flex_robot_sim.dynamics.adaptive import advance_adaptively
from flex_robot_sim.dynamics.arm_state import (
    FORWARD_EULER,
    IMPLICIT_MIDPOINT,
    REFERENCE,
    RK4,
    SEMI_IMPLICIT_EULER,
    ArmState,
    StepSettings,
)
from flex_robot_sim.dynamics.forces import (
    add_motor_slopes,
    add_powers,
    add_stop_slopes,
    spring_energy,
)
from flex_robot_sim.dynamics.forward_dynamics import implicit_dynamics, inverse_dynamics
from flex_robot_sim.dynamics.loads import LoadArrays, set_loads
from flex_robot_sim.dynamics.mass_matrix import mass_matrix
from flex_robot_sim.dynamics.monitors import Watch, note_validity
from flex_robot_sim.dynamics.stability import spring_matrices
from flex_robot_sim.formulations import Formulation
from flex_robot_sim.model.arm_arrays import ArmArrays
from flex_robot_sim.model.workspace import Workspace, make_workspace

MAX_STATE_SUM = 1e60  # sum of coordinates and rates; beyond it, products may overflow


def advance_with_formulation(
    dynamics: FormulationDynamics,
    arm: ArmArrays,
    loads: LoadArrays,
    settings: StepSettings,
    state: ArmState,
    steps: int,
    watch: Watch,
    work: Workspace,
) -> int:
    """
    Take `steps` steps; stop before a state that is not finite.

    :param dynamics: FormulationDynamics of the arm; the other arguments and the result are those
        of `integrators.advance`.
    """
    q, qd, qdd, flow, h = state.q, state.qd, state.qdd, state.flow, float(settings.time_step[0])
    scheme, iterations = int(settings.scheme[0]), int(settings.iterations[0])
    dynamics.begin(arm, loads, state, work)
    if work.step[0] == 0.0:  # the energy has changed outside of a step
        work.step[1], work.step[2] = sum(dynamics.energies(q, qd)) + spring_energy(arm, q), 0.0
    if scheme == REFERENCE:
        return advance_adaptively(
            arm, loads, settings, state, steps, watch, work, dynamics.set_slopes
        )
    step_functions: dict[int, Callable[..., Any]] = {
        IMPLICIT_MIDPOINT: _midpoint_step,
        RK4: _rk4_step,
        SEMI_IMPLICIT_EULER: _euler_step,
        FORWARD_EULER: _euler_step,
    }
    for step in range(steps):
        previous = q.copy(), qd.copy(), flow.copy()
        with np.errstate(over='ignore', invalid='ignore'):
            outcome = step_functions[scheme](dynamics, q, qd, qdd, h, scheme, iterations)
            if outcome is not None:
                _record_hard_step(outcome, step, watch)
        if not np.isfinite(q.sum() + qd.sum()):
            q[:], qd[:], flow[:] = previous
            qdd[:] = 0.0
            return step
        note_validity(arm, q, step, watch, work)
    return steps


class FormulationDynamics:
    """Dynamics of an arm with motors and loads, by a formulation."""

    def __init__(self, formulation: Formulation, arrays: ArmArrays) -> None:
        """Use `formulation` (see the package) for the accelerations of ArmArrays."""
        self.formulation = formulation
        self._unloaded_work = make_workspace(arrays)
        self._spring_matrices: Any = None  # K and D of links, gears and dampers

    def begin(self, arm: ArmArrays, loads: LoadArrays, state: ArmState, work: Workspace) -> None:
        """Set the inputs of the next steps; arguments as in `advance_with_formulation`."""
        self.arm, self.loads, self.work = arm, loads, work
        self.effort, self.flow = state.effort, state.flow

    def accelerations(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Accelerations (n,); the workspace then holds the data for powers and validity."""
        qdd, force = np.zeros((2, q.size))
        if not np.abs(q).sum() + np.abs(qd).sum() < MAX_STATE_SUM:
            return np.full(q.size, np.nan)
        set_loads(self.arm, self.loads, q, self.work)
        implicit_dynamics(self.arm, q, qd, self.effort, 0.0, qdd, self.work, qdd)
        inverse_dynamics(self.arm, q, qd, qdd, self._unloaded_work, force)
        try:
            return self.formulation.accelerations(q, qd, force)
        # singular inertia, in a full or a sparse matrix: the formulation is not valid here
        except (np.linalg.LinAlgError, RuntimeError):
            return np.full(q.size, np.nan)

    def add_powers(self, q: np.ndarray, qd: np.ndarray, weight: float) -> None:
        """Add work and dissipation over a time `weight` [s] at the latest state."""
        add_powers(self.arm, q, qd, q, self.effort, 0.0, weight, self.work, self.flow)

    def energies(self, q: np.ndarray, qd: np.ndarray) -> tuple[float, float]:
        """Kinetic and gravitational potential energy by the formulation [J], finite or not."""
        if not np.abs(q).sum() + np.abs(qd).sum() < MAX_STATE_SUM:
            return np.nan, np.nan
        with np.errstate(over='ignore', invalid='ignore'):
            return self.formulation.energies(q, qd)

    def correct_energy(
        self, q: np.ndarray, qd: np.ndarray, flow: np.ndarray, has_converged: bool, can_halve: bool
    ) -> tuple[bool, bool]:
        """
        Scale the rates qd (n,) to remove the energy error of the midpoint rule (T44).

        :param flow: work and dissipated energy before this substep, (2,) [J].
        :param has_converged: whether the substep converged.
        :param can_halve: whether a bad substep may be repeated in halves; then a bad one changes
            nothing here.
        :returns: whether the substep is good, that is, converged with a balanced energy; and
            whether to accept it. A bad substep never adds energy (T46).
        """
        step = self.work.step
        kinetic, potential = self.energies(q, qd)
        energy = kinetic + spring_energy(self.arm, q) + potential
        work_done, dissipated = self.flow[:2] - flow
        expected = step[1] + work_done - dissipated
        if not isfinite(energy) or self.work.prescribed.any() or kinetic <= 0.0:
            step[1], step[2] = energy, 0.0
            return has_converged, True
        is_good = has_converged and abs(energy - expected) <= (
            integrators.MAX_ENERGY_ERROR * (kinetic + abs(work_done) + abs(dissipated))
            + integrators.ENERGY_ROUNDING * (abs(energy - kinetic - potential) + abs(potential))
        )
        if not is_good and can_halve:
            return False, True
        if not is_good:
            if dissipated < 0.0:  # no joint law generates energy
                expected, self.flow[1] = expected + dissipated, flow[1]
            if energy - expected > kinetic:  # exceeds the kinetic energy
                self.flow[:2] = flow
                return False, False
        deficit = expected - energy - step[2]
        max_decrease = integrators.MAX_ENERGY_CORRECTION if is_good else 1.0
        correction = min(max(deficit / kinetic, -max_decrease), integrators.MAX_ENERGY_CORRECTION)
        step[1], step[2] = energy + correction * kinetic, max(correction * kinetic - deficit, 0.0)
        step[3] += energy - expected  # signed, because errors of steps have both signs
        qd *= sqrt(1.0 + correction)
        self.flow[2] += abs(energy - expected)
        return is_good, True

    def set_slopes(
        self,
        arm: ArmArrays,
        _loads: LoadArrays,
        y: np.ndarray,
        effort: np.ndarray,
        work: Workspace,
        slopes: np.ndarray,
    ) -> None:
        """Set the derivative of y (2 n + 2,), as `adaptive.set_slopes` does."""
        n = y.size // 2 - 1
        q, qd = y[:n], y[n : 2 * n]
        slopes[:n], slopes[n : 2 * n], slopes[2 * n :] = qd, self.accelerations(q, qd), 0.0
        add_powers(arm, q, qd, q, effort, 0.0, 1.0, work, slopes[2 * n :])

    def iteration_matrix(self, q: np.ndarray, qd: np.ndarray, h: float) -> np.ndarray:
        """Matrix 1 + W S (n, n) of the implicit step."""
        arm, work = self.arm, self.work
        if self._spring_matrices is None:
            self._spring_matrices = spring_matrices(arm)
        K, D = (matrix.copy() for matrix in self._spring_matrices)
        add_stop_slopes(arm, q, qd, D, K)
        add_motor_slopes(arm, q, qd, self.effort, work, D, K)
        return np.eye(q.size) + np.linalg.solve(mass_matrix(arm, q), h / 2 * D + h * h / 4 * K)


def _midpoint_step(dynamics, q, qd, qdd, h, _scheme, iterations):
    """Take one step; return the number of substeps, and how many of these did not converge."""
    work, remaining, substep, calls, substeps, unconverged = dynamics.work, h, h, 0, 0, 0
    while remaining > 0.0:
        guess = qdd
        if substep == work.step[0]:  # linear extrapolation of the acceleration
            guess = 2.0 * qdd - work.last
        acceleration, evaluations, has_converged = _solve_midpoint(
            dynamics, q, qd, guess, substep, iterations
        )
        calls += evaluations
        can_halve = (
            calls < integrators.MAX_EVALUATIONS and substep > integrators.MIN_SUBSTEP_RATIO * h
        )
        if not has_converged and can_halve:
            substep *= 0.5
            continue
        rate = qd + 0.5 * substep * acceleration
        if not np.isfinite(rate).all():
            substeps, unconverged = substeps + 1, unconverged + (not has_converged)
            q[:] = np.nan
            break
        previous_flow = dynamics.flow[:2].copy()
        dynamics.add_powers(q + 0.5 * substep * rate, rate, substep)
        new_q, new_qd = q + substep * rate, qd + substep * acceleration
        is_good, is_accepted = dynamics.correct_energy(
            new_q, new_qd, previous_flow, has_converged, can_halve
        )
        if not is_good and can_halve:
            dynamics.flow[:2] = previous_flow
            substep *= 0.5
            continue
        substeps, unconverged = substeps + 1, unconverged + (not is_good)
        if is_accepted:
            q[:], qd[:] = new_q, new_qd
        work.last[:], work.step[0] = qdd, substep
        qdd[:] = acceleration if is_accepted else 0.0
        remaining -= substep
        if remaining < integrators.MIN_SUBSTEP_RATIO * h:
            remaining = 0.0
        substep = (
            remaining
            if calls >= integrators.MAX_EVALUATIONS
            else min(
                2.0 * substep if evaluations < integrators.STEP_GROWTH_ITERATIONS else substep,
                remaining,
            )
        )
    return substeps, unconverged


def _solve_midpoint(dynamics, q, qd, guess, h, iterations):
    """Accelerations of one substep, number of evaluations, and whether they converged."""
    weights = dynamics.arm.inertia_scale
    qdd = guess.copy()
    no_solution = np.full_like(guess, np.nan)
    iteration_matrix, correction, previous_change = None, np.zeros_like(guess), inf
    for count in range(1, integrators.MAX_ITERATIONS + 1):
        rate = qd + 0.5 * h * qdd
        middle_q = q + 0.5 * h * rate
        error = dynamics.accelerations(middle_q, rate) - qdd
        try:
            if iteration_matrix is not None:
                newton_step = np.linalg.solve(iteration_matrix, error)
                change = weights @ (h * newton_step) ** 2
                if change > previous_change:  # beyond a kink of a joint law: undo half of it
                    correction *= 0.5
                    qdd -= correction
                    continue
            if (
                iteration_matrix is None
                or change > integrators.MAX_RATIO_FOR_REUSE * previous_change
            ):
                iteration_matrix = dynamics.iteration_matrix(middle_q, rate, h)
                newton_step = np.linalg.solve(iteration_matrix, error)
                change = weights @ (h * newton_step) ** 2
        except np.linalg.LinAlgError:  # singular mass matrix of the recursion
            return no_solution, count, False
        if not isfinite(change):
            return no_solution, count, False
        correction = newton_step
        qdd += correction
        scale = weights @ (rate**2 + (h * qdd) ** 2 + integrators.REST_VELOCITY**2)
        # the remaining error is about change * change / previous_change                  (T43)
        if count >= iterations and (
            change * min(change, previous_change)
            <= integrators.RATE_TOLERANCE**2 * scale * previous_change
        ):
            return qdd, count, True
        previous_change = change
    return qdd, count, False


def _record_hard_step(outcome, step, watch):
    """Record a step with several or unconverged substeps, as the recursion does."""
    substeps, unconverged = outcome
    watch.hard[0] += substeps > 1
    watch.hard[1] += unconverged
    if unconverged and watch.hard[2] < 0:
        watch.hard[2] = step


def _rk4_step(dynamics, q, qd, qdd, h, _scheme, _iterations):
    x, v, sum_v, sum_a = q, qd, 0.0, 0.0
    for stage in range(4):
        a = dynamics.accelerations(x, v)
        weight = h / 6.0 if stage in (0, 3) else h / 3.0
        dynamics.add_powers(x, v, weight)
        sum_v, sum_a = sum_v + weight * v, sum_a + weight * a
        stage_step = 0.5 * h if stage < 2 else h
        x, v = q + stage_step * v, qd + stage_step * a
    q += sum_v
    qd += sum_a
    qdd[:] = a


def _euler_step(dynamics, q, qd, qdd, h, scheme, _iterations):
    qdd[:] = dynamics.accelerations(q, qd)
    dynamics.add_powers(q, qd, h)
    previous_qd = qd.copy()
    qd += h * qdd
    q += h * (qd if scheme == SEMI_IMPLICIT_EULER else previous_qd)
