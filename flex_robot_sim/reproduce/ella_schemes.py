"""ELLA with one shape in each plane: formulations, ends of links and schemes beside each other."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from flex_robot_sim.analysis.deflection import tip_deflection
from flex_robot_sim.core.assembly import load
from flex_robot_sim.core.model import ArmModel
from flex_robot_sim.exceptions import SimulationError
from flex_robot_sim.formulations import wrench_dae
from flex_robot_sim.formulations.wrench_motion import WrenchMotion
from flex_robot_sim.plots import Chart, Curve
from flex_robot_sim.reproduce.motion import (
    Effort,
    Progress,
    apart,
    forces_of,
    integrate,
    simulate,
)
from flex_robot_sim.reproduce.report import Number
from flex_robot_sim.simulation import Simulation

STEP = 1e-3                     # of the paper                                          [s]
EXACT, SHORT = 2.5e-4, 0.5      # step, and how long formulations run beside each other [s]


def beside_each_other(text: str, effort: Effort, servo: Callable[[Simulation, float], None],
                      started: Callable[[ArmModel], np.ndarray], seconds: float,
                      progress: Progress) -> tuple[tuple[Number, ...], tuple[Chart, ...], float]:
    """
    Run formulations, ends of links and schemes beside each other, with one shape in each plane.

    Return Numbers, Charts, and how far apart those are that should not be.

    :param effort: function of time, q and qd; servo: the same of a Simulation and the time.
    :param started: makes the coordinates at the start for an ArmModel.
    """
    arm = load(re.sub(r'<modes [^>]*>', '<modes bending_y="1" bending_z="1" torsion="0"/>', text))
    force, q = forces_of(arm, effort), started(arm)
    usual = simulate(arm, effort, q, 0 * q, EXACT, seconds, 'rk4', every=4)
    default = simulate(arm, effort, q, 0 * q, STEP, seconds, every=1, servo=servo)
    progress(0.1)
    paper = integrate(wrench_dae.make(arm, sections_turn=False).accelerations, force, q, 0 * q,
                      2 * EXACT, seconds, every=2,
                      progress=lambda share: progress(0.1 + 0.3 * share))
    motion, tips, times, drifts = WrenchMotion(arm, q), [], [], []
    for k in range(round(seconds / EXACT) + 1):
        if k % 4 == 0:
            times.append(motion.time)
            tips.append(motion.q.copy())
            drifts.append(motion.drift())
            progress(0.4 + 0.5 * motion.time / seconds)
        motion.step(EXACT, force)
    euler = WrenchMotion(arm, q)
    early = []
    try:
        for _ in range(round(seconds / STEP)):
            early.append((euler.time, euler.q.copy()))
            euler.step(STEP, force, 'forward_euler')
        lost: float | str = 'stays'
    except SimulationError:
        lost = euler.time
    largest = max(apart(usual.q[:, k], np.array(tips)[:, k]) for k in (1, 2))

    def tip(rows):
        return np.array([tip_deflection(arm, 'link_2', row)[1] for row in rows])

    bend = tip(usual.q)
    shown = np.array([row for _, row in early])
    early_times = np.array([t for t, _ in early])
    values = tip(np.clip(shown, -10.0, 10.0))
    values[np.abs(values) > 2 * np.abs(bend).max()] = np.nan
    charts = (
        Chart('Tip deflection of link 2', 'time [s]', 'y [m]', (
            Curve('recursion, rk4', usual.time, bend, 4),
            Curve('separate links, SE(3)', np.array(times), tip(tips), 1, 1),
            Curve('ends only shift (paper)', paper.time, tip(paper.q), 0, 2))),
        Chart('Schemes at 1 ms', 'time [s]', 'y [m]', (
            Curve('default scheme', default.time, tip(default.q), 4),
            Curve('forward Euler', early_times, values, 1, 1))),
        Chart('Drift of the separate links', 'time [s]', 'gap at a joint [m]', (
            Curve('gap', np.array(times), np.array([one.gap for one in drifts]), 4),)))
    numbers = (
        Number('forward Euler at 1 ms is lost after', lost, 's', 'stays', 'the paper'),
        Number('first frequency, sections turn what they carry', _first(arm, True), 'Hz'),
        Number('the same, ends only shift it', _first(arm, False), 'Hz'),
        Number('gap at a joint after the run', drifts[-1].gap, 'm'),
        Number('separate links against the recursion', 100 * largest, '% of range'))
    return numbers, charts, largest


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
