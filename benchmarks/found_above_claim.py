"""
Vibration that recommended shapers leave, compared with the upper end of the stated interval.

`python -m benchmarks.found_above_claim`, part of `python -m benchmarks.control`. The plants share
no code with the package: oscillators in closed form, and arms in MuJoCo. Sensors have coloured
noise, jitter, few bits and a limited range. A log gives a shaper and an interval of what is left
of the vibration after the recorded move. The true value follows from the poles of the plant.
"""

from typing import NamedTuple

import numpy as np
from scipy.signal import lfilter

from benchmarks.modal_logs import SWEEP, after_a_step, response
from flex_robot_sim.analysis.recorded_vibration import recorded_modes
from flex_robot_sim.shaping.left_interval import left_interval
from flex_robot_sim.shaping.log_recommendation import recommend_for_modes

FIRST_SEED = 300
STOPS, ARM_STOPS, SWEEPS = 100, 40, 60
FINE = 4000.0  # of the exact models                                              [Hz]
TOLERANCE = 0.05  # allowed vibration over that without a shaper
ROUNDING = 1e-3
JITTER, BITS = 0.01, 12
NOISE_POLE = 0.9  # of the coloured noise


class Case(NamedTuple):
    """Samples of a log, and the modes of its plant."""

    rate: float  # [Hz]
    samples: np.ndarray  # (k, n)
    frequencies: np.ndarray  # (m,)                                                [Hz]
    ratios: np.ndarray  # (m,)
    shares: np.ndarray  # (m,) of the vibration of the tool after the recorded move


def stop(seed):
    """Return a Case with a move and the vibration of one to three oscillators after it."""
    rng = np.random.default_rng(seed)
    count = rng.integers(1, 4)
    frequencies = rng.uniform(2.0, 12.0) * np.cumprod([1.0, *rng.uniform(1.3, 3.0, count - 1)])
    ratios = 10 ** rng.uniform(-2.3, -1.0, count)
    begin, duration, seconds = (
        rng.uniform(0.1, 0.6),
        rng.uniform(0.2, 0.8),
        rng.uniform(3.0, 8.0),
    )
    t = np.arange(0.0, seconds, 1 / FINE)
    u = np.clip((t - begin) / duration, 0.0, 1.0)
    base = 60 * u - 180 * u**2 + 120 * u**3
    if seed % 2:  # constant acceleration and deceleration
        base = np.where((u > 0.0) & (u < 1.0), np.sign(0.5 - u), 0.0)
    directions = rng.dirichlet(np.ones(count))[:, None] * rng.normal(size=(count, 3))
    clean = (
        np.column_stack([response(base, FINE, *mode) for mode in zip(frequencies, ratios)])
        @ directions
    )
    rate = rng.choice([100.0, 200.0, 400.0, 1000.0])
    poles = 2 * np.pi * frequencies * (1j * np.sqrt(1 - ratios**2) - ratios)
    end = begin + duration
    excitation = np.abs(
        [(base * np.exp(np.minimum(t - end, 0.0) * -pole)).sum() / FINE for pole in poles]
    )
    # the acceleration of a mode is its deflection times its squared frequency
    shares = excitation / frequencies * np.linalg.norm(directions, axis=1)
    samples = measured(clean, FINE, rate, 10 ** rng.uniform(-3.0, -1.5), rng)
    return Case(rate, samples, frequencies, ratios, shares / shares.sum())


def sweep(seed):
    """Return a Case with a resonance test of two modes."""
    rng = np.random.default_rng(seed)
    begin, end, slope = SWEEP
    first = rng.uniform(18.0, 60.0)
    frequencies = first * np.array([1.0, rng.uniform(1.12, 2.0)])
    ratios, share = rng.uniform(0.02, 0.1, 2), rng.uniform(0.3, 0.7)
    fine = 1600.0
    t = np.arange(0.0, (end - begin) / slope, 1 / fine)
    base = np.sin(2 * np.pi * (begin * t + slope * t**2 / 2))
    if seed % 3 == 1:
        base = np.sign(base)
    if seed % 3 == 2:
        base *= (begin + slope * t) / end
    parts = [response(base, fine, *mode) for mode in zip(frequencies, ratios)]
    clean = np.column_stack(parts) @ [[share], [1 - share]]
    samples = measured(clean, fine, 800.0, 0.01, rng)
    shares = np.array([share, 1 - share]) / frequencies**2
    return Case(800.0, samples, frequencies, ratios, shares / shares.sum())


