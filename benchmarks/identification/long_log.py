"""Long logs: time and memory of fits, and distance from the fit of all samples."""

import resource
from time import perf_counter, process_time
from unittest.mock import patch

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
from flex_robot_sim.identification import model_order
from flex_robot_sim.identification.identify import identify
from flex_robot_sim.identification.log_file import Column, Log
from flex_robot_sim.identification.prediction import Setup
from flex_robot_sim.identification.sequences import make_data_set
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.util.share import shipped_robots

SECONDS, PERIOD, STEP = 600.0, 2e-3, 5e-4  # of the log and of the plant [s]
FREE = [*OFF['two_link'], 'waist.viscous', 'shoulder.viscous', 'elbow.viscous', 'delay']
ENCODER_STEP = 2 * np.pi / COUNTS  # [rad]
MILLION_FREE = [*OFF['single_link'], 'delay']
MILLION_ROWS, MILLION_PERIOD = 1_000_000, 1e-3  # [s]
SEEDS = 0, 1, 2  # of the logs of a minute
FINAL_STEP = 5e-4  # of both fits to them: another one has another bias [s]
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


def million_rows(quick):
    """Time and memory of a fit to a million rows, and its largest relative error."""
    rows = 30_000 if quick else MILLION_ROWS
    log = long_log(rows * MILLION_PERIOD, 0, 'single_link', MILLION_PERIOD)
    found, wall, cpu = fit_of(log, 'single_link', long_rows=1000)
    values = values_of('single_link', frs.read_description('single_link'))
    errors = {path: found.values[path] / value - 1 for path, value in values.items()}
    return {
        'seconds': round(wall, 1),
        'of processors': round(cpu, 1),
        'megabytes': megabytes(),
        'largest error': float(f'{max(map(abs, errors.values())):.2g}'),
    }


def long_log_fit(quick):
    """Time of the fit, and its distance from the fit of all samples of a shorter log."""
    found, wall, cpu = fit_of(long_log(60.0 if quick else SECONDS), long_rows=1000)
    memory = megabytes()
    distances: dict[str, float] = {}
    for seed in SEEDS[: 1 if quick else None]:
        short = long_log(60.0, seed)
        with patch.object(model_order, 'MIN_STEP_S', FINAL_STEP):
            thinned, full = (fit_of(short, long_rows=rows)[0] for rows in (1000, 10**9))
        for one, other in zip(thinned.estimates, full.estimates):
            if other.is_identifiable:
                distance = abs(one.value - other.value) / other.standard_deviation
                distances[one.path] = max(distance, distances.get(one.path, 0.0))
    return {
        'numbers': len(found.estimates),
        'seconds': round(wall, 1),
        'of processors': round(cpu, 1),
        'megabytes': memory,
        'largest distance over the deviation': round(max(distances.values()), 3),
        'of': max(distances, key=lambda path: distances[path]),
    }
