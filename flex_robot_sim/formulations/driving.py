"""
Steps through time with the accelerations of any formulation, in plain Python.

Springs, motors, friction, stops and pushes are those of the simulation: the forces that move the
arm in the recursion are what inverse dynamics needs for its accelerations, and they move it here
too. The schemes are those of integrators.py and adaptive.py. The implicit midpoint solves v' = a
at the middle of the step by a quasi-Newton iteration with the error r = a - v' of an estimate,

    v' += (1 + W S)^-1 r,    S = h/2 D + h^2/4 K

where K and D are the slopes of springs, dampers, motors, friction and stops. W, the inverse of a
mass matrix of the recursion, only steers the iteration: where r = 0, the formulation alone has
decided. It goes on until what is left is what the recursion leaves (T43). A part of a step that
takes too long for that is halved, and one that never gets there is reported, as in the recursion.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isfinite, sqrt
from typing import Any

import numpy as np

from flex_robot_sim.dynamics.adaptive import advance_adaptively
from flex_robot_sim.dynamics.forces import (
    add_contact_slopes,
    add_motor_slopes,
    add_powers,
    spring_energy,
)
from flex_robot_sim.dynamics.forward_dynamics import implicit_dynamics, inverse_dynamics
from flex_robot_sim.dynamics.integrators import (
    ENERGY_ROUNDING,
    MAX_ENERGY_CORRECTION,
    MAX_ENERGY_ERROR,
    MAX_EVALUATIONS,
    MAX_ITERATIONS,
    MAX_RATIO_FOR_REUSE,
    MIN_SUBSTEP_RATIO,
    RATE_TOLERANCE,
    REST_VELOCITY,
    STEP_GROWTH_ITERATIONS,
)
from flex_robot_sim.dynamics.loads import LoadArrays, set_loads
from flex_robot_sim.dynamics.mass_matrix import mass_matrix
from flex_robot_sim.dynamics.monitors import Watch, note_validity
from flex_robot_sim.dynamics.stability import spring_matrices
from flex_robot_sim.formulations import Formulation
from flex_robot_sim.model.arm_model import ArmArrays, Workspace, make_workspace

LARGEST = 1e60              # sum of coordinates and rates whose products are still numbers


def advance_by(drive: Drive, arm: ArmArrays, loads: LoadArrays, scheme: str, iterations: int,
               q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, effort: np.ndarray, h: float,
               steps: int, flow: np.ndarray, watch: Watch, work: Workspace) -> int:
    """
    Take `steps` steps of length h [s]; stop before a state that is not finite.

    :param drive: Drive of the formulation that moves the arm.
    :param scheme: name of it; the other arguments and the result are those of
        `integrators.advance`.
    """
    drive.begin(arm, loads, effort, flow, work)
    if work.step[0] == 0.0:         # something else than a step has changed the energy
        work.step[1], work.step[2] = sum(drive.energies(q, qd)) + spring_energy(arm, q), 0.0
    if scheme == 'reference':
        return advance_adaptively(arm, loads, q, qd, qdd, effort, h, steps, flow, watch, work,
                                  drive.set_slopes)
    step_of: dict[str, Callable[..., Any]] = {
        'implicit_midpoint': _midpoint_step, 'rk4': _rk4_step,
        'semi_implicit_euler': _euler_step, 'forward_euler': _euler_step}
    for step in range(steps):
        before = q.copy(), qd.copy(), flow.copy()
        with np.errstate(over='ignore', invalid='ignore'):
            taken = step_of[scheme](drive, q, qd, qdd, h, scheme=scheme, iterations=iterations)
            if taken is not None:
                _note(taken, step, watch)
        if not np.isfinite(q.sum() + qd.sum()):
            q[:], qd[:], flow[:] = before
            qdd[:] = 0.0
            return step
        note_validity(arm, q, step, watch, work)
    return steps


class Drive:
    """The formulation that moves an arm, and the arm under its motors and loads."""

    def __init__(self, formulation: Formulation, arrays: ArmArrays) -> None:
        """Let `formulation` (see the package) move ArmArrays."""
        self.formulation = formulation
        self._unloaded = make_workspace(arrays)
        self._springs: Any = None       # K and D of links, gears and dampers

    def begin(self, arm: ArmArrays, loads: LoadArrays, effort: np.ndarray, flow: np.ndarray,
              work: Workspace) -> None:
        """Take what the next steps are about; the arguments are those of `advance_by`."""
        self.arm, self.loads, self.effort, self.flow, self.work = arm, loads, effort, flow, work

    def accelerations(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Accelerations (n,); leaves in the workspace what powers and validity need."""
        qdd, force = np.zeros((2, q.size))
        if not np.abs(q).sum() + np.abs(qd).sum() < LARGEST:
            return np.full(q.size, np.nan)
        set_loads(self.arm, self.loads, q, qd, self.work)
        implicit_dynamics(self.arm, q, qd, self.effort, 0.0, qdd, self.work, qdd)
        inverse_dynamics(self.arm, q, qd, qdd, self._unloaded, force)
        try:
            return self.formulation.accelerations(q, qd, force)
        # no inertia left, in a full or a sparse matrix: the state is beyond the formulation
        except (np.linalg.LinAlgError, RuntimeError):
            return np.full(q.size, np.nan)

    def add_powers(self, q: np.ndarray, qd: np.ndarray, weight: float) -> None:
        """Count work and dissipation over a time `weight` [s] at the latest state."""
        add_powers(self.arm, q, qd, q, self.effort, 0.0, weight, self.work, self.flow)

    def energies(self, q: np.ndarray, qd: np.ndarray) -> tuple[float, float]:
        """Kinetic energy and energy of height by the formulation [J], finite or not."""
        if not np.abs(q).sum() + np.abs(qd).sum() < LARGEST:
            return np.nan, np.nan
        with np.errstate(over='ignore', invalid='ignore'):
            return self.formulation.energies(q, qd)

    def correct_energy(self, q: np.ndarray, qd: np.ndarray, flow: np.ndarray,
                       has_converged: bool, can_halve: bool) -> tuple[bool, bool]:
        """
        Scale the rates qd (n,) by what the midpoint rule misses of the energy (T44).

        :param flow: work and dissipated energy before this part of a step, (2,) [J].
        :param has_converged: whether that part did.
        :param can_halve: whether a part that is not good may be taken again in halves; if so,
            nothing is changed here.
        :returns: whether the part converged and its energy adds up, and whether it may be taken:
            one that is not good makes no energy (T46).
        """
        step = self.work.step
        kinetic, height = self.energies(q, qd)
        now = kinetic + spring_energy(self.arm, q) + height
        done, taken = self.flow[:2] - flow
        due = step[1] + done - taken
        if not isfinite(now) or self.work.prescribed.any() or kinetic <= 0.0:
            step[1], step[2] = now, 0.0
            return has_converged, True
        is_good = has_converged and abs(now - due) <= (
            MAX_ENERGY_ERROR * (kinetic + abs(done) + abs(taken))
            + ENERGY_ROUNDING * (abs(now - kinetic - height) + abs(height)))
        if not is_good and can_halve:
            return False, True
        if not is_good:
            if taken < 0.0:             # no law gives energy
                due, self.flow[1] = due + taken, flow[1]
            if now - due > kinetic:     # too much for the rates to give
                self.flow[:2] = flow
                return False, False
        missing = due - now - step[2]
        largest = MAX_ENERGY_CORRECTION if is_good else 1.0
        share = min(max(missing / kinetic, -largest), MAX_ENERGY_CORRECTION)
        step[1], step[2] = now + share * kinetic, max(share * kinetic - missing, 0.0)
        step[3] += now - due            # with its sign: what a step misses is of no one sign
        qd *= sqrt(1.0 + share)
        self.flow[2] += abs(now - due)
        return is_good, True

    def set_slopes(self, arm: ArmArrays, loads: LoadArrays, state: np.ndarray,
                   effort: np.ndarray, work: Workspace, slopes: np.ndarray) -> None:
        """Set the rates of a state (2 n + 2,), as `adaptive.set_slopes` does."""
        n = state.size // 2 - 1
        q, qd = state[:n], state[n:2 * n]
        slopes[:n], slopes[n:2 * n], slopes[2 * n:] = qd, self.accelerations(q, qd), 0.0
        add_powers(arm, q, qd, q, effort, 0.0, 1.0, work, slopes[2 * n:])

    def steering(self, q: np.ndarray, qd: np.ndarray, h: float) -> np.ndarray:
        """Matrix 1 + W S (n, n) of the implicit step."""
        arm, work = self.arm, self.work
        if self._springs is None:
            self._springs = spring_matrices(arm)
        K, D = (matrix.copy() for matrix in self._springs)
        add_contact_slopes(arm, q, qd, D, K)
        add_motor_slopes(arm, q, qd, self.effort, work, D, K)
        return np.eye(q.size) + np.linalg.solve(mass_matrix(arm, q), h / 2 * D + h * h / 4 * K)


