"""
The nearest shaper of Klipper for a design, and the vibration that it leaves.

Klipper has one shaper of one frequency per axis. So the vibration is predicted over all bands of
frequencies that the design covers, and the frequency is chosen that makes its largest value least.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from flex_robot_sim.export.shaper_tables import comment_text
from flex_robot_sim.shaping.impulses import (
    MAX_DAMPING,
    TOLERANCE,
    ExtraInsensitive,
    Shaper,
    ShaperKind,
    ZeroVibration,
)
from flex_robot_sim.shaping.shaper_specification import CoveredBand, ShaperSpecification
from flex_robot_sim.util.exceptions import SettingError

AXES = 'x', 'y', 'z'
NAMES = 'zv', 'mzv', 'zvd', 'ei', '2hump_ei', '3hump_ei'
SAME_KIND: dict[str, ShaperKind] = {
    'zv': ZeroVibration(1),
    'zvd': ZeroVibration(2),
    'ei': ExtraInsensitive(1),
    '2hump_ei': ExtraInsensitive(2),
    '3hump_ei': ExtraInsensitive(3),
}
BAND_POINTS = 21  # frequencies of a band at which vibration is predicted
FREQUENCIES = 400  # trial frequencies of a shaper
REFINEMENTS = 3  # of the search, each a tenth as wide


class KlipperShaper(NamedTuple):
    """A named shaper of Klipper."""

    name: str
    frequency: float  # `shaper_freq`                                                    [Hz]
    ratio: float  # `damping_ratio`
    duration: float  # that it adds                                                      [s]
    vibration: float  # largest residual vibration in the bands, over the unshaped one


def klipper_impulses(name: str, ratio: float = 0.0) -> Shaper:
    """Return the impulses of a shaper of Klipper for a mode of 1 Hz and a damping ratio."""
    if name in SAME_KIND:
        times, amplitudes = SAME_KIND[name].impulses(1.0, ratio, TOLERANCE)
        return Shaper(name, times, amplitudes, ((1.0, ratio),))
    # mzv: three impulses, 3/8 of a period apart, of which the middle one cancels the outer ones
    damped, steps = math.sqrt(1 - ratio**2), np.arange(3)
    amplitudes = np.array([1 - 1 / math.sqrt(2), math.sqrt(2) - 1, 1 - 1 / math.sqrt(2)])
    amplitudes = amplitudes * np.exp(-0.75 * math.pi * ratio / damped * steps)
    return Shaper(name, 0.375 * steps / damped, amplitudes / amplitudes.sum(), ((1.0, ratio),))


def klipper_shapers(bands: Sequence[CoveredBand]) -> list[KlipperShaper]:
    """Return the KlipperShaper of each name that leaves least in the worst case of the bands."""
    ratio = min(float(np.mean([band.ratio for band in bands])), MAX_DAMPING)
    points = np.concatenate([np.linspace(band.low, band.high, BAND_POINTS) for band in bands])
    ratios = np.repeat([band.ratio for band in bands], BAND_POINTS)
    return [_best(name, ratio, points, ratios) for name in NAMES]


def nearest(shapers: Sequence[KlipperShaper], allowed: float) -> KlipperShaper:
    """Return the shortest one that leaves at most `allowed`, or the one that leaves least."""
    good = [shaper for shaper in shapers if shaper.vibration <= allowed]
    if good:
        return min(good, key=lambda shaper: shaper.duration)
    return min(shapers, key=lambda shaper: shaper.vibration)


def _best(name, ratio, points, ratios):
    unit = klipper_impulses(name, ratio)
    low, high = 0.5 * points.min(), 2.0 * points.max()
    best, worst = low, math.inf
    for _ in range(1 + REFINEMENTS):
        trials = np.geomspace(low, high, FREQUENCIES)
        # a shaper for f leaves at g what that for 1 leaves at g / f
        left = unit.vibration(points / trials[:, None], ratios).max(axis=1)
        k = int(np.argmin(left))
        best, worst = float(trials[k]), float(left[k])
        low, high = trials[max(k - 20, 0)], trials[min(k + 20, FREQUENCIES - 1)]
    return KlipperShaper(name, best, ratio, unit.duration / best, worst)


def bands_of(specification: ShaperSpecification) -> list[CoveredBand]:
    """Return the bands that a design covers, or its modes; SettingError without any."""
    modes = specification.shaper.modes
    bands = list(specification.bands) or [CoveredBand(f, f, ratio) for f, ratio in modes]
    if not bands:
        raise SettingError(
            f'the design "{specification.name}" names no frequencies: write it again by '
            'flexsim shape --output'
        )
    return bands


def design_vibration(specification: ShaperSpecification) -> float | None:
    """Return the largest vibration that a design leaves in its bands; None by pose or if none."""
    if specification.stages or not specification.added_time:
        return None
    return max(
        float(
            specification.shaper.vibration(
                np.linspace(band.low, band.high, BAND_POINTS), band.ratio
            ).max()
        )
        for band in bands_of(specification)
    )


def klipper_text(
    specification: ShaperSpecification, axes: Sequence[str], source: str, origin: str
) -> tuple[str, KlipperShaper]:
    """Return a section of printer.cfg for some AXES, and the KlipperShaper in it."""
    bands, design = bands_of(specification), design_vibration(specification)
    shapers = klipper_shapers(bands)
    best = nearest(shapers, TOLERANCE if design is None else max(TOLERANCE, design))
    figures = 'does not delay the motion.'
    if design is not None:
        figures = f'leaves {design:.1%} and adds {specification.added_time:.4f} s.'
    elif specification.stages:
        figures = 'has delays that follow the pose.'
    lines = [
        f'# {origin}, from {comment_text(source)}.',
        f'# The design "{comment_text(specification.name)}" {figures}',
        '# Frequencies: '
        + ', '.join(f'{one.low:.4g} to {one.high:.4g} Hz' for one in bands)
        + '.',
        '# The nearest shapers of Klipper, and the vibration predicted for these frequencies:',
        *(
            f'#   {one.name:9s} {one.frequency:8.2f} Hz  leaves {one.vibration:6.1%}, '
            f'adds {one.duration:.4f} s'
            for one in shapers
        ),
        '[input_shaper]',
    ]
    for axis in axes:
        lines += [
            f'shaper_type_{axis}: {best.name}',
            f'shaper_freq_{axis}: {best.frequency:.2f}',
            f'damping_ratio_{axis}: {best.ratio:.4f}',
        ]
    return '\n'.join([*lines, '']), best
