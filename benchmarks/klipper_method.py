"""
Resonance tests evaluated as Klipper's documentation describes it, compared with `flexsim shape`.

`python -m benchmarks.klipper_method`, part of `python -m benchmarks.control`. The method fits no
modes. For each kind of shaper and each frequency it takes the vibration that remains of the
spectrum of the test, and it prefers shapers that smooth less. This is an own implementation from
the page "Measuring resonances", with the kinds of this package (no MZV and no three-hump EI).
"""

import numpy as np
from scipy.signal import welch

from benchmarks.found_above_claim import TOLERANCE, from_log, left, sweep
from flex_robot_sim.shaping import impulses

FIRST_SEED = 300
SWEEPS = 30
KINDS = 'zv', 'zvd', 'ei', 'ei2'
FREQUENCIES = np.arange(5.0, 133.0, 0.5)  # of shapers                             [Hz]
RATIO = 0.1  # assumed damping ratio
NOISE_SHARE = 0.05  # of the largest power, below which the spectrum counts as noise


def by_spectrum(case):
    """Return the shortest shaper that leaves little of the spectrum, else the one with least."""
    f, power = welch(case.samples, case.rate, nperseg=1024, axis=0)
    f, power = f[1:], power[1:].sum(axis=1)
    f, power = f[f < FREQUENCIES[-1]], power[f < FREQUENCIES[-1]]
    power = np.maximum(power - NOISE_SHARE * power.max(), 0.0)
    best = []
    for kind in KINDS:
        unit = impulses.of_kind(kind, 1.0, RATIO)
        gains = unit.vibration(f / FREQUENCIES[:, None], RATIO)
        remaining = np.sqrt((power * gains**2).sum(axis=1) / power.sum())
        row = int(np.argmin(remaining))
        shaper = impulses.of_kind(kind, float(FREQUENCIES[row]), RATIO)
        best.append((float(remaining[row]), shaper))
    few = [one for one in best if one[0] <= TOLERANCE]
    if few:
        return min(few, key=lambda pair: pair[1].duration)[1]
    return min(best, key=lambda pair: pair[0])[1]


def klipper_method(quick=False):
    """Return what both methods leave of the vibration of sweeps, and the time that they add."""
    rows = []
    for seed in range(FIRST_SEED, FIRST_SEED + (2 if quick else SWEEPS)):
        case = sweep(seed)
        shaper, ours = by_spectrum(case), from_log(case)
        rows.append([left(shaper, case), 1e3 * shaper.duration, ours[0], 1e3 * ours[2].duration])
    spectrum, spectrum_ms, fit, fit_ms = np.array(rows).T
    return {
        'sweeps': len(rows),
        'spectrum_left': _summary(spectrum),
        'spectrum_added_ms': float(np.median(spectrum_ms)),
        'fit_left': _summary(fit),
        'fit_added_ms': float(np.median(fit_ms)),
    }


def _summary(values):
    return {'median': float(np.median(values)), 'worst': float(values.max())}


def as_lines(found):
    """Lines of the table."""
    for key, what in (('spectrum', "Klipper's method"), ('fit', 'flexsim shape')):
        one = found[f'{key}_left']
        yield (
            f'sweeps, {what}',
            (
                f'{one["median"]:.1%} left, worst {one["worst"]:.1%}; '
                f'{found[f"{key}_added_ms"]:.0f} ms more, of {found["sweeps"]} sweeps'
            ),
        )


if __name__ == '__main__':
    for line in as_lines(klipper_method()):
        print(': '.join(line))
