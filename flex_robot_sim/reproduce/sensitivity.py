"""
The smallest change of one parameter of a robot that changes a verdict.

A verdict that no parameter changes contains no information about the model. The search scales each
stiffness and mass by increasing factors, up and down, until a verdict changes. Bisection then
finds the smallest change. If an experiment has no forces, the search scales the offsets of its
joints instead. If it compares two of our models, the search changes one of them.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple

from flex_robot_sim.description import read_description
from flex_robot_sim.description.robot_parameters import parameters_of
from flex_robot_sim.reproduce.options import Options, is_varied
from flex_robot_sim.reproduce.paper_comparison import PaperComparison
from flex_robot_sim.util.exceptions import FlexRobotSimError

RELATIVE_CHANGES = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)  # of the parameter
BISECTION_STEPS = 3
VARIED_GROUPS = ('stiffness', 'mass')


class VerdictChange(NamedTuple):
    """The smallest change of a parameter that changes a verdict; printed as JSON."""

    name: str  # of the parameter
    share: float  # relative change
    what: str  # of the Comparison
    before: str
    after: str


def scaled_options(module: ModuleType) -> dict[str, Callable[[float], Options]]:
    """Return {name: function that makes Options with this parameter times a factor}."""
    description = read_description(module.ROBOT)
    known = parameters_of(description)
    if not getattr(module, 'HAS_FORCES', True):
        return {
            name: partial(_options, 'values', name, parameter.value)
            for name, parameter in known.items()
            if parameter.group == 'position' and parameter.value
        }
    field = 'second_model_values' if getattr(module, 'COMPARES_MODELS', False) else 'values'
    return {
        name: partial(_options, field, name, parameter.value)
        for name, parameter in known.items()
        if parameter.group in VARIED_GROUPS
        and parameter.value > 0.0
        and not is_varied(description, module.VARIED, name)
    }


def _options(field, name, value, factor):
    """Return the Options of which one field scales one number."""
    changed: dict[str, Any] = {field: {name: factor * value}}
    return Options(**changed, runs_formulations=False)


def changed_verdicts(
    module: ModuleType, options: Options, before: tuple[PaperComparison, ...]
) -> list[tuple[str, str, str]]:
    """
    Return (what, verdict before, verdict after) of all verdicts that change with `options`.

    A run that fails has no verdicts, and changes none.
    """
    try:
        after = module.run(lambda fraction: None, options).comparisons
    except FlexRobotSimError:
        return []
    return [
        (old.what, old.verdict, new.verdict)
        for old, new in zip(before, after)
        if new.verdict != old.verdict
    ]


def find_smallest_change(
    module: ModuleType,
    progress: Callable[[float], None] = lambda fraction: None,
    seconds: float | None = None,
) -> VerdictChange | None:
    """Return the smallest VerdictChange; None if none of RELATIVE_CHANGES changes a verdict."""
    baseline = Options(seconds, runs_formulations=False)
    before = module.run(lambda fraction: None, baseline).comparisons
    options_by_name = scaled_options(module)

    def verdict_change_at(name, relative_change):
        options = replace(options_by_name[name](1.0 + relative_change), seconds=seconds)
        for what, old, new in changed_verdicts(module, options, before):
            return VerdictChange(name, relative_change, what, old, new)
        return None

    done, total = 0, 2 * len(RELATIVE_CHANGES) * len(options_by_name)
    lower = 0.0
    for magnitude in RELATIVE_CHANGES:
        changes = []
        for name in options_by_name:
            for relative_change in (magnitude, -magnitude):
                done += 1
                progress(done / total)
                change = verdict_change_at(name, relative_change)
                if change is not None:
                    changes.append(change)
        if changes:
            return min(
                (_bisect(change, verdict_change_at, lower) for change in changes),
                key=lambda change: abs(change.share),
            )
        lower = magnitude
    return None


def _bisect(change, verdict_change_at, lower):
    """Return the change after bisection between `lower`, which changes nothing, and `change`."""
    upper, sign = abs(change.share), 1.0 if change.share > 0.0 else -1.0
    for _ in range(BISECTION_STEPS):
        middle = 0.5 * (lower + upper)
        closer_change = verdict_change_at(change.name, sign * middle)
        if closer_change is None:
            lower = middle
        else:
            change, upper = closer_change, middle
    return change


def as_lines(name: str, change: VerdictChange | None) -> Iterator[str]:
    """Yield the lines about a VerdictChange as text for the terminal."""
    if change is None:
        yield f'{name}: no stiffness or mass changes a verdict by up to {RELATIVE_CHANGES[-1]:.0%}'
        return
    yield f'{name}: {change.name} {change.share:+.2%} changes a verdict'
    yield f'  {change.what}: {change.before} -> {change.after}'
