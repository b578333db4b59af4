"""Poles of oscillating modes, the response of impulses at them, and checks of modes."""

import math
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.util.exceptions import SettingError, shortened


def pole_of(frequency: ArrayLike, ratio: ArrayLike = 0.0) -> np.ndarray:
    """Rate s [1/s] of exp(s t), of a mode of a natural frequency [Hz] and a damping ratio."""
    try:
        rate, ratio = 2 * np.pi * np.asarray(frequency, float), np.asarray(ratio, float)
    except (TypeError, ValueError):
        raise SettingError(
            f'frequency = {shortened(repr(frequency), 60)} [Hz] and '
            f'ratio = {shortened(repr(ratio), 60)} must be numbers'
        ) from None
    return -ratio * rate + 1j * rate * np.sqrt(1 - ratio**2)


def response_of(times: np.ndarray, amplitudes: np.ndarray, pole: ArrayLike) -> np.ndarray:
    """Transfer function (S1) of impulses at complex rates s, of any shape [1/s]."""
    poles = np.asarray(pole)
    if poles.dtype.kind not in 'fciu':
        raise SettingError(f'pole = {shortened(repr(pole), 60)} must be a number [1/s]')
    return np.exp(-poles[..., None] * times) @ amplitudes


def check_period(period: float) -> None:
    """Raise SettingError if set points cannot have this period [s]."""
    if not (isinstance(period, Real) and 0.0 < period < math.inf):
        raise SettingError(f'period = {period!r} of set points must be above 0 and finite [s]')


def check_mode(frequency: float, ratio: float = 0.0, period: float = 0.0) -> None:
    """Refuse a mode without shaper; period of the set points [s], 0: continuous motion."""
    for name, value in (('frequency', frequency), ('damping', ratio)):
        if not isinstance(value, Real):
            raise SettingError(
                f'{name} = {shortened(repr(value), 60)} of a mode must be a '
                'number: give the frequency [Hz] and the damping ratio'
            )
    if not 0.0 < frequency < math.inf:
        raise SettingError(
            f'frequency = {frequency!r} of a mode must be above 0 and finite: give '
            'the natural frequencies of the arm [Hz]'
        )
    if not 0.0 <= ratio < 1.0:
        raise SettingError(
            f'damping = {ratio!r} of a mode must be >= 0 and below 1: what is '
            'damped more does not vibrate and needs no shaper'
        )
    if period > 0.0 and not frequency * period < 0.5:
        raise SettingError(
            f'frequency = {frequency:.6g} Hz of a mode is not below half of the {1 / period:.6g} '
            'set points per second: send them more often, or leave this mode out'
        )
