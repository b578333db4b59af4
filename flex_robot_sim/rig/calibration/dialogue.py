"""User dialogue of a calibration: questions, numbers with units, command words."""

import math
from collections.abc import Callable, Mapping
from typing import overload

WORDS = {
    'back': 'to the step before; nothing is lost',
    'more': 'readings for this step, in addition to those that it has',
    'again': 'throw the readings of this step away and take them anew',
    'drop': 'throw the last reading of this step away, or with a number that one',
    'skip': 'leave the DC motor as its data sheet says',
    'quit': 'leave; what was measured is kept, and the same command goes on from there',
    'help': 'print this',
}


class DialogueWord(Exception):
    """The user entered a word of WORDS instead of an answer; `number` may follow `drop`."""

    def __init__(self, word: str, number: int | None = None) -> None:
        super().__init__(word)
        self.word, self.number = word, number


class Dialogue:
    """Questions to the user; each also accepts a word of WORDS."""

    def __init__(self, ask: Callable[[str], str], say: Callable[[str], object]) -> None:
        """Prepare; ask: function(question) -> answer, say: function(line)."""
        self._ask, self.say = ask, say

    def enter(self, question: str) -> None:
        """Wait for Enter."""
        while self.answer(question):
            self.say('  Enter, or a word: ' + ', '.join(WORDS))

    @overload
    def number(self, question: str, units: Mapping[str, float], default: float) -> float: ...

    @overload
    def number(self, question: str, units: Mapping[str, float]) -> float | None: ...

    def number(
        self, question: str, units: Mapping[str, float], default: float | None = None
    ) -> float | None:
        """
        Return the entered number, in SI, or `default` for an empty line.

        :param units: {name: size in SI}; the first is the default unit.
        """
        while True:
            answer = self.answer(question)
            if not answer:
                return default
            value = _number(answer, units)
            if value is not None:
                return value
            self.say(
                f'  "{answer}" is no number. Type one like -12.5, in '
                f'{" or ".join(units)}, or help.'
            )

    def answer(self, question: str) -> str:
        """Return the entered line; raise Word for a word of WORDS."""
        while True:
            line = ' '.join(self._ask(question).split())
            word, _, argument = line.lower().partition(' ')
            if word not in WORDS or argument and not (word == 'drop' and argument.isdecimal()):
                return line
            if word != 'help':
                raise DialogueWord(word, int(argument) if argument else None)
            for name, about in WORDS.items():
                self.say(f'  {name:<8} {about}')


def _number(text, units):
    """Parse a number with a unit, in SI, or return None."""
    size = next(iter(units.values()))
    for name, unit_size in sorted(units.items(), key=lambda item: -len(item[0])):
        if text.endswith(name):
            text, size = text[: -len(name)], unit_size
            break
    try:
        value = float(text.replace(',', '.'))
    except ValueError:
        return None
    return value * size if math.isfinite(value) else None
