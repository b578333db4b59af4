"""Largest acceleration and deceleration in a polynomial piece of a motion."""

import numpy as np

NEGLIGIBLE = 1e-14  # coefficient over the largest one


def signed_extremes(velocity: np.ndarray, acceleration: np.ndarray) -> tuple[float, float]:
    """
    Largest acceleration and deceleration, each >= 0, for shares 0 to 1 of a piece.

    A joint decelerates where acceleration and velocity have opposite signs. The velocity keeps its
    sign between its roots; there, the extremes are at the ends or where the jerk is zero.

    :param velocity: coefficients by rising power (5,); acceleration: of the same piece (4,).
    """
    signs_change = np.array([0.0, *_roots(velocity), 1.0])
    stationary = _roots(np.arange(1.0, 4.0) * acceleration[1:])
    largest = [0.0, 0.0]
    for start, end in zip(signs_change, signs_change[1:]):
        inside = stationary[(stationary > start) & (stationary < end)]
        values = _value(acceleration, np.array([start, end, *inside]))
        values *= np.sign(_value(velocity, np.array((start + end) / 2)))
        largest = [max(largest[0], values.max()), max(largest[1], -values.min())]
    return float(largest[0]), float(largest[1])


def _roots(coefficients):
    """Roots between 0 and 1 of a polynomial, rising."""
    is_term = np.abs(coefficients) > NEGLIGIBLE * np.abs(coefficients).max()
    count = np.flatnonzero(is_term)[-1] + 1 if is_term.any() else 0
    if count < 2:
        return np.zeros(0)
    roots = np.polynomial.polynomial.polyroots(coefficients[:count])
    real = roots.real[np.abs(roots.imag) < 1e-6]
    return np.sort(real[(real > 0.0) & (real < 1.0)])


def _value(coefficients, u):
    return np.polynomial.polynomial.polyval(u, coefficients)
