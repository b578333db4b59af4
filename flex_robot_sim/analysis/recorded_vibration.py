"""
Frequencies and damping of an arm from recorded vibration.

Peaks of Welch's spectrum yield the frequencies. If a vibration decays undisturbed, as after a
move, damped sinusoids are fitted to it. Otherwise, resonance curves, blurred by the window, are
fitted to the spectrum. Both are least squares fits with standard deviations.
"""

from typing import NamedTuple

import numpy as np
from scipy import signal
from scipy.optimize import curve_fit, least_squares

SEGMENTS = 8  # segments of the spectrum, overlapping by half
MIN_PEAK_RATIO = 8.0  # power of a resonance over its surroundings
MIN_SIDE_LINES = 12  # lines of the spectrum to either side that are its surroundings
MIN_FLANK_RATIO = 12.0  # power of a resonance over the flank of a larger one
MAX_POWER_RATIO = 1e4  # power of the largest resonance over that of the least
MIN_DECAY = 1.6  # amplitude ratio for which MIN_EXPLAINED_VARIANCE suffices
MIN_RISING_DECAY = 6.0  # amplitude ratio if the vibration rises again later
MIN_CYCLES = 4  # of a decay
MIN_EXPLAINED_VARIANCE = 0.95  # explained by a fit of a decay
MAX_RESIDUAL_RATIO = 0.1  # residual amplitude over log decay, for decays below MIN_DECAY
MAX_ENVELOPE_STD = 0.4  # deviation of the logarithm of the envelope from a line
MAX_RELATIVE_STD = 0.05  # of the frequency of a resonance
MAX_TILT = 4.0  # exponent of frequency in the tilt of a resonance
MAX_MODES = 4
MAX_DAMPING_RATIO = 0.3  # of a resonance


class Resonance(NamedTuple):
    """A mode, with standard deviations."""

    frequency: float  # natural                                                  [Hz]
    frequency_deviation: float
    ratio: float  # damping ratio
    ratio_deviation: float
    size: float  # amplitude, over that of the largest mode
    way: str  # 'decay' or 'spectrum'


class Spectrum(NamedTuple):
    """Welch's spectrum, summed over all columns, each over its variance."""

    frequencies: np.ndarray  # (k,)                                                     [Hz]
    power: np.ndarray  # (k,)                                                   [1/Hz]


