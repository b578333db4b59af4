"""
A step of a calibration: what it asks for, does and measures, and the constants that follow.

A step has rows of raw readings, which grow as it measures and are kept whatever happens; its
constants follow from its rows, from the zero pose and from the steps before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from flex_robot_sim.rig.bench.parts import BenchParts
from flex_robot_sim.rig.calibration.bench import CalibrationBench
from flex_robot_sim.rig.calibration.dialogue import Dialogue, Word

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmModel


class CalibrationContext(NamedTuple):
    """What all steps work with."""

    dialogue: Dialogue
    bench: CalibrationBench
    arm: ArmModel
    parts: BenchParts           # by their data sheets
    readings: dict[str, Any]    # {'zero': (2,) counts, name of a step: its rows}
    found: dict[str, Any]       # {name of a step: its constants}
    keep: Callable[[], object]  # function(): readings have changed


class Step:
    """One step; a subclass says how it measures and what follows."""

    name, is_typed = '', True   # typed: a row is a number that a person has typed
    columns: tuple[str, ...] = ()   # of a row
    line: Callable[..., str]        # method of a subclass: a row for people
    fit: Callable[..., tuple[Any, str]]     # likewise: constants, and a line about them

    def __init__(self, context: CalibrationContext) -> None:
        """Prepare."""
        self.context = context
        self.rows: list[dict[str, Any]] = context.readings.setdefault(self.name, [])

    @property
    def is_complete(self) -> bool:
        """Whether nothing need be measured any more."""
        return bool(self.rows)

    def add(self, **row: Any) -> None:
        """Keep a reading, and show it."""
        self.rows.append(row)
        self.context.keep()
        self.context.dialogue.say(self.shown(len(self.rows)))

    def shown(self, number: int) -> str:
        """Row `number`, from 1, as a line."""
        return f'  {number}: {self.line(**self.rows[number - 1])}'

    def show(self) -> None:
        """Show all readings."""
        for number in range(len(self.rows)):
            self.context.dialogue.say(self.shown(number + 1))

    def number(self, question: str, units: Mapping[str, float]) -> float | None:
        """Return a number that is typed, in SI, or None; readings may be dropped meanwhile."""
        while True:
            try:
                return self.context.dialogue.number(question, units)
            except Word as word:
                if word.word not in ('drop', 'again'):
                    raise
                self.drop(word)

    def drop(self, word: Word) -> None:
        """Throw the readings away that `drop` or `again` means."""
        number = word.number or len(self.rows)
        if word.word == 'again' or not self.is_typed:
            self.rows.clear()
        elif 1 <= number <= len(self.rows):
            self.rows.pop(number - 1)
        else:
            self.context.dialogue.say('  There is no such reading.')
        self.context.keep()
        if not self.rows:
            self.context.dialogue.say('  No reading is left.')
        self.show()

    def column(self, name: str) -> list[Any]:
        """A column of all rows."""
        return [row[name] for row in self.rows]


def with_deviation(value: float, deviation: float) -> str:
    """A value and its standard deviation, to two digits of the latter."""
    if not deviation > 0:
        return f'{value:.6g}'
    decimals = max(0, 1 - math.floor(math.log10(deviation)))
    return f'{value:.{decimals}f} +- {deviation:.{decimals}f}'
