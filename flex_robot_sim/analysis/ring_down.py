"""
Modes of a ring-down, the free vibration after a move or a push.

The search finds the end of the move (move_end.py) and the number of modes (mode_selection.py). A
least squares fit of all modes at once yields frequencies and damping. Their standard deviations
come from the residual and from the change of the fit if it begins later.
"""

from typing import NamedTuple

import numpy as np
from scipy import signal
from scipy.ndimage import uniform_filter1d

from flex_robot_sim.analysis.damped_sinusoids import SinusoidFit, covariance, fit_sinusoids
from flex_robot_sim.analysis.move_end import FreeVibration, decays_free, find_free_vibration
from flex_robot_sim.analysis.resonance import Drift, Resonance

MIN_SAMPLES_PER_PERIOD = 6.0  # of the fastest vibration, after thinning
MIN_THINNED_SAMPLES = 300
UNTHINNED_SHARE = 0.999  # of the energy above noise
FLOOR_FACTOR = 3.0  # power above noise, over its median
FILTER_LENGTH = 12  # of the low-pass filter, in thinned samples
MIN_NOISE = 0.01  # over the standard deviation of a signal
START_MARGIN = 0.25  # after the end of the move, in periods of the largest mode
LATER_START = 0.5  # of the second fit, over the time constant of the decay
MAX_LATER_STD = 0.2  # of the later fit, over the bandwidth
MAX_CHANCE = 4.0  # variance of a change, above which it is no chance
MIN_DRIFT = 0.01  # change of a frequency that is reported, relative
MAX_DAMPING_RATIO = 0.3
MIN_RELATIVE_STD = 5e-5  # of a frequency: clocks, large amplitudes
MAX_RELATIVE_STD = 0.03  # of a frequency
MAX_WIDTH_STD = 0.4  # of a frequency, over decay rate or one over duration: energy above noise
NOISY_FACTOR = 2.0  # of standard deviations of a weak mode with noise in its band
MAX_NOISY_SHARE = 0.25  # energy of that noise over that of the signal
MAX_RATIO_STD = 0.5  # of a damping ratio, relative
SPREAD, SPREAD_MODES = 0.07, 3  # modes within this share of a frequency that are one, which drifts
MIN_DIRECTION = 0.2  # motion of two modes across the main direction of sensors, over that along it
MIN_SIZE = 0.03  # amplitude over that of the largest mode
MAX_HARMONIC_SIZE = 0.2  # amplitude of a second harmonic over that of its mode
MAX_HARMONIC_ERROR = 0.005  # of its frequency, relative
HARMONIC_STDS = 3.0  # of frequency and damping ratio


class RingDown(NamedTuple):
    """Modes of a free vibration and the rows of the recording that show it."""

    resonances: list[Resonance]  # largest first
    begin: float  # of the free vibration, after the first sample                   [s]
    end: float  # [s]
    drift: Drift | None
    unseen: float  # share of deflection of modes that the fit has and does not determine
    harmonics: list[Resonance]  # that are no modes


def ring_down(rate: float, samples: np.ndarray) -> RingDown | None:
    """Return the RingDown with most energy in samples (k, n) at a rate [Hz], or None."""
    noise = _noise(samples)
    rate, samples, delay = thinned(rate, samples / noise)
    found = find_free_vibration(rate, samples)
    if found is None:
        return None
    modes, harmonics, drift, unseen = _modes(rate, samples, found, noise)
    if not modes:
        return None
    begin, end = found.begin / rate + delay, found.end / rate + delay
    return RingDown(modes, begin, end, drift, unseen, harmonics)


