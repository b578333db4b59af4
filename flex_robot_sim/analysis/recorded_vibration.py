"""
Frequencies and damping of an arm from a recording of how it rings.

Welch's spectrum shows where it rings. Where the ringing dies away undisturbed, as after a move,
damped sinusoids are fitted to it; otherwise resonance curves to the spectrum, as its window blurs
them. Both fits are least squares, and say how far off they may be.
"""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.optimize import curve_fit, least_squares
from scipy.signal import (
    butter,
    detrend,
    find_peaks,
    hilbert,
    periodogram,
    sosfilt,
    sosfilt_zi,
    welch,
)

from flex_robot_sim.util.exceptions import UsageError

FEWEST = 128                # samples of a log
MOST_BYTES = 256 * 2**20
SEGMENTS = 8                # of the spectrum, overlapping by half
ABOVE = 8.0                 # power of a resonance over that around it
BESIDE = 12                 # lines of the spectrum to either side that are looked at, at least
FLANK = 12.0                # power over the flank of a larger one, of a resonance of its own
FAINTEST = 1e4              # power of the largest resonance over that of the least
DECAY = 1.6                 # from the largest to the least of the ringing, where GOOD is enough
LONG_DECAY = 6.0            # likewise, where it rises again later
CYCLES = 4                  # of it, at least
GOOD = 0.95                 # share of the signal that a fit of its decay explains, at least
CLEAR = 0.1                 # what a fit leaves, over what has died away if that is less than DECAY
STRAIGHT = 0.4              # deviation of the logarithm of its envelope from a line, at most
SURE = 0.05                 # deviation of a frequency beyond which it is none
TILT = 4.0                  # power of the frequency by which a resonance may lean, at most
MOST_MODES = 4
MOST_DAMPED = 0.3           # ratio beyond which a bump of the spectrum is no resonance
UNEVEN = 0.02               # of a sampling period, beyond which samples are put on an even grid


class Resonance(NamedTuple):
    """A mode, with standard deviations."""

    frequency: float            # natural                                                  [Hz]
    frequency_deviation: float
    ratio: float                # of damping
    ratio_deviation: float
    size: float                 # of the ringing, over that of the largest
    way: str                    # 'decay' or 'spectrum'


class Spectrum(NamedTuple):
    """Welch's estimate, all columns together, each over its variance."""

    frequencies: np.ndarray     # (k,)                                                     [Hz]
    power: np.ndarray           # (k,)                                                   [1/Hz]


def read_samples(path: str | Path, columns: Sequence[str] = (),
             rate: float | None = None) -> tuple[float, np.ndarray, list[str]]:
    """
    Return the sampling rate [Hz], samples (k, n) and names (n,) of a CSV file with a header.

    :param columns: names of those to use; default: all but the time.
    :param rate: of the samples [Hz]; default: from the column `time` or `t` [s].
    """
    try:
        with open(path, newline='', encoding='utf-8') as file:
            rows = list(csv.reader(file.read(MOST_BYTES).splitlines()))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f'{path}: cannot be read: {getattr(error, "strerror", None) or "no text"}'
                         '. Give a CSV file.') from error
    if not rows:
        raise UsageError(f'{path}: is empty. Give a CSV file with a header and rows of numbers.')
    header = [name.strip() for name in rows[0]]
    table = _numbers(path, header, rows[1:])
    if len(table) < FEWEST:
        raise UsageError(f'{path}: has {len(table)} samples. Record at least {FEWEST}, and the '
                         'ringing of several seconds.')
    clock = next((k for k, name in enumerate(header) if name.lower() in ('time', 't')), None)
    for name in columns:
        if name not in header:
            raise UsageError(f'{path}: has no column "{name}". Known: {", ".join(header)}.')
    used = [k for k, name in enumerate(header) if k != clock and (not columns or name in columns)]
    if not used:
        raise UsageError(f'{path}: has no column beside the time. Record what rings.')
    samples = table[:, used]
    if rate is None:
        rate, samples = _evenly(path, header, clock, table, samples)
    elif not 0.0 < rate < np.inf:
        raise UsageError('--rate must be above 0 and finite [Hz].')
    return rate, samples, [header[k] for k in used]


