"""
Comparison of input shapers for moves of an arm or of a tool, and a rule that recommends one.

A shaper meets the constraint if the tool vibrates by no more than an allowed distance after the
set points, in every move, with every payload, and with all frequencies off by up to `uncertainty`.
Of these shapers the rule selects the one whose moves come to rest first, in the mean of all moves
and plants. If the unshaped motion meets the constraint, no shaper is needed. If no shaper meets
it, the rule selects among all of them in the same way. Motion profiles of the same duration are
rows of the table for comparison; the rule does not select them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from flex_robot_sim.shaping import impulses
from flex_robot_sim.shaping.allowed_vibration import allowed_distance
from flex_robot_sim.shaping.linear_moves import ModeCase
from flex_robot_sim.shaping.motion_profiles import PROFILES
from flex_robot_sim.shaping.move_figures import MoveFigures
from flex_robot_sim.shaping.online_shaper import OnlineShaper
from flex_robot_sim.shaping.shaped_samples import shaped_samples
from flex_robot_sim.shaping.shaper_stages import StageDesign, scaled_stages, units_of
from flex_robot_sim.shaping.specified_insensitivity import for_modes
from flex_robot_sim.shaping.weighted_insensitivity import WeightedDesigns, WeightedModes
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.summary import summarized

# weighted designs aim at the allowed vibration, and then at less or more until moves leave it,
# and over wider bands, as the modes change during a move
MAX_DESIGNS = 6
EXTRA_UNCERTAINTIES = 0.0, 0.1, 0.2
MAX_UNCERTAINTY = 0.45
AIM = 0.8  # of the next design, over the allowed vibration
NOMINAL_LEFT = 0.02  # of the unshaped vibration, at which designs aim at frequencies without error
MIN_NOMINAL_SHARE = 0.3  # least such aim, over the allowed vibration
MIN_USED_SHARE = 0.75  # of the allowed vibration, at which a design is final
MIN_TARGET = 0.1  # over the allowed vibration
ROUNDING = 1.01  # some shapers use the whole allowance
MIN_FREQUENCY_SPREAD = 1.05  # ratio of frequencies above which delays may follow the pose
FIRST_MODE_KINDS = 'zv', 'zvd', 'ei'
DEFAULT_ALLOWED_M = 5e-4  # distance of the tool that counts as rest


@summarized
class ShaperCandidate(NamedTuple):
    """A shaper or a motion profile, and its figures over all moves."""

    shaper: impulses.Shaper
    figures: MoveFigures | None = None  # None: not measured, see `note`
    meets_constraint: bool = False
    design: StageDesign | None = None  # if delays follow the pose; `shaper` is that of the first
    units: tuple = ()  # of a shaper by pose, as of `shaper_stages.units_of`
    profile: str = ''  # key of PROFILES; '': a shaper
    note: str = ''  # why there are no figures

    @property
    def follows(self) -> bool:
        """Whether its delays follow the pose."""
        return self.design is not None

    @property
    def name(self) -> str:
        """Name of the shaper, with `by pose` if it follows the pose, or of the profile."""
        if self.profile:
            return self.profile
        return f'{self.shaper.name} by pose' if self.follows else self.shaper.name

    @property
    def added_time(self) -> float:
        """Time that it adds to the set points [s]."""
        return self.shaper.duration if self.figures is None else self.figures.added_time


class Moves(Protocol):
    """Moves that compare candidates: ValidationMoves or LinearMoves."""

    def figures(self, path: Callable[[Any], np.ndarray], allowed: float) -> MoveFigures:
        """Return the MoveFigures of a path parameter by move."""


def compare_shapers(
    cases: Sequence[ModeCase],
    moves: Moves,
    uncertainty: float = 0.1,
    allowed_vibration: float | str = DEFAULT_ALLOWED_M,
    fixed: bool = False,
    conditions: Sequence[ModeCase] = (),
) -> tuple[list[ShaperCandidate], int]:
    """
    Return all candidates, the unshaped motion first, and the row of the recommended one.

    :param cases: [ModeCase] of the same number of modes, each of which gets a stage.
    :param moves: by which the candidates are compared.
    :param uncertainty: relative error of the frequencies.
    :param allowed_vibration: distance of the tool that counts as rest [m], or a percentage such
        as '5%' of the mean vibration that the unshaped moves leave.
    :param fixed: whether delays must be constant, for instance if the pose is unknown.
    :param conditions: the same cases with weak modes too, for the weighted designs.
    """
    frequencies = np.array([case.frequencies for case in cases])
    spread = (frequencies.max(axis=0) / frequencies.min(axis=0)).max()  # of one mode
    by_pose = spread > MIN_FREQUENCY_SPREAD and not fixed
    plain = _measured(ShaperCandidate(impulses.NONE), moves, DEFAULT_ALLOWED_M)
    assert plain.figures is not None
    allowed = allowed_distance(allowed_vibration, plain.figures.mean_left)
    if allowed != DEFAULT_ALLOWED_M:  # the time to rest depends on it
        plain = _measured(plain, moves, allowed)
    assert plain.figures is not None
    candidates = [plain]
    for one in _fixed_shapers(cases, is_short=by_pose):
        candidates.append(_measured(one, moves, allowed))
    weak = conditions or cases
    weighted = _weighted(weak, plain.figures.left)
    nominal_share = NOMINAL_LEFT * plain.figures.left / allowed
    designs = partial(
        WeightedDesigns, nominal_share=float(np.clip(nominal_share, MIN_NOMINAL_SHARE, 1.0))
    )
    if by_pose:
        for one in _shapers_by_pose(cases, uncertainty):
            candidates.append(_measured(one, moves, allowed))
        relative = _relative(weak, weighted)
        ratio = float(np.mean([case.ratios[0] for case in weak]))
        candidates += _refined(
            partial(designs, relative),
            lambda unit: _by_pose(unit, ratio),
            moves,
            uncertainty,
            allowed,
        )
    else:
        candidates += _refined(
            partial(designs, weighted), ShaperCandidate, moves, uncertainty, allowed
        )
    best = recommended_row(candidates)
    if candidates[best].added_time > 0.0:
        candidates += _profiles(candidates[best], moves, allowed)
    return candidates, best


def recommended_row(candidates: Sequence[ShaperCandidate]) -> int:
    """Row of the candidate that the rule selects; 0, no shaper, if none is needed or helps."""
    if candidates[0].shaper is impulses.NONE and candidates[0].meets_constraint:
        return 0
    rows = [k for k, one in enumerate(candidates) if not one.profile and one.figures is not None]
    rows = [k for k in rows if candidates[k].meets_constraint] or rows

    def order(k):
        figures = candidates[k].figures
        assert figures is not None
        return figures.rest_time, figures.left

    return min(rows, key=order)


def pareto_front(candidates: Sequence[ShaperCandidate]) -> list[int]:
    """Rows of which no other rests earlier and leaves less."""
    known = {k: one.figures for k, one in enumerate(candidates) if one.figures is not None}
    return [
        k
        for k, one in known.items()
        if not any(
            (other.rest_time, other.left) != (one.rest_time, one.left)
            and other.rest_time <= one.rest_time
            and other.left <= one.left
            for other in known.values()
        )
    ]


def shaped_path(
    candidate: ShaperCandidate, move: Any, allowed: float, added: float = 0.0
) -> np.ndarray:
    """Path parameter (k,) of a move with a candidate; `added`: time of a profile [s]."""
    if candidate.profile:
        margin = allowed / max(move.tool_travel, 1e-300)
        return PROFILES[candidate.profile](move.share, move.step, added, margin)
    samples = move.share[:, None]
    if not candidate.units:
        return shaped_samples(candidate.shaper, samples, move.step)[:, 0]
    stages = scaled_stages(candidate.units, move.tables)
    shaper = OnlineShaper(1, move.step, table=move.tables[0], stages=stages)
    return shaper.run(samples)[:, 0]


def _measured(candidate, moves, allowed, added=0.0):
    """Return the candidate with its figures."""
    try:
        figures = moves.figures(lambda move: shaped_path(candidate, move, allowed, added), allowed)
    except SettingError as error:
        return candidate._replace(note=str(error))
    return candidate._replace(figures=figures, meets_constraint=figures.left <= ROUNDING * allowed)


def _profiles(choice, moves, allowed):
    """Yield motion profiles that take as long as the recommended shaper."""
    for name in PROFILES:
        candidate = ShaperCandidate(impulses.NONE, profile=name)
        yield _measured(candidate, moves, allowed, choice.added_time)


def _fixed_shapers(cases, is_short) -> Iterator[ShaperCandidate]:
    """Yield shapers with constant delays, of the first mode; unless `is_short` of each mode."""
    frequencies = np.array([case.frequencies for case in cases])
    ratios = np.array([case.ratios for case in cases]).mean(axis=0)
    middle = (frequencies.min(axis=0) + frequencies.max(axis=0)) / 2
    modes = list(zip(middle.tolist(), ratios.tolist()))
    kinds = impulses.kinds_for(max(ratios))
    if len(modes) > 1:
        for kind in FIRST_MODE_KINDS:
            if kind in kinds:
                shaper = impulses.of_kind(kind, *modes[0])
                yield ShaperCandidate(shaper.renamed(f'{kind}, first mode'))
    if not is_short:
        for kind in kinds:
            yield ShaperCandidate(for_modes(kind, modes))


def _shapers_by_pose(cases, uncertainty) -> Iterator[ShaperCandidate]:
    """Yield shapers with a stage for each mode, whose delays follow the pose."""
    low, high = _ranges(cases)
    ratios = np.array([case.ratios for case in cases]).mean(axis=0)
    kinds = impulses.kinds_for(max(case.ratios.max() for case in cases))
    for kind in (*kinds, impulses.SI):
        design = StageDesign(kind, impulses.TOLERANCE, uncertainty)
        try:
            units = units_of(kind, low, high, ratios, design.tolerance, uncertainty)
        except SettingError:  # the band is too wide for one shaper
            continue
        name = f'{kind} per mode' if kind == impulses.SI else kind
        yield ShaperCandidate(units[0].renamed(name), design=design, units=tuple(units))


def _weighted(cases, left) -> list[WeightedModes]:
    """Modes with their shares of the vibration that the unshaped moves leave [m]."""
    largest = max(float(case.sizes.sum()) for case in cases)
    return [
        WeightedModes(case.frequencies, case.ratios, left / largest * case.sizes) for case in cases
    ]


def _refined(designs_for, candidate_of, moves, uncertainty, allowed) -> list[ShaperCandidate]:
    """
    Return the first at rest of several weighted designs, measured; [] without any.

    :param designs_for: function from the allowed vibration [m] and the relative error of the
        frequencies to WeightedDesigns.
    :param candidate_of: function from a shaper of such a design to a candidate.
    """
    found: list[ShaperCandidate] = []
    for extra in EXTRA_UNCERTAINTIES:
        if extra > EXTRA_UNCERTAINTIES[1] and any(one.meets_constraint for one in found):
            break
        target = allowed
        designs = designs_for(allowed, min(uncertainty + extra, MAX_UNCERTAINTY))
        for _ in range(MAX_DESIGNS):
            try:
                shaper = designs.shaper(target)
            except SettingError:  # the bands are too wide for one shaper
                break
            if shaper.duration == 0.0 or any(
                one.meets_constraint and one.shaper.duration <= shaper.duration for one in found
            ):
                break
            candidate = _measured(candidate_of(shaper), moves, allowed)
            if candidate.figures is None:
                break
            found.append(candidate)
            used = candidate.figures.left / allowed
            if MIN_USED_SHARE <= used <= 1.0 or used == 0.0:
                break
            target *= float(np.clip(AIM / used, 0.2, 5.0))
            if target < MIN_TARGET * allowed:
                break
    return [found[recommended_row(found)]] if found else []


def _by_pose(unit, ratio):
    """Candidate of a shaper for all modes together, whose delays follow the first mode."""
    unit = replace(unit, modes=((1.0, ratio),))
    return ShaperCandidate(unit, design=StageDesign(impulses.SI, unit=unit), units=(unit,))


def _relative(cases, weighted):
    """Modes with frequencies relative to the first mode of their pose, which the delays follow."""
    low, high = _ranges(cases)
    reference = {
        id(case): np.sqrt(low[k, 0] * high[k, 0])
        for k, group in enumerate(_groups(cases).values())
        for case in group
    }
    return [
        modes._replace(frequencies=modes.frequencies / reference[id(case)])
        for case, modes in zip(cases, weighted)
    ]


def _groups(cases):
    """Cases by pose; those of an unknown payload share one."""
    groups: dict[int, list] = {}
    for k, case in enumerate(cases):
        groups.setdefault(case.pose if case.pose >= 0 else ~k, []).append(case)
    return groups


def _ranges(cases):
    """Lowest and highest frequencies (poses, modes) of each pose [Hz]."""
    groups = [*_groups(cases).values()]
    low, high = (
        np.array([choose([case.frequencies for case in group], axis=0) for group in groups])
        for choose in (np.min, np.max)
    )
    return low, high
