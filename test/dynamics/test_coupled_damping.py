"""Implicit integration of dampers that couple bodies."""

import numpy as np
import pytest
from compare import arm_of
from random_arms import random_robot, random_state
from reference import Reference

from flex_robot_sim.dynamics.coupled_damping import apply_coupled_damping
from flex_robot_sim.dynamics.factor_reuse import solve_dynamics
from flex_robot_sim.dynamics.stability import spring_matrices
from flex_robot_sim.model.workspace import make_workspace

pytestmark = pytest.mark.slow


@pytest.mark.long(after=4)
@pytest.mark.parametrize('seed', [1065, 1325, 1949, 3, 8])
@pytest.mark.parametrize('is_prescribed', [False, True])
def test_accelerations_are_those_of_the_dense_equations(seed, is_prescribed):
    text = random_robot(seed, links=7, damping=True).replace('friction="0.2"', '')
    arm = arm_of(text)
    arrays, work, h = arm.arrays, make_workspace(arm.arrays), 1e-3
    assert arrays.shared.size
    random = np.random.default_rng(seed)
    q = random_state(arm, seed, bend=0.0)[0]
    guess, found = random.normal(size=(2, arm.size))
    free = np.ones(arm.size, bool)
    if is_prescribed:  # the motion of every other drive is prescribed
        rows = np.arange(0, arrays.motor.size, 2)
        work.prescribed[rows] = 1.0
        work.prescribed_acceleration[rows] = random.normal(size=rows.size)
        free[np.where(arrays.motor[rows] < 0, rows, arrays.motor[rows])] = False
    solve_dynamics(
        arm.arrays, q, np.zeros(arm.size), np.zeros(arrays.motor.size), h, guess, work, found
    )
    uncorrected = found.copy()
    apply_coupled_damping(arm.arrays, h, guess, work, found)

    K, D = spring_matrices(arrays)
    S = np.zeros((arm.size, arrays.shared.shape[1]))
    S[arm.size - len(arrays.shared) :] = arrays.shared
    coupled = h / 2 * S @ S.T
    A = Reference(arm).mass_matrix(q) + h**2 / 4 * K + h / 2 * D - coupled
    correction = np.zeros(arm.size)
    correction[free] = np.linalg.solve(
        (A + coupled)[np.ix_(free, free)], (-coupled @ (uncorrected - guess))[free]
    )
    assert np.abs(correction).max() > 1e-3  # otherwise the test would prove nothing
    error = found - uncorrected - correction
    # iterations end at 1e-4 of the initial residual, at most (1 + largest eigenvalue) of this
    assert error @ A @ error < 1e-6 * (correction @ A @ correction)
    assert np.array_equal(found[~free], uncorrected[~free])
