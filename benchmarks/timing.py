"""
Times on a machine with other load.

A disturbance lasts for a while. So a time is the minimum of several, and a ratio is the median of
ratios of consecutive times.
"""

from statistics import median
from time import perf_counter

import numpy as np

from flex_robot_sim.analysis.joint_space_inertia import joint_space_inertia


def seconds(function, clock=perf_counter):
    """Return how long one call takes [s]."""
    started = clock()
    function()
    return clock() - started


def holding_gains(arm):
    """Stiffness and damping (joints,) of a servo of 1 Hz for a rigid arm, damping ratio 0.7."""
    inertia, rate = joint_space_inertia(arm).largest, 2 * np.pi
    return inertia * rate**2, 1.4 * inertia * rate


def in_turns(functions, rounds, clock=perf_counter):
    """Return the times of all functions, [[s] per function], in turns after one warm-up."""
    for function in functions:
        function()
    rows = [[seconds(function, clock) for function in functions] for _ in range(rounds)]
    return [list(times) for times in zip(*rows)]


def median_ratio(times, others):
    """Return the median of the ratios of consecutive times."""
    return median(a / b for a, b in zip(times, others))