def _numbers(path, header, rows):
    table = np.empty((len(rows), len(header)))
    for k, row in enumerate(rows):
        try:
            table[k] = row if len(row) == len(header) else ''
        except ValueError as error:
            raise UsageError(f'{path}:{k + 2}: is not {len(header)} numbers. Mend or remove this '
                             'line.') from error
    bad = np.flatnonzero(~np.isfinite(table).all(axis=1))
    if bad.size:
        raise UsageError(f'{path}:{bad[0] + 2}: is not finite. Mend or remove this line.')
    return table


def _evenly(path, header, clock, table, samples):
    """Rate [Hz], and samples evenly in time."""
    if clock is None:
        raise UsageError(f'{path}: has no column "time". Add one [s], or give --rate [Hz].')
    times = table[:, clock]
    steps = np.diff(times)
    if not (steps > 0.0).all():
        raise UsageError(f'{path}:{np.flatnonzero(steps <= 0.0)[0] + 3}: the time does not rise. '
                         'Sort the log, or give one recording at a time.')
    step = (times[-1] - times[0]) / steps.size
    even = times[0] + step * np.arange(times.size)
    if np.abs(steps - step).max() > UNEVEN * step:
        samples = np.column_stack([np.interp(even, times, column) for column in samples.T])
    return 1 / step, samples


