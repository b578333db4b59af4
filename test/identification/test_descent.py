"""Descents on closed forms, against the least squares of scipy."""

import numpy as np
import pytest
from scipy.optimize import least_squares, lsq_linear

from flex_robot_sim.identification.descent import best_step, descend

ROBUST = 3.0
T = np.linspace(0, 6, 800)


def decay(z):
    """A ring with frequency, damping, size and zero, all by their logarithms but the last."""
    rate, fall, size = np.exp(z[:3])
    return size * np.exp(-fall * T) * np.cos(rate * T) + z[3]


def slopes(z):
    return np.column_stack([(decay(z + step) - decay(z - step)) / 2e-6
                            for step in 1e-6 * np.eye(4)])


@pytest.mark.parametrize('seed', range(6))
def test_a_descent_ends_where_that_of_scipy_ends_with_fewer_slopes(seed):
    random = np.random.default_rng(seed)
    true = np.array([np.log(5.0), np.log(0.2), 0.3, 0.1])
    seen = decay(true) + random.normal(0, 0.05, T.size)
    seen[::50] += random.normal(0, 2.0, seen[::50].size)        # outliers
    start = true + random.uniform(-1, 1, 4) * [0.05, 0.8, 0.5, 0.3]
    low, high = true - 2, true + np.array([2, 2, 2, -0.02 if seed % 2 else 2])
    start = np.clip(start, low, high)
    known: list[tuple[np.ndarray, np.ndarray]] = []

    def kept(z, here):
        if not known or here or np.abs(z - known[-1][0]).max() > 0.02:
            known.append((z, slopes(z) / 0.05))
        return known[-1][1]

    found = descend(lambda z: (decay(z) - seen) / 0.05, kept, start, (low, high), np.ones(4),
                    ROBUST, 1e-9, 60)
    right = least_squares(lambda z: (decay(z) - seen) / 0.05, np.clip(start, low + 1e-9,
                          high - 1e-9), lambda z: slopes(z) / 0.05, (low, high), loss='soft_l1',
                          f_scale=ROBUST, ftol=1e-12, xtol=1e-12)
    assert found.cost == pytest.approx(right.cost, abs=0.05)    # what is not worth a step
    J = slopes(right.x) / 0.05
    deviations = 1 / np.sqrt(np.diag(J.T @ J))
    assert (np.abs(found.z - right.x) < 0.4 * deviations + 1e-6).all()
    assert (found.z >= low).all() and (found.z <= high).all()
    assert len(known) < right.njev


def test_a_step_within_bounds_is_that_of_bounded_linear_least_squares():
    random = np.random.default_rng(1)
    for _ in range(50):
        J, r = random.normal(size=(30, 5)), random.normal(size=30)
        low, high = -random.uniform(0.01, 0.3, 5), random.uniform(0.01, 0.3, 5)
        step = best_step(J.T @ J, J.T @ r, 0.0, low, high)
        right = lsq_linear(J, -r, (low, high))
        assert (step >= low - 1e-12).all() and (step <= high + 1e-12).all()
        # what is once at an end stays there for this step, so that little may be missed
        gain = 0.5 * (r @ r) - right.cost
        assert 0.5 * (r @ r) - 0.5 * np.sum((J @ step + r)**2) > 0.8 * gain


def test_numbers_that_a_sum_does_not_see_stay_where_they_are():
    J = np.random.default_rng(2).normal(size=(40, 3))
    J[:, 1] = 0.0
    J[:, 2] = J[:, 0]       # and of two that do the same, both go half of the way
    step = best_step(J.T @ J, J.T @ J[:, 0], 0.0, np.full(3, -9.0), np.full(3, 9.0))
    assert step[1] == 0.0
    assert step[[0, 2]] == pytest.approx([-0.5, -0.5], rel=1e-5)    # of the least damping
