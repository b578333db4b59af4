"""
Frequencies and damping of an arm from recorded vibration.

The response to a sweep and the free vibration after a move or a push have methods of their own
(swept_resonances.py, ring_down.py). Otherwise the arm is excited all the time. Then peaks of
Welch's spectrum yield the frequencies, and resonance curves, blurred by the window, are fitted.
"""

from typing import NamedTuple

import numpy as np
from scipy import signal
from scipy.optimize import curve_fit

from flex_robot_sim.analysis.resonance import Drift, Resonance
from flex_robot_sim.analysis.ring_down import ring_down
from flex_robot_sim.analysis.swept_resonances import find_sweep, swept_resonances

SEGMENTS = 8  # segments of the spectrum, overlapping by half
MIN_PEAK_RATIO = 8.0  # power of a resonance over its surroundings
MIN_SIDE_LINES = 12  # lines of the spectrum to either side that are its surroundings
MIN_FLANK_RATIO = 12.0  # power of a resonance over the flank of a larger one
MAX_POWER_RATIO = 1e4  # power of the largest resonance over that of the least
MAX_RELATIVE_STD = 0.05  # of the frequency of a resonance
MAX_TILT = 4.0  # exponent of frequency in the tilt of a resonance
MAX_MODES = 4
MAX_DAMPING_RATIO = 0.3  # of a resonance


class Spectrum(NamedTuple):
    """Welch's spectrum, summed over all columns, each over its variance."""

    frequencies: np.ndarray  # (k,)                                                     [Hz]
    power: np.ndarray  # (k,)                                                   [1/Hz]


class RecordedModes(NamedTuple):
    """Modes in a recording, its spectrum, and the part of it that shows the modes."""

    resonances: list[Resonance]  # largest first
    spectrum: Spectrum
    begin: float  # after the first sample                                           [s]
    end: float  # [s]
    drift: Drift | None  # of a frequency in this part
    unseen: float = 0.0  # share of deflection of modes that it shows and does not determine
    harmonics: tuple[Resonance, ...] = ()  # second harmonics of modes, which are no modes


def resonances(rate: float, samples: np.ndarray) -> tuple[list[Resonance], Spectrum]:
    """Resonances, largest first, and Spectrum of samples (k, n), any units, at a rate [Hz]."""
    return recorded_modes(rate, samples)[:2]


