"""
Standard deviations of modes that the package finds in logs, and true frequencies within them.

`python -m benchmarks.modal_logs`, part of `python -m benchmarks.control`. Oscillators on a moving
base, by their exact discrete models: stops with the move in the log, and sweeps of a resonance
test. For each mode that is found, the true frequency should lie within 2 standard deviations in
95 % of all cases. For the shaper that is recommended for a sweep, the vibration that it leaves
should not exceed its claim.
"""

from typing import NamedTuple

import numpy as np
from scipy.signal import cont2discrete, lfilter

from flex_robot_sim.analysis.recorded_vibration import resonances
from flex_robot_sim.shaping.log_recommendation import mode_case, recommend_for_modes
from flex_robot_sim.shaping.recommendation import DEFAULT_ACCELERATION

CASES = 200
FINE = 4000.0  # of the exact models                                              [Hz]
PAIRS = (42.0, 71.0), (28.0, 33.0)  # of the sweeps                                [Hz]
SWEEP = 5.0, 133.0, 1.0  # begin, end [Hz] and rate [Hz/s]
SWEEP_RATE = 800.0  # [Hz]
UNCERTAINTY, TOLERANCE = 0.05, 0.05


class ModalLog(NamedTuple):
    """Samples of an accelerometer on oscillators, and their modes."""

    rate: float  # [Hz]
    samples: np.ndarray  # (k, n)
    frequencies: np.ndarray  # (m,)                                                 [Hz]
    ratios: np.ndarray  # (m,)
    shares: np.ndarray  # (m,) of the static deflection


def response(acceleration, rate, frequency, ratio):
    """Acceleration of a mass on a spring, for one of its base that is linear between samples."""
    w = 2 * np.pi * frequency
    b, a, _ = cont2discrete(([2 * ratio * w, w * w], [1, 2 * ratio * w, w * w]), 1 / rate, 'foh')
    return lfilter(b.ravel(), a, acceleration)


def stop(case):
    """Return the ModalLog of a move and the vibration after it, with one to three modes."""
    rng = np.random.default_rng(case)
    count = rng.integers(1, 4)
    frequencies = rng.uniform(2.0, 12.0) * np.cumprod([1.0, *rng.uniform(1.3, 3.0, count - 1)])
    ratios = 10 ** rng.uniform(-2.3, -1.0, count)
    duration = rng.uniform(0.2, 0.8)
    t = np.arange(0.0, rng.uniform(3.0, 8.0), 1 / FINE)
    u = np.clip((t - rng.uniform(0.1, 0.6)) / duration, 0.0, 1.0)
    base = 60 * u - 180 * u**2 + 120 * u**3
    if case % 2:  # constant acceleration and deceleration
        base = np.where((u > 0.0) & (u < 1.0), np.sign(0.5 - u), 0.0)
    shares = rng.dirichlet(np.ones(count))
    parts = [response(base, FINE, *mode) for mode in zip(frequencies, ratios)]
    directions = rng.normal(size=(count, 3))
    clean = np.column_stack(parts) @ (shares[:, None] * directions)
    step = int(FINE / rng.choice([100.0, 200.0, 400.0, 1000.0]))
    samples = clean[::step]
    noise = 10 ** rng.uniform(-3.0, -1.3) * np.abs(clean).max()
    return ModalLog(
        FINE / step, samples + noise * rng.normal(size=samples.shape), frequencies, ratios, shares
    )


def sweep(case):
    """Return the ModalLog of a resonance test with two modes."""
    rng = np.random.default_rng(case)
    begin, end, slope = SWEEP
    t = np.arange(0.0, (end - begin) / slope, 1 / SWEEP_RATE)
    base = np.sin(2 * np.pi * (begin * t + slope * t**2 / 2))
    if case % 3 == 1:
        base = np.sign(base)
    if case % 3 == 2:
        base *= (begin + slope * t) / end
    frequencies = np.array(PAIRS[case % 2])
    ratios, share = rng.uniform(0.05, 0.1, 2), rng.uniform(0.3, 0.7)
    shares = np.array([share, 1 - share])
    clean = sum(
        part * response(base, SWEEP_RATE, *mode)
        for part, *mode in zip(shares, frequencies, ratios)
    )
    noise = 0.05 * clean.std() * rng.normal(size=clean.size)
    return ModalLog(SWEEP_RATE, (clean + noise)[:, None], frequencies, ratios, shares)


