"""
Specified insensitivity: shortest positive shapers for modes or bands of frequencies.

With impulse times on a grid, the shortest sequence is the solution of linear programs. The few
nonzero impulses are then moved off the grid by nonlinear programming, for the shortest duration.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from flex_robot_sim.model.arguments import number_or_nan
from flex_robot_sim.shaping import impulses
from flex_robot_sim.shaping.poles import check_mode, pole_of
from flex_robot_sim.util.exceptions import SettingError, shortened

TIMES_PER_PERIOD = 24  # grid times in a period of the fastest mode
MAX_TIMES = 160  # number of grid times
POLYGON_CORNERS = 16  # corners of the polygon inside the circle of the tolerance
BISECTIONS = 7  # bisections of the range of durations
MIN_GRID_AMPLITUDE = 1e-5  # smaller amplitudes of the linear program are noise


class Band(NamedTuple):
    """
    Band of frequencies in which the vibration is limited.

    Example::

        band = frs.shaping.Band(2.5, 3.3, ratio=0.006, tolerance=0.05)
        band.middle                                 # 2.9 Hz
    """

    low: float  # natural frequencies                                      [Hz]
    high: float
    ratio: float = 0.0  # of damping
    tolerance: float = impulses.TOLERANCE  # largest vibration over the unshaped one; 0: a zero

    @property
    def middle(self) -> float:
        """Middle frequency [Hz]."""
        return (self.low + self.high) / 2


def for_modes(
    kind: str,
    modes: Iterable[tuple[float, float]],
    tolerance: float = impulses.TOLERANCE,
    joint: bool = True,
) -> impulses.Shaper:
    """Shaper for modes (frequency [Hz], ratio); `joint`: search for a shorter one for `zv`."""
    try:
        modes = [(float(frequency), float(ratio)) for frequency, ratio in modes]
    except (TypeError, ValueError):
        raise SettingError(
            f'modes = {shortened(repr(modes), 60)} must be pairs of a frequency '
            '[Hz] and a damping ratio: write [(2.7, 0.006)] for one'
        ) from None
    if not modes:
        raise SettingError('there is no mode to shape for')
    product = impulses.convolved(
        [impulses.of_kind(kind, frequency, ratio, tolerance) for frequency, ratio in modes], kind
    )
    if kind != 'zv' or len(modes) == 1 or not joint:
        return product
    try:
        direct = si([Band(f, f, ratio, 0.0) for f, ratio in modes], name=kind)
    except SettingError:  # not found: the convolution is used
        return product
    return direct if direct.duration < product.duration else product


def si(bands: Sequence[Band], *, name: str = impulses.SI) -> impulses.Shaper:
    """
    Specified insensitivity (SI): the shortest positive shaper for bands of frequencies (S5).

    :param bands: [Band], or tuples of its fields.
    :param name: of the Shaper.

    Example::

        shaper = frs.shaping.si([frs.shaping.Band(2.5, 3.3, ratio=0.006, tolerance=0.05)])
        shaper.duration                             # added to a motion [s]
    """
    try:
        bands = [Band(*band) for band in bands]
    except TypeError:
        raise SettingError(
            f'bands = {shortened(repr(bands), 60)} must be a list of Bands: write '
            '[Band(2.5, 3.3)] for one'
        ) from None
    if not bands:
        raise SettingError('bands = [] must name what is to be kept still: give [Band(low, high)]')
    for band in bands:
        _check(band)
    slowest, fastest = (choose(band.middle for band in bands) for choose in (min, max))
    conditions = _Constraints(bands)
    low, high = 0.25 / slowest, 0.5 / slowest
    while (found := conditions.on_grid(high, fastest)) is None:
        low, high = high, 1.4 * high
        if high > 12.0 / slowest + 4 * len(bands) / slowest:
            raise SettingError(
                'no shaper was found for these bands: take narrower ones or a larger tolerance'
            )
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        shorter = conditions.on_grid(middle, fastest)
        low, high, found = (low, middle, shorter) if shorter is not None else (middle, high, found)
    return conditions.refined(name, *found)


def _check(band):
    check_mode(band.low, band.ratio)
    check_mode(band.high, band.ratio)
    if not band.low <= band.high:
        raise SettingError(
            f'a band from {band.low:g} to {band.high:g} Hz is none: give the lower frequency first'
        )
    if not 0.0 <= number_or_nan(band.tolerance) < 0.5:
        raise SettingError(
            f'tolerance = {shortened(repr(band.tolerance), 60)} of a shaper must '
            'be at least 0 and below 0.5'
        )
    if band.tolerance == 0.0 and band.low < band.high:
        raise SettingError('no shaper leaves nothing over a whole band: give a tolerance above 0')


class _Constraints:
    """Limits on the vibration of a shaper at poles (p,)."""

    def __init__(self, bands):
        poles, limits = [], []
        self.modes = [(band.middle, band.ratio) for band in bands]
        for band in bands:
            # a lobe of the sensitivity curve is as wide as the inverse of the duration
            count = 1 if band.low == band.high else 9 + int(16 * (band.high / band.low - 1))
            poles.append(pole_of(np.linspace(band.low, band.high, count), band.ratio))
            limits.append(np.full(count, band.tolerance))
        self.poles, self.limits = np.concatenate(poles), np.concatenate(limits)
        self.is_zero = self.limits == 0.0
        angles = 2 * np.pi * np.arange(POLYGON_CORNERS) / POLYGON_CORNERS
        self._rotations = np.exp(1j * angles)

    def on_grid(self, duration, fastest):
        """Times and amplitudes of a shaper of a duration [s], or None."""
        from scipy.optimize import linprog  # imported late: slow, rarely needed

        count = int(np.clip(TIMES_PER_PERIOD * duration * fastest, 12, MAX_TIMES))
        times = duration * np.linspace(0.0, 1.0, count + 1)
        columns = self._columns(times)
        soft = columns[~self.is_zero]
        A_ub = np.real(self._rotations[:, None, None] * soft).reshape(-1, times.size)
        # a polygon inside the circle of the tolerance
        b_ub = np.tile(
            np.cos(np.pi / POLYGON_CORNERS) * self.limits[~self.is_zero], POLYGON_CORNERS
        )
        zeros = columns[self.is_zero]
        A_eq = np.vstack([np.ones((1, times.size)), zeros.real, zeros.imag])
        b_eq = np.zeros(len(A_eq))
        b_eq[0] = 1.0
        # among the feasible ones, prefer early impulses
        solution = linprog(
            times,
            A_ub if len(A_ub) else None,
            b_ub if len(A_ub) else None,
            A_eq,
            b_eq,
            method='highs',
        )
        return (times, solution.x) if solution.status == 0 else None

    def refined(self, name, times, amplitudes):
        """Shortest shaper off the grid."""
        from scipy.optimize import minimize  # as above

        on_grid = times[amplitudes > 0.0], amplitudes[amplitudes > 0.0]
        times, amplitudes = _clusters(times, amplitudes)
        k = times.size
        scale = times[-1]
        start = np.concatenate([amplitudes, times[1:] / scale])

        def split(x):
            return x[:k], scale * np.concatenate([[0.0], x[k:]])

        def equal(x):
            a, t = split(x)
            zeros = self._columns(t)[self.is_zero] @ a
            return np.concatenate([[a.sum() - 1], zeros.real, zeros.imag])

        def below(x):
            a, t = split(x)
            vibration = self._columns(t)[~self.is_zero] @ a
            return np.concatenate(
                [self.limits[~self.is_zero] ** 2 - np.abs(vibration) ** 2, np.diff(t) / scale]
            )

        solution = minimize(
            lambda x: x[-1],
            start,
            method='SLSQP',
            bounds=[(0.0, 1.0)] * k + [(0.0, 1.2)] * (k - 1),
            constraints=[{'type': 'eq', 'fun': equal}, {'type': 'ineq', 'fun': below}],
            options={'maxiter': 300, 'ftol': 1e-12},
        )
        # fall back to the shaper on the grid
        for times, amplitudes in (split(solution.x)[::-1], on_grid):
            shaper = self._with_exact_zeros(name, times, amplitudes)
            if shaper is not None:
                return shaper
        raise SettingError(
            'no shaper was found for these bands: take narrower ones or a larger tolerance'
        )

    def _with_exact_zeros(self, name, times, amplitudes):
        """Shaper with exact zeros, or None if it violates a limit."""
        zeros = self._columns(times)[self.is_zero]
        A = np.vstack([np.ones((1, times.size)), zeros.real, zeros.imag])
        residual = -A @ amplitudes
        residual[0] += 1.0
        amplitudes = amplitudes + np.linalg.lstsq(A, residual, rcond=1e-10)[0]
        if amplitudes.min() < -1e-9:
            return None
        shaper = impulses.merged_impulses(name, times, np.maximum(amplitudes, 0.0), self.modes)
        vibration = np.abs(self._columns(shaper.times) @ shaper.amplitudes)
        if (vibration <= self.limits + np.where(self.is_zero, 1e-8, 1e-4)).all():
            return shaper
        return None

    def _columns(self, times):
        """Vibration (p, k) at the end of an impulse at each time."""
        return np.exp(self.poles[:, None] * (times[-1] - times))


def _clusters(times, amplitudes):
    """Merge neighbouring impulses of the grid."""
    is_used = amplitudes > MIN_GRID_AMPLITUDE
    rows = np.cumsum(np.concatenate([[1], np.diff(np.flatnonzero(is_used)) > 1])) - 1
    a, t = amplitudes[is_used], times[is_used]
    sums = np.bincount(rows, a)
    places = np.bincount(rows, a * t) / sums
    return places - places[0], sums