def measured(clean, fine, rate, noise, rng):
    """Return samples (k, n) of a sensor with coloured noise, jitter, few bits and a range."""
    times = np.arange(0.0, (len(clean) - 2) / fine, 1 / rate)
    taken = np.clip(times + rng.normal(0.0, JITTER / rate, times.size), 0.0, times[-1])
    samples = np.column_stack([np.interp(taken * fine, np.arange(len(x)), x) for x in clean.T])
    largest = np.abs(samples).max()
    white = rng.normal(size=samples.shape)
    coloured = lfilter([np.sqrt(1 - NOISE_POLE**2)], [1, -NOISE_POLE], white, axis=0)
    samples += noise * largest * (coloured + rng.normal(size=samples.shape)) / np.sqrt(2)
    limit = rng.uniform(1.1, 3.0) * largest
    lsb = 2 * limit / 2**BITS
    return np.clip(lsb * np.round(samples / lsb), -limit, limit - lsb)


def arm_stop(seed):
    """Return a Case with the stop of an arm in MuJoCo."""
    from benchmarks.stop_logs import stop_log

    log = stop_log(seed)
    rate = (len(log.times) - 1) / (log.times[-1] - log.times[0])
    shares = log.amplitudes / log.frequencies**2
    return Case(rate, log.samples, log.frequencies, log.ratios, shares / shares.sum())


def left(shaper, case):
    """Vibration of the plant after the shaped move, over that after the recorded one."""
    rates = 2 * np.pi * case.frequencies
    poles = rates * (1j * np.sqrt(1 - case.ratios**2) - case.ratios)
    phasors = np.abs(np.exp(poles[:, None] * (shaper.duration - shaper.times)) @ shaper.amplitudes)
    return float(case.shares @ phasors)


def from_log(case):
    """Return vibration left, its stated LeftInterval, and the shaper; None without modes."""
    modes = recorded_modes(case.rate, case.samples)
    found = modes.resonances
    if not found:
        return None
    chosen = recommend_for_modes(found, allowed=after_a_step(found, TOLERANCE))
    shaper = chosen.candidates[chosen.best].shaper
    return left(shaper, case), left_interval(shaper, found, modes.unseen), shaper


def found_above_claim(quick=False):
    """Return the share of cases above the upper end of the interval, by kind."""
    counts = (3, 1, 2) if quick else (STOPS, ARM_STOPS, SWEEPS)
    kinds = {'stops': stop, 'arm_stops': arm_stop, 'sweeps': sweep}
    seen, above, without = {}, {}, 0
    for (kind, plant), count in zip(kinds.items(), counts):
        try:
            rows = [from_log(plant(seed)) for seed in range(FIRST_SEED, FIRST_SEED + count)]
        except ImportError:
            continue
        without += rows.count(None)
        rows = [row for row in rows if row is not None]
        seen[kind] = len(rows)
        above[kind] = sum(true > stated.high + ROUNDING for true, stated, _ in rows)
    total = sum(seen.values())
    return {
        'cases': total,
        'without_modes': without,
        'above': sum(above.values()) / max(total, 1),
        **{f'{kind}_above': f'{above[kind]} of {seen[kind]}' for kind in seen},
    }


def as_lines(found):
    """Lines of the table."""
    parts = [f'{key[:-6]}: {value}' for key, value in found.items() if key.endswith('_above')]
    yield (
        'vibration above the stated interval',
        f'{found["above"]:.1%} of {found["cases"]} cases ({", ".join(parts)})',
    )


if __name__ == '__main__':
    for line in as_lines(found_above_claim()):
        print(': '.join(line))
