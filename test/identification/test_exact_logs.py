"""
A log without noise, of the arm that is described: a fit has nothing to add there.

What logging, lines between samples and the servo along the log do to it, numbers would take up.
One step of least squares from the truth says how far each would go, over what noise of its sensors
makes of it.
"""

from dataclasses import replace

import numpy as np
import pytest

import flex_robot_sim as frs
from flex_robot_sim.analysis.natural_modes import modes
from flex_robot_sim.identification.excitation_trajectories import excitation_trajectory
from flex_robot_sim.identification.fit import Problem
from flex_robot_sim.identification.parameters import unknowns_of
from flex_robot_sim.identification.prediction import Setup
from flex_robot_sim.identification.sequences import make_data_set
from flex_robot_sim.identification.simulated_experiment import simulate_experiment

STEP = 1e-4             # of log and fit, so that only what lies between them is left         [s]
NOISE = {'motor': 1e-4, 'position': 1e-4}       # [rad]
GAUGE = 5e-4                                    # [1/m]


@pytest.mark.parametrize('seed', range(3))
def test_numbers_stay_where_they_are(seed):
    arm, rng = frs.load('two_link'), np.random.default_rng(seed)
    pose = rng.uniform([-1.0, 0.3, -1.0], [1.0, 1.3, 1.0])
    rings = modes(arm, pose).frequencies
    plan = excitation_trajectory('fourier', pose, 6.0, (0.2, 10.0), 1e-3,
                                 resonances=rings[rings > 0.0])
    data = make_data_set([simulate_experiment(arm, plan.scaled(0.25), STEP).log], arm)
    unknowns = unknowns_of(arm, data, ['stiffness', 'damping', 'friction', 'delay'])
    setup = Setup(arm.description, data, finer=0, time_step=2e-3)
    problem = Problem(replace(setup, time_step=STEP), unknowns, coarse=Problem(setup, unknowns))
    truth = problem.initial_point()
    noise = np.array([NOISE.get(name.partition('/')[0], GAUGE) for name in data.channels])
    J = (problem.slopes(truth) / noise[:, None]).reshape(-1, truth.size)
    values, vectors = np.linalg.eigh(J.T @ J)
    inverse = vectors / np.maximum(values, 1e-12 * values.max()) @ vectors.T
    off = inverse @ J.T @ problem.residuals(truth, noise).ravel()
    shares = dict(zip((one.path for one in unknowns), np.abs(off / np.sqrt(np.diag(inverse)))))
    assert max(shares.values()) < 0.5, shares
