"""
Exact natural modes of a uniform clamped beam with a rigid body at its end.

Everything is dimensionless: xi = x/L; in bending omega = lambda^2 sqrt(EI/(rho A L^4)), and the
body has, about the end, the mass mu = m/(rho A L), the first moment sigma = m c/(rho A L^2) of a
centre that lies c beyond it, and the inertia j = I/(rho A L^3). In torsion and stretch
omega = lambda sqrt(stiffness/inertia)/L.

Bending, v'''' = lambda^4 v with v = v' = 0 at xi = 0, and at xi = 1

    v'' = lambda^4 (sigma v + j v'),    v''' = -lambda^4 (mu v + sigma v').                   (1)

The two solutions that are clamped at xi = 0 are written with exp(-lambda xi) and
exp(-lambda (1 - xi)), which never overflow; a power series serves small lambda. Roots are counted
by the theorem of Wittrick & Williams, Q. J. Mech. Appl. Math. 24 (1971) 263, so none is missed.
"""

from functools import lru_cache
from math import cos, cosh, exp, factorial, floor, pi, sin, sqrt

import numpy as np

POWER_SERIES_MAX_LAMBDA = 1.0  # the power series is used below it
FIRST_BENDING_ROOT = 1.8751040687119611  # smallest solution of cos(x) cosh(x) = -1


def clamped_bending(lam: float, xi: np.ndarray, order: int) -> np.ndarray:
    """Derivatives (k, 2) of the two clamped solutions of v'''' = lam^4 v at xi (k,)."""
    if lam < POWER_SERIES_MAX_LAMBDA:
        return np.stack([_power_series(lam, xi, order, first) for first in (2, 3)], axis=-1)
    z = lam * xi
    trig_terms = [
        (np.cos(z), np.sin(z)),
        (-np.sin(z), np.cos(z)),
        (-np.cos(z), -np.sin(z)),
        (np.sin(z), -np.cos(z)),
    ][order % 4]
    end = np.exp(-lam)
    left = (-1.0) ** order * np.exp(-z) - trig_terms[0] + trig_terms[1]
    right = np.exp(-lam * (1.0 - xi)) - end * (trig_terms[0] + trig_terms[1])
    return lam**order * np.stack([left, right], axis=-1)


def _power_series(lam, xi, order, first):
    """Sum of lam^(4 k) xi^n / n! with n = first + 4 k, differentiated."""
    return sum(
        lam ** (n - first) * xi ** (n - order) / factorial(n - order)
        for n in range(first, first + 20, 4)
        if n >= order
    )


def _at_end(lam, order):
    """Return `clamped_bending` at xi = 1 as two floats, which is faster in root searches."""
    if lam < POWER_SERIES_MAX_LAMBDA:
        return _power_series(lam, 1.0, order, 2), _power_series(lam, 1.0, order, 3)
    c, s, end = cos(lam), sin(lam), exp(-lam)
    trig_terms = ((c, s), (-s, c), (-c, -s), (s, -c))[order]
    scale = lam**order
    return (
        scale * ((-1.0) ** order * end - trig_terms[0] + trig_terms[1]),
        scale * (1.0 - end * (trig_terms[0] + trig_terms[1])),
    )


def _end_conditions(lam, mu, sigma, j):
    """Matrix of (1) for the two clamped solutions, and that of their v and v' at the end."""
    scale, fourth = max(lam, POWER_SERIES_MAX_LAMBDA), lam**4
    columns = list(zip(*(_at_end(lam, order) for order in range(4))))
    force = (
        tuple(
            (-shear - fourth * (mu * v + sigma * slope)) / scale**3
            for v, slope, _, shear in columns
        ),
        tuple(
            (bending - fourth * (sigma * v + j * slope)) / scale**2
            for v, slope, bending, _ in columns
        ),
    )
    return force, (tuple(v for v, *_ in columns), tuple(slope / scale for _, slope, *_ in columns))


def _determinant(rows):
    return rows[0][0] * rows[1][1] - rows[0][1] * rows[1][0]


def _count_below(lam, mu, sigma, j):
    """Return how many roots lie below lam."""
    force, motion = _end_conditions(lam, mu, sigma, j)
    # dynamic stiffness at the end, force motion^-1, scaled to be symmetric
    det_motion, det_force = _determinant(motion), _determinant(force)
    first = force[0][0] * motion[1][1] - force[0][1] * motion[1][0]
    negative = 1 if det_force * det_motion < 0.0 else 2 * (first * det_motion < 0.0)
    return negative + _count_clamped_clamped(lam)


