"""
Input shapers: impulse sequences that, convolved with a motion, cancel its residual vibration.

Every impulse excites a vibration; times and amplitudes are chosen so that these cancel. The
amplitudes add up to one: the shaped motion reaches the same end, later by the last of the times.
All amplitudes are positive: the shaped motion is a weighted mean of the motion at several times.
It satisfies every limit on position, velocity, acceleration and jerk that the motion satisfies.
KINDS has all shapers of one mode; a new one is a class here and a row there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.model.arguments import is_known, number_or_nan
from flex_robot_sim.shaping.fir_coefficients import fir_coefficients
from flex_robot_sim.shaping.poles import check_mode, pole_of, response_of
from flex_robot_sim.shaping.sampled_positions import (
    ShapedPositions,
    checked_times,
    convolved_samples,
    extended_times,
)
from flex_robot_sim.util.exceptions import SettingError, shortened
from flex_robot_sim.util.settings import Settings, setting

NO_SHAPER, SI, AUTO = 'none', 'si', 'auto'  # SI: for bands of frequencies; AUTO: the recommended
TOLERANCE = 0.05  # residual vibration of extra insensitive shapers, the usual value
DAMPING_STEP = 0.03  # step of the damping ratio in the continuation of (S4)
MAX_DAMPING = 0.3  # damping ratio up to which extra insensitive shapers exist
MIN_AMPLITUDE = 1e-12  # smaller impulses are removed
MAX_EXPONENT = 300.0  # exponent for which products of exponentials stay finite
MAX_IMPULSES = 100_000  # impulses of shapers in series; their numbers multiply

Impulses = tuple[np.ndarray, np.ndarray]  # times [s] and amplitudes, (k,) each


@dataclass(frozen=True, eq=False)
class Shaper:
    """
    Input shaper: a sequence of impulses, to convolve with the motion of any machine.

    Example::

        shaper = frs.shaping.Shaper('mine', np.array([0.0, 0.2]), np.array([0.5, 0.5]))
        shaper.vibration(2.5)                       # 0: 0.2 s are half a period
        shaped = shaper.shape([0.0, 0.1, 0.2], [0.0, 0.5, 1.0])
    """

    name: str
    times: np.ndarray  # (k,) rising from 0                                        [s]
    amplitudes: np.ndarray  # (k,) positive, of sum 1
    modes: tuple = ()  # of the design: (frequency [Hz], damping ratio) each

    @property
    def duration(self) -> float:
        """Time that it adds to a motion [s]."""
        return float(self.times[-1])

    def shape(self, times: ArrayLike, positions: ArrayLike) -> ShapedPositions:
        """
        Shape sampled positions of any machine; the result is longer by the duration of the shaper.

        :param times: evenly spaced (k,) [s]; positions: (k,) or (k, joints) [rad, m].

        Example::

            times = np.arange(0.0, 0.5, 1e-3)
            shaped = frs.shaping.zvd(2.7).shape(times, np.sin(np.pi * times))
            shaped.positions[-1]            # the last one of the input, 0.37 s later
        """
        period, samples = checked_times(times, positions)
        shaped = convolved_samples(samples, *self.fir(period))
        if np.ndim(positions) == 1:
            shaped = shaped[:, 0]
        return ShapedPositions(extended_times(times, period, len(shaped)), shaped)

    def renamed(self, name: str) -> Shaper:
        """Return the same impulses with another name."""
        return replace(self, name=name)

    def fir(self, period: float) -> tuple[np.ndarray, np.ndarray]:
        """Delays in samples (i,) and weights (i,) of the FIR filter (S6), for a period [s]."""
        return fir_coefficients(self.times, self.amplitudes, self.modes, period)

    def response(self, pole: np.ndarray) -> np.ndarray:
        """Transfer function (S1) at complex rates s, of any shape [1/s]."""
        return response_of(self.times, self.amplitudes, pole)

    def vibration(self, frequency: ArrayLike, ratio: ArrayLike = 0.0) -> np.ndarray:
        """Residual vibration over that of an impulse at 0 (S2); frequency: natural [Hz]."""
        s = pole_of(frequency, ratio)
        # from the end of the shaper, if the response from its start would overflow
        origin = np.where(s.real * self.duration < -MAX_EXPONENT, self.duration, 0.0)
        response = response_of(self.times - origin[..., None], self.amplitudes, s)
        return np.abs(response) * np.exp(s.real * (self.duration - origin))

    def insensitivity(self, frequency: float) -> float:
        """Width of the band about a frequency [Hz] with TOLERANCE, over that frequency."""
        if not 0.0 < number_or_nan(frequency) < math.inf:
            raise SettingError(
                f'frequency = {shortened(repr(frequency), 60)} must be > 0 and finite [Hz]'
            )
        grid = frequency * np.linspace(0.0, 3.0, 6001)[1:]
        above = self.vibration(grid) > TOLERANCE * (1 + 1e-9)
        middle = int(np.argmin(np.abs(grid - frequency)))
        if above[middle]:
            return 0.0
        low = np.flatnonzero(above[:middle])
        high = np.flatnonzero(above[middle:])
        bottom = grid[low[-1]] if low.size else 0.0
        top = grid[middle + high[0]] if high.size else grid[-1]
        return float((top - bottom) / frequency)


NONE = Shaper(NO_SHAPER, np.zeros(1), np.ones(1))


class ShaperKind:
    """A kind of shapers of one mode."""

    has_tolerance = False  # whether it may leave some vibration
    max_damping = math.inf  # damping ratio up to which it exists; `check_mode` has a limit too

    def impulses(self, frequency: float, ratio: float, tolerance: float) -> Impulses:
        """
        Times and amplitudes (k,) for a mode.

        :param frequency: natural [Hz]; ratio: of damping.
        :param tolerance: largest vibration within a band, as a share of the unshaped one.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class ZeroVibration(ShaperKind):
    """ZV for order 1, ZVD and ZVDD for 2 and 3: zeros of that order at the mode (S3)."""

    order: int

    def impulses(self, frequency: float, ratio: float, _tolerance: float) -> Impulses:
        """Times and amplitudes, as of ShaperKind."""
        half = 0.5 / (frequency * math.sqrt(1 - ratio**2))
        fade = math.exp(-math.pi * ratio / math.sqrt(1 - ratio**2))
        weights = np.array([math.comb(self.order, i) * fade**i for i in range(self.order + 1)])
        return half * np.arange(self.order + 1.0), weights / weights.sum()