def recorded_modes(rate: float, samples: np.ndarray) -> RecordedModes:
    """Return the RecordedModes in samples (k, n), any units, at a rate [Hz]."""
    samples = signal.detrend(np.asarray(samples, float), axis=0)
    stds = samples.std(axis=0)
    is_moving = stds > 1e-9 * max(stds.max(initial=0.0), 1e-300)
    if not is_moving.any():
        return RecordedModes([], Spectrum(np.zeros(0), np.zeros(0)), 0.0, 0.0, None)
    samples = samples[:, is_moving] / stds[is_moving]
    length = max(64, 2 * len(samples) // (SEGMENTS + 1))
    frequencies, power = signal.welch(samples, rate, nperseg=min(length, len(samples)), axis=0)
    spectrum = Spectrum(frequencies[1:], power[1:].sum(axis=1))
    begin, end, drift, unseen, harmonics = 0.0, len(samples) / rate, None, 0.0, ()
    sweep = find_sweep(rate, samples)
    if sweep is not None:
        found = swept_resonances(rate, samples, sweep)
    else:
        free = ring_down(rate, samples * stds[is_moving])
        if free is not None:
            found, begin, end, drift, unseen, harmonics = free
        else:
            found = _by_spectrum(spectrum)
    largest = max((resonance.size for resonance in found), default=1.0)
    found, harmonics = (
        [resonance._replace(size=resonance.size / largest) for resonance in part]
        for part in (found, harmonics)
    )
    found.sort(key=lambda resonance: -resonance.size)
    found = found[:MAX_MODES]
    return RecordedModes(found, spectrum, begin, end, drift, unseen, (*harmonics,))


def _by_spectrum(spectrum):
    """Return the resonances of an arm that is excited all the time."""
    found: list[Resonance] = []
    for peak in _peaks(spectrum):
        resonance = _resonance_by_spectrum(peak, spectrum)
        if resonance is not None and not any(
            _is_flank(resonance, other, spectrum) for other in found
        ):
            found.append(resonance)
    return found


def _is_flank(resonance, other, spectrum):
    """Whether a resonance is only a bump on the flank of a larger one."""
    f, power = spectrum.frequencies, spectrum.power
    power_here, power_other = (
        power[np.argmin(np.abs(f - mode.frequency))] for mode in (resonance, other)
    )
    width, step = other.ratio * other.frequency, f[1] - f[0]
    distance = abs(resonance.frequency - other.frequency)
    return distance < max(
        3 * width, 4 * step
    ) or power_here < MIN_FLANK_RATIO * power_other * width**2 / (width**2 + distance**2)


def _peaks(spectrum):
    """Return the rows of peaks that exceed both sides, highest first."""
    level = np.log(np.maximum(spectrum.power, 1e-300))
    rows = signal.find_peaks(level, level.max() - np.log(MAX_POWER_RATIO))[0]
    peaks = []
    for row in rows[np.argsort(-level[rows], kind='stable')]:
        half_width = max(MIN_SIDE_LINES, int(0.7 * row))
        sides = (
            level[max(row - half_width, 0) : max(row - 2, 0)],
            level[row + 3 : row + 1 + half_width],
        )
        # drift and noise have no valley on one side, or only a shallow one
        if min(map(len, sides)) >= 2 and all(
            level[row] > np.log(MIN_PEAK_RATIO) + _quartile(side) for side in sides
        ):
            peaks.append(row)
            if len(peaks) == 2 * MAX_MODES:
                break
    return peaks


def _quartile(values):
    """Return `np.percentile(values, 25)`, faster for few values."""
    rank = (len(values) - 1) * 0.25
    below, share = int(rank), rank % 1
    low, high = np.partition(values, (below, below + 1))[below : below + 2]
    return low + (high - low) * share if share < 0.5 else high - (high - low) * (1 - share)


def _resonance_by_spectrum(peak, spectrum):
    """Return the resonance from the shape of the spectrum around a peak, or None."""
    f0, step = spectrum.frequencies[peak], spectrum.frequencies[1] - spectrum.frequencies[0]
    half_width = max(8, int(0.25 * f0 / step))
    rows = slice(max(peak - half_width, 0), peak + half_width + 1)
    f, power = spectrum.frequencies[rows], spectrum.power[rows]

    blur = _Blur(f, step)

    def curve(f, log_height, frequency, log_ratio, log_floor, tilt):
        # the tilt depends on the measured quantity and on the spectrum of the excitation
        return np.log(
            blur.curve(frequency, np.exp(log_ratio)) * np.exp(log_height) * (f / f0) ** tilt
            + np.exp(log_floor)
        )

    def slopes(f, log_height, frequency, log_ratio, log_floor, tilt):
        ratio, lean = np.exp(log_ratio), np.exp(log_height) * (f / f0) ** tilt
        line, floor = blur.curve(frequency, ratio) * lean, np.exp(log_floor)
        by_frequency, by_ratio = blur.slopes(frequency, ratio)
        return (
            np.column_stack(
                [
                    line,
                    lean * by_frequency,
                    lean * ratio * by_ratio,
                    np.full(f.size, floor),
                    line * np.log(f / f0),
                ]
            )
            / (line + floor)[:, None]
        )

    height, floor = power.max(), max(power.min(), 1e-12 * power.max())
    # of the logarithm; neighbouring lines are correlated
    deviation = np.full(f.size, 2.0 / np.sqrt(SEGMENTS))
    half_width = max(0.15 * f0, 2 * step)  # noise may shift the highest line
    low, high = max(f0 - half_width, step), f0 + half_width
    try:
        best, covariance = curve_fit(
            curve,
            f,
            np.log(power),
            [np.log(height), f0, np.log(max(0.005, step / f0)), np.log(floor), 0.0],
            deviation,
            absolute_sigma=True,
            maxfev=4000,
            jac=slopes,
            bounds=(
                [-np.inf, low, np.log(0.05 * step / f0), np.log(floor) - 5, -MAX_TILT],
                [np.inf, high, 0.0, np.log(height), MAX_TILT],
            ),
        )
    except (RuntimeError, ValueError, np.linalg.LinAlgError):
        return None
    ratio = float(np.exp(best[2]))
    size = np.sqrt(np.exp(best[0]) * np.pi * ratio * best[1])  # root of the area
    resonance = Resonance(
        float(best[1]),
        float(np.sqrt(covariance[1, 1])),
        ratio,
        float(ratio * np.sqrt(covariance[2, 2])),
        float(size),
        'spectrum',
    )
    # narrower than the resolution: damping is uncertain by that much
    if ratio * best[1] < step / 2:
        resonance = resonance._replace(
            ratio_deviation=max(resonance.ratio_deviation, float(step / 2 / best[1]))
        )
    return resonance if _is_accurate(resonance) else None


class _Blur:
    """Resonance curves of height about 1, blurred by a Hann window (S10)."""

    def __init__(self, f, step):
        """Prepare for frequencies f (k,) with a spacing of `step` [Hz]."""
        x = np.linspace(-3.0, 3.0, 61)
        with np.errstate(divide='ignore', invalid='ignore'):
            window = np.sinc(x) / (1 - x**2)
        window[np.abs(np.abs(x) - 1) < 1e-9] = 0.5
        self._weights, self._frequencies = window**2 / (window**2).sum(), f[:, None] + x * step

    def curve(self, frequency, ratio):
        """Return the curve (k,)."""
        square = (ratio * frequency) ** 2
        return (square / ((self._frequencies - frequency) ** 2 + square)) @ self._weights

    def slopes(self, frequency, ratio):
        """Return the derivatives of the curve by frequency and ratio, (k,) each."""
        offset, width = self._frequencies - frequency, ratio * frequency
        kernel = 2 * width * offset / (offset**2 + width**2) ** 2
        by_width = (offset * kernel) @ self._weights
        return width * (kernel @ self._weights) + ratio * by_width, frequency * by_width


def _is_accurate(resonance):
    return (
        np.isfinite(resonance.frequency_deviation)
        and resonance.frequency_deviation < MAX_RELATIVE_STD * resonance.frequency
        and 0.0 < resonance.ratio < MAX_DAMPING_RATIO
    )
