"""Runs of a sweep: grids, Latin hypercubes, Monte Carlo, one tree of seeds."""

from itertools import product

import numpy as np
import pytest
from refusals import refusal
from scipy import stats

from flex_robot_sim.sweeps.design import generator_of_run, runs_of
from flex_robot_sim.sweeps.forms import form_of
from flex_robot_sim.util.exceptions import UsageError


def runs(words, method, count=None, seed=0):
    names = [f'x{k}' for k in range(len(words))]
    return runs_of(
        [form_of(name, form) for name, form in zip(names, words)], names, method, count, seed
    )


def test_a_grid_has_all_combinations_the_last_number_first():
    found = runs(['1,2', 'even:0,1,3', 7.0], 'grid')
    assert found.tolist() == [list(row) for row in product([1, 2], [0, 0.5, 1], [7])]


def test_a_latin_hypercube_has_one_run_in_each_slice_of_each_number():
    found = runs(['uniform:2,4', 'log:1,1e4', 'normal:5,2'], 'latin', 100)
    shares = [(found[:, 0] - 2) / 2, np.log10(found[:, 1]) / 4, stats.norm.cdf(found[:, 2], 5, 2)]
    for share in shares:
        assert sorted((100 * share).astype(int)) == list(range(100))
    # the numbers are independent: for 100 pairs, 4 standard deviations are 0.4
    assert np.abs(np.corrcoef(shares) - np.eye(3)).max() < 0.4


@pytest.mark.parametrize(
    'form, law',
    [
        ('uniform:-1,3', stats.uniform(-1, 4)),
        ('log:0.1,10', stats.loguniform(0.1, 10)),
        ('normal:2,0.5', stats.norm(2, 0.5)),
    ],
)
def test_numbers_that_are_drawn_have_their_law(form, law):
    found = runs([form], 'random', 5000)[:, 0]
    # one in a million samples of its distribution is this far off
    assert stats.kstest(found, law.cdf).pvalue > 1e-6


def test_a_list_that_is_drawn_from_has_all_its_values_as_often():
    found = runs(['3,1,2'], 'latin', 9)[:, 0]
    assert sorted(found) == [1, 1, 1, 2, 2, 2, 3, 3, 3]


def test_more_runs_leave_the_first_ones_as_they_are_and_another_seed_does_not():
    few, many, other = (
        runs(['uniform:0,1'] * 3, 'random', count, seed)
        for count, seed in ((5, 1), (50, 1), (5, 2))
    )
    assert (many[:5] == few).all() and (other != few).all()


def test_every_run_has_a_twig_of_one_seed_tree():
    twigs = np.random.SeedSequence(42).spawn(2)[1].spawn(8)
    for run, twig in enumerate(twigs):
        assert (
            generator_of_run(42, run).integers(2**60, size=4)
            == np.random.default_rng(twig).integers(2**60, size=4)
        ).all()


@pytest.mark.parametrize(
    'words, message',
    [
        ('uniform:2', 'x = "uniform:2" is none of 0.8,1.0,1.2, even:FROM,TO,COUNT, '),
        ('log:0,1', 'x = "log:0,1" is none of '),
        ('normal:1,-1', 'x = "normal:1,-1" is none of '),
        ('even:0,1,2.5', 'x = "even:0,1,2.5" is none of '),
        ('gamma:1,2', 'x = "gamma:1,2" is none of '),
        ('1,two', 'x = "1,two" is not numbers with commas. Write 0.8,1.0,1.2 or uniform:0.8,1.2.'),
        ('', 'x = "" is not numbers with commas. '),
        ('1,nan', 'x must be finite numbers, one at least.'),
        ([], 'x must be finite numbers, one at least.'),
    ],
)
def test_words_that_say_nothing_are_one_line(words, message):
    assert refusal(UsageError, form_of, 'x', words).startswith(message)


@pytest.mark.parametrize(
    'words, method, count, seed, message',
    [
        (
            ['uniform:0,1'],
            'grid',
            None,
            0,
            'x0 of a grid must be values or even:FROM,TO,COUNT. For '
            'uniform take a Latin hypercube or draw at random.',
        ),
        (['1,2'], 'grid', 4, 0, 'a grid has as many runs as it has: give no count.'),
        (
            ['even:0,1,10000'] * 2,
            'grid',
            None,
            0,
            'the grid has 100000000 runs, and 10000000 are the '
            'most. Take fewer values, or a Latin hypercube.',
        ),
        (
            ['1,2'],
            'latin',
            0,
            0,
            'count = 0 of the runs must be a whole number from 1 to 10000000.',
        ),
        (
            ['1,2'],
            'random',
            None,
            0,
            'count = None of the runs must be a whole number from 1 to 10000000.',
        ),
        (['1,2'], 'random', 4, -1, 'seed = -1 must be a whole number, 0 or more.'),
        (['1,2'], 'sobol', 4, 0, 'method = "sobol" must be one of grid, latin, random.'),
    ],
)
def test_a_design_that_cannot_be_is_one_line(words, method, count, seed, message):
    assert refusal(UsageError, runs, words, method, count, seed) == message
