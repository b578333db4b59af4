"""Long logs: time and memory of fits, and distance from the fit of all samples."""

import resource
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from time import perf_counter, process_time

import numpy as np

import flex_robot_sim as frs
from benchmarks.identification.shipped_arm_log import (
    COUNTS,
    CURVATURE_NOISE,
    OFF,
    SERVO,
    values_of,
)
from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.description.robot_parameters import with_parameters
from flex_robot_sim.identification.fit import Problem, solve
from flex_robot_sim.identification.gauss_newton import at_root
from flex_robot_sim.identification.identify import HELD_OUT_RATIO, identify
from flex_robot_sim.identification.log_file import Column, Log
from flex_robot_sim.identification.parameters import unknowns_of
from flex_robot_sim.identification.prediction import MAX_STEP_S, Setup
from flex_robot_sim.identification.sequences import make_data_set
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.util.share import shipped_robots

SECONDS, PERIOD, STEP = 600.0, 2e-3, 5e-4  # of the log and of the plant [s]
FREE = [*OFF['two_link'], 'waist.viscous', 'shoulder.viscous', 'elbow.viscous', 'delay']
ENCODER_STEP = 2 * np.pi / COUNTS  # [rad]
MILLION_FREE = [*OFF['single_link'], 'delay']
MILLION_ROWS, MILLION_PERIOD = 1_000_000, 1e-3  # [s]
FULL_EVALUATIONS = 6  # of the fit of all samples, from the estimates
FREQUENCIES_HZ = np.geomspace(0.1, 3.0, 9)  # of the motion


def plant(name):
    """Return a shipped arm with more modes than described."""
    text = shipped_robots()[name].read_text(encoding='utf-8')
    text = text.replace('bending_y="2"', 'bending_y="4"').replace('bending_z="2"', 'bending_z="4"')
    description = frs.read_description(text)
    return build_arm(with_parameters(description, values_of(name, description)))


def long_log(seconds=SECONDS, seed=0, name='two_link', period=PERIOD):
    """Return the Log of an arm that follows sums of sines by a servo; it begins at rest."""
    arm, random = plant(name), np.random.default_rng(seed)
    stiffness, damping = (np.array(gains) for gains in SERVO[name])
    sensors, joints = flex_sensors(arm), len(arm.joint_names)
    simulation = frs.Simulation(arm, frs.SimulationSettings(time_step=STEP))
    rest = frs.equilibrium(arm, np.zeros(joints))
    simulation.set_state(q=rest.q)
    times = period * np.arange(round(seconds / period))
    rates = 2 * np.pi * FREQUENCIES_HZ[:, None] * random.uniform(0.8, 1.2, (9, joints))
    phases = random.uniform(0, 2 * np.pi, (9, joints))
    sizes = 0.25 / np.sqrt(rates / rates.min())
    places = np.zeros((times.size, joints))
    for rate, phase, size in zip(rates, phases, sizes):
        places += size * np.sin(np.outer(times, rate) + phase)
    places *= 1 - np.exp(-((np.maximum(times - 0.5, 0.0) / 0.7) ** 3))[:, None]
    speeds = np.gradient(places, period, axis=0)
    rows, efforts = np.empty((times.size, 2 * joints + len(sensors.names))), np.empty_like(places)
    motors = arm.motor_q
    for k in range(times.size):
        q = simulation.q
        rows[k] = np.concatenate([q[motors], simulation.position, sensors.matrix @ q])
        error = places[k] - q[motors]
        efforts[k] = rest.effort + stiffness * error
        efforts[k] += damping * (speeds[k] - simulation.v[motors])
        simulation.effort = efforts[k]
        simulation.step(round(period / STEP))
    rows[:, : 2 * joints] = ENCODER_STEP * np.round(rows[:, : 2 * joints] / ENCODER_STEP)
    rows[:, 2 * joints :] += random.normal(0, CURVATURE_NOISE, rows[:, 2 * joints :].shape)
    efforts[1:] = 0.5 * (efforts[1:] + efforts[:-1])  # mean around the sample
    names = [f'{kind}/{name}' for kind in ('motor', 'position') for name in arm.joint_names]
    columns = dict(zip([*names, *sensors.names], rows.T))
    columns |= {f'effort/{name}': row for name, row in zip(arm.joint_names, efforts.T)}
    return Log('long', {name: Column(times, row) for name, row in columns.items()}, [])


