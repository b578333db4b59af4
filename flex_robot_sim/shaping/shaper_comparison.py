"""
Comparison of input shapers for an arm, and a rule that recommends one.

The rule selects the shaper that adds the least time, among those that meet two conditions. In
every case, with all frequencies off by up to `uncertainty`, the residual vibration is at most
`tolerance`. In every trial move of the nonlinear arm it is at most half of that, as a margin for
other moves. If no shaper meets both, the rule selects the one with the least vibration; if that is
no better than the unshaped motion, no shaper. If the frequencies differ between the cases, the
rule only selects shapers whose delays follow the pose, unless fixed ones are required. The pose
also changes during a move, where a fixed shaper leaves more than in any single pose.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from flex_robot_sim.model.arguments import number_or_nan
from flex_robot_sim.shaping import impulses
from flex_robot_sim.shaping.shaper_stages import for_frequency, units_of
from flex_robot_sim.shaping.specified_insensitivity import Band, for_modes, si
from flex_robot_sim.util.exceptions import SettingError, shortened
from flex_robot_sim.util.summary import summarized

SI_TOLERANCE_SHARES = 0.4, 0.2  # design tolerances of `si` by pose, over the tolerance
MAX_MOVE_SHARE = 0.5  # residual vibration of a trial move, over the tolerance
FREQUENCY_SAMPLES = 9  # number of sampled frequencies in the uncertain range
MIN_FREQUENCY_SPREAD = 1.05  # ratio of frequencies above which delays may follow the pose
MERGED_BAND_RATIO = 1.3  # ratio of frequencies below which bands are merged


class ModeCase(NamedTuple):
    """Modes of an arm in one pose with one payload, or of a log."""

    frequencies: np.ndarray  # (m,) natural                                             [Hz]
    ratios: np.ndarray  # (m,)
    sizes: np.ndarray  # (m,) deflection of the tool over its acceleration        [s2]
    name: str = ''
    pose: int = -1  # index of cases with unknown payload; -1: it is known


class StageDesign(NamedTuple):
    """A shaper whose delays follow the pose: arguments of `shaper_stages.stages_of` but tables."""

    kind: str
    tolerance: float
    uncertainty: float = 0.0
    grouped: bool = False


@summarized
class ShaperCandidate(NamedTuple):
    """A shaper, and its worst results over all cases."""

    shaper: impulses.Shaper
    vibration: float  # largest residual vibration, over the unshaped one
    acceleration: float  # of the tool at the allowed vibration                   [m/s2]
    added_time: float  # maximum                                             [s]
    design: StageDesign | None = None  # if delays follow the pose; `shaper` is that of the first
    units: tuple = ()  # of a shaper by pose, as of `shaper_stages.units_of`
    move_vibration: float = np.nan  # largest one in trial moves (lower bound); nan: not tried

    @property
    def follows(self) -> bool:
        """Whether its delays follow the pose."""
        return self.design is not None

    @property
    def name(self) -> str:
        """Name of the shaper, with `by pose` if it follows the pose."""
        return f'{self.shaper.name} by pose' if self.follows else self.shaper.name


def compare_shapers(
    cases: Sequence[ModeCase],
    uncertainty: float = 0.1,
    tolerance: float = impulses.TOLERANCE,
    allowed_vibration: float = 5e-4,
    fixed: bool = False,
    trial: Callable[[ShaperCandidate, float], float] | None = None,
) -> tuple[list[ShaperCandidate], int]:
    """
    Return all candidates, the unshaped motion first, and the row of the recommended one.

    :param cases: [ModeCase] of the same number of modes.
    :param uncertainty: relative error of the frequencies.
    :param allowed_vibration: negligible vibration of the tool [m].
    :param fixed: whether delays must be constant, for instance if the pose is unknown.
    :param trial: residual vibration of a candidate in moves of the nonlinear arm, which decides;
        as of `ValidationMoves.residual_vibration`.
    """
    if not 0.0 <= number_or_nan(uncertainty) < 0.5:
        raise SettingError(
            f'uncertainty = {shortened(repr(uncertainty), 60)} of frequencies must be at least '
            '0 and below 0.5'
        )
    if not 0.0 < number_or_nan(tolerance) < 0.5:
        raise SettingError(
            f'tolerance = {shortened(repr(tolerance), 60)} of vibration must lie between 0 and 0.5'
        )
    if not 0.0 < number_or_nan(allowed_vibration) < np.inf:
        raise SettingError(
            f'allowed_vibration = {shortened(repr(allowed_vibration), 60)} must be > 0 and '
            'finite [m]'
        )
    candidates = [
        evaluate_shaper(shaper, cases, uncertainty, allowed_vibration)
        for shaper in [impulses.NONE, *_fixed_shapers(cases, uncertainty, tolerance)]
    ]
    frequencies = np.array([case.frequencies for case in cases])
    spread = (frequencies.max(axis=0) / frequencies.min(axis=0)).max()  # of one mode
    if spread > MIN_FREQUENCY_SPREAD and not fixed:
        candidates += _candidates_by_pose(cases, uncertainty, tolerance, allowed_vibration)
    if trial is not None:
        candidates = try_moves(candidates, trial, tolerance)
    return candidates, recommended_row(candidates, tolerance)


def recommended_row(
    candidates: Sequence[ShaperCandidate], tolerance: float = impulses.TOLERANCE
) -> int:
    """Row of the candidate that the rule selects; 0, no shaper, if none helps."""
    rows = _rows(candidates)
    acceptable = [k for k in rows if _is_acceptable(candidates[k], tolerance)]
    tried = [k for k in rows if np.isfinite(candidates[k].move_vibration)]
    if tried:
        acceptable = [
            k for k in tried if candidates[k].move_vibration <= MAX_MOVE_SHARE * tolerance
        ]
    if acceptable:
        return min(acceptable, key=lambda k: candidates[k].added_time)
    vibration = {k: candidates[k].move_vibration for k in tried} or {
        k: candidates[k].vibration for k in rows
    }
    best = min(vibration, key=lambda k: vibration[k])
    return best if vibration[best] < 1.0 else 0


def meets_tolerance(candidate: ShaperCandidate, tolerance: float = impulses.TOLERANCE) -> bool:
    """Whether a candidate meets the tolerance in all cases and moves."""
    return _is_acceptable(candidate, tolerance) and not candidate.move_vibration > tolerance


def try_moves(
    candidates: Sequence[ShaperCandidate],
    trial: Callable[[ShaperCandidate, float], float],
    tolerance: float = impulses.TOLERANCE,
) -> list[ShaperCandidate]:
    """Return the candidates, with the vibration in trial moves of those the rule considers."""
    candidates = [*candidates]
    order = sorted(
        (k for k in _rows(candidates) if _is_acceptable(candidates[k], tolerance)),
        key=lambda k: candidates[k].added_time,
    )
    limit = MAX_MOVE_SHARE * tolerance
    for k in order:
        candidates[k] = candidates[k]._replace(move_vibration=trial(candidates[k], limit))
        if candidates[k].move_vibration <= limit:
            return candidates
    # none passes: the one with the least vibration is probably a long one
    lowest = np.inf
    for k in reversed(order):
        candidates[k] = candidates[k]._replace(move_vibration=trial(candidates[k], lowest))
        lowest = min(lowest, candidates[k].move_vibration)
    return candidates


def _rows(candidates):
    return [k for k in range(1, len(candidates)) if candidates[k].follows] or [
        *range(1, len(candidates))
    ]


def _is_acceptable(candidate, tolerance):
    # a margin for rounding: some shapers use the whole tolerance
    return candidate.vibration <= 1.01 * tolerance


def evaluate_shaper(
    shaper: impulses.Shaper,
    cases: Sequence[ModeCase],
    uncertainty: float,
    allowed_vibration: float,
) -> ShaperCandidate:
    """Return the ShaperCandidate of a Shaper."""
    vibration, response = 0.0, 0.0
    for case in cases:
        for factor in np.linspace(1 - uncertainty, 1 + uncertainty, FREQUENCY_SAMPLES):
            mode_vibration = case.sizes * shaper.vibration(factor * case.frequencies, case.ratios)
            vibration = max(vibration, float(mode_vibration.sum() / case.sizes.sum()))
            # a step of acceleration doubles the deflection
            response = max(response, float(2 * mode_vibration.sum()))
    return ShaperCandidate(
        shaper,
        vibration,
        allowed_vibration / response if response > 0 else np.inf,
        shaper.duration,
    )


def _candidates_by_pose(cases, uncertainty, tolerance, allowed_vibration):
    """Yield candidates whose delays follow the pose, as `stages_of` makes them."""
    poses: dict[int, list] = {}
    for k, case in enumerate(cases):
        poses.setdefault(case.pose if case.pose >= 0 else ~k, []).append(case)
    groups = [*poses.values()]
    low, high = (
        np.array([choose([case.frequencies for case in group], axis=0) for group in groups])
        for choose in (np.min, np.max)
    )
    middles = np.sqrt(low * high)
    ratios = np.array([case.ratios for case in cases]).mean(axis=0)
    designs = [
        StageDesign(kind, tolerance)
        for kind in impulses.kinds_for(max(case.ratios.max() for case in cases))
    ]
    designs += [
        StageDesign(impulses.SI, part * tolerance, uncertainty) for part in SI_TOLERANCE_SHARES
    ]
    for design in designs:
        try:
            units = units_of(design.kind, low, high, ratios, design.tolerance, design.uncertainty)
        except SettingError:  # the band is too wide for one shaper
            continue
        name = design.kind
        if name == impulses.SI:
            name = f'{name} {100 * design.tolerance:g}%'
        candidates = [
            evaluate_shaper(
                impulses.convolved(
                    [for_frequency(unit, f) for unit, f in zip(units, middle)], name
                ),
                group,
                uncertainty,
                allowed_vibration,
            )
            for middle, group in zip(middles, groups)
        ]
        yield ShaperCandidate(
            candidates[0].shaper,
            max(candidate.vibration for candidate in candidates),
            min(candidate.acceleration for candidate in candidates),
            max(candidate.added_time for candidate in candidates),
            design,
            tuple(units),
        )


def _fixed_shapers(cases, uncertainty, tolerance):
    frequencies = np.array([case.frequencies for case in cases])
    ratios = np.array([case.ratios for case in cases]).mean(axis=0)
    low, high = frequencies.min(axis=0), frequencies.max(axis=0)
    modes = list(zip((low + high) / 2, ratios))
    for kind in impulses.kinds_for(max(ratios)):
        yield for_modes(kind, modes, tolerance)
    if len(modes) > 1:
        # robust for the slowest mode, the largest one; exact for all others
        robust = impulses.of_kind('zvd', *modes[0])
        yield impulses.convolved([robust, for_modes('zv', modes[1:])], 'zvd, zv')
    try:
        yield si(_bands(low * (1 - uncertainty), high * (1 + uncertainty), ratios, tolerance))
    except SettingError:  # the band is too wide for one shaper
        return


def _bands(low, high, ratios, tolerance):
    """Bands of all modes; overlapping or close ones are merged."""
    bands: list[Band] = []
    for k in np.argsort(low):
        if bands and low[k] < max(bands[-1].high, MERGED_BAND_RATIO * bands[-1].low):
            last = bands.pop()
            bands.append(
                Band(last.low, max(last.high, high[k]), min(last.ratio, ratios[k]), tolerance)
            )
        else:
            bands.append(Band(float(low[k]), float(high[k]), float(ratios[k]), tolerance))
    return bands
