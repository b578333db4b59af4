"""Iterations that reuse the factors of an earlier one, against elimination in each iteration."""

import numpy as np
import pytest
from random_arms import every_feature, random_robot

from flex_robot_sim import load
from flex_robot_sim.dynamics.factor_reuse import refine_dynamics, solve_dynamics
from flex_robot_sim.dynamics.forward_dynamics import implicit_dynamics
from flex_robot_sim.model.workspace import make_workspace

STEP = 1e-3


def solved(arm, evaluate, iterations=30):
    """Accelerations (n,) over one step from a random moving state, after `iterations`."""
    rng, n, joints = np.random.default_rng(4), arm.size, len(arm.joint_names)
    q, qd = np.zeros((2, n))
    # geared motors, if any, come after the joints and rotate with them
    driven = arm.arrays.motor >= 0
    q[:joints], qd[:joints] = rng.normal(size=joints), 0.3 * rng.normal(size=joints)
    for values in (q, qd):
        values[arm.arrays.motor[driven]] = values[:joints][driven]
    effort, work, qdd = rng.normal(size=joints), make_workspace(arm.arrays), np.zeros(n)
    work.servo_stiffness[:], work.servo_damping[:] = 20.0, 1.0
    for k in range(iterations):
        guess = qdd.copy()
        rate = qd + 0.5 * STEP * guess
        middle = q + 0.5 * STEP * rate
        (solve_dynamics if k == 0 else evaluate)(
            arm.arrays, middle, rate, effort, STEP, guess, work, qdd
        )
    return qdd


@pytest.mark.parametrize(
    'text',
    [
        'two_link',
        'dual_screw_arm',
        every_feature(damping=True),
        *(random_robot(seed) for seed in range(4)),
    ],
    ids=lambda text: text if len(text) < 20 else 'random',
)
def test_refinement_converges_to_the_accelerations_of_elimination(text):
    arm = load(text)
    expected = solved(arm, implicit_dynamics)
    # rounding, times the condition number of the inertia of these arms
    np.testing.assert_allclose(
        solved(arm, refine_dynamics), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max()
    )


def test_the_error_of_old_factors_is_small_compared_with_the_change():
    arm = load('two_link')
    first, second, refined = (
        solved(arm, evaluate, iterations)
        for evaluate, iterations in (
            (implicit_dynamics, 1),
            (implicit_dynamics, 2),
            (refine_dynamics, 2),
        )
    )
    # the inertia of the arm changes by some 1e-3 between the two midpoints
    assert 0.0 < np.abs(refined - second).max() < 0.01 * np.abs(second - first).max()
