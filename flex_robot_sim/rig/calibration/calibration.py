"""
Calibration: conversion of raw counts to SI units, by constants measured on the same bench.

An encoder is linear, position = (count - zero) / scale; a negative scale reverses the sign. A flex
sensor in its divider reads the share s of the converter's range. Its resistance
R = R_divider s / (1 - s) depends on the mean curvature k as

    R = R_flat (1 + gain k + curve k^2).                                                    (1)

If the divider resistance is wrong by a factor, R_flat is wrong by the same factor and the
curvature is correct.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TypeVar

import numpy as np

from flex_robot_sim.rig.bench.parts import BenchParts
from flex_robot_sim.rig.wire.vocabulary import CONVERSIONS
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.settings import Settings, setting

MIN_MAGNITUDE, MAX_MAGNITUDE = 1e-9, 1e12  # bounds of a constant, unless it is 0


AnyCount = TypeVar('AnyCount', float, np.ndarray)


class Constants(Settings):
    """Base class of constants, each 0 or of a realistic magnitude."""

    def __post_init__(self):
        super().__post_init__()
        _check_magnitudes(self)


@dataclass(frozen=True)
class EncoderCalibration(Constants):
    """Calibration of an encoder: counts to position."""

    scale: float = setting(1.0, 'counts per metre or radian, negative where they fall', '1/unit')
    zero: float = setting(0.0, 'count in the zero pose')
    deviation: float = setting(
        0.0, 'of a position that was used for the scale', 'unit', at_least=0.0
    )
    scale_deviation: float = setting(0.0, 'of the scale', '1/unit', at_least=0.0)

    def position(self, count: AnyCount) -> AnyCount:
        """Position of the joint [m, rad]."""
        return (count - self.zero) / self.scale

    def __post_init__(self):
        super().__post_init__()
        if self.scale == 0.0:
            raise SettingError('scale must not be 0')


@dataclass(frozen=True)
class SensorCalibration(Constants):
    """Calibration of a flex sensor: ADC share to curvature; see (1)."""

    flat_resistance: float = setting(10e3, 'without bending', 'ohm', above=0.0)
    gain: float = setting(0.3, 'growth of the resistance with the curvature', 'm')
    curve: float = setting(0.0, 'growth of the resistance with the square of the curvature', 'm2')
    divider_resistance: float = setting(10e3, 'from the sensor to the reference', 'ohm', above=0.0)
    lowest: float = setting(-10.0, 'lowest measured curvature', '1/m')
    highest: float = setting(10.0, 'highest measured curvature', '1/m')
    deviation: float = setting(1e-3, 'of one reading', '1/m', above=0.0)
    gain_deviation: float = setting(0.0, 'of the gain', 'm', at_least=0.0)

    def __post_init__(self):
        super().__post_init__()
        if self.gain == 0.0:
            raise SettingError(
                'gain must not be 0: the sensor could not determine the direction of bending'
            )

    def curvature(self, share: float) -> float:
        """
        Mean curvature [1/m]; nan if no curvature gives this reading.

        :param share: of the converter's range, 0 to 1.
        """
        if not 0.0 < share < 1.0:
            return math.nan
        rise = self.divider_resistance * share / (1.0 - share) / self.flat_resistance - 1.0
        root = self.gain**2 + 4.0 * self.curve * rise
        # of the two curvatures with this resistance, the branch through zero
        if root < 0.0:
            return math.nan
        return 2.0 * rise / (self.gain + math.copysign(math.sqrt(root), self.gain))

    def covers(self, curvature: float) -> bool:
        """Whether the curvature [1/m] is in the measured range, or at most a fifth beyond."""
        margin = 0.2 * (self.highest - self.lowest)
        return self.lowest - margin <= curvature <= self.highest + margin


@dataclass(frozen=True)
class ConstantDeviations(Constants):
    """Standard deviations of the constants of the motors; 0: taken from data sheets."""

    steps_per_radian: float = setting(0.0, 'of the stepper', '1/rad', at_least=0.0)
    resistance: float = setting(0.0, 'of the DC motor', 'ohm', at_least=0.0)
    back_emf: float = setting(0.0, 'of the DC motor', 'V s/rad', at_least=0.0)


@dataclass(frozen=True)
class SlideFriction(Constants):
    """Friction of the slide at steady speeds; a deviation of 0 means not measured."""

    coulomb: float = setting(0.0, 'at whatever speed', 'N', at_least=0.0)
    viscous: float = setting(0.0, 'beyond that, over the speed', 'N s/m', at_least=0.0)
    coulomb_deviation: float = setting(0.0, 'of coulomb', 'N', at_least=0.0)
    viscous_deviation: float = setting(
        0.0, 'of viscous; 0: taken from the robot', 'N s/m', at_least=0.0
    )


@dataclass(frozen=True)
class Calibration:
    """All constants of one bench."""

    slide: EncoderCalibration
    turn: EncoderCalibration
    steps_per_radian: float  # microsteps, negative where the joint turns the other way
    sensors: dict[str, SensorCalibration]  # by '<link>/<sensor>', in order of channels
    parts: BenchParts = field(default_factory=BenchParts)
    constant_deviations: ConstantDeviations = field(default_factory=ConstantDeviations)
    friction: SlideFriction = field(default_factory=SlideFriction)

    def __post_init__(self):
        steps = self.steps_per_radian
        if (
            isinstance(steps, bool)
            or not isinstance(steps, (int, float))
            or not MIN_MAGNITUDE <= abs(steps) <= MAX_MAGNITUDE
        ):
            raise SettingError(f'steps_per_radian = {steps!r} must be a number, and not 0')
        _check_magnitudes(self.parts)

    def positions(self, counts: Sequence[float] | np.ndarray) -> np.ndarray:
        """Positions of slide [m] and turn [rad], (2,)."""
        return np.array([self.slide.position(counts[0]), self.turn.position(counts[1])])

    def curvatures(self, shares: Iterable[float]) -> np.ndarray:
        """Curvatures (k,) [1/m] of shares of the converter's range (k,)."""
        return np.array(
            [sensor.curvature(share) for sensor, share in zip(self.sensors.values(), shares)]
        )

    @property
    def deviations(self) -> np.ndarray:
        """Standard deviations of the curvatures, (k,) [1/m]."""
        return np.array([sensor.deviation for sensor in self.sensors.values()])

    @property
    def encoder_deviations(self) -> np.ndarray:
        """Standard deviations of positions by the width of a count, (2,) [m, rad]."""
        return 1 / np.abs([self.slide.scale, self.turn.scale]) / math.sqrt(12)


