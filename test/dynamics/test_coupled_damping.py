"""Dampers that reach from body to body, solved for with the rest of a step."""

import numpy as np
import pytest
from compare import arm_of
from random_arms import random_robot, random_state
from reference import Reference

from flex_robot_sim.dynamics.coupled_damping import apply_coupled_damping
from flex_robot_sim.dynamics.factor_reuse import solve_dynamics
from flex_robot_sim.dynamics.stability import spring_matrices
from flex_robot_sim.model.arm_model import make_workspace


@pytest.mark.parametrize('seed', [1065, 1325, 1949, 3, 8])
@pytest.mark.parametrize('given', [False, True])
def test_accelerations_are_those_of_the_dense_equations(seed, given):
    text = random_robot(seed, links=7, damping=True).replace('friction="0.2"', '')
    arm = arm_of(text)
    arrays, work, h = arm.arrays, make_workspace(arm.arrays), 1e-3
    assert arrays.shared.size
    random = np.random.default_rng(seed)
    q = random_state(arm, seed, bend=0.0)[0]
    guess, found = random.normal(size=(2, arm.size))
    free = np.ones(arm.size, bool)
    if given:       # the drive of every other joint moves as told
        rows = np.arange(0, arrays.motor.size, 2)
        work.prescribed[rows] = 1.0
        work.prescribed_acceleration[rows] = random.normal(size=rows.size)
        free[np.where(arrays.motor[rows] < 0, rows, arrays.motor[rows])] = False
    solve_dynamics(arm.arrays, q, np.zeros(arm.size), np.zeros(arrays.motor.size), h, guess, work,
                   found)
    alone = found.copy()
    apply_coupled_damping(arm.arrays, h, guess, work, found)

    K, D = spring_matrices(arrays)
    S = np.zeros((arm.size, arrays.shared.shape[1]))
    S[arm.size - len(arrays.shared):] = arrays.shared
    joined = h / 2 * S @ S.T
    A = Reference(arm).mass_matrix(q) + h**2 / 4 * K + h / 2 * D - joined
    lack = np.zeros(arm.size)
    lack[free] = np.linalg.solve((A + joined)[np.ix_(free, free)],
                                 (-joined @ (alone - guess))[free])
    assert np.abs(lack).max() > 1e-3                # or it would be no test
    error = found - alone - lack
    # rounds end at 1e-4 of what was lacking, which is (1 + largest eigenvalue) of this at most
    assert error @ A @ error < 1e-6 * (lack @ A @ lack)
    assert np.array_equal(found[~free], alone[~free])