def fit_of(log, name='two_link', **settings):
    """Return the Identification of a log, its wall time and its processor time [s]."""
    description = frs.read_description(name)
    start, before = perf_counter(), process_time()
    setup = Setup(description, make_data_set([log], build_arm(description)))
    found = identify(setup, FREE if name == 'two_link' else MILLION_FREE, **settings)
    return found, perf_counter() - start, process_time() - before


def megabytes():
    """Return the most memory of this process so far."""
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def in_new_process(function, *arguments):
    """Return the result of a function in a process of its own, so that its memory is its own."""
    with ProcessPoolExecutor(1, get_context('spawn')) as pool:
        return pool.submit(function, *arguments).result()


def fit_figures(log, name='two_link'):
    """Return time and memory of a fit to a log, and its estimates by path."""
    found, wall, cpu = fit_of(log, name, long_rows=1000)
    return {
        'numbers': len(found.estimates),
        'seconds': round(wall, 1),
        'of processors': round(cpu, 1),
        'megabytes': megabytes(),
    }, {one.path: one.value for one in found.estimates}


def long_log_fit(quick):
    """Time and memory of the fit to ten minutes."""
    log = in_new_process(long_log, 60.0 if quick else SECONDS)
    return in_new_process(fit_figures, log)[0]


def million_rows(quick):
    """Time and memory of a fit to a million rows, and its largest relative error."""
    rows = 30_000 if quick else MILLION_ROWS
    log = in_new_process(long_log, rows * MILLION_PERIOD, 0, 'single_link', MILLION_PERIOD)
    figures, found = in_new_process(fit_figures, log, 'single_link')
    values = values_of('single_link', frs.read_description('single_link'))
    errors = {path: found[path] / value - 1 for path, value in values.items()}
    return {**figures, 'largest error': float(f'{max(map(abs, errors.values())):.2g}')}


def long_log_distance(quick):
    """Largest distance of a fit to ten minutes from the fit of all samples that starts there."""
    log = in_new_process(long_log, 60.0 if quick else SECONDS)
    found = fit_of(log, long_rows=1000)[0]
    full, z = fit_of_all_samples(found)
    numbers = [one for one in found.estimates if one.is_identifiable]
    distances = {
        one.path: abs(z[one.path] - one.value) / one.standard_deviation for one in numbers
    }
    worst = max(distances, key=lambda path: distances[path])
    return {
        'numbers': len(numbers),
        'evaluations': full.evaluations,
        'largest distance over the deviation': round(distances[worst], 3),
        'of': worst,
    }


def fit_of_all_samples(found):
    """Return the Fit of all samples, with slopes of all samples, and its values by path."""
    setup = found.setup
    values = {one.path: one.value for one in found.estimates}
    kept = {one.path for one in found.estimates if one.is_identifiable}
    unknowns = [
        unknown
        for unknown in unknowns_of(setup.arm(), setup.data, FREE)
        if unknown.kind == 'offset' or unknown.path in kept
    ]
    fitted = [
        row.part(0, round((1 - HELD_OUT_RATIO) * len(row.time))) for row in setup.data.sequences
    ]
    coarse = Problem(replace(setup, time_step=MAX_STEP_S), unknowns, sequences=fitted)
    problem = Problem(setup, unknowns, coarse.servo, fitted, coarse.starts, coarse)
    start = problem.initial_point()
    for k, unknown in enumerate(unknowns):
        if unknown.path in values:
            start[k] = unknown.normalized(values[unknown.path])
    fit = solve(problem, start, found.fit.deviations, rounds=1, max_evaluations=FULL_EVALUATIONS)
    return fit, problem.values(at_root(problem, fit).z)
