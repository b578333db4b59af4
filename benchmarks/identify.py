"""
Identification against truths that are not its model.

`python -m benchmarks.identify`, or `flexsim benchmark identify --json`;
`python -m benchmarks.identify --only KEY --cases N` runs N random cases of a figure

synthetic_errors    relative errors of parameters after 30 s of an arm with more modes, friction,
                    gauges that are noisy, coarse and late; [s] of the delay
coverage            share of seeds in which the 95 % intervals contain the true values
coverage_across_logs
                    the same for 200 short logs with different motions, friction and spikes
wrong_start         relative change of the results if the start stiffness is wrong by two
excitation_gain     widest interval after a sweep over that after the optimised motion, for equal
                    time, within all limits, and the better of two sweeps: one with equal energy
                    and a motion optimised for it; one with both as large as their limits allow
seconds             wall and CPU time for 30 s at 500 Hz of two_link, eight parameters
parameter_errors    largest errors over 14 random motions and starts, of plants in MuJoCo with
                    its frictionloss, friction that creeps, slips (with hysteresis of the gear) or
                    bends (LuGre), and of an arm of this package with more modes, and their targets
far_starts          errors and verdicts of fits whose descriptions are wrong by factors of up to
                    two: random arms and robots with elastic joints in MuJoCo
excitation_scatter  scatter of fits to noisy logs after the best motion over that after a chirp
long_log            time and memory of a fit to ten minutes at 500 Hz, two links, twelve parameters
long_log_distance   largest distance of that fit from the fit of all samples, over the standard
                    deviation
logs_alone          three logs of two_link, fitted together and each alone; the forearm of the last
                    one is as stiff as the others, or 5 % stiffer
million_rows        time and memory of a fit to a million rows of single_link at 1 kHz, and the
                    largest relative error
verdicts            verdicts of fits to 40 logs, half of them with a fault, that are right
real_data           explained share of strains in validation data of real logs, and that of
                    regressions without a model, see benchmarks/real_arm.py; {} without REAL_LOGS
"""

import argparse
import json
import os
from collections.abc import Callable
from time import perf_counter, process_time

import numpy as np

import flex_robot_sim as frs
from benchmarks.identification.coverage import coverage_across_logs
from benchmarks.identification.excitation_scatter import excitation_scatter
from benchmarks.identification.far_starts import far_starts
from benchmarks.identification.logs_alone import logs_alone
from benchmarks.identification.long_log import long_log_distance, long_log_fit, million_rows
from benchmarks.identification.parameter_errors import parameter_errors
from benchmarks.identification.shipped_arm_log import (
    CURVATURE_NOISE,
    DELAY,
    OFF,
    identified,
    record,
    truth,
)
from benchmarks.identification.verdicts import verdicts
from benchmarks.real_arm import shares_of
from flex_robot_sim.identification.excitation_trajectories import excitation_trajectory
from flex_robot_sim.identification.experiment_design import (
    design_experiment,
    frequency_band,
    information,
    locked_frequencies,
)
from flex_robot_sim.identification.identify import identify
from flex_robot_sim.identification.log_file import Column, Log
from flex_robot_sim.identification.prediction import Setup
from flex_robot_sim.identification.sequences import make_data_set
from flex_robot_sim.identification.simulated_experiment import (
    scaled_to_limits,
    simulate_experiment,
)
from flex_robot_sim.model.assembly import build_arm

ENCODER_NOISE = 1e-4  # of the coverage                                                   [rad]
POSES = {'single_link': [0.0], 'two_link': [0.0, 0.5, -0.8]}


def errors_of(found, values, factor=1.0):
    """Relative errors of parameters; of a delay the error [s]."""
    out = {}
    for one in found.estimates:
        if one.path == 'delay':
            out[one.path] = one.value - DELAY
        else:
            share = factor if one.path.endswith('arm.stiffness') else 1.0
            out[one.path] = share * one.value / values[one.path] - 1
    return {path: float(f'{value:.3g}') for path, value in out.items()}


def synthetic_errors(quick):
    """Errors by arm and number."""
    out = {}
    for name in ('single_link',) if quick else OFF:
        values = truth(name)[1]
        found = identified(name, record(name, 6.0 if quick else 30.0), [*values, 'delay'])
        out[name] = errors_of(found, values)
    return out


def coverage(quick, seeds=500):
    """Share of intervals that contain the true value: the arm as described, noisy gauges."""
    seeds = 2 if quick else seeds
    held: dict[str, list[bool]] = {}
    description = frs.read_description('single_link')
    arm = build_arm(description)
    clean = record('single_link', 4.0, 0, False, arm)
    for seed in range(seeds):
        random, columns = np.random.default_rng(seed), dict(clean.columns)
        for name in ('motor/motor', 'position/motor'):
            column = columns[name]
            columns[name] = Column(
                column.time, column.values + random.normal(0, ENCODER_NOISE, column.time.size)
            )
        for name in ('arm/root', 'arm/tip'):
            column = columns[name]
            # residuals are never white: half of the noise is slow
            white = random.normal(0, CURVATURE_NOISE, column.time.size)
            slow = np.convolve(
                random.normal(0, CURVATURE_NOISE, column.time.size + 39),
                np.ones(40) / np.sqrt(40),
                'valid',
            )
            columns[name] = Column(column.time, column.values + white + slow)
        setup = Setup(
            description, make_data_set([Log('clean', columns, [])], arm), finer=0, time_step=1e-3
        )
        found = identify(setup, ['arm.stiffness', 'tip_mass.mass', 'arm.damping_ratio', 'delay'])
        for one in found.estimates:
            if one.is_identifiable:
                held.setdefault(one.path, []).append(
                    one.interval[0] <= one.initial_value <= one.interval[1]
                )
    every = np.concatenate([*held.values()])
    return {
        'seeds': seeds,
        'intervals': len(every),
        'held': round(float(every.mean()), 4),
        'by number': {path: round(float(np.mean(cases)), 4) for path, cases in held.items()},
    }