def _midpoint_step(drive, q, qd, qdd, h, scheme, iterations):
    """Take one step; return in how many parts, and how many of these did not converge."""
    work, left, part, calls, parts, lost = drive.work, h, h, 0, 0, 0
    while left > 0.0:
        guess = qdd
        if part == work.step[0]:            # the acceleration goes on changing as it did
            guess = 2.0 * qdd - work.last
        found, count, converged = _solve_midpoint(drive, q, qd, guess, part, iterations)
        calls += count
        can_halve = calls < MAX_EVALUATIONS and part > MIN_SUBSTEP_RATIO * h
        if not converged and can_halve:
            part *= 0.5
            continue
        rate = qd + 0.5 * part * found
        if not np.isfinite(rate).all():
            parts, lost = parts + 1, lost + (not converged)
            q[:] = np.nan
            break
        before = drive.flow[:2].copy()
        drive.add_powers(q + 0.5 * part * rate, rate, part)
        new_q, new_qd = q + part * rate, qd + part * found
        good, is_taken = drive.correct_energy(new_q, new_qd, before, converged, can_halve)
        if not good and can_halve:
            drive.flow[:2] = before
            part *= 0.5
            continue
        parts, lost = parts + 1, lost + (not good)
        if is_taken:
            q[:], qd[:] = new_q, new_qd
        work.last[:], work.step[0] = qdd, part
        qdd[:] = found if is_taken else 0.0
        left -= part
        if left < MIN_SUBSTEP_RATIO * h:
            left = 0.0
        part = left if calls >= MAX_EVALUATIONS else min(
            2.0 * part if count < STEP_GROWTH_ITERATIONS else part, left)
    return parts, lost


