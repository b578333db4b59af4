"""
End of the move in a recording: the earliest time from which damped sinusoids explain it.

A move, a push or noise that continues to excite the arm leaves a residual. It stands out at the
begin of the fit (the move) or in the band of the mode (noise).
"""

from typing import NamedTuple

import numpy as np
from scipy.ndimage import maximum_filter1d

from flex_robot_sim.analysis.damped_sinusoids import SinusoidFit, with_rates
from flex_robot_sim.analysis.mode_selection import candidate_poles, select_modes

BLOCKS = 100  # of a recording, for its energy
MIN_BLOCK = 4  # samples of a block
BEAT_BLOCKS = 9  # blocks whose largest energy counts
QUIET_QUANTILE = 0.03  # of the energies of blocks: at most that of noise
ACTIVE_RATIO = 4.0  # energy of a block with vibration, over that
RISE_RATIO = 9.0  # energy of a block after another push, over the least before
MAX_SEGMENTS = 3  # that are tried, those with most energy
STARTS, BISECTIONS = 20, 3  # tried in a segment, and between two of them
MIN_SAMPLES, MAX_SAMPLES = 40, 4000  # of a ring-down
ROUGH_FACTOR = 3.0  # residual before the fit, over that after it
MAX_ROUGH_SHARE = 0.5  # energy of the residual before the fit, over that of the signal
MIN_CYCLES = 4.0  # of its largest mode
BAND = 0.7, 1.4  # of a mode, over its frequency
MAX_RESIDUAL_SHARE = 0.05  # energy of the residual over that of the signal, in the band
MAX_RESIDUAL_PER_DECAY = 0.15  # amplitude of the residual, over decay rate times duration
MAX_BAND_RATIO = 3.0  # residual in the band, over its median spectrum: white noise
MIN_DECAY = 0.1  # decay rate times duration, below which white noise hides the decay
MIN_RISING_DECAY = 1.8  # the same if the vibration rises again afterwards
MAX_BEGIN_RATIO = 1.3  # residual at the begin, over that of the second half
MAX_BEGIN_SHARE = 0.03  # residual at the begin, over the signal there
MAX_POLE_CHANGE = 0.015  # over its frequency, if the search begins one period later
MAX_UNCONFIRMED = 0.01  # energy of modes that are not found there, over that of all


class Segment(NamedTuple):
    """Rows of a recording between two rises of its energy."""

    begin: int
    end: int
    is_rising: bool  # whether the energy rises at the end


class FreeVibration(NamedTuple):
    """A fit to the rows of a ring-down."""

    begin: int
    end: int
    fit: SinusoidFit
    is_confirmed: np.ndarray  # (m,) by a search that begins later


def find_free_vibration(rate: float, samples: np.ndarray) -> FreeVibration | None:
    """Return the ring-down with most energy in samples (k, n) over their noise, or None."""
    for segment in segments(samples):
        found = _ring_down(rate, samples, segment)
        if found is not None:
            return found
    return None


