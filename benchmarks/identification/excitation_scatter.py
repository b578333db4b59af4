"""
Scatter of fits to noisy logs of designed motions, over that of a chirp of equal length.

The motions are designed for a wrong guess of the arm, and played on plants with friction before
sliding. Each is recorded once; the fits differ by the noise of its sensors only.
"""

import numpy as np
from scipy.interpolate import CubicHermiteSpline
from scipy.stats import f as fisher

from benchmarks.identification.bench_log import log_of, recorded
from benchmarks.identification.mujoco_plant import PRESLIDING
from benchmarks.identification.parameter_errors import (
    DELAY,
    GAINS,
    PIECES,
    TARGETS,
    make_plant,
    random_guess,
    true_arm,
)
from flex_robot_sim.identification.experiment_design import design_experiment
from flex_robot_sim.identification.fit import Problem, solve
from flex_robot_sim.identification.parameters import unknowns_of
from flex_robot_sim.identification.prediction import Setup
from flex_robot_sim.identification.robust_design import best_experiment
from flex_robot_sim.identification.sequences import make_data_set

PLANTS = 'slip', 'lugre', 'own'
FITS = 20
SECONDS = 12.0
FREE = [*TARGETS, 'link1.damping_time', 'joint1.damping']
FRICTION = 'joint1.coulomb', 'joint1.viscous'


def motions(kind, seconds):
    """Return the designed motions by name."""
    random = np.random.default_rng([3, 5])
    model = random_guess(random, true_arm(kind)).model(pieces=PIECES)
    words = {'duration': seconds, 'period': 4e-3, 'free': FREE, 'pose': np.zeros(1)}
    return {
        'best': best_experiment(model, **words).experiment.trajectory,
        'chirp': design_experiment(model, kind='chirp', **words).experiment.trajectory,
        'fourier': design_experiment(model, kind='fourier', **words).experiment.trajectory,
    }


def scatter(kind, trajectory, seconds, fits):
    """Return the standard deviations of the parameters over fits to noisy logs, by path."""
    arm = true_arm(kind)
    spline = CubicHermiteSpline(trajectory.time, trajectory.position, trajectory.velocity)
    slope, end = spline.derivative(), trajectory.time[-1]

    def reference(t):
        return spline(min(t, end)), slope(t) if t < end else np.zeros(1)

    times, columns = recorded(make_plant(kind, arm), reference, seconds, GAINS)
    model, rows = arm.model(pieces=PIECES, presliding=PRESLIDING), []
    z = None
    for seed in range(fits):
        log = log_of(times, columns, delay=DELAY, seed=seed)
        setup = Setup(model.description, make_data_set([log], model), time_step=1e-3, finer=2)
        problem = Problem(setup, unknowns_of(model, setup.data, FREE))
        if z is None:  # the slopes of the first fit serve all
            first = problem
            z = solve(problem, problem.initial_point()).z
        problem = Problem(
            setup, problem.unknowns, problem.servo, starts=first.starts, coarse=first
        )
        values = problem.values(solve(problem, z, rounds=1).z)
        rows.append([values[path] for path in FREE])
    return dict(zip(FREE, np.std(rows, axis=0, ddof=1).tolist()))


def excitation_scatter(quick=False, fits=FITS):
    """Return the ratios of standard deviations of the best motion over a chirp and a series."""
    fits, seconds = (3, 6.0) if quick else (fits, SECONDS)
    bound = float(np.sqrt(fisher.ppf(0.95, fits - 1, fits - 1)))  # of a ratio of two scatters
    out = {}
    for kind in PLANTS[:1] if quick else PLANTS:
        planned = motions(kind, seconds)
        found = {
            name: scatter(kind, trajectory, seconds, fits) for name, trajectory in planned.items()
        }
        ratios = {path: found['best'][path] / found['chirp'][path] for path in FREE}
        worst = max(ratios, key=ratios.__getitem__)
        out[kind] = {
            'kind of the best': planned['best'].kind,
            'worst ratio over the chirp': round(ratios[worst], 3),
            'of': worst,
            '95 % bound of this ratio': round(ratios[worst] * bound, 3),
            'ratios over the chirp': {path: round(ratio, 3) for path, ratio in ratios.items()},
            'friction, series over the best': {
                path: round(found['fourier'][path] / found['best'][path], 2) for path in FRICTION
            },
        }
    return out
