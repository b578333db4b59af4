"""ELLA with one shape in each plane: comparison of formulations, link ends and schemes."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis.deflection import tip_deflection
from flex_robot_sim.formulations import wrench_dae
from flex_robot_sim.formulations.wrench_motion import WrenchMotion
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.reproduce.ella_controller import EllaController
from flex_robot_sim.reproduce.reproduction import Number
from flex_robot_sim.reproduce.simulated_motion import (
    Progress,
    curve_error,
    integrate,
    make_force,
    simulate,
    stiffness_and_damping,
)
from flex_robot_sim.util.exceptions import SimulationError
from flex_robot_sim.util.plots import Chart, Curve

STEP_S = 1e-3  # of the paper                                          [s]
REFERENCE_STEP, RUN_DURATION = 2.5e-4, 0.5  # of the compared formulations          [s]


class SchemeComparison(NamedTuple):
    """Results of the schemes."""

    numbers: tuple[Number, ...]
    charts: tuple[Chart, ...]
    max_error: float  # difference of runs that should agree, over the range
    euler_fraction: float  # of the run, until forward Euler diverges
    euler_difference: float  # of its tip deflection from the default scheme, over the range
    min_seconds: float  # shortest run that allows a verdict about forward Euler    [s]


def compare_schemes(
    arm: ArmModel,
    start_coordinates: Callable[[ArmModel], np.ndarray],
    seconds: float,
    progress: Progress,
    runs_all: bool = True,
) -> SchemeComparison:
    """
    Compare formulations, link ends and schemes with one shape in each plane.

    :param start_coordinates: computes the coordinates of an ArmModel at the start.
    :param runs_all: False: forward Euler alone.
    """
    controller = EllaController(arm, True)
    effort = controller.effort
    force, q = make_force(arm, effort), start_coordinates(arm)
    times, states, euler_fraction = simulate_forward_euler(arm, force, q, seconds)
    numbers = [
        Number(
            'forward Euler at 1 ms is lost after',
            'stays' if euler_fraction == 1.0 else float(times[-1]),
            's',
        ),
        Number(
            'first frequency, sections turn what they carry', _first_frequency(arm, True), 'Hz'
        ),
        Number('the same, ends of links without rotation', _first_frequency(arm, False), 'Hz'),
    ]
    default = simulate(arm, effort, q, 0 * q, STEP_S, seconds, stride=1, servo=controller.servo)

    def tip(rows):
        return 1e3 * np.array([tip_deflection(arm, 'link_2', row)[1] for row in rows])

    difference = curve_error(tip(default.q)[: len(states)], tip(np.clip(states, -10.0, 10.0)))
    if not runs_all:
        return SchemeComparison(tuple(numbers), (), 0.0, euler_fraction, difference, RUN_DURATION)
    reference = simulate(arm, effort, q, 0 * q, REFERENCE_STEP, seconds, 'rk4', stride=4)
    progress(0.1)
    paper_run = integrate(
        wrench_dae.make(arm, sections_turn=False).accelerations,
        force,
        q,
        0 * q,
        2 * REFERENCE_STEP,
        seconds,
        stride=2,
        progress=lambda fraction: progress(0.1 + 0.3 * fraction),
    )
    motion, tips, sample_times, drifts = WrenchMotion(arm, q), [], [], []
    for k in range(round(seconds / REFERENCE_STEP) + 1):
        if k % 4 == 0:
            sample_times.append(motion.time)
            tips.append(motion.q.copy())
            drifts.append(motion.drift())
            progress(0.4 + 0.5 * motion.time / seconds)
        motion.step(REFERENCE_STEP, force)
    separate_times = np.array(sample_times)
    max_error = max(curve_error(reference.q[:, k], np.array(tips)[:, k]) for k in (1, 2))
    reference_tip = tip(reference.q)
    values = tip(np.clip(states, -10.0, 10.0))
    values[np.abs(values) > 2 * np.abs(reference_tip).max()] = np.nan
    charts = (
        Chart(
            'Tip deflection of link 2',
            'time [s]',
            'y [mm]',
            (
                Curve('recursion, rk4', reference.time, reference_tip, 4),
                Curve('separate links, SE(3)', separate_times, tip(tips), 1, 1),
                Curve('ends only shift (paper)', paper_run.time, tip(paper_run.q), 0, 2),
            ),
        ),
        Chart(
            'Schemes at 1 ms',
            'time [s]',
            'y [mm]',
            (
                Curve('default scheme', default.time, tip(default.q), 4),
                Curve('forward Euler', times, values, 1, 1),
            ),
        ),
        Chart(
            'Drift of the separate links',
            'time [s]',
            'gap at a joint [m]',
            (Curve('gap', separate_times, np.array([drift.gap for drift in drifts]), 4),),
        ),
    )
    numbers += [
        Number('gap at a joint after the run', drifts[-1].gap, 'm'),
        Number('separate links against the recursion', 100 * max_error, '% of range'),
    ]
    return SchemeComparison(
        tuple(numbers), charts, max_error, euler_fraction, difference, RUN_DURATION
    )


def simulate_forward_euler(
    arm: ArmModel, force: Callable, q: np.ndarray, seconds: float
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return times (k,), states (k, n) and fraction of the run until forward Euler diverges."""
    euler, times, states, fraction = WrenchMotion(arm, q), [], [], 1.0
    try:
        for _ in range(round(seconds / STEP_S)):
            times.append(euler.time)
            states.append(euler.q.copy())
            euler.step(STEP_S, force, 'forward_euler')
    except SimulationError:
        fraction = times[-1] / seconds
    return np.array(times), np.array(states), fraction


def _first_frequency(arm, sections_turn):
    """Return the first frequency with motors held, at the zero pose [Hz]."""
    system, zero = wrench_dae.make(arm, sections_turn), np.zeros(arm.size)
    bias = system.accelerations(zero, zero, zero)
    mobility = np.array([system.accelerations(zero, zero, row) - bias for row in np.eye(arm.size)])
    K, _ = stiffness_and_damping(arm)
    M = np.linalg.inv(mobility)[3:, 3:]
    return np.sqrt(np.linalg.eigvals(np.linalg.solve(M, K[3:, 3:])).real.min()) / (2 * np.pi)