def resonances(rate: float, samples: np.ndarray) -> tuple[list[Resonance], Spectrum]:
    """
    Return the Resonances, largest first, and the Spectrum.

    :param rate: of the samples [Hz]; samples: (k, n) of any sensors, any units.
    """
    samples = detrend(np.asarray(samples, float), axis=0)
    spread = samples.std(axis=0)
    moving = spread > 1e-9 * max(spread.max(initial=0.0), 1e-300)
    if not moving.any():
        return [], Spectrum(np.zeros(0), np.zeros(0))
    samples = samples[:, moving] / spread[moving]
    length = max(64, 2 * len(samples) // (SEGMENTS + 1))
    frequencies, power = welch(samples, rate, nperseg=min(length, len(samples)), axis=0)
    spectrum = Spectrum(frequencies[1:], power[1:].sum(axis=1))
    found: list[Resonance] = []
    # of a few periods, segments see too little: what dies away is looked for in all of it, too
    for fine in (spectrum, _whole(rate, samples)):
        for peak in _peaks(fine):
            resonance = _by_decay(rate, samples, fine.frequencies[peak])
            if resonance is None and fine is spectrum:
                resonance = _by_spectrum(peak, spectrum)
            if resonance is not None and not any(_is_flank(resonance, other, fine)
                                                 for other in found):
                found.append(resonance)
    top = max((resonance.size for resonance in found), default=1.0)
    found = [resonance._replace(size=resonance.size / top) for resonance in found]
    return sorted(found, key=lambda resonance: -resonance.size)[:MOST_MODES], spectrum


def _whole(rate, samples):
    """Spectrum of all samples at once: the finest lines, and the noisiest."""
    frequencies, power = periodogram(samples, rate, 'hann', axis=0)
    return Spectrum(frequencies[1:], power[1:].sum(axis=1))


def _is_flank(resonance, other, spectrum):
    """Whether a resonance is only a bump on the flank of a larger one."""
    f, power = spectrum.frequencies, spectrum.power
    here, there = (power[np.argmin(np.abs(f - one.frequency))] for one in (resonance, other))
    width, step = other.ratio * other.frequency, f[1] - f[0]
    apart = abs(resonance.frequency - other.frequency)
    return (apart < max(3 * width, 4 * step)
            or here < FLANK * there * width**2 / (width**2 + apart**2))


def _peaks(spectrum):
    """Rows of the peaks that stand out on either side, highest first."""
    level = np.log(np.maximum(spectrum.power, 1e-300))
    rows = find_peaks(level, level.max() - np.log(FAINTEST))[0]
    found = []
    for row in rows[np.argsort(-level[rows], kind='stable')]:
        reach = max(BESIDE, int(0.7 * row))
        sides = level[max(row - reach, 0):max(row - 2, 0)], level[row + 3:row + 1 + reach]
        # drift and mere noise have no valley on one side, or only a shallow one
        if min(map(len, sides)) >= 2 and all(
                level[row] > np.log(ABOVE) + _quartile(side) for side in sides):
            found.append(row)
            if len(found) == 2 * MOST_MODES:
                break
    return found


def _quartile(values):
    """Return `np.percentile(values, 25)`, which takes long to begin with so few."""
    place = (len(values) - 1) * 0.25
    below, share = int(place), place % 1
    low, high = np.partition(values, (below, below + 1))[below:below + 2]
    return low + (high - low) * share if share < 0.5 else high - (high - low) * (1 - share)


def _by_decay(rate, samples, f):
    """Resonance near a frequency from ringing that dies away, or None."""
    low, high = 0.6 * f, min(1.6 * f, 0.45 * rate)
    if not high > 1.1 * f or len(samples) < 60:
        return None
    band = _Band(rate, low, high)
    filtered = band.passed(samples)
    x = filtered[:, int(np.argmax(filtered.std(axis=0)))]
    cycle = max(int(round(rate / f)), 2)
    smooth = np.convolve(np.abs(hilbert(x)), np.ones(cycle) / cycle, 'same')
    # neither the push that made it ring, nor what the filter does at the ends
    start = int(np.argmax(smooth[:max(len(smooth) - CYCLES * cycle, 1)])) + cycle
    first = smooth[min(start, len(smooth) - 1)]
    # until it sinks into what goes on; where it does not, to the end
    for floor in (max(np.percentile(smooth, 5) * 2, 0.02 * first), 0.02 * first):
        below = np.flatnonzero(smooth[start:] < floor)
        end = min(start + int(below[0]) if below.size else len(x), len(x) - cycle)
        if end - start >= CYCLES * cycle:
            resonance = _fitted_decay(rate, x, smooth, slice(start, end), cycle, (low, f, high),
                                      band)
            if resonance is not None:
                return resonance
    return None


def _fitted_decay(rate, x, smooth, rows, cycle, span, band):
    """Resonance of a damped sinusoid fitted to some rows of a signal, or None."""
    low, f, high = span
    t, y = np.arange(rows.stop - rows.start) / rate, x[rows]
    level = np.log(np.maximum(smooth[rows], 1e-300))
    slope = np.polyfit(t, level, 1)
    if np.std(level - np.polyval(slope, t)) > STRAIGHT:
        return None                             # told at once, where a fit takes long
    guess = max(-slope[0], 1e-3 / t[-1])

    # what the filter makes of the ends, it makes of those of the sinusoid; from 8 cycles later, a
    # filter as wide as this one brings back 1e-8
    before, after = min(4 * cycle, rows.start), min(rows.stop + 8 * cycle, len(x))
    ringing = _Ringing(y, np.arange(-before, after - rows.start) / rate,
                       slice(before, before + y.size), band)
    fit = least_squares(ringing.lacking, [guess, 2 * np.pi * f], ringing.slopes,
                        x_scale=[max(guess, 0.1), f],
                        bounds=([0.0, 2 * np.pi * low], [np.inf, 2 * np.pi * high]))
    sigma, damped = fit.x
    left, died = (fit.fun @ fit.fun) / (y @ y), np.exp(sigma * t[-1])
    # under a noise that goes on it may fall for a while, by chance, and rises again
    rises = smooth[rows.stop:len(x) - cycle].max(initial=0.0) > 1.5 * smooth[rows.stop - 1]
    if (rises and died < LONG_DECAY
            or left > (1 - GOOD if died > DECAY else (CLEAR * np.log(died))**2)):
        return None
    natural = np.hypot(sigma, damped)
    covariance = _covariance(fit.jac, fit.fun, cycle)
    to_natural = np.array([sigma, damped]) / natural
    to_ratio = np.array([damped**2, -sigma * damped]) / natural**3
    deviation = np.sqrt(max(to_natural @ covariance @ to_natural, 0.0)) / (2 * np.pi)
    resonance = Resonance(natural / (2 * np.pi), deviation, sigma / natural,
                          np.sqrt(max(to_ratio @ covariance @ to_ratio, 0.0)),
                          float(smooth[rows.start]), 'decay')
    return resonance if _is_sure(resonance) else None


class _Band:
    """A band-pass that runs forwards and backwards: `sosfiltfilt`, ready to be used often."""

    def __init__(self, rate, low, high):
        """Pass what is between two frequencies [Hz], of samples at a rate [Hz]."""
        self._sections = butter(2, [low, high], 'bandpass', fs=rate, output='sos')
        # of a constant signal, as that from which samples begin; it takes half of the time
        self._constant = sosfilt_zi(self._sections)[..., None]
        self._edge = 3 * (2 * len(self._sections) + 1 - int(min(
            (self._sections[:, 2] == 0).sum(), (self._sections[:, 5] == 0).sum())))

    def passed(self, samples):
        """Return what passes of samples (k, n)."""
        # mirrored in their ends, in place and size, so that they begin with little
        n = self._edge
        begin, end = 2 * samples[:1] - samples[n:0:-1], 2 * samples[-1:] - samples[-2:-n - 2:-1]
        both = np.concatenate([begin, samples, end])
        for _ in range(2):
            both = sosfilt(self._sections, both, 0, self._constant * both[:1])[0][::-1]
        return both[n:-n]


class _Ringing:
    """A damped sinusoid, filtered, beside a signal that it comes as near to as it can."""

    def __init__(self, signal, times, rows, band):
        """Ring over `times`, of which `rows` are those of the signal, within a band."""
        self._signal, self._times, self._rows, self._band = signal, times, rows, band

    def lacking(self, p):
        """What the nearest one with p, decay and rate [1/s], has too much, at each sample."""
        sigma, rate = p
        t = self._times
        shape = np.exp(-sigma * t)[:, None] * np.column_stack([np.cos(rate * t), np.sin(rate * t)])
        # slopes want t times the same; the filter does both at once
        self._filtered = self._band.passed(np.hstack([shape, t[:, None] * shape]))[self._rows]
        self._q, self._r = np.linalg.qr(self._filtered[:, :2])
        self._along = self._q.T @ self._signal
        self._of, self._error = p.copy(), self._q @ self._along - self._signal
        return self._error

    def slopes(self, p):
        """Slopes of `lacking`, (samples, 2): of a projection whose base moves."""
        if not np.array_equal(self._of, p):
            self.lacking(p)
        across, along = self._filtered[:, 2:].T
        a, b = np.linalg.solve(self._r, self._along)
        moved = np.column_stack([-a * across - b * along, b * across - a * along])
        moved -= self._q @ (self._q.T @ moved)
        c, s = across @ self._error, along @ self._error
        return moved - self._q @ np.linalg.solve(self._r.T, [[-c, -s], [-s, c]])


def _covariance(jacobian, residual, cycle):
    """Covariance of a fit whose residual is filtered: about one of half a cycle is independent."""
    freedom = max(residual.size - 4, 1)
    variance = residual @ residual / freedom * max(cycle / 2, 1.0)
    return np.linalg.pinv(jacobian.T @ jacobian) * variance


def _by_spectrum(peak, spectrum):
    """Resonance from the form of the spectrum around a peak, or None."""
    f0, step = spectrum.frequencies[peak], spectrum.frequencies[1] - spectrum.frequencies[0]
    reach = max(8, int(0.25 * f0 / step))
    rows = slice(max(peak - reach, 0), peak + reach + 1)
    f, power = spectrum.frequencies[rows], spectrum.power[rows]

    blur = _Blur(f, step)

    def curve(f, log_height, frequency, log_ratio, log_floor, tilt):
        # places, rates and accelerations lean to either side, and so does what makes it ring
        return np.log(blur.curve(frequency, np.exp(log_ratio)) * np.exp(log_height)
                      * (f / f0)**tilt + np.exp(log_floor))

    def slopes(f, log_height, frequency, log_ratio, log_floor, tilt):
        ratio, lean = np.exp(log_ratio), np.exp(log_height) * (f / f0)**tilt
        line, floor = blur.curve(frequency, ratio) * lean, np.exp(log_floor)
        by_frequency, by_ratio = blur.slopes(frequency, ratio)
        return np.column_stack([line, lean * by_frequency, lean * ratio * by_ratio,
                                np.full(f.size, floor), line * np.log(f / f0)]
                               ) / (line + floor)[:, None]

    height, floor = power.max(), max(power.min(), 1e-12 * power.max())
    # of a logarithm; neighbours go together
    deviation = np.full(f.size, 2.0 / np.sqrt(SEGMENTS))
    reach = max(0.15 * f0, 2 * step)    # noise may be highest beside the middle
    low, high = max(f0 - reach, step), f0 + reach
    try:
        best, covariance = curve_fit(
            curve, f, np.log(power), [np.log(height), f0, np.log(max(0.005, step / f0)),
                                    np.log(floor), 0.0], deviation,
            absolute_sigma=True, maxfev=4000, jac=slopes,
            bounds=([-np.inf, low, np.log(0.05 * step / f0), np.log(floor) - 5, -TILT],
                    [np.inf, high, 0.0, np.log(height), TILT]))
    except (RuntimeError, ValueError, np.linalg.LinAlgError):
        return None
    ratio = float(np.exp(best[2]))
    size = np.sqrt(np.exp(best[0]) * np.pi * ratio * best[1])       # root of the area
    resonance = Resonance(float(best[1]), float(np.sqrt(covariance[1, 1])), ratio,
                          float(ratio * np.sqrt(covariance[2, 2])), float(size), 'spectrum')
    # narrower than the lines of the spectrum: it may be damped less, or that much
    if ratio * best[1] < step / 2:
        resonance = resonance._replace(ratio_deviation=max(
            resonance.ratio_deviation, float(step / 2 / best[1])))
    return resonance if _is_sure(resonance) else None


class _Blur:
    """Resonance curves of height about 1, as a spectrum with Hann's window shows them (S10)."""

    def __init__(self, f, step):
        """See them at frequencies f (k,) that are `step` apart [Hz]."""
        x = np.linspace(-3.0, 3.0, 61)
        with np.errstate(divide='ignore', invalid='ignore'):
            window = np.sinc(x) / (1 - x**2)
        window[np.abs(np.abs(x) - 1) < 1e-9] = 0.5
        self._weights, self._at = window**2 / (window**2).sum(), f[:, None] + x * step

    def curve(self, frequency, ratio):
        """Return the curve (k,)."""
        square = (ratio * frequency)**2
        return (square / ((self._at - frequency)**2 + square)) @ self._weights

    def slopes(self, frequency, ratio):
        """Return its slopes by frequency and ratio, (k,) each."""
        off, width = self._at - frequency, ratio * frequency
        pull = 2 * width * off / (off**2 + width**2)**2
        by_width = (off * pull) @ self._weights
        return width * (pull @ self._weights) + ratio * by_width, frequency * by_width


def _is_sure(resonance):
    return (np.isfinite(resonance.frequency_deviation)
            and resonance.frequency_deviation < SURE * resonance.frequency
            and 0.0 < resonance.ratio < MOST_DAMPED)