def resonances(rate: float, samples: np.ndarray) -> tuple[list[Resonance], Spectrum]:
    """Resonances, largest first, and Spectrum of samples (k, n), any units, at a rate [Hz]."""
    samples = signal.detrend(np.asarray(samples, float), axis=0)
    stds = samples.std(axis=0)
    is_moving = stds > 1e-9 * max(stds.max(initial=0.0), 1e-300)
    if not is_moving.any():
        return [], Spectrum(np.zeros(0), np.zeros(0))
    samples = samples[:, is_moving] / stds[is_moving]
    length = max(64, 2 * len(samples) // (SEGMENTS + 1))
    frequencies, power = signal.welch(samples, rate, nperseg=min(length, len(samples)), axis=0)
    spectrum = Spectrum(frequencies[1:], power[1:].sum(axis=1))
    resonances_found: list[Resonance] = []
    # segments are too short for few periods: search decays in the full spectrum as well
    for searched in (spectrum, _full_spectrum(rate, samples)):
        for peak in _peaks(searched):
            resonance = _resonance_by_decay(rate, samples, searched.frequencies[peak])
            if resonance is None and searched is spectrum:
                resonance = _resonance_by_spectrum(peak, spectrum)
            if resonance is not None and not any(
                _is_flank(resonance, other, searched) for other in resonances_found
            ):
                resonances_found.append(resonance)
    largest = max((resonance.size for resonance in resonances_found), default=1.0)
    resonances_found = [
        resonance._replace(size=resonance.size / largest) for resonance in resonances_found
    ]
    return sorted(resonances_found, key=lambda resonance: -resonance.size)[:MAX_MODES], spectrum


def _full_spectrum(rate, samples):
    """Return the spectrum of all samples at once, with the finest resolution and most noise."""
    frequencies, power = signal.periodogram(samples, rate, 'hann', axis=0)
    return Spectrum(frequencies[1:], power[1:].sum(axis=1))


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


def _resonance_by_decay(rate, samples, f):
    """Return the resonance near a frequency from a decaying vibration, or None."""
    low, high = 0.6 * f, min(1.6 * f, 0.45 * rate)
    if not high > 1.1 * f or len(samples) < 60:
        return None
    band = _Band(rate, low, high)
    filtered = band.filtered(samples)
    x = filtered[:, int(np.argmax(filtered.std(axis=0)))]
    cycle = max(int(round(rate / f)), 2)
    envelope = np.convolve(np.abs(signal.hilbert(x)), np.ones(cycle) / cycle, 'same')
    # without the excitation, and without filter transients at the ends
    start = int(np.argmax(envelope[: max(len(envelope) - MIN_CYCLES * cycle, 1)])) + cycle
    initial = envelope[min(start, len(envelope) - 1)]
    # until it falls below the floor; otherwise to the end
    for floor in (max(np.percentile(envelope, 5) * 2, 0.02 * initial), 0.02 * initial):
        below_floor = np.flatnonzero(envelope[start:] < floor)
        end = min(start + int(below_floor[0]) if below_floor.size else len(x), len(x) - cycle)
        if end - start >= MIN_CYCLES * cycle:
            resonance = _decay_fit(
                rate, x, envelope, slice(start, end), cycle, (low, f, high), band
            )
            if resonance is not None:
                return resonance
    return None


def _decay_fit(rate, x, envelope, rows, cycle, span, band):
    """Return the resonance of a damped sinusoid fitted to rows of a signal, or None."""
    low, f, high = span
    t, y = np.arange(rows.stop - rows.start) / rate, x[rows]
    level = np.log(np.maximum(envelope[rows], 1e-300))
    slope = np.polyfit(t, level, 1)
    if np.std(level - np.polyval(slope, t)) > MAX_ENVELOPE_STD:
        return None  # a cheap check before the slow fit
    initial_decay = max(-slope[0], 1e-3 / t[-1])

    # the sinusoid passes the same filter, ends included; the response of this filter from 8 cycles
    # later is 1e-8
    before, after = min(4 * cycle, rows.start), min(rows.stop + 8 * cycle, len(x))
    sinusoid = _SinusoidFit(
        y, np.arange(-before, after - rows.start) / rate, slice(before, before + y.size), band
    )
    fit = least_squares(
        sinusoid.residuals,
        [initial_decay, 2 * np.pi * f],
        sinusoid.slopes,
        x_scale=[max(initial_decay, 0.1), f],
        bounds=([0.0, 2 * np.pi * low], [np.inf, 2 * np.pi * high]),
    )
    sigma, damped_rate = fit.x
    residual_share, decay = (fit.fun @ fit.fun) / (y @ y), np.exp(sigma * t[-1])
    # in continuing noise, the envelope may fall by chance and rise again
    rises_again = envelope[rows.stop : len(x) - cycle].max(initial=0.0) > (
        1.5 * envelope[rows.stop - 1]
    )
    if (
        rises_again
        and decay < MIN_RISING_DECAY
        or residual_share
        > (
            1 - MIN_EXPLAINED_VARIANCE
            if decay > MIN_DECAY
            else (MAX_RESIDUAL_RATIO * np.log(decay)) ** 2
        )
    ):
        return None
    natural = np.hypot(sigma, damped_rate)
    covariance = _covariance(fit.jac, fit.fun, cycle)
    to_natural = np.array([sigma, damped_rate]) / natural
    to_ratio = np.array([damped_rate**2, -sigma * damped_rate]) / natural**3
    deviation = np.sqrt(max(to_natural @ covariance @ to_natural, 0.0)) / (2 * np.pi)
    resonance = Resonance(
        natural / (2 * np.pi),
        deviation,
        sigma / natural,
        np.sqrt(max(to_ratio @ covariance @ to_ratio, 0.0)),
        float(envelope[rows.start]),
        'decay',
    )
    return resonance if _is_accurate(resonance) else None


class _Band:
    """Zero-phase band-pass filter: `sosfiltfilt`, prepared for repeated use."""

    def __init__(self, rate, low, high):
        """Pass the band between two frequencies [Hz], for samples at a rate [Hz]."""
        self._sections = signal.butter(2, [low, high], 'bandpass', fs=rate, output='sos')
        # steady state for a constant signal; computing it takes half of the time
        self._constant = signal.sosfilt_zi(self._sections)[..., None]
        self._edge = 3 * (
            2 * len(self._sections)
            + 1
            - int(min((self._sections[:, 2] == 0).sum(), (self._sections[:, 5] == 0).sum()))
        )

    def filtered(self, samples):
        """Return the filtered samples (k, n)."""
        # odd extension at both ends reduces transients
        n = self._edge
        begin = 2 * samples[:1] - samples[n:0:-1]
        end = 2 * samples[-1:] - samples[-2 : -n - 2 : -1]
        extended = np.concatenate([begin, samples, end])
        for _ in range(2):
            state = self._constant * extended[:1]
            extended = signal.sosfilt(self._sections, extended, 0, state)[0][::-1]
        return extended[n:-n]


class _SinusoidFit:
    """Least squares problem of a filtered damped sinusoid and a signal."""

    def __init__(self, values, times, rows, band):
        """Store the values of a signal at `rows` of `times`, and the band-pass filter."""
        self._signal, self._times, self._rows, self._band = values, times, rows, band

    def residuals(self, p):
        """Return the residuals of the best sinusoid with p, decay and rate [1/s]."""
        sigma, rate = p
        t = self._times
        shape = np.exp(-sigma * t)[:, None] * np.column_stack([np.cos(rate * t), np.sin(rate * t)])
        # derivatives need the product with t; filter both at once
        self._filtered = self._band.filtered(np.hstack([shape, t[:, None] * shape]))[self._rows]
        self._q, self._r = np.linalg.qr(self._filtered[:, :2])
        self._projection = self._q.T @ self._signal
        self._parameters, self._error = p.copy(), self._q @ self._projection - self._signal
        return self._error

    def slopes(self, p):
        """Return the derivatives of `residuals`, (samples, 2), by variable projection."""
        if not np.array_equal(self._parameters, p):
            self.residuals(p)
        across, along = self._filtered[:, 2:].T
        a, b = np.linalg.solve(self._r, self._projection)
        moved = np.column_stack([-a * across - b * along, b * across - a * along])
        moved -= self._q @ (self._q.T @ moved)
        c, s = across @ self._error, along @ self._error
        return moved - self._q @ np.linalg.solve(self._r.T, [[-c, -s], [-s, c]])


def _covariance(jacobian, residual, cycle):
    """Return the covariance of a fit; one filtered residual per half cycle is independent."""
    freedom = max(residual.size - 4, 1)
    variance = residual @ residual / freedom * max(cycle / 2, 1.0)
    return np.linalg.pinv(jacobian.T @ jacobian) * variance


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
