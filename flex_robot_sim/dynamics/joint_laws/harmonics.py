"""
Sums of harmonics of a position: kinematic error of gears, cogging and torque ripple of motors.

A row of a table is (amplitude a, wave number w, phase p) of a sin(w x + p); unused rows have the
amplitude zero. Means over a step from x - d/2 to x + d/2 are exact for any d.
"""

from math import cos, sin

from flex_robot_sim.jit.compiled import compiled

SERIES_LIMIT = 1e-3  # half a phase below which sin(x)/x is its series


@compiled
def sin_over(x):
    """Return sin(x) / x."""
    if abs(x) < SERIES_LIMIT:
        return 1.0 - x * x / 6.0
    return sin(x) / x


@compiled
def harmonic_value(x, table):
    """Sum of the harmonics at a position."""
    total = 0.0
    for row in range(table.shape[0]):
        if table[row, 0] != 0.0:
            total += table[row, 0] * sin(table[row, 1] * x + table[row, 2])
    return total


@compiled
def harmonic_curvature(x, table):
    """Second derivative of the sum at a position."""
    total = 0.0
    for row in range(table.shape[0]):
        a, w = table[row, 0], table[row, 1]
        if a != 0.0:
            total -= a * w * w * sin(w * x + table[row, 2])
    return total


@compiled
def mean_harmonic_slope(x, d, table):
    """Difference of the sum over a step d with x at its middle, over d; d = 0: the slope."""
    total = 0.0
    for row in range(table.shape[0]):
        a, w = table[row, 0], table[row, 1]
        if a != 0.0:
            total += a * w * cos(w * x + table[row, 2]) * sin_over(0.5 * w * d)
    return total


@compiled
def mean_harmonic_value(x, d, table):
    """Mean of the sum over a step d with x at its middle; d = 0: the sum."""
    total = 0.0
    for row in range(table.shape[0]):
        if table[row, 0] != 0.0:
            w = table[row, 1]
            total += table[row, 0] * sin(w * x + table[row, 2]) * sin_over(0.5 * w * d)
    return total


@compiled
def harmonic_potential(x, table):
    """Potential whose force is the sum: minus its integral."""
    total = 0.0
    for row in range(table.shape[0]):
        if table[row, 0] != 0.0:
            total += table[row, 0] / table[row, 1] * cos(table[row, 1] * x + table[row, 2])
    return total
