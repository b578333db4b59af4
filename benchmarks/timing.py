"""
Times on a machine with other load.

A disturbance lasts for a while. So a time is the minimum of several, and a ratio is the median of
ratios of consecutive times.
"""

from statistics import median
from time import perf_counter


def seconds(function, clock=perf_counter):
    """Return how long one call takes [s]."""
    started = clock()
    function()
    return clock() - started


def in_turns(functions, rounds, clock=perf_counter):
    """Return the times of all functions, [[s] per function], in turns after one warm-up."""
    for function in functions:
        function()
    rows = [[seconds(function, clock) for function in functions] for _ in range(rounds)]
    return [list(times) for times in zip(*rows)]


def median_ratio(times, others):
    """Return the median of the ratios of consecutive times."""
    return median(a / b for a, b in zip(times, others))