def segments(samples: np.ndarray) -> list[Segment]:
    """Return the parts of samples (k, n), over their noise, with vibration; most energy first."""
    size = max(len(samples) // BLOCKS, MIN_BLOCK)
    count = len(samples) // size
    blocks = samples[: count * size].reshape(count, size, -1)
    energy = ((blocks - np.median(samples, axis=0)) ** 2).sum(axis=(1, 2))
    energy = maximum_filter1d(energy, BEAT_BLOCKS)  # energy falls to 0 when modes cancel
    floor = min(np.quantile(energy, QUIET_QUANTILE), size * samples.shape[1])
    is_active = energy > ACTIVE_RATIO * floor
    if is_active.mean() > 1 - 2 * QUIET_QUANTILE:
        is_active[:] = True
    begins = np.flatnonzero(np.diff(is_active.astype(int), prepend=0) == 1)
    cuts = sorted({*begins, *_rises(energy, is_active)})
    found = []
    for k, begin in enumerate(cuts):
        limit = cuts[k + 1] if k + 1 < len(cuts) else count
        last = begin + int(np.flatnonzero(is_active[begin:limit])[-1]) + 1
        end = min(last + (last - begin), limit)  # noise follows until the end
        is_rising = end == limit < count and energy[end - 1] > ACTIVE_RATIO * energy.min()
        rows = len(samples) if end == count else end * size
        found.append((energy[begin:end].sum(), Segment(begin * size, rows, is_rising)))
    found.sort(key=lambda item: -item[0])
    return [segment for _, segment in found[:MAX_SEGMENTS]]


def _rises(energy, is_active):
    """Yield blocks at which the energy rises again within an active part."""
    least = np.inf
    for k, (value, active) in enumerate(zip(energy, is_active)):
        if not active:
            least = np.inf
        elif value > RISE_RATIO * least:
            yield k
            least = value
        least = min(least, value) if active else least


def _ring_down(rate, samples, segment):
    """Return the FreeVibration from the earliest possible row of a segment, or None."""
    step = max((segment.end - segment.begin) // STARTS, 1)
    late, found = segment.begin, None
    for begin in range(segment.begin, segment.end - MIN_SAMPLES, step):
        late, found = begin, _from_row(rate, samples, begin, segment)
        if found is not None:
            break
    if found is None or late == segment.begin:
        return found
    early = late - step
    for _ in range(BISECTIONS):
        middle = (early + late) // 2
        tried = _from_row(rate, samples, middle, segment) if early < middle < late else None
        if tried is None:
            early = middle
        else:
            late, found = middle, tried
    return found


def _from_row(rate, samples, begin, segment):
    """Return the FreeVibration of the rows from `begin`, or None if it is none."""
    end = min(begin + MAX_SAMPLES, segment.end)
    part = samples[begin:end]
    times = np.arange(len(part)) / rate
    poles = candidate_poles(part, rate)
    if not poles.size or not _fits_roughly(times, part, poles, rate):
        return None
    fit = select_modes(times, part, poles)
    if not fit.decay.size:
        return None
    largest = _largest(fit)
    least_decay = MIN_RISING_DECAY if segment.is_rising else 0.0
    if not (
        fit.decay[largest] * times[-1] > least_decay
        and begins_free(fit, largest, rate)
        and decays_free(fit, largest)
    ):
        return None
    is_confirmed = _confirmed(fit, largest, part, rate)
    return None if is_confirmed is None else FreeVibration(begin, end, fit, is_confirmed)


def _fits_roughly(times, samples, poles, rate):
    """Whether poles of ERA explain samples without a fit; a quick check before a slow one."""
    fit = with_rates(times, samples, np.maximum(-poles.real, 0.0), poles.imag)
    row = _largest(fit)
    residual, signal, median = _band_powers(fit, row)
    return (
        residual < MAX_ROUGH_SHARE * signal or residual < ROUGH_FACTOR * MAX_BAND_RATIO * median
    ) and begins_free(fit, row, rate, ROUGH_FACTOR)


def begins_free(fit: SinusoidFit, row: int, rate: float, factor: float = 1.0) -> bool:
    """Whether the residual in the first period of a mode is that of the second half."""
    k, n = fit.residual.shape
    period = int(2 * np.pi * rate / fit.rate[row]) + 1
    if k < MIN_CYCLES * period:
        return False
    size = max(period, k // 12, 8)
    level = np.sqrt((fit.residual**2).mean(axis=1))
    half = level[k // 2 :]
    noise = np.sqrt((half**2).mean())
    first = np.sqrt((level[:size] ** 2).mean())
    signal = np.sqrt((fit.vibration()[:size] ** 2).mean())
    chance = 1 + 3 / np.sqrt(2 * size * n)
    return bool(first <= factor * (MAX_BEGIN_RATIO * chance * noise + MAX_BEGIN_SHARE * signal))


def decays_free(fit: SinusoidFit, row: int, share: float = MAX_RESIDUAL_SHARE) -> bool:
    """
    Whether the residual in the band of a mode is small, or no more than white noise.

    :param share: largest energy of the residual over that of the signal.
    """
    residual, signal, median = _band_powers(fit, row)
    decay = fit.decay[row] * (fit.times[-1] - fit.times[0])
    if residual <= min(share, (MAX_RESIDUAL_PER_DECAY * decay) ** 2) * signal:
        return True
    return bool(decay > MIN_DECAY and residual < MAX_BAND_RATIO * median)


def _largest(fit):
    """Return the row of the sinusoid with most energy."""
    return int(np.argmax(fit.energies()))


def _band_powers(fit, row):
    """Return mean power of residual and model in the band of a mode, and median of residual."""
    k = len(fit.times)
    power, signal = (
        (np.abs(np.fft.rfft(values, 2 * k, axis=0)) ** 2).sum(axis=1)
        for values in (fit.residual, fit.vibration())
    )
    period = (fit.times[-1] - fit.times[0]) / (k - 1)
    f = np.fft.rfftfreq(2 * k, period) * 2 * np.pi / fit.rate[row]
    band = (f > BAND[0]) & (f < BAND[1])
    return power[band].mean(), signal[band].mean(), np.median(power)


def _confirmed(fit, row, samples, rate):
    """
    Return which modes a second search finds that begins one period of a mode later.

    None if the fit needs much of modes that are missing there: these imitate the end of the move.
    """
    period = int(2 * np.pi * rate / fit.rate[row]) + 1
    times, later = fit.times[period:], samples[period:]
    second = select_modes(times, later, candidate_poles(later, rate))
    is_found = np.zeros(fit.decay.size, bool)
    for mode in range(fit.decay.size):
        change = np.hypot(second.rate - fit.rate[mode], second.decay - fit.decay[mode])
        is_found[mode] = (
            change.min(initial=np.inf) < MAX_POLE_CHANGE * fit.rate[mode] + fit.decay[mode] / 3
        )
    energy = fit.energies()
    share = energy[~is_found].sum() / energy.sum()
    return is_found if is_found[row] and share < MAX_UNCONFIRMED else None
