"""A check that repeats a comparison in random cases."""

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import flex_robot_sim as frs


class Case(NamedTuple):
    """Result of one random case."""

    error: float  # largest; nan counts as infinite
    checked: dict  # {what: number}, such as {'trees': 1, 'states': 4}


class Check(NamedTuple):
    """A comparison with an independent reference."""

    claim: str
    limit: float  # largest error allowed
    page_cases: int  # cases of the page; a check of all takes a quarter of an hour
    quick_cases: int  # cases of CI
    case: Callable[[int], Case]  # by the seed


class Figure(NamedTuple):
    """Result of a Check: its row on the page."""

    claim: str
    checked: dict  # sum of the cases
    error: float
    limit: float
    worst: int  # seed of the case with the largest error
    seed: int  # of the first case; the others follow by one
    cases: int
    version: str
    date: str

    @property
    def holds(self):
        """Whether no error is above the limit."""
        return self.error <= self.limit


def run(check, seed, count, date):
    """Return the Figure of `count` cases with the seeds from `seed` on."""
    checked: Counter[str] = Counter()
    error, worst = -1.0, seed
    for number in range(seed, seed + count):
        case = check.case(number)
        checked.update(case.checked)
        size = case.error if np.isfinite(case.error) else np.inf
        if size > error:
            error, worst = float(size), number
    return Figure(
        check.claim, dict(checked), error, check.limit, worst, seed, count, frs.__version__, date
    )


def relative_error(found, expected, scale=1.0):
    """Return the largest difference over the largest value, both divided by `scale`."""
    largest = np.abs(np.asarray(expected) / scale).max(initial=0.0)
    difference = np.abs((np.asarray(found) - expected) / scale).max(initial=0.0)
    return float(difference / max(largest, 1e-12))


def different(found, expected):
    """Return how many numbers of two arrays differ; all of them if the shapes do."""
    found, expected = np.asarray(found), np.asarray(expected)
    if found.shape != expected.shape:
        return max(found.size, expected.size, 1)
    return int((found.view(np.uint64) != expected.view(np.uint64)).sum())
