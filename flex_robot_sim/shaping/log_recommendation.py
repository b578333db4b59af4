"""Shaper recommendation from a recorded vibration, without a model of the arm."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis.recorded_vibration import RecordedModes, recorded_modes
from flex_robot_sim.analysis.resonance import Resonance
from flex_robot_sim.shaping.left_interval import DEVIATIONS, LeftInterval, left_interval
from flex_robot_sim.shaping.linear_moves import LinearMoves, ModeCase
from flex_robot_sim.shaping.log_checks import check_modes
from flex_robot_sim.shaping.recommendation import DEFAULT_ACCELERATION, check_rule
from flex_robot_sim.shaping.shaper_comparison import ShaperCandidate, compare_shapers
from flex_robot_sim.shaping.vibration_log import VibrationLog, read_samples
from flex_robot_sim.util.summary import summarized

# a log has no scale: distances would depend on the assumed acceleration
DEFAULT_LOG_ALLOWED = '5%'
MIN_LOG_UNCERTAINTY = 0.05  # relative, of frequencies from a ring-down or a sweep
MIN_SPECTRUM_UNCERTAINTY = 0.1  # relative, of frequencies from a spectrum


class ModesRecommendation(NamedTuple):
    """Shaper candidates for the modes of a recording, and the recommended one."""

    case: ModeCase
    candidates: list[ShaperCandidate]
    best: int  # row of the recommended one; 0: no shaper
    uncertainty: float  # relative error of the frequencies


@summarized
class LogRecommendation(NamedTuple):
    """Modes in a recording, all shaper candidates, and the recommended one."""

    log: VibrationLog
    modes: RecordedModes
    notes: list[str]
    uncertainty: float  # relative error of the frequencies
    cases: list[ModeCase]  # one; empty: no resonance
    candidates: list[ShaperCandidate]
    best: int  # row of the recommended one; 0: no shaper
    left_interval: LeftInterval | None  # what the recommended one leaves, with 95 %


def recommend_from_log(
    path: str | Path,
    columns: Sequence[str] = (),
    rate: float | None = None,
    *,
    uncertainty: float | None = None,
    allowed_vibration: float | str = DEFAULT_LOG_ALLOWED,
    acceleration: float | None = None,
) -> LogRecommendation:
    """
    Return the LogRecommendation of a recording of any format that `read_recording` knows.

    :param columns: names of those to use; rate: of the samples [Hz]. Both as of `read_samples`.
    :param uncertainty: relative error of the frequencies; default: by the recording.
    :param allowed_vibration: distance of the tool from its goal that counts as rest [m], or a
        percentage of the mean vibration that the unshaped moves leave; default: '5%'.
    :param acceleration: largest one of the tool; default: 1 m/s2.
    """
    log = read_samples(path, columns, rate)
    modes = recorded_modes(log.rate, log.samples)
    notes = [*log.notes, *check_modes(str(path), log, modes)]
    resonances = modes.resonances
    if not resonances:
        least = uncertainty_of([]) if uncertainty is None else uncertainty
        return LogRecommendation(log, modes, notes, least, [], [], 0, None)
    found = recommend_for_modes(resonances, uncertainty, acceleration, allowed_vibration)
    interval = None
    if found.best:
        shaper = found.candidates[found.best].shaper
        interval = left_interval(shaper, resonances, modes.unseen)
    return LogRecommendation(
        log, modes, notes, found.uncertainty, [found.case], found.candidates, found.best, interval
    )


def recommend_for_modes(
    resonances: Sequence[Resonance],
    uncertainty: float | None = None,
    acceleration: float | None = None,
    allowed: float | str = DEFAULT_LOG_ALLOWED,
) -> ModesRecommendation:
    """
    Return the ModesRecommendation for modes, at least one.

    :param uncertainty: relative error of the frequencies; default: by their standard deviations.
    :param acceleration: of the tool [m/s2].
    :param allowed: distance of the tool from its goal that counts as rest [m], or a percentage.
    """
    case = mode_case(resonances)
    if uncertainty is None:
        uncertainty = uncertainty_of(resonances)
    acceleration = acceleration or DEFAULT_ACCELERATION
    check_rule(uncertainty, allowed, acceleration)
    moves = LinearMoves([case], uncertainty, acceleration)
    candidates, best = compare_shapers([case], moves, uncertainty, allowed)
    return ModesRecommendation(case, candidates, best, uncertainty)


def uncertainty_of(resonances: Sequence[Resonance]) -> float:
    """Relative error of recorded frequencies, from their standard deviations and the method."""
    least = MIN_LOG_UNCERTAINTY
    if any(one.way == 'spectrum' for one in resonances):
        least = MIN_SPECTRUM_UNCERTAINTY
    return max(
        [least, *(DEVIATIONS * one.frequency_deviation / one.frequency for one in resonances)]
    )


def mode_case(resonances: Sequence[Resonance]) -> ModeCase:
    """Return the ModeCase of recorded modes, slowest first."""
    ordered = sorted(resonances, key=lambda one: one.frequency)
    frequencies, ratios, sizes = (
        np.array([getattr(one, name) for one in ordered])
        for name in ('frequency', 'ratio', 'size')
    )
    # static deflection per acceleration of the base, weighted by the amplitudes in the recording
    return ModeCase(frequencies, ratios, sizes / sizes.sum() / (2 * np.pi * frequencies) ** 2)
