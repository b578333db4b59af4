"""Stages of a shaper whose delays follow the modes of a ModeTable."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis.mode_table import ModeTable
from flex_robot_sim.shaping.impulses import Shaper, of_kind
from flex_robot_sim.shaping.specified_insensitivity import specified_insensitivity
from flex_robot_sim.util.exceptions import SettingError

CLOSE = 1.5                 # ratio of frequencies that one stage takes together


class Stage(NamedTuple):
    """A part of a shaper whose delays follow the phase of a mode, or of a group of close ones."""

    cycles: np.ndarray          # (k,) delays of its impulses
    amplitudes: np.ndarray      # (k,)
    frequencies: np.ndarray     # (rows of the table,) damped                              [Hz]


def stages_of(tables: ModeTable | Sequence[ModeTable], kind: str, tolerance: float = 0.05,
              uncertainty: float = 0.0, grouped: bool = True) -> list[Stage]:
    """
    Return the Stages of a shaper that follows the modes of a ModeTable.

    :param tables: one, or several with the same places, as for several payloads.
    :param kind: of impulses.KINDS, for each mode; or 'si': close modes share a stage, which keeps
        them all below the tolerance, in all tables.
    :param uncertainty: share by which the frequencies may be wrong, for 'si'.
    :param grouped: whether close modes share a stage of 'si', or each has its own.
    """
    tables = [tables] if isinstance(tables, ModeTable) else [*tables]
    frequencies = np.array([table.frequencies for table in tables])
    ratios = np.array([table.ratios for table in tables]).mean(axis=(0, 1))
    low, high = frequencies.min(axis=0), frequencies.max(axis=0)
    if kind == 'si' and grouped:
        groups = groups_of(tables[0])
        low, high = (np.column_stack([choose(table[:, group], axis=1) for group in groups])
                     for choose, table in ((np.min, low), (np.max, high)))
        ratios = np.array([ratios[group].mean() for group in groups])
    units = units_of(kind, low, high, ratios, tolerance, uncertainty)
    return [_stage(unit, frequency) for unit, frequency in zip(units, np.sqrt(low * high).T)]


def stretched(units: Sequence[Shaper], tables: Sequence[ModeTable]) -> list[Stage]:
    """Return the Stages of `units_of` that follow the modes of ModeTables of the same places."""
    frequencies = np.array([table.frequencies for table in tables])
    middle = np.sqrt(frequencies.min(axis=0) * frequencies.max(axis=0))
    return [_stage(unit, frequency) for unit, frequency in zip(units, middle.T)]


def units_of(kind: str, low: np.ndarray, high: np.ndarray, ratios: np.ndarray,
             tolerance: float = 0.05, uncertainty: float = 0.0) -> list[Shaper]:
    """
    Return a Shaper for each mode as if its frequency were 1, as `stages_of` stretches them.

    :param low: lowest frequencies (poses, modes) of each mode in each pose [Hz]; high: the
        highest ones.
    :param ratios: of damping, (modes,).
    """
    if kind != 'si':
        return [of_kind(kind, 1.0, float(ratio), tolerance) for ratio in ratios]
    middle = np.sqrt(low * high)
    # of the same damping for all: where bands are the same, the shaper is, too
    ratio = round(float(np.mean(ratios)), 3)
    return [_insensitive(round(float(below * (1 - uncertainty)), 6),
                         round(float(above * (1 + uncertainty)), 6), ratio, float(tolerance))
            for below, above in zip((low / middle).min(axis=0), (high / middle).max(axis=0))]


@lru_cache(maxsize=64)
def _insensitive(low, high, ratio, tolerance):
    """Shaper for a band about 1, which takes a second to find."""
    try:
        return specified_insensitivity(low, high, ratio, tolerance)
    except SettingError as error:
        raise SettingError(
            f'no shaper leaves {tolerance:g} of modes from {low:.3g} to {high:.3g} times their '
            'frequency: take a larger tolerance, fewer payloads, or grouped=False') from error


def for_frequency(unit: Shaper, frequency: float) -> Shaper:
    """Shaper for a frequency [Hz] of one for the frequency 1."""
    return replace(unit, times=unit.times / frequency, modes=tuple(
        (frequency * mode, ratio) for mode, ratio in unit.modes))


def groups_of(table: ModeTable) -> list[list[int]]:
    """Columns of the table in groups whose frequencies are close in all poses."""
    groups = [[0]]
    for k in range(1, table.frequencies.shape[1]):
        if (table.frequencies[:, k] < CLOSE * table.frequencies[:, groups[-1][0]]).all():
            groups[-1].append(k)
        else:
            groups.append([k])
    return groups


def _stage(unit: Shaper, frequencies):
    """Stage of a shaper for the frequency 1."""
    damped = np.sqrt(1 - unit.modes[0][1]**2)
    return Stage(unit.times * damped, unit.amplitudes, frequencies * damped)
