"""Motions of any formulation, integrated alike, and how far formulations are apart on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from flex_robot_sim.formulations import FORMULATIONS, Formulation, make
from flex_robot_sim.formulations.driving import FormulationDynamics
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.exceptions import SettingError, SimulationError
from flex_robot_sim.util.settings import SimulationSettings

LARGEST = 1e9               # of a coordinate that is still a motion

Progress = Callable[[float], None]                                  # told the share that is done
Force = Callable[[np.ndarray, np.ndarray, float], np.ndarray]       # of q, qd and time
Effort = Callable[[float, np.ndarray, np.ndarray], np.ndarray]      # of time, q and qd
Accelerations = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
Variant = Callable[[ArmModel], Formulation]                         # makes one for an arm


class VariantSimulation(Simulation):
    """A Simulation whose accelerations come from a variant of a formulation."""

    def __init__(self, arm: ArmModel, settings: SimulationSettings, variant: Variant) -> None:
        self._variant = variant
        super().__init__(arm, settings)

    def _make_drive(self) -> FormulationDynamics:
        return FormulationDynamics(self._variant(replace(self.arm, arrays=self._arrays)),
                                   self._arrays)


class Run(NamedTuple):
    """Samples of a motion."""

    time: np.ndarray        # (k,)    [s]
    q: np.ndarray           # (k, n)  coordinates
    qd: np.ndarray          # (k, n)

    def of(self, arm: ArmModel, name: str) -> np.ndarray:
        """Coordinate `name` of an ArmModel over time, (k,)."""
        return self.q[:, arm.coordinate_names.index(name)]


def springs(arm: ArmModel) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness K and damping D (n, n) of links, gears and drives; without dry friction."""
    arrays, K, D = arm.arrays, np.zeros((arm.size, arm.size)), np.zeros((arm.size, arm.size))
    for i, n in enumerate(arrays.modes):
        part = slice(arrays.first[i], arrays.first[i] + n)
        K[part, part], D[part, part] = arrays.stiffness[i, :n, :n], arrays.damping[i, :n, :n]
    for j, m in enumerate(arrays.motor):
        k = j if m < 0 else m
        D[k, k] += arrays.viscous[j]
        if m >= 0:
            pair = np.ix_([j, m], [j, m])
            K[pair] += arrays.gear_stiffness[j] * np.array([[1, -1], [-1, 1]])
            D[pair] += arrays.gear_damping[j] * np.array([[1, -1], [-1, 1]])
    return K, D


def forces_of(arm: ArmModel, effort: Effort) -> Force:
    """
    Return the forces on all coordinates as a function of q, qd and time.

    :param effort: function of time, q and qd that gives the efforts of the motors (joints,).
    """
    K, D = springs(arm)
    joints = len(arm.joint_names)
    driven = np.where(arm.arrays.motor >= 0, arm.arrays.motor, np.arange(joints))

    def force(q, qd, time):
        total = -K @ q - D @ qd
        total[driven] += effort(time, q, qd)
        return total

    return force


def simulate(arm: ArmModel, effort: Effort | None, q: np.ndarray, qd: np.ndarray, step: float,
             seconds: float, scheme: str = 'implicit_midpoint', every: int = 10,
             look: Callable[[Simulation], None] | None = None,
             servo: Callable[[Simulation, float], None] | None = None,
             formulation: str = 'recursion', progress: Progress = lambda share: None,
             variant: Variant | None = None) -> Run:
    """
    Let a Simulation run, efforts held for each step at what they are in its middle.

    A motion that another formulation than the recursion loses ends there.

    :param effort: function of time, q and qd, or None.
    :param look: called with the Simulation at every sample.
    :param servo: in the place of effort, called with the Simulation and the time to set inputs.
    :param variant: makes the formulation that moves the arm, in the place of `formulation`.
    """
    settings = SimulationSettings(time_step=step, scheme=scheme, formulation=formulation)
    simulation = (Simulation(arm, settings) if variant is None
                  else VariantSimulation(arm, settings, variant))
    simulation.set_state(coordinates=q, rates=qd)
    rows, total, k = [], max(round(seconds / step), 1), 0
    while True:
        if k % every == 0 or k == total:
            rows.append((k * step, simulation.coordinates, simulation.rates))
            progress(k / total)
            if look is not None:
                look(simulation)
        if k == total:
            break
        steps = 1
        if servo is not None:
            servo(simulation, (k + 0.5) * step)
        elif effort is not None:
            simulation.effort = effort((k + 0.5) * step, simulation.coordinates, simulation.rates)
        else:
            steps = min(every, total - k)
        try:
            simulation.step(steps)
        except SimulationError:
            if formulation == 'recursion' and variant is None:
                raise
            break
        k += steps
    return Run(*(np.array(column) for column in zip(*rows)))


