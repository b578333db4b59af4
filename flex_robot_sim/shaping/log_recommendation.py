"""Shaper recommendation from a recorded vibration, without a model of the arm."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis.recorded_vibration import RecordedModes, recorded_modes
from flex_robot_sim.shaping.linear_moves import LinearMoves, ModeCase
from flex_robot_sim.shaping.log_checks import check_modes
from flex_robot_sim.shaping.recommendation import DEFAULT_ACCELERATION, check_rule
from flex_robot_sim.shaping.shaper_comparison import (
    DEFAULT_ALLOWED_M,
    ShaperCandidate,
    compare_shapers,
)
from flex_robot_sim.shaping.vibration_log import VibrationLog, read_samples
from flex_robot_sim.util.summary import summarized

LOG_DEVIATION_FACTOR = 2.0  # standard deviations of a fitted frequency
MIN_LOG_UNCERTAINTY = 0.05  # relative, of frequencies from a ring-down or a sweep
MIN_SPECTRUM_UNCERTAINTY = 0.1  # relative, of frequencies from a spectrum


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


def recommend_from_log(
    path: str | Path,
    columns: Sequence[str] = (),
    rate: float | None = None,
    *,
    uncertainty: float | None = None,
    allowed_vibration: float = DEFAULT_ALLOWED_M,
    acceleration: float | None = None,
) -> LogRecommendation:
    """
    Return the LogRecommendation of a recording of any format that `read_recording` knows.

    :param columns: names of those to use; rate: of the samples [Hz]. Both as of `read_samples`.
    :param uncertainty: relative error of the frequencies; default: by the recording.
    :param allowed_vibration: distance of the tool from its goal that counts as rest [m].
    :param acceleration: largest one of the tool; default: 1 m/s2.
    """
    log = read_samples(path, columns, rate)
    modes = recorded_modes(log.rate, log.samples)
    notes = [*log.notes, *check_modes(str(path), log, modes)]
    if uncertainty is None:
        uncertainty = uncertainty_of(modes)
    if not modes.resonances:
        return LogRecommendation(log, modes, notes, uncertainty, [], [], 0)
    check_rule(uncertainty, allowed_vibration, acceleration)
    case = mode_case(modes)
    moves = LinearMoves([case], uncertainty, acceleration or DEFAULT_ACCELERATION)
    candidates, best = compare_shapers([case], moves, uncertainty, allowed_vibration)
    return LogRecommendation(log, modes, notes, uncertainty, [case], candidates, best)


def uncertainty_of(modes: RecordedModes) -> float:
    """Relative error of recorded frequencies, from their deviations and the method."""
    by_spectrum = any(resonance.way == 'spectrum' for resonance in modes.resonances)
    deviations = (
        LOG_DEVIATION_FACTOR * resonance.frequency_deviation / resonance.frequency
        for resonance in modes.resonances
    )
    return max([MIN_SPECTRUM_UNCERTAINTY if by_spectrum else MIN_LOG_UNCERTAINTY, *deviations])


def mode_case(modes: RecordedModes) -> ModeCase:
    """Return the ModeCase of recorded modes, slowest first."""
    ordered = sorted(modes.resonances, key=lambda resonance: resonance.frequency)
    frequencies, ratios, sizes = (
        np.array([getattr(resonance, name) for resonance in ordered])
        for name in ('frequency', 'ratio', 'size')
    )
    # static deflection per base acceleration, weighted by the amplitudes in the log
    return ModeCase(frequencies, ratios, sizes / sizes.sum() / (2 * np.pi * frequencies) ** 2)