@dataclass(frozen=True)
class ExtraInsensitive(ShaperKind):
    """Shapers of a wide band, with the tolerance at its middle, or at several humps (S4)."""

    humps: int  # 1 for EI, 2 for two-hump EI, 3
    has_tolerance = True
    max_damping = MAX_DAMPING

    def impulses(self, frequency: float, ratio: float, tolerance: float) -> Impulses:
        """Times and amplitudes, as of ShaperKind."""
        if not 0.0 < tolerance < 0.5:
            raise SettingError(f'tolerance = {tolerance!r} of a shaper must lie between 0 and 0.5')
        if ratio > MAX_DAMPING:
            raise SettingError(
                f'an extra insensitive shaper takes damping up to {MAX_DAMPING:g}, '
                f'not {ratio:g}: such a mode hardly vibrates. Take zv or zvd'
            )
        unknown = self._undamped(tolerance)
        if ratio > 0.0:
            from scipy.optimize import root  # imported late: slow, rarely needed

            for step in np.linspace(0.0, ratio, 2 + int(ratio / DAMPING_STEP))[1:]:
                found = root(self._residual, unknown, (step, tolerance), tol=1e-13)
                unknown = found.x
                if not np.abs(found.fun).max() < 1e-9:
                    raise SettingError(
                        f'no {"two-hump" if self.humps == 2 else "such"} shaper leaves '
                        f'{tolerance:g} of a mode damped by {ratio:g}: take a smaller tolerance, '
                        'or ei'
                    )
        amplitudes, times, *_ = self._parts(unknown)
        return times / frequency, amplitudes

    def _undamped(self, V):
        """Amplitudes, times after the first, zeros and humps of (S4), undamped, in periods."""
        if self.humps == 1:
            amplitudes = [(1 + V) / 4, (1 - V) / 2, (1 + V) / 4]
            # 2 A1 cos(pi f) + A2 = 0, with the phase taken from the middle impulse
            zero = math.acos(-amplitudes[1] / (2 * amplitudes[0])) / math.pi
            still, tops = [zero, 2 - zero], []
        elif self.humps == 3:
            first = (1 + 3 * V + 2 * math.sqrt(2 * V * (V + 1))) / 16
            second = (1 - V) / 4
            middle = 1 - 2 * (first + second)
            amplitudes = [first, second, middle, second, first]
            # response 2 A1 (2 c^2 - 1) + 2 A2 c + A3 with c = cos(pi f)
            centre = -second / (4 * first)
            width = math.sqrt(centre**2 + 0.5 - middle / (4 * first))
            low, high, at = (
                math.acos(c) / math.pi for c in (centre + width, centre - width, centre)
            )
            still, tops = [low, high, 2 - high, 2 - low], [at, 2 - at]
        else:
            X = (V**2 * (math.sqrt(1 - V**2) + 1)) ** (1 / 3)
            first = (3 * X**2 + 2 * X + 3 * V**2) / (16 * X)
            amplitudes = [first, 0.5 - first, 0.5 - first, first]
            # response 2 A1 cos(3 x) + 2 A2 cos(x) = c (8 A1 c^2 - 6 A1 + 2 A2), x = pi f / 2
            c = math.sqrt((6 * first - 2 * (0.5 - first)) / (8 * first))
            top = math.sqrt((6 * first - 2 * (0.5 - first)) / (24 * first))
            zero, at = (2 * math.acos(value) / math.pi for value in (c, top))
            still, tops = [zero, 2 - zero], [at, 2 - at]
        times = 0.5 * np.arange(1, len(amplitudes))
        return np.array([*amplitudes, *times, *still, *tops])

    def _parts(self, unknown):
        k, zeros = self.humps + 2, 4 if self.humps == 3 else 2
        amplitudes, times, still, tops = np.split(unknown, [k, 2 * k - 1, 2 * k - 1 + zeros])
        # the mode itself is where the middle hump is, or between the two
        middle = np.ones(1)
        if self.humps == 2:
            still = np.concatenate([still, middle])
        else:
            tops = np.concatenate([tops, middle])
        return amplitudes, np.concatenate([[0.0], times]), still, tops

    def _residual(self, unknown, ratio, V):
        """Residual of (S4), for a mode of the frequency 1."""
        amplitudes, times, still, tops = self._parts(unknown)
        shaper = Shaper('', times, amplitudes)
        zeros = shaper.response(pole_of(still, ratio))
        s = pole_of(tops, ratio)
        response = shaper.response(s)
        # slope of log vibration with the frequency: the humps are largest there
        slope = np.exp(-s[:, None] * times) @ (amplitudes * -times) / response + (
            shaper.duration * (np.real(s) / s)
        )
        return np.concatenate(
            [
                [amplitudes.sum() - 1],
                zeros.real,
                zeros.imag,
                np.abs(response) * np.exp(s.real * shaper.duration) - V,
                np.real(slope * s / tops) * V,
            ]
        )


