"""
Initial guess of a fit: comparison of spectra, then fits on growing horizons.

The cost in the time domain has one minimum per cycle of phase error. A stiffness that is wrong by
a factor of two ends in the wrong minimum. Spectra ignore phases and have one minimum (I11). Their
remaining error is less than a cycle over a short horizon, whose fit in turn suits a longer one.
"""

from collections.abc import Sequence as Rows
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
from scipy.ndimage import uniform_filter1d
from scipy.signal import welch

from flex_robot_sim.analysis.loop_poses import pose_of_drives
from flex_robot_sim.analysis.natural_modes import modes
from flex_robot_sim.analysis.recorded_vibration import resonances
from flex_robot_sim.analysis.resonance import Resonance
from flex_robot_sim.identification.bench_parameters import is_gauge
from flex_robot_sim.identification.fit import Problem, processors, solve
from flex_robot_sim.identification.imu import imu_channel
from flex_robot_sim.identification.model_order import best_order
from flex_robot_sim.identification.sequences import Sequence, moving_imus
from flex_robot_sim.util.exceptions import FlexRobotSimError

FACTORS = np.geomspace(0.3, 3.3, 11)  # trial factors of all stiffnesses together
SINGLE_FACTORS = np.array([0.7, 0.85, 1.0, 1.18, 1.4])  # trial factors of each stiffness
FINE_FACTORS = np.array([0.92, 0.96, 1.0, 1.04, 1.08])  # the same, at the end
POWER_FLOOR_RATIO = 1e-5  # over the largest power of a channel: less is noise
SMOOTHING_LINES = 5  # width of the moving average over a spectrum
SPECTRUM_DURATION_S = 6.0  # of the log, for spectra
HORIZON_PERIODS = 5.0, 25.0  # horizons, in periods of the slowest resonance
ACTIVITY_THRESHOLD = 0.05  # share of the signal energy before the motion counts as begun
MAX_HORIZON_RATIO = 0.35  # over the duration of the log: longer horizons are skipped
INITIAL_AMPLITUDE = 0.7  # start amplitude of each mode, over the measured one
COARSE_STEP_S = 4e-3  # of samples and simulation, on a horizon
HORIZON_EVALUATIONS = 12  # at most, on a horizon
HORIZON_TOLERANCE = 1e-2  # relative, of the sum of squares


def measured_resonances(sequences: Rows[Sequence], channels: Rows[str]) -> list[Resonance]:
    """Return resonances of gauges and tips in the longest sequence; of IMUs if there are none."""
    sequence = max(sequences, key=lambda row: len(row.time))
    columns = [
        k
        for k, name in enumerate(channels)
        if not imu_channel(name) and (is_gauge(name) or name.startswith('tip/'))
    ]
    columns = columns or moving_imus(sequence.measured, channels)
    if not columns:
        return []
    return resonances(1 / sequence.period, sequence.measured[:, columns])[0]


def spectral_start(problem: Problem) -> np.ndarray:
    """Return the z (p,) whose spectra match the log best; only stiffness is varied."""
    initial = problem.initial_point()
    # the initial state is still unknown; assume initial vibration
    z = initial.copy()
    z[len(problem.unknowns) :] = INITIAL_AMPLITUDE
    low, high = problem.bounds()
    stiff = [
        k
        for k, unknown in enumerate(problem.unknowns)
        if unknown.kind == 'stiffness' and unknown.scale == 0.0
    ]
    if not stiff:
        return initial
    shortened = _shortened(
        problem, [SPECTRUM_DURATION_S] * len(problem.sequences), without_extra_modes=True
    )
    target = _spectra(shortened.sequences, [sequence.measured for sequence in shortened.sequences])

    cache = {}

    def distance(z):
        if z.tobytes() not in cache:
            cache[z.tobytes()] = distance_at(z)
        return cache[z.tobytes()]

    def distance_at(z):
        try:
            tables = shortened.simulated(z)
        except FlexRobotSimError:
            return np.inf
        return sum(
            float(np.mean((spectrum - expected) ** 2))
            for spectrum, expected in zip(_spectra(shortened.sequences, tables), target)
        )

    def best(candidates):
        candidates = [np.clip(candidate, low, high) for candidate in candidates]
        with ThreadPoolExecutor(processors()) as pool:
            distances = list(pool.map(distance, candidates))
        return candidates[int(np.argmin(distances))]

    def changed(z, rows, factor):
        out = z.copy()
        out[rows] += np.log(factor)
        return out

    z = best([changed(z, stiff, factor) for factor in FACTORS])
    if len(stiff) > 1:
        for k in stiff:
            z = best([changed(z, [k], factor) for factor in SINGLE_FACTORS])
    z = best([changed(z, stiff, factor) for factor in FINE_FACTORS])
    z[len(problem.unknowns) :] = 0.0
    return z