def _count_clamped_clamped(lam):
    """Return how many roots of cosh cos = 1 lie in (0, lam)."""
    if lam < 4.0:  # the first is 4.73
        return 0
    i = floor(lam / pi)
    sign = 1.0 if 1.0 / cosh(min(lam, 700.0)) > cos(lam) else -1.0
    return i - int((1.0 - (-1.0) ** i * sign) / 2)


@lru_cache(maxsize=256)
def bending_roots(
    count: int, mu: float = 0.0, sigma: float = 0.0, j: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """First roots lambda (count,), and factors (2, count) of the two solutions in the modes."""
    roots, factors = np.empty(count), np.empty((2, count))
    for k in range(count):
        low, below_low = (float(roots[k - 1]) * (1 + 1e-9), k) if k else (0.0, 0)
        high = (k + 1) * pi  # a body at the end lowers the roots
        below_high = _count_below(high, mu, sigma, j)
        while (below_high != k + 1 or below_low != k) and high - low > 1e-12 * high:
            middle = 0.5 * (low + high)
            below = _count_below(middle, mu, sigma, j)
            if below > k:
                high, below_high = middle, below
            else:
                low, below_low = middle, below
        roots[k] = _refine_root(low, high, mu, sigma, j)
        rows, _ = _end_conditions(float(roots[k]), mu, sigma, j)
        largest, row = max((max(map(abs, row)), row) for row in rows)
        factors[:, k] = -row[1] / largest, row[0] / largest
    return roots, factors


def _refine_root(low, high, mu, sigma, j):
    def determinant(lam):
        rows, _ = _end_conditions(lam, mu, sigma, j)
        return _determinant(rows)

    if determinant(low) * determinant(high) >= 0.0:  # double root
        return high
    return _bisect(determinant, low, high)


def _bisect(function, low, high):
    """Return the root of a function by bisection to rounding; importing SciPy takes long."""
    is_rising = function(low) < 0.0
    middle = 0.5 * (low + high)
    while low < middle < high:
        if (function(middle) < 0.0) == is_rising:
            low = middle
        else:
            high = middle
        middle = 0.5 * (low + high)
    return middle


@lru_cache(maxsize=256)
def rod_roots(count: int, mu: float = 0.0) -> np.ndarray:
    """First roots of cos(lambda) = mu lambda sin(lambda): torsion, or stretch, with a body."""

    def mismatch(lam):
        return cos(lam) - mu * lam * sin(lam)

    roots = np.empty(count)
    for k in range(count):
        low, high = k * pi, (k + 0.5) * pi
        # a negligible body: use the root of the free end
        free = mismatch(low) * mismatch(high) >= 0.0
        roots[k] = high if free else _bisect(mismatch, low, high)
    return roots


def bending_modes(
    roots: np.ndarray, factors: np.ndarray, xi: np.ndarray, order: int
) -> np.ndarray:
    """Differentiate the modes at xi (k,); returns (k, count)."""
    columns = [clamped_bending(lam, xi, order) @ pair for lam, pair in zip(roots, factors.T)]
    return np.stack(columns, axis=-1) if columns else np.empty((len(xi), 0))


def rod_modes(roots: np.ndarray, xi: np.ndarray, order: int) -> np.ndarray:
    """Differentiate sin(lambda xi), the modes of torsion and stretch, at xi (k,), (k, count)."""
    z = np.outer(xi, roots)
    return roots**order * [np.sin(z), np.cos(z), -np.sin(z), -np.cos(z)][order % 4]


def first_bending_frequency(
    length: float, bending_stiffness: float, mass_per_length: float
) -> float:
    """First bending frequency [Hz] without a body, from length [m], EI [N m2] and kg/m."""
    wave = sqrt(bending_stiffness / mass_per_length)
    return (FIRST_BENDING_ROOT / length) ** 2 * wave / (2 * pi)


def first_wave_frequency(length: float, stiffness: float, inertia_per_length: float) -> float:
    """First frequency [Hz] of torsion (GJ [N m2], kg m) or of stretch (EA [N], kg/m)."""
    return sqrt(stiffness / inertia_per_length) / (4 * length)
