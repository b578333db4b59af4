"""
Verdicts of fits to logs with known faults, compared with what the fits got wrong.

A fit is wrong if a parameter is off by more than 5 % and by more than 3 standard deviations, or if
its prediction of the motion without noise is off by more than 10 % RMS.
"""

import numpy as np
from scipy.signal import bilinear, lfilter

import flex_robot_sim as frs
from benchmarks.identification.shipped_arm_log import CURVATURE_NOISE, DELAY, RATE, record, truth
from flex_robot_sim.identification.identify import identify
from flex_robot_sim.identification.log_file import Column, Log
from flex_robot_sim.identification.prediction import Filter, Setup
from flex_robot_sim.identification.sequences import make_data_set
from flex_robot_sim.model.assembly import build_arm

ROBOT, SECONDS, LOGS = 'single_link', 6.0, 5  # logs of each kind
GAUGES = 'arm/root', 'arm/tip'
LOW_PASS_HZ = 25.0
SPIKE_SHARE, SPIKE_STDS = 0.01, 20.0
MAX_ERROR, MAX_STDS, MAX_RMS_ERROR = 0.05, 3.0, 0.1
GOOD = 'as recorded', 'spikes', 'low-pass', 'low-pass and spikes'
WRONG = 'undeclared low-pass', 'declared low-pass', 'wrong gain', 'wrong mass'


def with_fault(log, kind, random):
    """Return the log with a fault of GOOD or WRONG, and the declared filters."""
    columns, filters = dict(log.columns), {}
    first = frs.modes(truth(ROBOT)[0], [0.0], joints='locked').frequencies[0]
    for name in GAUGES:
        time, values = columns[name]
        values = values.copy()
        if kind in ('low-pass', 'low-pass and spikes'):
            values = low_passed(values, LOW_PASS_HZ)
            filters[name] = Filter(LOW_PASS_HZ)
        if kind == 'undeclared low-pass':
            values = low_passed(values, 2.0 * first)
        if kind == 'declared low-pass':
            filters[name] = Filter(random.uniform(1.0, 1.5) * first)
        if kind == 'wrong gain' and name == GAUGES[0]:
            values *= 1.2
        if 'spikes' in kind:
            is_spike = random.random(values.size) < SPIKE_SHARE
            size = SPIKE_STDS * CURVATURE_NOISE
            values[is_spike] += size * random.choice([-1, 1], is_spike.sum())
        columns[name] = Column(time, values)
    return Log(f'{kind}', columns, []), filters


def low_passed(values, frequency):
    """Return samples behind a Butterworth low-pass of second order."""
    rate = 2 * np.pi * frequency
    numerator, denominator = bilinear([rate**2], [1, np.sqrt(2) * rate, rate**2], RATE)
    start = values[0]
    return start + lfilter(numerator, denominator, values - start)


def is_right(found, values, clean):
    """Return whether parameters and prediction of a fit are right."""
    for one in found.estimates:
        if not one.is_identifiable:
            continue
        true = values.get(one.path, DELAY)
        error = abs(one.value - true)
        if error > MAX_ERROR * true and error > MAX_STDS * one.standard_deviation:
            return False
    held = round(0.75 * len(clean))
    predicted = found.predicted[0]
    error = (predicted - clean[held:]).std(axis=0) / clean[held:].std(axis=0)
    return bool((error < MAX_RMS_ERROR).all())


def verdicts(quick=False, logs=LOGS):
    """Return how many verdicts are right, and the wrong ones."""
    arm, values = truth(ROBOT)
    rows = []
    for seed in range(1 if quick else logs):
        log = record(ROBOT, SECONDS, seed, arm=arm)
        for number, kind in enumerate((*GOOD, *WRONG)):
            random = np.random.default_rng([seed, number])
            faulty, filters = with_fault(log, kind, random)
            description = frs.read_description(ROBOT)
            free = [*values, 'delay']
            if kind == 'wrong mass':
                free.remove('tip_mass.mass')  # 15 % too small in the description
            model = build_arm(description)
            setup = Setup(description, make_data_set([faulty], model), filters=filters)
            found = identify(setup, free)
            # what the gauges have measured, without spikes
            calm = 'low-pass' if 'low-pass and' in kind else kind.replace('spikes', '')
            reference, _ = with_fault(log, calm, random)
            clean = np.column_stack([reference.columns[name].values for name in found.channels])
            rows.append((f'{kind} {seed}', is_right(found, values, clean), found.is_good))
    wrong = [name for name, right, is_good in rows if right != is_good]
    return {
        'logs': len(rows),
        'good fits': sum(right for _, right, _ in rows),
        'right verdicts': len(rows) - len(wrong),
        'wrong verdicts': wrong,
    }
