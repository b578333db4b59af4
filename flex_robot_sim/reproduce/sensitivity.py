"""
The smallest change of one number of a robot that turns a verdict.

A verdict that no number turns says nothing about the model. Each stiffness and mass of the robot
changes by a share that grows, up and down, until a verdict is another one; halving intervals then
finds the smallest share. An arm without forces has the offsets of its joints in their place. Where
two of our models are compared, one of them changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from types import ModuleType
from typing import NamedTuple

from flex_robot_sim.description import read_description
from flex_robot_sim.description.parameters import parameters_of
from flex_robot_sim.reproduce.comparison import Comparison
from flex_robot_sim.reproduce.options import Options, is_varied
from flex_robot_sim.util.exceptions import FlexRobotSimError

SHARES = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)      # of the number
HALVINGS = 3
GROUPS = ('stiffness', 'mass')


class Turn(NamedTuple):
    """The smallest change of a number that turns a verdict."""

    name: str               # of the number
    share: float            # by which it changes
    what: str               # of the Comparison
    before: str
    after: str


def numbers_of(module: ModuleType) -> dict[str, Callable[[float], Options]]:
    """Return {name: Options with that number times a factor} of an experiment."""
    description = read_description(module.ROBOT)
    if not getattr(module, 'HAS_FORCES', True):
        return {f'offset of {joint.name}': partial(_with_offset, joint.name)
                for joint in description.joints if joint.position.any()}
    change = _with_second if getattr(module, 'COMPARES_MODELS', False) else _with_value
    return {name: partial(change, name, one.value)
            for name, one in parameters_of(description).items()
            if one.group in GROUPS and one.value > 0.0
            and not is_varied(description, module.VARIED, name)}


def _with_value(name, value, factor):
    return Options(values={name: factor * value}, formulations=False)


def _with_second(name, value, factor):
    return Options(second={name: factor * value}, formulations=False)


def _with_offset(joint, factor):
    return Options(origins={joint: factor}, formulations=False)


def turned(module: ModuleType, options: Options, before: tuple[Comparison, ...]
           ) -> list[tuple[str, str, str]]:
    """
    Return (what, verdict before, verdict after) of all verdicts that another run turns.

    A run that the arm does not survive has no verdicts, and turns none.
    """
    try:
        after = module.run(lambda share: None, options).comparisons
    except FlexRobotSimError:
        return []
    return [(old.what, old.verdict, new.verdict) for old, new in zip(before, after)
            if new.verdict != old.verdict]


def smallest_turn(module: ModuleType, progress: Callable[[float], None] = lambda share: None,
                  seconds: float | None = None) -> Turn | None:
    """Return the smallest Turn of an experiment, or None if none of SHARES turns a verdict."""
    usual = Options(seconds, formulations=False)
    before, numbers = module.run(lambda share: None, usual).comparisons, numbers_of(module)

    def turn_by(name, share):
        options = replace(numbers[name](1.0 + share), seconds=seconds)
        for what, old, new in turned(module, options, before):
            return Turn(name, share, what, old, new)
        return None

    done, total = 0, 2 * len(SHARES) * len(numbers)
    lower = 0.0
    for size in SHARES:
        found = []
        for name in numbers:
            for share in (size, -size):
                done += 1
                progress(done / total)
                turn = turn_by(name, share)
                if turn is not None:
                    found.append(turn)
        if found:
            return min((_refined(turn, turn_by, lower) for turn in found),
                       key=lambda turn: abs(turn.share))
        lower = size
    return None


def _refined(turn, turn_by, lower):
    """Halve the interval from a share that turns nothing to one that does."""
    upper, sign = abs(turn.share), 1.0 if turn.share > 0.0 else -1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (lower + upper)
        smaller = turn_by(turn.name, sign * middle)
        if smaller is None:
            lower = middle
        else:
            turn, upper = smaller, middle
    return turn


def as_lines(name: str, turn: Turn | None) -> Iterator[str]:
    """Return the lines about a Turn for people."""
    if turn is None:
        yield f'{name}: no stiffness or mass turns a verdict by up to {SHARES[-1]:.0%}'
        return
    yield f'{name}: {turn.name} {turn.share:+.2%} turns a verdict'
    yield f'  {turn.what}: {turn.before} -> {turn.after}'