def _solve_midpoint(drive, q, qd, guess, h, iterations):
    """Accelerations of one part of a step, evaluations, and whether they have converged."""
    weights, qdd, lost = drive.arm.inertia_scale, guess.copy(), np.full_like(guess, np.nan)
    steering, move, before = None, None, inf
    for count in range(1, MAX_ITERATIONS + 1):
        rate = qd + 0.5 * h * qdd
        middle = q + 0.5 * h * rate
        error = drive.accelerations(middle, rate) - qdd
        try:
            if steering is not None:
                wanted = np.linalg.solve(steering, error)
                change = weights @ (h * wanted)**2
                if change > before:         # beyond a corner of a law: go back half of the way
                    move *= 0.5
                    qdd -= move
                    continue
            if steering is None or change > MAX_RATIO_FOR_REUSE * before:
                steering = drive.steering(middle, rate, h)
                wanted = np.linalg.solve(steering, error)
                change = weights @ (h * wanted)**2
        except np.linalg.LinAlgError:           # no inertia left that could steer
            return lost, count, False
        if not isfinite(change):
            return lost, count, False
        move = wanted
        qdd += move
        size = weights @ (rate**2 + (h * qdd)**2 + REST_VELOCITY**2)
        # what is left is about change * change / before                                  (T43)
        if count >= iterations and (
                change * min(change, before) <= RATE_TOLERANCE**2 * size * before):
            return qdd, count, True
        before = change
    return qdd, count, False


def _note(taken, step, watch):
    """Note a step that was hard, as the recursion does."""
    parts, lost = taken
    watch.hard[0] += parts > 1
    watch.hard[1] += lost
    if lost and watch.hard[2] < 0:
        watch.hard[2] = step


def _rk4_step(drive, q, qd, qdd, h, scheme, iterations):
    x, v, sum_v, sum_a = q, qd, 0.0, 0.0
    for part in range(4):
        a = drive.accelerations(x, v)
        weight = h / 6.0 if part in (0, 3) else h / 3.0
        drive.add_powers(x, v, weight)
        sum_v, sum_a = sum_v + weight * v, sum_a + weight * a
        reach = 0.5 * h if part < 2 else h
        x, v = q + reach * v, qd + reach * a
    q += sum_v
    qd += sum_a
    qdd[:] = a


def _euler_step(drive, q, qd, qdd, h, scheme, iterations):
    qdd[:] = drive.accelerations(q, qd)
    drive.add_powers(q, qd, h)
    before = qd.copy()
    qd += h * qdd
    q += h * (qd if scheme == 'semi_implicit_euler' else before)