def wrong_start(_quick):
    """Largest share by which the stiffness differs between starts."""
    log, values = record('single_link', 6.0), truth('single_link')[1]
    found = {
        factor: errors_of(
            identified('single_link', log, [*values, 'delay'], factor), values, factor
        )['arm.stiffness']
        for factor in (1.0, 0.5, 2.0)
    }
    return {
        'off by factor': {f'{factor:g}': value for factor, value in found.items()},
        'largest difference': float(f'{max(found.values()) - min(found.values()):.3g}'),
    }


def seconds(quick):
    """Time of a fit with compiled code [s]."""
    name = 'single_link' if quick else 'two_link'
    log = record(name, 3.0 if quick else 30.0)
    start, before = perf_counter(), process_time()
    found = identified(name, log, [*OFF[name]])
    return {
        'robot': name,
        'numbers': len(found.estimates),
        'seconds': round(perf_counter() - start, 2),
        'of processors': round(process_time() - before, 2),
    }


def excitation_gain(quick):
    """Largest standard deviations after sweeps over those after optimised motions, in one pose."""
    out = {}
    for name in ('single_link',) if quick else OFF:
        arm, free = frs.load(name), [*OFF[name], 'delay']
        length, period = (6.0, 5e-3) if quick else (10.0, 4e-3)
        pose = np.array(POSES[name])
        low, high = frequency_band(arm, pose, period)
        # through all of the band, and from half of the first frequency on
        sweeps = [
            scaled_to_limits(
                arm, excitation_trajectory('sweep', pose, length, (begin, high), period)
            )
            for begin in (low, 0.5 * locked_frequencies(arm, pose)[0])
        ]
        found = {}
        for key, for_energy in (('equal energy', True), ('equal limits', False)):
            best = design_experiment(
                arm,
                duration=length,
                period=period,
                free=free,
                pose=pose,
                phase_sets=2 if quick else 8,
                for_energy=for_energy,
            )
            rows = []
            for sweep in sweeps:
                pair = [best.experiment, sweep]
                if for_energy:  # scale down the one with more reserve within its limits
                    energy = min(one.energy for one in pair)
                    pair = [of_energy(arm, one, energy) for one in pair]
                worst = [information(arm, one, free).worst for one in pair]
                rows.append((worst[1][1] / worst[0][1], worst, pair))
            gain, worst, pair = min(rows, key=lambda row: row[0])
            found[key] = {
                'gain': round(gain, 2),
                'over the other sweep': round(max(row[0] for row in rows), 2),
                'worst': float(f'{worst[0][1]:.3g}'),
                'of': worst[0][0],
                'worst of the sweep': float(f'{worst[1][1]:.3g}'),
                'of the sweep': worst[1][0],
                'energy over that of the sweep': round(pair[0].energy / pair[1].energy, 3),
                'largest share of a limit': round(max(one.worst[1] for one in pair), 3),
            }
        out[name] = found
    return out


def of_energy(arm, trial, energy):
    """Return the trial, scaled down to an energy."""
    for _ in range(3):  # efforts grow nearly as the motion does
        if abs(trial.energy / energy - 1) < 1e-3:
            break
        trial = simulate_experiment(arm, trial.trajectory.scaled(np.sqrt(energy / trial.energy)))
    return trial


def real_data(quick):
    """Shares of strains that fit and regressions explain, in a validation log."""
    folder = os.environ.get('REAL_LOGS', '')
    return {} if quick or not folder else shares_of(folder)


PARTS: dict[str, Callable[..., dict]] = {
    'synthetic_errors': synthetic_errors,
    'coverage': coverage,
    'coverage_across_logs': coverage_across_logs,
    'wrong_start': wrong_start,
    'excitation_gain': excitation_gain,
    'seconds': seconds,
    'parameter_errors': parameter_errors,
    'far_starts': far_starts,
    'excitation_scatter': excitation_scatter,
    'long_log': long_log_fit,
    'long_log_distance': long_log_distance,
    'logs_alone': logs_alone,
    'million_rows': million_rows,
    'verdicts': verdicts,
    'real_data': real_data,
}


# figures over random cases: seeds, logs or noisy fits
WITH_CASES = (
    'coverage',
    'coverage_across_logs',
    'parameter_errors',
    'far_starts',
    'excitation_scatter',
    'verdicts',
)


def measure(quick=False, only=(), cases=None):
    """Return all figures by key; cases: number of random cases of each, None: all of them."""
    return {
        key: part(quick, cases) if cases and key in WITH_CASES else part(quick)
        for key, part in PARTS.items()
        if not only or key in only
    }


def as_text(summary):
    """Lines of a summary."""
    for key, found in summary.items():
        for what, value in found.items():
            yield f'{key}: {what}', json.dumps(value)


def main():
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('--quick', action='store_true')
    parser.add_argument('--only', action='append', default=[], metavar='KEY', choices=PARTS)
    parser.add_argument('--cases', type=int, metavar='N', help='random cases of each figure')
    arguments = parser.parse_args()
    found = measure(arguments.quick, arguments.only, arguments.cases)
    print(json.dumps(found, indent=2))


if __name__ == '__main__':
    main()
