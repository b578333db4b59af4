"""
Shortest shaper for all modes together, each weighted by its share of the vibration of the tool.

The sum of the residual vibration of all modes stays below an allowed distance, in every
condition: pose, payload and error of the frequencies. A weak mode may keep much of its vibration.
With impulse times on a grid, the condition is convex in the amplitudes,

    sum over i of V_i |H(s_i)| <= allowed.                                                  (S16)

Linear programs with cutting planes solve it: each program adds, for violated conditions, the
tangent at its solution. A bisection finds the shortest duration.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from flex_robot_sim.shaping import impulses
from flex_robot_sim.shaping.poles import pole_of
from flex_robot_sim.util.exceptions import SettingError

FREQUENCY_SAMPLES = 9  # of the uncertain range, for a mode no faster than the first
MAX_FREQUENCY_SAMPLES = 25
TIMES_PER_PERIOD = 24  # grid times in a period of the fastest mode that matters
MAX_TIMES = 60  # number of grid times
MAX_PROGRAMS = 30  # linear programs for one duration
MAX_NEW_CUTS = 8  # tangents that one program adds
EXCESS = 0.02  # relative excess of a solution; the programs aim that much lower
MAX_CUTS = 200  # tangents that the program of another duration begins with
FIRST_PERIODS = 0.8  # first duration of a search, in periods of the slowest mode
GROWTH = 1.3  # ratio of durations until one suffices
REFINEMENT = 1.08  # the same from the duration of another aim on
RESOLUTION = 0.02  # relative, of durations
MIN_PERIODS, MAX_PERIODS = 0.01, 6.0  # durations, in periods of the slowest mode
MIN_SHARE = 0.02  # of the allowed distance; weaker modes need no finer grid


class WeightedModes(NamedTuple):
    """Modes in one condition, with the vibration of the tool that the unshaped move leaves."""

    frequencies: np.ndarray  # (m,) natural                                              [Hz]
    ratios: np.ndarray  # (m,) of damping
    amplitudes: np.ndarray  # (m,)                                                        [m]


def weighted_shaper(
    conditions: Sequence[WeightedModes],
    allowed: float,
    uncertainty: float = 0.0,
    name: str = impulses.SI,
    nominal_share: float = 1.0,
) -> impulses.Shaper:
    """
    Return the shortest positive shaper that leaves at most `allowed` in every condition.

    :param conditions: [WeightedModes], in units of time that suit the result.
    :param allowed: sum of the residual vibration of all modes [m].
    :param uncertainty: relative error of all frequencies of a condition.
    :param name: of the Shaper.
    :param nominal_share: of the allowed vibration, at frequencies without error; the limit rises
        linearly with the error.
    """
    designs = WeightedDesigns(conditions, allowed, uncertainty, name, nominal_share)
    return designs.shaper(allowed)


class WeightedDesigns:
    """Shortest shapers for the same modes and several aims; each search starts at the last one."""

    def __init__(
        self,
        conditions: Sequence[WeightedModes],
        allowed: float,
        uncertainty: float = 0.0,
        name: str = impulses.SI,
        nominal_share: float = 1.0,
    ) -> None:
        """Begin without a design; the arguments are those of `weighted_shaper`."""
        self._problem = _Problem(conditions, allowed, uncertainty, nominal_share)
        self._name = name
        middle = conditions[len(conditions) // 2]
        self._modes = tuple(zip(middle.frequencies.tolist(), middle.ratios.tolist()))
        self._duration: float | None = None  # of the last design

    def shaper(self, allowed: float) -> impulses.Shaper:
        """Return the shortest shaper that leaves at most `allowed` [m], near the first aim."""
        problem = self._problem
        if problem.largest(np.zeros(1), np.ones(1)) <= allowed:
            return impulses.Shaper(self._name, np.zeros(1), np.ones(1), self._modes)
        high, factor = self._duration, REFINEMENT
        if high is None:
            high, factor = FIRST_PERIODS / problem.slowest, GROWTH
        if (found := problem.on_grid(high, allowed)) is None:
            while found is None:
                low, high = high, factor * high
                if high > MAX_PERIODS / problem.slowest:
                    raise SettingError(
                        f'no shaper leaves {1e3 * allowed:g} mm of these modes: take a larger '
                        'allowed vibration, a smaller uncertainty or a smaller acceleration'
                    )
                found = problem.on_grid(high, allowed)
        else:
            low = high / factor
            while low * problem.slowest > MIN_PERIODS:
                if (shorter := problem.on_grid(low, allowed)) is None:
                    break
                low, high, found = low / factor, low, shorter
        while high - low > RESOLUTION * high:
            duration = (low + high) / 2
            shorter = problem.on_grid(duration, allowed)
            low, high, found = (
                (low, duration, shorter) if shorter is not None else (duration, high, found)
            )
        self._duration = high
        times, amplitudes = found
        times, amplitudes = problem.fewer_impulses(times, amplitudes, allowed)
        return impulses.merged_impulses(self._name, times, amplitudes, self._modes)


class _Problem:
    """Conditions at many errors of the frequencies, and the tangents found so far."""

    def __init__(self, conditions, allowed, uncertainty, nominal_share):
        self.slowest = min(float(one.frequencies.min()) for one in conditions)
        self._fastest = max(
            float(one.frequencies[one.amplitudes >= MIN_SHARE * allowed].max(initial=self.slowest))
            for one in conditions
        )
        count = FREQUENCY_SAMPLES * self._fastest / self.slowest
        count = int(min(max(count, FREQUENCY_SAMPLES), MAX_FREQUENCY_SAMPLES))
        errors = np.linspace(-uncertainty, uncertainty, count if uncertainty else 1)
        self._poles = np.array(
            [pole_of((1 + e) * one.frequencies, one.ratios) for one in conditions for e in errors]
        )
        # a smaller limit on the vibration is a larger weight
        limits = nominal_share + (1 - nominal_share) * np.abs(errors) / max(uncertainty, 1e-9)
        weights = [one.amplitudes / limit for one in conditions for limit in limits]
        self._weights = np.array(weights)
        self._cuts: list[tuple[int, np.ndarray]] = []  # condition and phases (m,)

    def largest(self, times, amplitudes):
        """Largest residual vibration of all conditions [m]."""
        return float(self._left(self._responses(times, amplitudes)).max())

    def on_grid(self, duration, allowed):
        """Times and amplitudes of a shaper of a duration, or None."""
        from scipy.optimize import linprog  # imported late: slow, rarely needed

        count = int(np.clip(TIMES_PER_PERIOD * duration * self._fastest, 12, MAX_TIMES))
        times = duration * np.linspace(0.0, 1.0, count + 1)
        columns = np.exp(self._poles[:, :, None] * (duration - times))
        cost = times / duration  # among feasible ones, prefer early impulses
        self._cuts = self._cuts[-MAX_CUTS:]
        rows = [self._tangent(columns, *cut) for cut in self._cuts]
        for _ in range(MAX_PROGRAMS):
            solution = linprog(
                cost,
                np.array(rows) if rows else None,
                np.full(len(rows), allowed / (1 + EXCESS)) if rows else None,
                np.ones((1, times.size)),
                [1.0],
                method='highs',
            )
            if solution.status != 0:
                return None
            responses = columns @ solution.x
            left = self._left(responses)
            if left.max() <= allowed:
                return times, solution.x
            for row in np.argsort(-left)[:MAX_NEW_CUTS]:
                if left[row] > allowed / (1 + EXCESS):
                    self._cuts.append((row, np.angle(responses[row])))
                    rows.append(self._tangent(columns, *self._cuts[-1]))
        return None

    def fewer_impulses(self, times, amplitudes, allowed):
        """Merge neighbouring impulses of the grid, if the condition still holds."""
        is_used = amplitudes > 1e-6
        rows = np.cumsum(np.concatenate([[1], np.diff(np.flatnonzero(is_used)) > 1])) - 1
        a, t = amplitudes[is_used], times[is_used]
        sums = np.bincount(rows, a)
        places = np.bincount(rows, a * t) / sums
        places, sums = places - places[0], sums / sums.sum()
        if self.largest(places, sums) <= (1 + EXCESS) * allowed:
            return places, sums
        return t - t[0], a / a.sum()

    def _responses(self, times, amplitudes):
        return np.exp(self._poles[:, :, None] * (times[-1] - times)) @ amplitudes

    def _left(self, responses):
        return (self._weights * np.abs(responses)).sum(axis=1)

    def _tangent(self, columns, row, phases):
        """Linear lower bound (k,) of the residual vibration of a condition."""
        return np.real((self._weights[row] * np.exp(-1j * phases)) @ columns[row])