def left(shaper, log):
    """Vibration of all modes after a shaped step of acceleration, over that without a shaper."""
    rates = 2 * np.pi * log.frequencies
    damped = rates * np.sqrt(1 - log.ratios**2)
    weights = log.shares / rates**2  # amplitude of the deflection of each mode
    phasors = np.array(
        [
            sum(
                size * np.exp((ratio * rate + 1j * turn) * (time - shaper.times[-1]))
                for time, size in zip(shaper.times, shaper.amplitudes)
            )
            for ratio, rate, turn in zip(log.ratios, rates, damped)
        ]
    )
    return float((weights * np.abs(phasors)).sum() / weights.sum())


def deviations_covered(quick=False):
    """Return the share of found frequencies and ratios within 2 standard deviations, and more."""
    within, damping, found_first, false = [], [], [], 0
    for case in range(20 if quick else CASES):
        log = stop(case)
        found, _ = resonances(log.rate, log.samples)
        for mode in found:
            row = int(np.argmin(np.abs(log.frequencies - mode.frequency)))
            error = mode.frequency - log.frequencies[row]
            if abs(error) > 0.1 * log.frequencies[row]:
                false += 1
                continue
            within.append(abs(error) < 2 * mode.frequency_deviation)
            damping.append(abs(mode.ratio - log.ratios[row]) < 2 * mode.ratio_deviation)
        found_first.append(bool(found))
    return {
        'logs': len(found_first),
        'with_modes': int(np.sum(found_first)),
        'modes': len(within),
        'false_modes': false,
        'frequencies_within_2': float(np.mean(within)),
        'ratios_within_2': float(np.mean(damping)),
    }


def sweep_left(quick=False):
    """Return how far frequencies from sweeps are off, and what the recommended shapers leave."""
    errors, above, both = [], [], 0
    for case in range(4 if quick else 24):
        log = sweep(case)
        found, _ = resonances(log.rate, log.samples)
        near = [
            min((abs(mode.frequency / f - 1) for mode in found), default=1.0)
            for f in log.frequencies
        ]
        errors.append(max(near))
        both += max(near) < 0.02
        claim, shaper = recommended(found)
        above.append(left(shaper, log) - claim if shaper is not None else 1.0)
    return {
        'sweeps': len(errors),
        'both_modes': int(both),
        'worst_error': float(max(errors)),
        'worst_above_claim': float(max(above)),
        'above_claim': int(np.sum(np.array(above) > 0.0)),
    }


def recommended(found):
    """Return what the shaper for these modes claims to leave, and the shaper; 1 and None."""
    if not found:
        return 1.0, None
    case, candidates, best, _ = recommend_for_modes(
        found, UNCERTAINTY, allowed=after_a_step(found, TOLERANCE)
    )
    shaper = candidates[best].shaper
    frequencies, ratios = case.frequencies, case.ratios
    claim = max(
        float(case.sizes @ shaper.vibration(factor * frequencies, ratios) / case.sizes.sum())
        for factor in np.linspace(1 - UNCERTAINTY, 1 + UNCERTAINTY, 9)
    )
    return claim, shaper


def after_a_step(found, share):
    """Return a share of the vibration of modes after a step of acceleration of the tool [m]."""
    return share * 2 * DEFAULT_ACCELERATION * float(mode_case(found).sizes.sum())


def deviations_lines(found):
    """Lines of the table."""
    yield (
        'logs of oscillators with the move',
        (
            f'{found["frequencies_within_2"]:.1%} of {found["modes"]} frequencies and '
            f'{found["ratios_within_2"]:.1%} of damping ratios within 2 standard deviations; '
            f'modes in {found["with_modes"]} of {found["logs"]} logs, {found["false_modes"]} false'
        ),
    )


def sweep_lines(found):
    """Lines of the table."""
    yield (
        'sweeps with two modes',
        (
            f'both modes in {found["both_modes"]} of {found["sweeps"]}, worst frequency '
            f'{found["worst_error"]:.2%} off; {found["above_claim"]} leave more than claimed'
        ),
    )


if __name__ == '__main__':
    for line in [*deviations_lines(deviations_covered()), *sweep_lines(sweep_left())]:
        print(': '.join(line))
