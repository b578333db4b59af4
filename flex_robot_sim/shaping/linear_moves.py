"""
Small moves about one pose, by superposition of modes, for a comparison of shapers.

A recording, or a single pose of an arm, gives frequencies, damping ratios and the deflection of
the tool per acceleration. The tool makes moves of a given acceleration. Their durations differ, so
that no duration happens to cancel the vibration of a mode.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from flex_robot_sim.shaping.motion_profiles import peaks, trapezoid
from flex_robot_sim.shaping.move_figures import MoveFigures, summed_figures
from flex_robot_sim.shaping.time_to_rest import modal_vibration, rest_time

PERIODS = 1.5, 1.75, 2.0, 2.25  # durations of the unshaped moves, in periods of the first mode
STEPS_PER_PERIOD = 24  # in the period of the fastest mode
MAX_STEPS = 4000  # of an unshaped move
FREQUENCY_SAMPLES = 9  # of the uncertain range
PEAK_ACCELERATION = 4.5  # of a trapezoid of three equal parts, over distance / duration**2


class ModeCase(NamedTuple):
    """Modes of an arm in one pose with one payload, or of a log."""

    frequencies: np.ndarray  # (m,) natural                                             [Hz]
    ratios: np.ndarray  # (m,)
    sizes: np.ndarray  # (m,) deflection of the tool over its acceleration        [s2]
    name: str = ''
    pose: int = -1  # index of cases with unknown payload; -1: it is known


class LinearMove(NamedTuple):
    """A move of the tool along a line."""

    share: np.ndarray  # (k,) unshaped path parameter
    step: float  # [s]
    tool_travel: float  # [m]


class LinearMoves:
    """Moves with one acceleration, and how the tool comes to rest after them."""

    def __init__(self, cases: Sequence[ModeCase], uncertainty: float, acceleration: float) -> None:
        """
        Choose the moves.

        :param cases: [ModeCase], each of which may be the real one.
        :param uncertainty: relative error of the frequencies.
        :param acceleration: of the tool [m/s2].
        """
        self._cases = [*cases]
        count = FREQUENCY_SAMPLES if uncertainty else 1
        self._factors = 1 + np.linspace(-uncertainty, uncertainty, count)
        slowest = min(float(case.frequencies.min()) for case in cases)
        fastest = max(float(case.frequencies.max()) for case in cases)
        self.moves: list[LinearMove] = []
        for periods in PERIODS:
            duration = periods / slowest
            count = int(min(np.ceil(STEPS_PER_PERIOD * fastest * duration), MAX_STEPS))
            travel = acceleration * duration**2 / PEAK_ACCELERATION
            self.moves.append(LinearMove(trapezoid(count), duration / count, travel))

    def figures(self, path: Callable[[LinearMove], np.ndarray], allowed: float) -> MoveFigures:
        """
        Return the MoveFigures of all moves, with all errors of the frequencies.

        :param path: function from a move to its path parameter (k,), from 0 to 1.
        :param allowed: distance of the tool that counts as rest [m].
        """
        rows = []
        for move in self.moves:
            share = path(move)
            for case in self._cases:
                for factor in self._factors:
                    rows.append(_figures(move, share, case, factor, allowed))
        return summed_figures(rows)


def _figures(move, share, case, factor, allowed):
    frequencies = factor * case.frequencies
    decays = 2 * np.pi * frequencies * case.ratios
    # the excitation of a mode does not depend on its stiffness
    sizes = move.tool_travel * case.sizes * (2 * np.pi * case.frequencies) ** 2
    amplitudes = sizes[:, None] * modal_vibration(share, move.step, frequencies, case.ratios)
    distances = move.tool_travel * np.abs(1 - share) + amplitudes.sum(axis=0)
    left = float(amplitudes[:, -1].sum())
    velocity, acceleration = peaks(share, move.step)
    return MoveFigures(
        left if abs(factor - 1) < 1e-9 else np.nan,
        left,
        rest_time(distances, move.step, allowed, amplitudes[:, -1], decays),
        np.nan,
        move.tool_travel * velocity,
        move.tool_travel * acceleration,
        move.step * (len(share) - len(move.share)),
        left,
    )
