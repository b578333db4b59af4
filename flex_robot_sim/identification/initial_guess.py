"""
Where a fit begins: spectra first, which do not care for phases, then longer and longer logs.

The time domain has a minimum for every cycle that model and log may be apart, so that a stiffness
wrong by two ends in another one. Spectra have one only (I11). What they leave is less than a cycle
over a short time, and what that leaves is less than one over a longer time.
"""

from __future__ import annotations

from collections.abc import Sequence as Rows
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
from scipy.ndimage import uniform_filter1d
from scipy.signal import welch

from flex_robot_sim.analysis.natural_modes import modes
from flex_robot_sim.analysis.recorded_vibration import Resonance, resonances
from flex_robot_sim.identification.fit import Problem, processors, solve
from flex_robot_sim.identification.imu import imu_channel
from flex_robot_sim.identification.model_order import best_order
from flex_robot_sim.identification.parameters import is_gauge
from flex_robot_sim.identification.sequences import Sequence, lively_imus
from flex_robot_sim.util.exceptions import FlexRobotSimError

FACTORS = np.geomspace(0.3, 3.3, 11)        # of all stiffnesses together
OWN_FACTORS = np.array([0.7, 0.85, 1.0, 1.18, 1.4])     # of each
FINE_FACTORS = np.array([0.92, 0.96, 1.0, 1.04, 1.08])  # of all, at the end
FLOOR = 1e-5            # of the largest power of a channel, below which it is noise
SMOOTHED = 5            # lines of a spectrum
SECONDS = 6.0           # of a log that are enough for it
HORIZONS = 5.0, 25.0    # periods of the slowest resonance that a fit sees first
ACTIVE = 0.05           # share of what channels do, after which a log counts as moving
MOST_SHARE = 0.35       # of a log, beyond which a horizon is not worth a fit of its own
RINGING = 0.7           # of what is measured, in every mode, where a sequence begins in motion
STEP = 4e-3             # between samples, and of the simulation, that is short enough      [s]
TRIES = 12              # evaluations on a horizon
ROUGH = 1e-2            # of the sum of squares there


def measured_resonances(sequences: Rows[Sequence], channels: Rows[str]) -> list[Resonance]:
    """Return what gauges and tips of the longest sequence ring at; IMUs where there are none."""
    sequence = max(sequences, key=lambda one: len(one.time))
    columns = [k for k, name in enumerate(channels)
               if not imu_channel(name) and (is_gauge(name) or name.startswith('tip/'))]
    columns = columns or lively_imus(sequence.measured, channels)
    if not columns:
        return []
    return resonances(1 / sequence.period, sequence.measured[:, columns])[0]


def spectral_start(problem: Problem) -> np.ndarray:
    """Return the z (p,) at which spectra of model and log are alike; stiffness alone moves."""
    still = problem.first()
    # what a sequence begins with is not known yet, but that it rings
    z = still.copy()
    z[len(problem.unknowns):] = RINGING
    low, high = problem.bounds()
    stiff = [k for k, one in enumerate(problem.unknowns)
             if one.kind == 'stiffness' and one.scale == 0.0]
    if not stiff:
        return still
    short = _cut(problem, [SECONDS] * len(problem.sequences), is_plain=True)
    target = _spectra(short.sequences, [row.measured for row in short.sequences])

    known = {}

    def distance(z):
        if z.tobytes() not in known:
            known[z.tobytes()] = distance_at(z)
        return known[z.tobytes()]

    def distance_at(z):
        try:
            tables = short.simulated(z)
        except FlexRobotSimError:
            return np.inf
        return sum(float(np.mean((found - wanted)**2)) for found, wanted in zip(
            _spectra(short.sequences, tables), target))

    def best(tries):
        tries = [np.clip(one, low, high) for one in tries]
        with ThreadPoolExecutor(processors()) as pool:
            found = list(pool.map(distance, tries))
        return tries[int(np.argmin(found))]

    def changed(z, rows, factor):
        out = z.copy()
        out[rows] += np.log(factor)
        return out

    z = best([changed(z, stiff, factor) for factor in FACTORS])
    if len(stiff) > 1:
        for k in stiff:
            z = best([changed(z, [k], factor) for factor in OWN_FACTORS])
    z = best([changed(z, stiff, factor) for factor in FINE_FACTORS])
    z[len(problem.unknowns):] = 0.0
    return z