def _spectra(sequences, tables):
    """Return the logarithmic spectra (f, c) of each sequence, limited from below by a floor."""
    out = []
    for sequence, table in zip(sequences, tables):
        length = max(64, 2 * len(table) // 5)
        power = welch(table, 1 / sequence.period, nperseg=min(length, len(table)), axis=0)[1][1:]
        floor = POWER_FLOOR_RATIO * welch(
            sequence.measured, 1 / sequence.period, nperseg=min(length, len(table)), axis=0
        )[1][1:].max(axis=0)
        if not np.isfinite(power).all():
            power = np.full_like(power, 1e30)
        level = np.log(power + floor + 1e-300)
        out.append(uniform_filter1d(level, SMOOTHING_LINES, axis=0, mode='nearest'))
    return out


def _shortened(
    problem: Problem, seconds: Rows[float], without_extra_modes: bool = False
) -> Problem:
    """
    Return the problem on the resampled first seconds of each sequence.

    :param without_extra_modes: whether the described modes suffice.
    """
    sequences, setup = [], problem.setup
    is_coarse = setup.time_step is None
    if is_coarse:
        setup = replace(setup, time_step=COARSE_STEP_S)
    for sequence, length in zip(problem.sequences, seconds):
        activity = np.cumsum(
            (
                (sequence.measured - sequence.measured[0])
                / np.maximum(sequence.measured.std(axis=0), 1e-300)
            )
            ** 2,
            axis=0,
        )
        begin = int(np.searchsorted(activity.sum(axis=1), ACTIVITY_THRESHOLD * activity[-1].sum()))
        end = min(begin + round(length / sequence.period), len(sequence.time))
        part = sequence.part(0, end)
        sequences.append(
            part.thinned(int(COARSE_STEP_S / part.period + 1e-6)) if is_coarse else part
        )
    # sequences that begin in motion keep the initial shapes of the problem
    without_extra_modes = without_extra_modes and problem.size == len(problem.unknowns)
    setup = replace(setup, finer=0) if without_extra_modes else setup
    starts = problem.starts
    if without_extra_modes:
        starts = [np.zeros((2 * setup.arm().size, 0))] * len(sequences)
    return Problem(setup, problem.unknowns, problem.servo, sequences, starts)


def slowest_frequency(problem: Problem, slowest: float) -> float:
    """
    Return the frequency [Hz] that scales the horizons.

    :param slowest: measured resonance [Hz]. IMUs emphasize upper modes; if only IMUs are logged,
        the first frequency of the description limits it.
    """
    arm, channels = problem.setup.arm(), problem.setup.data.channels
    imus = [name for name in channels if imu_channel(name)]
    direct = [
        name
        for name in channels
        if name not in imus and (is_gauge(name) or name.startswith('tip/'))
    ]
    if direct or not imus or not arm.tips:
        return slowest
    pose = pose_of_drives(arm, problem.sequences[0].positions[0])
    frequencies = modes(arm, pose, joints='locked').frequencies
    return min([slowest, *frequencies[frequencies > 0.0]])


def horizon_start(problem: Problem, z: np.ndarray, slowest: float) -> tuple[np.ndarray, int]:
    """
    Return z after fits on growing horizons, and the number of additional modes that fits best.

    :param slowest: resonance [Hz].
    """
    order = problem.finer
    for periods in HORIZON_PERIODS:
        shortened = _shortened(problem, [periods / slowest] * len(problem.sequences))
        if len(shortened.measured) > MAX_HORIZON_RATIO * len(problem.measured):
            break
        try:
            fit = solve(
                shortened,
                z,
                rounds=1,
                max_evaluations=HORIZON_EVALUATIONS,
                tolerance=HORIZON_TOLERANCE,
            )
        except np.linalg.LinAlgError:  # the horizon is too short for these unknowns
            continue
        z, order = fit.z, best_order(shortened, fit)
    return z, order
