"""
Which shaper an arm should have: one line for each, and one recommendation by a rule.

The rule: of all shapers that leave no more than `tolerance` of the vibration, in every case and
with every frequency off by as much as `uncertainty` says, and no more than half of it in any trial
move of the nonlinear arm, take the one that adds the least time. The other half is for all the
moves that were not tried. If none does, take the one that leaves the least, and none if that
leaves no less than no shaper does. Where the frequencies of the cases differ, only shapers whose
delays follow the pose are taken, unless they are to be fixed: the pose changes during a move, too,
and a fixed shaper then leaves more than it does in any of the poses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flex_robot_sim.shaping.impulses import (
    KINDS,
    MOST_DAMPING,
    NONE,
    TOLERANCE,
    Shaper,
    convolved,
    of_kind,
)
from flex_robot_sim.shaping.shaper_stages import for_frequency, units_of
from flex_robot_sim.shaping.specified_insensitivity import Band, for_modes, shortest
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.summary import summarized

if TYPE_CHECKING:       # which need what is here
    from flex_robot_sim.shaping.validation_moves import ValidationMoves

PARTS = 0.4, 0.2            # of the tolerance, to which `si` by pose is designed
TRIED = 0.5                 # likewise, that a trial move may leave
OFF = 9                     # frequencies looked at from the lowest to the highest
VARIES = 1.05               # ratio of frequencies over the cases from which delays may follow
CLOSE = 1.3                 # ratio of frequencies whose bands are one


class Case(NamedTuple):
    """Modes of an arm in one pose with one payload, or of a log."""

    frequencies: np.ndarray     # (m,) natural                                             [Hz]
    ratios: np.ndarray          # (m,)
    sizes: np.ndarray           # (m,) deflection of the tool over its acceleration        [s2]
    name: str = ''
    pose: int = -1              # cases of one pose, whose payload nobody tells; -1: it is told


class Design(NamedTuple):
    """A shaper whose delays follow the pose: arguments of `shaper_stages.stages_of` but tables."""

    kind: str
    tolerance: float
    uncertainty: float = 0.0
    grouped: bool = False


@summarized
class ShaperCandidate(NamedTuple):
    """A shaper, and what it does in all cases."""

    shaper: Shaper
    vibration: float            # left at most, over the unshaped one
    acceleration: float         # of the tool that leaves no more than is allowed        [m/s2]
    added: float                # time, at most                                             [s]
    design: Design | None = None        # of delays that follow the pose, first `shaper`'s
    units: tuple = ()           # of a shaper by pose, as of `shaper_stages.units_of`
    moving: float = np.nan      # left at most by trial moves, or more than that; nan: not tried

    @property
    def follows(self) -> bool:
        """Whether its delays follow the pose."""
        return self.design is not None

    @property
    def name(self) -> str:
        """Name of the shaper, and whether it follows the pose."""
        return f'{self.shaper.name} by pose' if self.follows else self.shaper.name


def choices(cases: Sequence[Case], uncertainty: float = 0.1, tolerance: float = TOLERANCE,
            allowed: float = 5e-4, fixed: bool = False,
            trials: ValidationMoves | None = None) -> tuple[list[ShaperCandidate], int]:
    """
    Return the Choices, without a shaper first, and the row of the recommended one.

    :param cases: [Case] of the same number of modes.
    :param uncertainty: share by which frequencies may be off.
    :param allowed: vibration of the tool that does not matter [m].
    :param fixed: whether delays must stand still, as where nobody knows the pose.
    :param trials: ValidationMoves, which have the last word.
    """
    if not 0.0 <= uncertainty < 0.5:
        raise SettingError(f'uncertainty = {uncertainty!r} of frequencies must be at least 0 and '
                           'below 0.5')
    if not 0.0 < tolerance < 0.5:
        raise SettingError(f'tolerance = {tolerance!r} of vibration must lie between 0 and 0.5')
    if not 0.0 < allowed < np.inf:
        raise SettingError(f'allowed = {allowed!r} m of vibration must be above 0')
    found = [judged(shaper, cases, uncertainty, allowed)
             for shaper in [NONE, *_shapers(cases, uncertainty, tolerance)]]
    if spread(cases) > VARIES and not fixed:
        found += _following(cases, uncertainty, tolerance, allowed)
    if trials is not None:
        found = tried(found, trials, tolerance)
    return found, recommended(found, tolerance)


def recommended(found: Sequence[ShaperCandidate], tolerance: float = TOLERANCE) -> int:
    """Row of the Choice that the rule takes; 0, the arm without a shaper, if none helps."""
    rows = _rows(found)
    good = [k for k in rows if _is_good(found[k], tolerance)]
    moved = [k for k in rows if np.isfinite(found[k].moving)]
    if moved:
        good = [k for k in moved if found[k].moving <= TRIED * tolerance]
    if good:
        return min(good, key=lambda k: found[k].added)
    left = {k: found[k].moving for k in moved} or {k: found[k].vibration for k in rows}
    best = min(left, key=lambda k: left[k])
    return best if left[best] < 1.0 else 0


def keeps(choice: ShaperCandidate, tolerance: float = TOLERANCE) -> bool:
    """Whether a Choice keeps the tolerance in all that was looked at."""
    return _is_good(choice, tolerance) and not choice.moving > tolerance


def tried(found: Sequence[ShaperCandidate], trials: ValidationMoves,
          tolerance: float = TOLERANCE) -> list[ShaperCandidate]:
    """Return the Choices, with what trial moves leave of those that the rule looks at."""
    found = [*found]
    order = sorted((k for k in _rows(found) if _is_good(found[k], tolerance)),
                   key=lambda k: found[k].added)
    limit = TRIED * tolerance
    for k in order:
        found[k] = found[k]._replace(moving=trials.left(found[k], limit))
        if found[k].moving <= limit:
            return found
    # none passes: the one that leaves least is likely a long one
    least = np.inf
    for k in reversed(order):
        found[k] = found[k]._replace(moving=trials.left(found[k], least))
        least = min(least, found[k].moving)
    return found


def _rows(found):
    return [k for k in range(1, len(found)) if found[k].follows] or [*range(1, len(found))]


def _is_good(choice, tolerance):
    # a little more than the tolerance: shapers that use all of it are rounded
    return choice.vibration <= 1.01 * tolerance


def judged(shaper: Shaper, cases: Sequence[Case], uncertainty: float,
           allowed: float) -> ShaperCandidate:
    """Return the ShaperCandidate of a Shaper."""
    left, most = 0.0, 0.0
    for case in cases:
        for off in np.linspace(1 - uncertainty, 1 + uncertainty, OFF):
            each = case.sizes * shaper.vibration(off * case.frequencies, case.ratios)
            left = max(left, float(each.sum() / case.sizes.sum()))
            most = max(most, float(2 * each.sum()))     # a step of it makes twice the deflection
    return ShaperCandidate(shaper, left, allowed / most if most > 0 else np.inf, shaper.duration)


def spread(cases: Sequence[Case]) -> float:
    """Largest ratio of the frequencies of one mode over the cases."""
    table = np.array([case.frequencies for case in cases])
    return float((table.max(axis=0) / table.min(axis=0)).max())


def _following(cases, uncertainty, tolerance, allowed):
    """Yield the Choices of shapers each of which is designed for its pose, as `stages_of` does."""
    poses = {}
    for k, case in enumerate(cases):
        poses.setdefault(case.pose if case.pose >= 0 else ~k, []).append(case)
    groups = [*poses.values()]
    low, high = (np.array([choose([case.frequencies for case in group], axis=0)
                           for group in groups]) for choose in (np.min, np.max))
    middles = np.sqrt(low * high)
    ratios = np.array([case.ratios for case in cases]).mean(axis=0)
    is_light = max(case.ratios.max() for case in cases) <= MOST_DAMPING
    designs = [Design(kind, tolerance) for kind in KINDS if is_light or not kind.startswith('ei')]
    designs += [Design('si', part * tolerance, uncertainty) for part in PARTS]
    for design in designs:
        try:
            units = units_of(design.kind, low, high, ratios, design.tolerance, design.uncertainty)
        except SettingError:        # too wide a band for one shaper
            continue
        name = f'si {100 * design.tolerance:g}%' if design.kind == 'si' else design.kind
        each = [judged(convolved([for_frequency(unit, f) for unit, f in zip(units, middle)], name),
                       group, uncertainty, allowed) for middle, group in zip(middles, groups)]
        yield ShaperCandidate(each[0].shaper, max(one.vibration for one in each),
                     min(one.acceleration for one in each), max(one.added for one in each), design,
                     tuple(units))


def _shapers(cases, uncertainty, tolerance):
    frequencies = np.array([case.frequencies for case in cases])
    ratios = np.array([case.ratios for case in cases]).mean(axis=0)
    low, high = frequencies.min(axis=0), frequencies.max(axis=0)
    modes = list(zip((low + high) / 2, ratios))
    for kind in KINDS:
        if kind.startswith('ei') and max(ratios) > MOST_DAMPING:
            continue
        yield for_modes(kind, modes, tolerance)
    if len(modes) > 1:
        # robust against the slowest, which rings most, and exact for the others
        yield convolved([of_kind('zvd', *modes[0]), for_modes('zv', modes[1:])], 'zvd, zv')
    try:
        yield shortest(_bands(low * (1 - uncertainty), high * (1 + uncertainty), ratios,
                              tolerance), 'si')
    except SettingError:        # too wide a band for one shaper
        return


def _bands(low, high, ratios, tolerance):
    """Bands of all modes; those that overlap or nearly do are one."""
    bands = []
    for k in np.argsort(low):
        if bands and low[k] < max(bands[-1].high, CLOSE * bands[-1].low):
            last = bands.pop()
            bands.append(Band(last.low, max(last.high, high[k]), min(last.ratio, ratios[k]),
                              tolerance))
        else:
            bands.append(Band(float(low[k]), float(high[k]), float(ratios[k]), tolerance))
    return bands
