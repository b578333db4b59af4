"""
Experiment design of a sweep: the values of all runs.

All random numbers come from one seed tree: its first branch draws the values, its second has a
child for each run. So a run has the same numbers for any number and order of runs.
"""

from collections.abc import Sequence
from math import prod

import numpy as np

from flex_robot_sim.model.arguments import is_known
from flex_robot_sim.sweeps.forms import Form
from flex_robot_sim.util.exceptions import UsageError, shortened

METHODS = ('grid', 'latin', 'random')
MAX_RUNS = 10_000_000
VALUES_BRANCH, RUNS_BRANCH = 0, 1  # branches of the seed tree


def runs_of(
    forms: Sequence[Form], names: Sequence[str], method: str, count: int | None, seed: int
) -> np.ndarray:
    """
    Return the values of all runs, (runs, forms).

    :param method: one of METHODS: all combinations, a Latin hypercube, or drawn one by one.
    :param count: number of runs of a hypercube or of random ones.
    """
    if not is_known(method, METHODS):
        raise UsageError(
            f'method = "{shortened(method, 60)}" must be one of {", ".join(METHODS)}.'
        )
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise UsageError(f'seed = {seed!r} must be a whole number, 0 or more.')
    if method == 'grid':
        return _grid(forms, names, count)
    if (
        isinstance(count, bool)
        or not isinstance(count, (int, np.integer))
        or not (1 <= count <= MAX_RUNS)
    ):
        raise UsageError(
            f'count = {count!r} of the runs must be a whole number from 1 to {MAX_RUNS}.'
        )
    shares = (_latin if method == 'latin' else _random)(len(forms), int(count), int(seed))
    return np.column_stack(
        [form.quantile(column) for form, column in zip(forms, shares.T)] or [np.zeros((count, 0))]
    )


def generator_of_run(seed: int, run: int) -> np.random.Generator:
    """Return the generator of a run, as `SeedSequence(seed).spawn(2)[1].spawn(runs)` has it."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(RUNS_BRANCH, run)))


def _grid(forms, names, count):
    if count is not None:
        raise UsageError('a grid has as many runs as it has: give no count.')
    for form, name in zip(forms, names):
        if form.kind != 'values':
            raise UsageError(
                f'{name} of a grid must be values or even:FROM,TO,COUNT. For '
                f'{form.kind} take a Latin hypercube or draw at random.'
            )
    total = prod(len(form.numbers) for form in forms)
    if total > MAX_RUNS:
        raise UsageError(
            f'the grid has {total} runs, and {MAX_RUNS} are the most. Take fewer '
            'values, or a Latin hypercube.'
        )
    axes = np.meshgrid(*(form.numbers for form in forms), indexing='ij')
    return np.column_stack([axis.ravel() for axis in axes] or [np.zeros((1, 0))])


def _latin(columns, count, seed):
    """Latin hypercube: each column has one share in each of `count` equal slices."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(VALUES_BRANCH,)))
    slices = np.column_stack(
        [rng.permutation(count) for _ in range(columns)] or [np.zeros((count, 0))]
    )
    return (slices + rng.uniform(size=slices.shape)) / count


def _random(columns, count, seed):
    """Random shares, run by run: a larger count leaves the first ones unchanged."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(VALUES_BRANCH,)))
    return rng.uniform(size=(count, columns))
