"""Simulated motions of any formulation, and differences between formulations along a motion."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from flex_robot_sim.formulations import FORMULATIONS, Formulation, make
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.friction import VISCOUS
from flex_robot_sim.simulation.rollout import ControlLoop
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.exceptions import SettingError, SimulationError
from flex_robot_sim.util.settings import SimulationSettings

MAX_COORDINATE = 1e9  # above it, an integration has diverged           [rad, m]

Progress = Callable[[float], None]  # of the fraction complete
Force = Callable[[np.ndarray, np.ndarray, float], np.ndarray]  # of q, qd and time
Effort = Callable[[float, np.ndarray, np.ndarray], np.ndarray]  # of time, q and qd
Accelerations = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
Variant = Callable[[ArmModel], Formulation]  # makes it for an arm


class VariantSimulation(Simulation):
    """A Simulation whose accelerations come from a variant of a formulation."""

    def __init__(self, arm: ArmModel, settings: SimulationSettings, variant: Variant) -> None:
        self._variant = variant
        super().__init__(arm, settings)

    def _formulation_maker(self) -> Variant:
        return self._variant


class Run(NamedTuple):
    """Samples of a motion."""

    time: np.ndarray  # (k,)    [s]
    q: np.ndarray  # (k, n)  coordinates
    qd: np.ndarray  # (k, n)

    def coordinate(self, arm: ArmModel, name: str) -> np.ndarray:
        """Coordinate `name` of an ArmModel over time, (k,)."""
        return self.q[:, arm.coordinate_names.index(name)]


def stiffness_and_damping(arm: ArmModel) -> tuple[np.ndarray, np.ndarray]:
    """Return stiffness K and damping D (n, n) of links, gears and drives, no dry friction."""
    arrays, K, D = arm.arrays, np.zeros((arm.size, arm.size)), np.zeros((arm.size, arm.size))
    for i, n in enumerate(arrays.modes):
        rows = arm.elastic_coordinates(i)
        K[rows, rows], D[rows, rows] = arrays.stiffness[i, :n, :n], arrays.damping[i, :n, :n]
    for j, m in enumerate(arrays.motor):
        k = j if m < 0 else m
        D[k, k] += arrays.friction[j, VISCOUS]
        if m >= 0:
            block = np.ix_([j, m], [j, m])
            K[block] += arrays.gear_stiffness[j] * np.array([[1, -1], [-1, 1]])
            D[block] += arrays.gear_damping[j] * np.array([[1, -1], [-1, 1]])
    return K, D


def make_force(arm: ArmModel, effort: Effort) -> Force:
    """
    Return a function of q, qd and time that computes the forces on all coordinates.

    :param effort: function of time, q and qd that returns the efforts of the motors (joints,).
    """
    K, D = stiffness_and_damping(arm)

    def force(q, qd, time):
        total = -K @ q - D @ qd
        total[arm.motor_q] += effort(time, q, qd)
        return total

    return force


def simulate(
    arm: ArmModel,
    effort: Effort | None,
    q: np.ndarray,
    qd: np.ndarray,
    step: float,
    seconds: float,
    scheme: str = 'implicit_midpoint',
    stride: int = 10,
    on_sample: Callable[[Simulation], None] | None = None,
    servo: Callable[[Simulation, float], None] | None = None,
    formulation: str = 'recursion',
    progress: Progress = lambda fraction: None,
    variant: Variant | None = None,
) -> Run:
    """
    Run a Simulation; each step takes the effort at its middle, with the state at its start.

    If a formulation other than the recursion fails, the Run ends there.

    :param effort: function of time, q and qd, or None.
    :param stride: steps between two samples.
    :param on_sample: called with the Simulation at every sample.
    :param servo: replaces `effort`; called with the Simulation and the time to set inputs.
    :param variant: makes the formulation that moves the arm; replaces `formulation`.
    """
    settings = SimulationSettings(time_step=step, scheme=scheme, formulation=formulation)
    simulation = (
        Simulation(arm, settings) if variant is None else VariantSimulation(arm, settings, variant)
    )
    simulation.set_state(q=q, v=qd)
    samples, total_steps = [], max(round(seconds / step), 1)

    def controller(time, simulation):
        middle = (round(time / step) + 0.5) * step
        if servo is not None:
            return servo(simulation, middle)
        assert effort is not None
        return effort(middle, simulation.q, simulation.v)

    def record(simulation):
        k = round(simulation.time / step)
        samples.append((k * step, simulation.q, simulation.v))
        progress(k / total_steps)
        if on_sample is not None:
            on_sample(simulation)

    try:
        ControlLoop(
            simulation,
            controller if servo or effort else None,
            record=record,
            record_period=stride * step,
        ).advance(total_steps)
        record(simulation)
    except SimulationError:
        if formulation == 'recursion' and variant is None:
            raise
    return Run(*(np.array(column) for column in zip(*samples)))


def integrate(
    accelerations: Accelerations,
    force: Force,
    q: np.ndarray,
    qd: np.ndarray,
    step: float,
    seconds: float,
    stride: int = 10,
    progress: Progress = lambda fraction: None,
    scheme: str = 'rk4',
) -> Run:
    """
    Integrate a formulation; the Run of a motion that diverges ends before `seconds`.

    :param accelerations: of a formulation, function of q, qd and force.
    :param force: function of q, qd and time.
    :param stride: steps between two samples.
    :param scheme: 'rk4' or 'forward_euler'.
    """
    n, state = len(q), np.concatenate([q, qd]).astype(float)

    def rates(time, state):
        if not np.abs(state).max() < MAX_COORDINATE:
            return np.full_like(state, np.nan)
        q, qd = state[:n], state[n:]
        return np.concatenate([qd, accelerations(q, qd, force(q, qd, time))])

    times, states = [0.0], [state.copy()]
    total_steps = max(round(seconds / step), 1)
    for k in range(total_steps):
        try:
            state = _next_state(rates, k * step, state, step, scheme)
        # singular mass matrix, full or sparse: the integration cannot continue
        except (np.linalg.LinAlgError, RuntimeError):
            break
        if not np.abs(state).max() < MAX_COORDINATE:
            break
        if (k + 1) % stride == 0 or k + 1 == total_steps:
            times.append((k + 1) * step)
            states.append(state.copy())
            progress((k + 1) / total_steps)
    state_table = np.array(states)
    return Run(np.array(times), state_table[:, :n], state_table[:, n:])


def _next_state(rates, t, state, step, scheme):
    """Return the state after one step."""
    first = rates(t, state)
    if scheme == 'rk4':
        # inputs jump only between steps; evaluate the end of a step just before the jump
        second = rates(t + step / 2, state + step / 2 * first)
        third = rates(t + step / 2, state + step / 2 * second)
        fourth = rates(t + step * (1 - 1e-9), state + step * third)
        first = (first + 2 * second + 2 * third + fourth) / 6
    return state + step * first


def acceleration_errors(
    arm: ArmModel, run: Run, force: Force, count: int = 12
) -> dict[str, float | str]:
    """
    Return {formulation: largest relative difference of its accelerations from the recursion}.

    The value is a reason in words if the formulation does not cover the arm.

    :param run: Run that provides `count` states; force: function of q, qd and time.
    """
    sample_rows = np.linspace(0, len(run.time) - 1, count).round().astype(int)
    states = [(run.q[k], run.qd[k], force(run.q[k], run.qd[k], run.time[k])) for k in sample_rows]
    recursion = make('recursion', arm)
    expected = [recursion.accelerations(*state) for state in states]
    scale = max(np.abs(row).max() for row in expected) or 1.0
    errors: dict[str, float | str] = {}
    for name in FORMULATIONS:
        if name == 'recursion':
            continue
        try:
            formulation = make(name, arm)
            errors[name] = (
                max(
                    np.abs(formulation.accelerations(*state) - row).max()
                    for state, row in zip(states, expected)
                )
                / scale
            )
        except SettingError as error:
            errors[name] = f'not covered: {error}'
    return errors


def subprogress(progress: Progress, start: float, end: float) -> Progress:
    """Return a Progress that maps 0 to 1 of a part to `start` to `end` of the whole."""
    return lambda fraction: progress(start + (end - start) * fraction)


def curve_error(curve: np.ndarray, other: np.ndarray) -> float:
    """Return the largest difference of two curves (k,) over the range of the first."""
    size = min(len(curve), len(other))
    return float(np.abs(curve[:size] - other[:size]).max() / (np.ptp(curve[:size]) or 1.0))
