"""Stages of a shaper whose delays follow the modes of a ModeTable."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis.mode_table import ModeTable
from flex_robot_sim.shaping.impulses import SI, Shaper, of_kind
from flex_robot_sim.shaping.specified_insensitivity import Band, si
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.summary import summarized

MAX_GROUP_RATIO = 1.5  # ratio of frequencies of modes that share a stage


@summarized
class ShaperStage(NamedTuple):
    """A part of a shaper whose delays follow the phase of a mode, or of a group of close ones."""

    cycles: np.ndarray  # (k,) delays of the impulses
    amplitudes: np.ndarray  # (k,)
    frequencies: np.ndarray  # (rows of the table,) damped                              [Hz]


class StageDesign(NamedTuple):
    """A shaper whose delays follow the pose: arguments of `stages_of` but tables."""

    kind: str
    tolerance: float = 0.05
    uncertainty: float = 0.0
    grouped: bool = False
    unit: Shaper | None = None


def stages_of(
    tables: ModeTable | Sequence[ModeTable],
    kind: str,
    tolerance: float = 0.05,
    uncertainty: float = 0.0,
    grouped: bool = True,
    unit: Shaper | None = None,
) -> list[ShaperStage]:
    """
    Return the Stages of a shaper that follows the modes of a ModeTable.

    :param tables: one, or several at the same poses, for several payloads.
    :param kind: of impulses.KINDS, for each mode; or 'si': close modes share a stage, which
        limits all of them to the tolerance, in all tables.
    :param uncertainty: relative error of the frequencies, for 'si'.
    :param grouped: whether close modes share a stage of 'si', or each has its own.
    :param unit: Shaper of all modes together, for a first mode of unit frequency.
    """
    tables = [tables] if isinstance(tables, ModeTable) else [*tables]
    frequencies = np.array([table.frequencies for table in tables])
    ratios = np.array([table.ratios for table in tables]).mean(axis=(0, 1))
    low, high = frequencies.min(axis=0), frequencies.max(axis=0)
    if unit is not None:
        return _scaled([unit], low, high)
    if kind == SI and grouped:
        groups = groups_of(tables[0])
        low, high = (
            np.column_stack([choose(table[:, group], axis=1) for group in groups])
            for choose, table in ((np.min, low), (np.max, high))
        )
        ratios = np.array([ratios[group].mean() for group in groups])
    units = units_of(kind, low, high, ratios, tolerance, uncertainty)
    return _scaled(units, low, high)


def scaled_stages(units: Sequence[Shaper], tables: Sequence[ModeTable]) -> list[ShaperStage]:
    """Return the Stages of `units_of` for the modes of ModeTables at the same poses."""
    frequencies = np.array([table.frequencies for table in tables])
    return _scaled(units, frequencies.min(axis=0), frequencies.max(axis=0))


def units_of(
    kind: str,
    low: np.ndarray,
    high: np.ndarray,
    ratios: np.ndarray,
    tolerance: float = 0.05,
    uncertainty: float = 0.0,
) -> list[Shaper]:
    """Unit-frequency Shaper of each mode; low, high: (poses, modes) [Hz]; ratios: (modes,)."""
    if kind != SI:
        return [of_kind(kind, 1.0, float(ratio), tolerance) for ratio in ratios]
    middle = np.sqrt(low * high)
    # one damping ratio for all: equal bands then have the same shaper
    ratio = round(float(np.mean(ratios)), 3)
    return [
        _insensitive_shaper(
            round(float(below * (1 - uncertainty)), 6),
            round(float(above * (1 + uncertainty)), 6),
            ratio,
            float(tolerance),
        )
        for below, above in zip((low / middle).min(axis=0), (high / middle).max(axis=0))
    ]


@lru_cache(maxsize=64)
def _insensitive_shaper(low, high, ratio, tolerance):
    """Shaper for a band about 1; the search takes a second."""
    try:
        return si([Band(low, high, ratio, tolerance)])
    except SettingError as error:
        raise SettingError(
            f'no shaper leaves {tolerance:g} of modes from {low:.3g} to {high:.3g} times their '
            'frequency: take a larger tolerance, fewer payloads, or grouped=False'
        ) from error


def for_frequency(unit: Shaper, frequency: float) -> Shaper:
    """Scale a shaper for unit frequency to a frequency [Hz]."""
    return replace(
        unit,
        times=unit.times / frequency,
        modes=tuple((frequency * mode, ratio) for mode, ratio in unit.modes),
    )


def groups_of(table: ModeTable) -> list[list[int]]:
    """Group columns of the table whose frequencies are close in all poses."""
    groups = [[0]]
    for k in range(1, table.frequencies.shape[1]):
        if (table.frequencies[:, k] < MAX_GROUP_RATIO * table.frequencies[:, groups[-1][0]]).all():
            groups[-1].append(k)
        else:
            groups.append([k])
    return groups


def _scaled(units, low, high):
    """Stages of shapers for unit frequency, for the first bands (poses, modes) [Hz]."""
    stages = []
    for unit, frequencies in zip(units, np.sqrt(low * high).T):
        damped = np.sqrt(1 - unit.modes[0][1] ** 2)
        stages.append(ShaperStage(unit.times * damped, unit.amplitudes, frequencies * damped))
    return stages
