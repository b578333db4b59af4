"""
Base class of the calibration steps: instructions, measurement, and fit of the constants.

A step collects rows of raw readings, which survive errors. Its constants follow from its rows, the
zero pose and the results of the steps before.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.rig.bench.parts import BenchParts
from flex_robot_sim.rig.calibration.calibration_bench import CalibrationBench
from flex_robot_sim.rig.calibration.dialogue import Dialogue, DialogueWord


class CalibrationContext(NamedTuple):
    """Shared objects of all steps."""

    dialogue: Dialogue
    bench: CalibrationBench
    arm: ArmModel
    parts: BenchParts  # from data sheets
    readings: dict[str, Any]  # {'zero': (2,) counts, name of a step: its rows}
    results: dict[str, Any]  # {name of a step: its constants}
    keep: Callable[[], object]  # called after readings have changed


class Step:
    """One step; subclasses define measurement and fit."""

    name, is_typed = '', True  # is_typed: the user enters a number for each row
    columns: tuple[str, ...] = ()  # of a row
    line: Callable[..., str]  # method of a subclass: text of a row
    fit: Callable[..., tuple[Any, str]]  # method of a subclass: constants, and a line

    def __init__(self, context: CalibrationContext) -> None:
        """Prepare."""
        self.context = context
        self.rows: list[dict[str, Any]] = context.readings.setdefault(self.name, [])

    @property
    def is_complete(self) -> bool:
        """Whether the step has enough readings."""
        return bool(self.rows)

    def add(self, **row: Any) -> None:
        """Store a reading, and print it."""
        self.rows.append(row)
        self.context.keep()
        self.context.dialogue.say(self.format_row(len(self.rows)))

    def format_row(self, number: int) -> str:
        """Row `number`, from 1, as a line."""
        return f'  {number}: {self.line(**self.rows[number - 1])}'

    def show(self) -> None:
        """Print all readings."""
        for number in range(len(self.rows)):
            self.context.dialogue.say(self.format_row(number + 1))

    def number(self, question: str, units: Mapping[str, float]) -> float | None:
        """Return an entered number, in SI, or None; the user may drop readings meanwhile."""
        while True:
            try:
                return self.context.dialogue.number(question, units)
            except DialogueWord as word:
                if word.word not in ('drop', 'again'):
                    raise
                self.drop(word)

    def drop(self, word: DialogueWord) -> None:
        """Remove one reading (`drop`) or all of them (`again`)."""
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
        """Return a column of all rows."""
        return [row[name] for row in self.rows]


def with_deviation(value: float, deviation: float) -> str:
    """Format a value and its standard deviation, to two digits of the latter."""
    if not deviation > 0:
        return f'{value:.6g}'
    decimals = max(0, 1 - math.floor(math.log10(deviation)))
    return f'{value:.{decimals}f} +- {deviation:.{decimals}f}'