def _noise(samples):
    """Return the standard deviation (n,) of white noise, at least a share of that of samples."""
    power = signal.periodogram(samples, 1.0, 'hann', axis=0)[1]
    floor = np.median(power[len(power) // 2 :], axis=0) / np.log(2)  # median of chi square
    return np.maximum(np.sqrt(floor / 2), MIN_NOISE * samples.std(axis=0))


def thinned(rate: float, samples: np.ndarray) -> tuple[float, np.ndarray, float]:
    """Return rate [Hz], samples and delay [s] without frequencies that hold only noise."""
    power = signal.periodogram(samples, rate, 'hann', axis=0)[1].sum(axis=1)[1:]
    power = uniform_filter1d(power, max(len(power) // 200, 9))
    floor = np.median(power[-len(power) // 4 :])
    excess = np.cumsum(np.maximum(power - FLOOR_FACTOR * floor, 0.0))
    fastest = np.searchsorted(excess, UNTHINNED_SHARE * excess[-1]) + 1
    fastest *= rate / len(samples)
    factor = int(
        min(rate / (MIN_SAMPLES_PER_PERIOD * fastest), len(samples) / MIN_THINNED_SAMPLES)
    )
    if factor < 2:
        return rate, samples, 0.0
    low_pass = signal.firwin(FILTER_LENGTH * factor + 1, 0.8 / factor)[:, None]
    kept = signal.oaconvolve(samples, low_pass, 'valid', axes=0)[::factor]
    return rate / factor, kept, FILTER_LENGTH * factor / 2 / rate


def _modes(rate, samples, found: FreeVibration, units):
    """
    Return resonances of a free vibration, largest first, harmonics, Drift or None, unseen share.

    :param units: of the samples (n,), over those of the recording.
    """
    fit = found.fit
    if found.begin:
        largest = int(np.argmax(fit.amplitudes / np.maximum(fit.decay, 1e-9)))
        begin = found.begin + int(START_MARGIN * 2 * np.pi * rate / fit.rate[largest])
    else:
        begin = 0
    part = samples[begin : found.end]
    times = np.arange(len(part)) / rate
    fit = fit_sinusoids(times, part, fit.decay, fit.rate)
    scale = np.maximum(fit.residual.std(axis=0), 1e-3 * fit.residual.std())
    fit = fit_sinusoids(times, part / scale, fit.decay, fit.rate)
    variances, drift = _with_scatter(fit, part / scale, covariance(fit, part / scale))
    sizes = _sizes(fit, scale)
    by_row = {
        row: resonance
        for row in range(fit.decay.size)
        if found.is_confirmed[row]
        and (factor := _noise_factor(fit, row, sizes)) is not None
        and (resonance := _resonance(fit, row, factor**2 * variances, sizes)) is not None
    }
    harmonics = _harmonics(by_row, _sizes(fit, scale * units))
    modes = [mode for row, mode in by_row.items() if row not in harmonics]
    is_mode = found.is_confirmed & (fit.decay < MAX_DAMPING_RATIO * fit.rate)
    is_mode[harmonics] = False
    modes, spread = _merged(modes, fit, sizes, is_mode)
    unseen = _unseen_share(modes, fit, sizes, is_mode)
    modes.sort(key=lambda mode: -mode.size)
    return modes, [by_row[row] for row in harmonics], spread or drift, unseen


def _sizes(fit, scale):
    """Return amplitudes (m,) over all sensors, each times its scale."""
    waves = fit.coefficients[: 2 * fit.decay.size] * scale
    return np.sqrt((waves**2).sum(axis=1).reshape(2, -1).sum(axis=0))


def _harmonics(by_row, sizes):
    """
    Return the rows of Resonances that are second harmonics of another one.

    A centripetal acceleration has the square of a rate, so twice its frequency and decay rate.
    """
    return [
        row
        for row, mode in by_row.items()
        if any(
            sizes[row] < MAX_HARMONIC_SIZE * sizes[other] and _is_twice(mode, by_row[other])
            for other in by_row
        )
    ]


def _is_twice(mode, other):
    """Whether a mode has twice the frequency and the damping ratio of another one."""
    twice = 2 * other.frequency
    error = HARMONIC_STDS * np.hypot(mode.frequency_deviation, 2 * other.frequency_deviation)
    ratio_error = HARMONIC_STDS * np.hypot(mode.ratio_deviation, other.ratio_deviation)
    return (
        abs(mode.frequency - twice) < min(error, MAX_HARMONIC_ERROR * twice)
        and abs(mode.ratio - other.ratio) < ratio_error
    )


def _noise_factor(fit, row, sizes):
    """Return the factor of the standard deviations of a mode; None if its band holds noise."""
    if decays_free(fit, row):
        return 1.0
    is_weak = row != int(np.argmax(sizes))
    return NOISY_FACTOR if is_weak and decays_free(fit, row, MAX_NOISY_SHARE) else None


def _unseen_share(modes, fit, sizes, is_mode):
    """Return the share of deflection of modes of a fit that are not among the results."""
    natural = np.hypot(fit.decay, fit.rate) / (2 * np.pi)
    found = np.array([mode.frequency for mode in modes])
    is_missing = [is_mode[row] and f not in found for row, f in enumerate(natural)]
    missing = float((sizes / natural**2)[is_missing].sum())
    seen = sum(mode.size / mode.frequency**2 for mode in modes)
    return missing / (missing + seen) if modes else 0.0


def _merged(modes, fit, sizes, is_mode):
    """
    Return modes, with one for several that overlap the largest one, and the Drift or None.

    The sum of overlapping modes imitates a frequency that changes. But one mode moves all sensors
    along one line: two modes that do not are apart.
    """
    largest = int(np.argmax(sizes))
    distance = np.abs(fit.rate - fit.rate[largest])
    near = is_mode & (distance < SPREAD * fit.rate[largest])
    near &= sizes > MIN_SIZE * sizes[largest]
    overlaps = near & (distance > 0.0) & (distance < fit.decay + fit.decay[largest])
    if not overlaps.any() and near.sum() < SPREAD_MODES or not is_mode[largest]:
        return modes, None
    natural = np.hypot(fit.decay, fit.rate)
    found = [mode.frequency for mode in modes]
    are_determined = all(f in found for f in natural[near] / (2 * np.pi))
    if near.sum() == 2 and are_determined and _second_direction(fit, near) > MIN_DIRECTION:
        return modes, None
    low, high = (choice(natural[near]) / (2 * np.pi) for choice in (np.min, np.max))
    ratios = (fit.decay / natural)[near]
    whole = Resonance(
        float(low + high) / 2,
        float(high - low) / 2,
        float(fit.decay[largest] / natural[largest]),
        float(ratios.max()),
        float(sizes[largest]),
        'decay',
    )
    apart = [mode for mode in modes if not low <= mode.frequency <= high]
    return [whole, *apart], Drift(float(low), float(high), bool(near.sum() == 2))


def _second_direction(fit, rows):
    """Return the motion of sensors across the main direction of sinusoids, over that along it."""
    motion = np.sum([fit.part(int(row)) for row in np.flatnonzero(rows)], axis=0)
    sizes = np.linalg.svd(motion, compute_uv=False)
    return sizes[1] / sizes[0] if sizes.size > 1 else 0.0


def _with_scatter(fit: SinusoidFit, samples, first):
    """
    Return the covariance with the change of a fit that begins later, if it is no chance.

    Also return the Drift of the largest mode, or None.
    """
    m = fit.decay.size
    largest = int(np.argmax(fit.amplitudes))
    period = 2 * np.pi / fit.rate[largest]
    shift = max(period, min(fit.times[-1] / 4, LATER_START / max(fit.decay[largest], 1e-9)))
    row = int(shift / (fit.times[1] - fit.times[0])) + 1
    if len(samples) - row < 6 * m + 10:
        return first, None
    later = fit_sinusoids(fit.times[row:], samples[row:], fit.decay, fit.rate)
    second = covariance(later, samples[row:])
    change = np.concatenate([later.decay - fit.decay, later.rate - fit.rate])
    expected = np.maximum(np.diag(second) - np.diag(first), 0.0)
    # of a fit that begins later, the variance is that of the first one and of the change
    beyond = np.maximum(change**2 - MAX_CHANCE * expected, 0.0)
    width = np.maximum(fit.decay, 1 / fit.times[-1])
    is_determined = np.sqrt(np.diag(second)) < MAX_LATER_STD * np.concatenate([width, width])
    column = m + largest
    drifts = beyond[column] > 0.0 and abs(change[column]) > MIN_DRIFT * fit.rate[largest]
    low, high = sorted(float(one.rate[largest] / (2 * np.pi)) for one in (fit, later))
    drift = Drift(low, high)
    return first + np.diag(np.where(is_determined, beyond, 0.0)), drift if drifts else None


def _resonance(fit, row, variances, sizes):
    """Return the Resonance of a sinusoid, or None if the recording does not determine it."""
    m = fit.decay.size
    sigma, rate = fit.decay[row], fit.rate[row]
    block = variances[np.ix_([row, m + row], [row, m + row])]
    natural = np.hypot(sigma, rate)
    to_natural = np.array([sigma, rate]) / natural
    to_ratio = np.array([rate**2, -sigma * rate]) / natural**3
    deviation = np.hypot(
        np.sqrt(max(to_natural @ block @ to_natural, 0.0)), MIN_RELATIVE_STD * natural
    )
    ratio_deviation = np.sqrt(max(to_ratio @ block @ to_ratio, 0.0))
    width = max(sigma, 1 / fit.times[-1])
    if not (
        deviation < MAX_RELATIVE_STD * natural
        and deviation < MAX_WIDTH_STD * width
        and 0.0 < sigma / natural < MAX_DAMPING_RATIO
        and ratio_deviation < MAX_RATIO_STD * sigma / natural
        and sizes[row] > MIN_SIZE * sizes.max()
    ):
        return None
    return Resonance(
        float(natural / (2 * np.pi)),
        float(deviation / (2 * np.pi)),
        float(sigma / natural),
        float(ratio_deviation),
        float(sizes[row]),
        'decay',
    )