def integrate(accelerations: Accelerations, force: Force, q: np.ndarray, qd: np.ndarray,
              step: float, seconds: float, every: int = 10,
              progress: Progress = lambda share: None, scheme: str = 'rk4') -> Run:
    """
    Integrate a formulation; a motion that grows without bound ends before `seconds`.

    :param accelerations: of a formulation, function of q, qd and force.
    :param force: function of q, qd and time.
    :param every: steps between two samples.
    :param scheme: 'rk4' or 'forward_euler'.
    """
    n, state = len(q), np.concatenate([q, qd]).astype(float)

    def rates(time, state):
        if not np.abs(state).max() < LARGEST:
            return np.full_like(state, np.nan)
        q, qd = state[:n], state[n:]
        return np.concatenate([qd, accelerations(q, qd, force(q, qd, time))])

    times, states = [0.0], [state.copy()]
    total = max(round(seconds / step), 1)
    for k in range(total):
        try:
            state = _next_state(rates, k * step, state, step, scheme)
        # no inertia left, in a full or a sparse matrix: the motion is lost
        except (np.linalg.LinAlgError, RuntimeError):
            break
        if not np.abs(state).max() < LARGEST:
            break
        if (k + 1) % every == 0 or k + 1 == total:
            times.append((k + 1) * step)
            states.append(state.copy())
            progress((k + 1) / total)
    table = np.array(states)
    return Run(np.array(times), table[:, :n], table[:, n:])


def _next_state(rates, t, state, step, scheme):
    """Return the state after one step."""
    first = rates(t, state)
    if scheme == 'rk4':
        # inputs jump between steps only, so that the end of a step sees those before the jump
        second = rates(t + step / 2, state + step / 2 * first)
        third = rates(t + step / 2, state + step / 2 * second)
        fourth = rates(t + step * (1 - 1e-9), state + step * third)
        first = (first + 2 * second + 2 * third + fourth) / 6
    return state + step * first


def agreement(arm: ArmModel, run: Run, force: Force, count: int = 12) -> dict[str, float | str]:
    """
    Return {formulation: largest difference of its accelerations from the recursion, or why not}.

    :param run: Run from which `count` states are taken; force: function of q, qd and time.
    """
    chosen = np.linspace(0, len(run.time) - 1, count).round().astype(int)
    states = [(run.q[k], run.qd[k], force(run.q[k], run.qd[k], run.time[k])) for k in chosen]
    judged = make('recursion', arm)
    expected = [judged.accelerations(*state) for state in states]
    scale = max(np.abs(row).max() for row in expected) or 1.0
    found: dict[str, float | str] = {}
    for name in FORMULATIONS:
        if name == 'recursion':
            continue
        try:
            formulation = make(name, arm)
            found[name] = max(np.abs(formulation.accelerations(*state) - row).max()
                              for state, row in zip(states, expected)) / scale
        except SettingError as error:
            found[name] = f'not covered: {error}'
    return found


def within(progress: Progress, start: float, end: float) -> Progress:
    """Return what tells `progress` of a part that goes from one share to another."""
    return lambda share: progress(start + (end - start) * share)


def apart(run: np.ndarray, other: np.ndarray) -> float:
    """Largest difference of two curves (k,) over the range of the first."""
    size = min(len(run), len(other))
    return float(np.abs(run[:size] - other[:size]).max() / (np.ptp(run[:size]) or 1.0))
