"""
Fit of a log without noise from the described arm: all parameters should stay unchanged.

Parameters would absorb the effects of logging, of interpolation and of the servo along the log.
One least-squares step from the truth gives the change of each parameter, relative to its standard
deviation by sensor noise.
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

pytestmark = pytest.mark.slow

STEP = 1e-4  # of log and fit, so that only their difference remains               [s]
NOISE = {'motor': 1e-4, 'position': 1e-4}  # [rad]
GAUGE = 5e-4  # [1/m]


@pytest.mark.long(after=1)
@pytest.mark.parametrize('seed', range(3))
def test_parameters_keep_their_true_values(seed):
    arm, rng = frs.load('two_link'), np.random.default_rng(seed)
    pose = rng.uniform([-1.0, 0.3, -1.0], [1.0, 1.3, 1.0])
    resonances = modes(arm, pose).frequencies
    plan = excitation_trajectory(
        'fourier', pose, 6.0, (0.2, 10.0), 1e-3, resonances=resonances[resonances > 0.0]
    )
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
