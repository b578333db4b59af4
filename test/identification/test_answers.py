"""Deviations of a fit under residuals that are not white, against many fits of many noises."""

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import binom

from flex_robot_sim.identification.answers import block_edges, explained, trading, uncertainty
from flex_robot_sim.identification.fit import Fit

ROWS, TRIALS = 3000, 400


def fits(colour, seed=3):
    """Yield (what is off, Uncertainty) of straight-line fits under noise of one colour."""
    random = np.random.default_rng(seed)
    t = np.linspace(0, 1, ROWS)
    J = np.column_stack([np.sin(40 * t), np.cos(40 * t), t - 0.5])[:, None, :]
    for _ in range(TRIALS):
        noise = lfilter([1.0], [1.0, -colour], random.normal(size=ROWS))
        z = -np.linalg.lstsq(J[:, 0], noise, rcond=None)[0]
        residuals = noise[:, None] + J @ z
        yield z, uncertainty(Fit(z, residuals, J, np.ones((ROWS, 1)), np.ones(1), 0.0, 0), [ROWS])


@pytest.mark.parametrize('colour', [0.0, 0.95])
def test_intervals_hold_the_truth_however_residuals_are_coloured(colour):
    held = np.array([np.abs(z) <= spread.factor * spread.deviations for z, spread in fits(colour)])
    # of 400 trials, and two per cent less because 24 blocks are few and not quite independent
    low, high = binom.ppf([1e-3, 1 - 1e-3], TRIALS, 0.95) / TRIALS
    share = held.mean(axis=0)
    assert (share > low - 0.02).all() and (share < high + 0.02).all(), share


def test_deviations_that_take_coloured_residuals_for_white_would_be_too_small():
    z, spreads = zip(*fits(0.95))
    true = np.std(z, axis=0)
    J = np.linspace(0, 1, ROWS) - 0.5
    white = 1 / np.sqrt(1 - 0.95**2) / np.sqrt((J**2).sum())
    assert white < 0.25 * true[2]                   # (1 - c) / (1 + c) of the variance is white
    assert np.mean([one.deviations[2] for one in spreads]) == pytest.approx(true[2], rel=0.15)


def test_deviations_are_those_of_a_bootstrap_by_blocks():
    random, ratios = np.random.default_rng(5), []
    for k, (_, spread) in enumerate(fits(0.9, seed=11)):
        if k == 12:
            break
        t = np.linspace(0, 1, ROWS)
        J = np.column_stack([np.sin(40 * t), np.cos(40 * t), t - 0.5])
        # the residuals of this fit, drawn again in blocks that are longer than their memory
        noise = lfilter([1.0], [1.0, -0.9], np.random.default_rng([11, k]).normal(size=ROWS))
        left = noise - J @ np.linalg.lstsq(J, noise, rcond=None)[0]
        found = []
        for _ in range(150):
            begins = random.integers(0, ROWS - 150, ROWS // 150)
            drawn = np.concatenate([left[b:b + 150] for b in begins])
            found.append(np.linalg.lstsq(J, drawn, rcond=None)[0])
        ratios.append(np.std(found, axis=0) / spread.deviations)
    # 24 blocks: a deviation is known to one seventh, twelve of them to 4 %, and the slow column
    # lies across all blocks, whose sums are not quite independent
    assert np.mean(ratios, axis=0) == pytest.approx(1.0, abs=0.2)


def test_a_number_without_effect_is_not_told_and_the_others_are():
    random = np.random.default_rng(0)
    J = random.normal(size=(500, 1, 3))
    J[:, :, 2] = 0.0
    spread = uncertainty(Fit(np.zeros(3), random.normal(size=(500, 1)), J, np.ones((500, 1)),
                             np.ones(1), 0.0, 0), [500])
    assert np.isinf(spread.deviations[2]) and np.isfinite(spread.deviations[:2]).all()


def test_two_numbers_of_one_effect_are_said_to_trade():
    random = np.random.default_rng(0)
    J = random.normal(size=(500, 1, 3))
    J[:, :, 1] = -J[:, :, 0] + 0.01 * J[:, :, 1]
    spread = uncertainty(Fit(np.zeros(3), random.normal(size=(500, 1)), J, np.ones((500, 1)),
                             np.ones(1), 0.0, 0), [500])
    assert trading(spread.correlations, 0, 3) == 1
    assert trading(spread.correlations, 2, 3) is None


def test_blocks_cover_all_rows_once_and_none_lies_in_two_sequences():
    edges = block_edges([100, 37, 300], 24)
    assert [row for a, b in edges for row in range(a, b)] == list(range(437))
    assert all(not a < border < b for a, b in edges for border in (100, 137))


def test_explained_variance_is_one_minus_that_of_what_is_left():
    x = np.random.default_rng(1).normal(size=(1000, 1))
    assert explained(x, 0.5 * x)[0] == pytest.approx(0.75)
    assert explained(x, x + 3.0)[0] == pytest.approx(1.0)      # a zero is no variance
    # where a log of variance 1e6 has come to rest, a thousandth of that is what counts
    assert explained(x, 0.5 * x, np.array([1e6]))[0] == pytest.approx(1 - 0.25 * x.var() / 1e3)