def _check_magnitudes(settings):
    """Refuse unrealistic magnitudes, whose powers would overflow or vanish."""
    for item in fields(settings):
        value = getattr(settings, item.name)
        if value and not MIN_MAGNITUDE <= abs(value) <= MAX_MAGNITUDE:
            raise SettingError(
                f'{item.name} = {value!r} must be 0 or of a size between '
                f'{MIN_MAGNITUDE:g} and {MAX_MAGNITUDE:g}'
            )


def nominal(parts: BenchParts, sensors: Mapping[str, float]) -> Calibration:
    """
    Calibration from data sheets, for the emulator and for first tests of a bench.

    :param sensors: {'<link>/<sensor>': its length [m]}, in order of channels.
    """
    # a reading is the sum of CONVERSIONS conversions
    noise = (
        math.hypot(parts.adc_noise, 1 / math.sqrt(12))
        / (1 << parts.adc_bits)
        / math.sqrt(CONVERSIONS)
    )
    found = {}
    for name, length in sensors.items():
        share = parts.flat_resistance / (parts.flat_resistance + parts.divider_resistance)
        gain = parts.bend_gain * length
        found[name] = SensorCalibration(
            parts.flat_resistance,
            gain,
            parts.bend_curve * length**2,
            parts.divider_resistance,
            deviation=noise / (share * (1 - share) * gain),
        )
    return Calibration(
        EncoderCalibration(parts.counts_per_metre),
        EncoderCalibration(parts.counts_per_radian),
        parts.steps_per_turn / (2 * math.pi),
        found,
        parts,
    )
