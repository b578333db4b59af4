"""ELLA with one shape in each plane: formulations, ends of links and schemes in comparison."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flex_robot_sim.analysis.deflection import tip_deflection
from flex_robot_sim.formulations import wrench_dae
from flex_robot_sim.formulations.wrench_motion import WrenchMotion
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.reproduce.motion import Progress, apart, forces_of, integrate, simulate
from flex_robot_sim.reproduce.report import Number
from flex_robot_sim.util.exceptions import SimulationError
from flex_robot_sim.util.plots import Chart, Curve

if TYPE_CHECKING:
    from flex_robot_sim.reproduce.ella import Controller

STEP = 1e-3                     # of the paper                                          [s]
EXACT, SHORT = 2.5e-4, 0.5      # step, and how long formulations run in parallel        [s]


class Schemes(NamedTuple):
    """What came of the schemes."""

    numbers: tuple[Number, ...]
    charts: tuple[Chart, ...]
    largest: float          # difference of those that should agree, over the range
    euler_share: float      # of the run, until forward Euler loses it
    euler_difference: float     # of its tip deflection from the default scheme, over the range
    needed: float           # length of the run that decides about it                   [s]


def compare_schemes(arm: ArmModel, controller_of: Callable[[ArmModel, bool], Controller],
                    started: Callable[[ArmModel], np.ndarray], seconds: float,
                    progress: Progress, has_all: bool = True) -> Schemes:
    """
    Run formulations, ends of links and schemes, with one shape in each plane.

    :param controller_of: makes the Controller of an ArmModel.
    :param started: makes the coordinates at the start for an ArmModel.
    :param has_all: False: forward Euler alone.
    """
    controller = controller_of(arm, True)
    effort = controller.effort
    force, q = forces_of(arm, effort), started(arm)
    times, states, euler_share = euler_run(arm, force, q, seconds)
    numbers = [Number('forward Euler at 1 ms is lost after',
                      'stays' if euler_share == 1.0 else float(times[-1]), 's'),
               Number('first frequency, sections turn what they carry', _first(arm, True), 'Hz'),
               Number('the same, ends only shift it', _first(arm, False), 'Hz')]
    default = simulate(arm, effort, q, 0 * q, STEP, seconds, every=1, servo=controller.servo)

    def tip(rows):
        return 1e3 * np.array([tip_deflection(arm, 'link_2', row)[1] for row in rows])

    difference = apart(tip(default.q)[:len(states)], tip(np.clip(states, -10.0, 10.0)))
    if not has_all:
        return Schemes(tuple(numbers), (), 0.0, euler_share, difference, SHORT)
    usual = simulate(arm, effort, q, 0 * q, EXACT, seconds, 'rk4', every=4)
    progress(0.1)
    paper = integrate(wrench_dae.make(arm, sections_turn=False).accelerations, force, q, 0 * q,
                      2 * EXACT, seconds, every=2,
                      progress=lambda share: progress(0.1 + 0.3 * share))
    motion, tips, rows, drifts = WrenchMotion(arm, q), [], [], []
    for k in range(round(seconds / EXACT) + 1):
        if k % 4 == 0:
            rows.append(motion.time)
            tips.append(motion.q.copy())
            drifts.append(motion.drift())
            progress(0.4 + 0.5 * motion.time / seconds)
        motion.step(EXACT, force)
    separate, largest = np.array(rows), max(
        apart(usual.q[:, k], np.array(tips)[:, k]) for k in (1, 2))

    bend = tip(usual.q)
    values = tip(np.clip(states, -10.0, 10.0))
    values[np.abs(values) > 2 * np.abs(bend).max()] = np.nan
    charts = (
        Chart('Tip deflection of link 2', 'time [s]', 'y [mm]', (
            Curve('recursion, rk4', usual.time, bend, 4),
            Curve('separate links, SE(3)', separate, tip(tips), 1, 1),
            Curve('ends only shift (paper)', paper.time, tip(paper.q), 0, 2))),
        Chart('Schemes at 1 ms', 'time [s]', 'y [mm]', (
            Curve('default scheme', default.time, tip(default.q), 4),
            Curve('forward Euler', times, values, 1, 1))),
        Chart('Drift of the separate links', 'time [s]', 'gap at a joint [m]', (
            Curve('gap', separate, np.array([one.gap for one in drifts]), 4),)))
    numbers += [Number('gap at a joint after the run', drifts[-1].gap, 'm'),
                Number('separate links against the recursion', 100 * largest, '% of range')]
    return Schemes(tuple(numbers), charts, largest, euler_share, difference, SHORT)


def euler_run(arm: ArmModel, force: Callable, q: np.ndarray, seconds: float
              ) -> tuple[np.ndarray, np.ndarray, float]:
    """Times (k,), states (k, n) and share of the run, until forward Euler loses separate links."""
    euler, times, states, share = WrenchMotion(arm, q), [], [], 1.0
    try:
        for _ in range(round(seconds / STEP)):
            times.append(euler.time)
            states.append(euler.q.copy())
            euler.step(STEP, force, 'forward_euler')
    except SimulationError:
        share = times[-1] / seconds
    return np.array(times), np.array(states), share


def _first(arm, turns):
    """First frequency [Hz] with motors held, at the zero pose."""
    system, zero = wrench_dae.make(arm, turns), np.zeros(arm.size)
    rest = system.accelerations(zero, zero, zero)
    mobility = np.array([system.accelerations(zero, zero, row) - rest for row in np.eye(arm.size)])
    K = np.zeros_like(mobility)
    for i in arm.beams:
        part = slice(arm.arrays.first[i], arm.arrays.first[i] + arm.arrays.modes[i])
        K[part, part] = arm.beams[i].stiffness
    M = np.linalg.inv(mobility)[3:, 3:]
    return np.sqrt(np.linalg.eigvals(np.linalg.solve(M, K[3:, 3:])).real.min()) / (2 * np.pi)