# shapers of one mode; commands, nodes and pages take their choices from here
KINDS: dict[str, ShaperKind] = {
    'zv': ZeroVibration(1),
    'zvd': ZeroVibration(2),
    'zvdd': ZeroVibration(3),
    'ei': ExtraInsensitive(1),
    'ei2': ExtraInsensitive(2),
}
CONTROLLER_SHAPERS = (NO_SHAPER, *KINDS, SI)
NODE_SHAPERS = (AUTO, *KINDS, NO_SHAPER)


@dataclass(frozen=True)
class ShapingSettings(Settings):
    """Input shaping of all motions of the target."""

    shaper: str = setting(
        NO_SHAPER,
        'input shaper for targets, trajectories and profiles, designed for the modes '
        'under the servo',
        choices=CONTROLLER_SHAPERS,
        live=True,
    )
    shaper_tolerance: float = setting(
        TOLERANCE,
        'share of the vibration that '
        f'{", ".join(name for name, kind in KINDS.items() if kind.has_tolerance)} and {SI} may '
        'leave',
        above=0.0,
        at_most=0.4,
        live=True,
    )
    shaper_uncertainty: float = setting(
        0.1,
        'relative uncertainty of the frequencies, for si',
        at_least=0.0,
        at_most=0.4,
        live=True,
    )
    shaper_by_pose: bool = setting(
        True,
        'adapt the delays to the pose; false: use the delays for the pose at the time '
        'of the design',
        live=True,
    )


def of_kind(
    kind: str, frequency: float, ratio: float = 0.0, tolerance: float = TOLERANCE
) -> Shaper:
    """Shaper of one of KINDS for a mode [Hz]."""
    if not is_known(kind, KINDS):
        raise SettingError(f'no shaper "{kind}" of one mode. Known: {", ".join(KINDS)}')
    check_mode(frequency, ratio)
    times, amplitudes = KINDS[kind].impulses(frequency, ratio, tolerance)
    return Shaper(kind, times, amplitudes, ((frequency, ratio),))


def kinds_for(ratio: float) -> list[str]:
    """Return the KINDS of a mode with a damping ratio."""
    return [name for name, kind in KINDS.items() if ratio <= kind.max_damping]


def convolved(shapers: Iterable[Shaper], name: str = '') -> Shaper:
    """Shaper equivalent to several in series."""
    shapers = [*shapers]
    count = math.prod(len(shaper.times) for shaper in shapers)
    if count > MAX_IMPULSES:
        raise SettingError(
            f'{len(shapers)} shapers in series have {count:.3g} impulses, more '
            f'than {MAX_IMPULSES}: take fewer modes, or bands of si'
        )
    times, amplitudes = np.zeros(1), np.ones(1)
    for shaper in shapers:
        times = np.add.outer(times, shaper.times).ravel()
        amplitudes = np.multiply.outer(amplitudes, shaper.amplitudes).ravel()
    return merged_impulses(
        name or '+'.join(dict.fromkeys(s.name for s in shapers)),
        times,
        amplitudes,
        [mode for shaper in shapers for mode in shaper.modes],
    )


def merged_impulses(
    name: str, times: np.ndarray, amplitudes: np.ndarray, modes: Iterable[tuple[float, float]] = ()
) -> Shaper:
    """Shaper of impulses in any order: equal times are merged, zero amplitudes removed."""
    order = np.argsort(times, kind='stable')
    times, amplitudes = np.asarray(times)[order], np.asarray(amplitudes)[order]
    is_new = np.concatenate([[True], np.diff(times) > 1e-12 * max(times[-1], 1e-300)])
    row = np.cumsum(is_new) - 1
    sums = np.bincount(row, amplitudes)
    times = times[is_new]
    is_kept = sums > MIN_AMPLITUDE
    sums, times = sums[is_kept], times[is_kept]
    return Shaper(name, times - times[0], sums / sums.sum(), tuple(modes))
