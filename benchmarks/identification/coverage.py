"""
Coverage of the confidence intervals across short logs of one arm.

`python -m benchmarks.identify --only coverage_across_logs`

Motion and friction differ from log to log, and half of the logs have spikes. The arm has more
bending modes than the fit tries, and gauges that are noisy, coarse and late. All fitted parameters
exist in the arm.
"""

import numpy as np

from benchmarks.identification.shipped_arm_log import (
    CURVATURE_NOISE,
    DELAY,
    identified,
    record,
    truth,
)
from flex_robot_sim.description.robot_parameters import with_parameters
from flex_robot_sim.identification.log_file import Column, Log
from flex_robot_sim.model.assembly import build_arm

ROBOT = 'single_link'
LOGS = 200
FIRST_SEED = 300  # the logs before served to choose the blocks of uncertainty.py
SECONDS = 6.0  # of a log
COULOMB_RANGE = 0.003, 0.02  # [N m]
START_S = 0.5  # of a sweep, until it has its amplitude
MOTIONS = 'sines', 'sweep', 'moves'
SPIKE_SHARE, SPIKE_STDS = 0.01, 20.0  # of the samples; size over the noise
GAUGES = 'arm/root', 'arm/tip'


def random_sweep(random, seconds):
    """Return a sweep that grows from rest, as a function from time to positions and rates (1,)."""
    low, high, size = 0.2, random.uniform(3.0, 6.0), random.uniform(0.15, 0.3)
    growth = np.log(high / low) / seconds

    def at(t):
        rate = 2 * np.pi * low * np.exp(growth * t)
        phase = (rate - 2 * np.pi * low) / growth
        grown = np.exp(-((t / START_S) ** 3))
        amplitude = size * np.exp(-0.5 * growth * t) * (1 - grown)
        slope = 3 * t**2 / START_S**3 * size * np.exp(-0.5 * growth * t) * grown
        change = amplitude * (rate * np.cos(phase) - 0.5 * growth * np.sin(phase))
        return np.array([amplitude * np.sin(phase)]), np.array([change + slope * np.sin(phase)])

    return at


def random_moves(random, seconds):
    """Return fast moves with rests, as a function from time to positions and rates (1,)."""
    pauses = random.uniform(0.6, 1.2, 20)
    begins = 0.2 + np.cumsum(pauses) - pauses[0]
    begins = begins[begins < seconds]
    durations = random.uniform(0.15, 0.5, begins.size)
    steps = random.uniform(0.15, 0.5, begins.size) * np.resize([1, -1], begins.size)

    def at(t):
        s = np.clip((t - begins) / durations, 0, 1)
        place, rate = s**3 * (10 - 15 * s + 6 * s**2), 30 * s**2 * (1 - s) ** 2 / durations
        return np.array([steps @ place]), np.array([steps @ rate])

    return at


def with_spikes(log, random):
    """Return the log with spikes in its gauges."""
    columns = dict(log.columns)
    for name in GAUGES:
        time, values = columns[name]
        size = SPIKE_STDS * CURVATURE_NOISE * random.choice([-1, 1], values.size)
        columns[name] = Column(time, values + size * (random.random(values.size) < SPIKE_SHARE))
    return Log(log.path, columns, [])


def short_log(seed, seconds=SECONDS):
    """Return the log of a motion and a friction of its own, and the true values by path."""
    random = np.random.default_rng([seed, 3])
    arm, values = truth(ROBOT)
    values['motor.coulomb'] = float(random.uniform(*COULOMB_RANGE))
    arm = build_arm(with_parameters(arm.description, {'motor.coulomb': values['motor.coulomb']}))
    kind = MOTIONS[seed % len(MOTIONS)]
    motion = {'sweep': random_sweep, 'moves': random_moves}.get(kind)
    log = record(ROBOT, seconds, seed, arm=arm, motion=motion and motion(random, seconds))
    has_spikes = seed // len(MOTIONS) % 2 == 1
    values['delay'] = DELAY
    return with_spikes(log, random) if has_spikes else log, values


def coverage_across_logs(quick=False, logs=LOGS):
    """Return the shares of 95 % intervals that contain the true value, by parameter."""
    is_covered: dict[str, list[bool]] = {}
    count, seconds = (2, 3.0) if quick else (logs, SECONDS)
    for seed in range(FIRST_SEED, FIRST_SEED + count):
        log, values = short_log(seed, seconds)
        for estimate in identified(ROBOT, log, [*values]).estimates:
            if estimate.is_identifiable:
                low, high = estimate.interval
                is_covered.setdefault(estimate.path, []).append(
                    low <= values[estimate.path] <= high
                )
    rows = [*is_covered.values()]
    return {
        'logs': count,
        'intervals': sum(len(row) for row in rows),
        'pooled': round(float(np.mean(np.concatenate(rows))), 4),
        'by parameter': {path: round(float(np.mean(row)), 4) for path, row in is_covered.items()},
    }