def _spectra(sequences, tables):
    """Log spectra (f, c) of each sequence; below a floor all is alike."""
    out = []
    for sequence, table in zip(sequences, tables):
        length = max(64, 2 * len(table) // 5)
        power = welch(table, 1 / sequence.period, nperseg=min(length, len(table)), axis=0)[1][1:]
        floor = FLOOR * welch(sequence.measured, 1 / sequence.period,
                              nperseg=min(length, len(table)), axis=0)[1][1:].max(axis=0)
        if not np.isfinite(power).all():
            power = np.full_like(power, 1e30)
        level = np.log(power + floor + 1e-300)
        out.append(uniform_filter1d(level, SMOOTHED, axis=0, mode='nearest'))
    return out


def _cut(problem: Problem, seconds: Rows[float], is_plain: bool = False) -> Problem:
    """
    Return the problem on some samples of the first seconds of each sequence.

    :param is_plain: whether shapes as described will do.
    """
    parts, setup = [], problem.setup
    is_coarse = setup.time_step is None
    if is_coarse:
        setup = replace(setup, time_step=STEP)
    for sequence, length in zip(problem.sequences, seconds):
        active = np.cumsum(((sequence.measured - sequence.measured[0])
                            / np.maximum(sequence.measured.std(axis=0), 1e-300))**2, axis=0)
        begun = int(np.searchsorted(active.sum(axis=1), ACTIVE * active[-1].sum()))
        end = min(begun + round(length / sequence.period), len(sequence.time))
        part = sequence.part(0, end)
        parts.append(part.thinned(int(STEP / part.period + 1e-6)) if is_coarse else part)
    # where sequences begin in motion, starts are those of the shapes of the problem
    is_plain = is_plain and problem.size == len(problem.unknowns)
    setup = replace(setup, finer=0) if is_plain else setup
    starts = [np.zeros((2 * setup.arm().size, 0))] * len(parts) if is_plain else problem.starts
    return Problem(setup, problem.unknowns, problem.servo, parts, starts)


def horizon_frequency(problem: Problem, slowest: float) -> float:
    """
    Return the frequency [Hz] whose periods a fit sees first.

    :param slowest: resonance that was measured. IMUs alone show upper modes more than the first,
        whose frequency is then taken from the description if it is less.
    """
    arm, channels = problem.setup.arm(), problem.setup.data.channels
    imus = [name for name in channels if imu_channel(name)]
    others = [name for name in channels
              if name not in imus and (is_gauge(name) or name.startswith('tip/'))]
    if others or not imus or not arm.tips:
        return slowest
    found = modes(arm, problem.sequences[0].places[0], 'locked').frequencies
    return min([slowest, *found[found > 0.0]])


def grown_start(problem: Problem, z: np.ndarray, slowest: float) -> tuple[np.ndarray, int]:
    """
    Return z after fits on growing parts of the log, and the modes that these ask for.

    :param slowest: resonance [Hz].
    """
    order = problem.finer
    for periods in HORIZONS:
        short = _cut(problem, [periods / slowest] * len(problem.sequences))
        if len(short.measured) > MOST_SHARE * len(problem.measured):
            break
        try:
            fit = solve(short, z, rounds=1, most=TRIES, tolerance=ROUGH)
        except np.linalg.LinAlgError:       # nothing can be told of so little
            continue
        z, order = fit.z, best_order(short, fit)
    return z, order
