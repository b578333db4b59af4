"""What a recording got of each topic, and what was lost on the way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

MEGA = 1e-6
UNKNOWN = 0xFFFF_FFFF_FFFF_FFFF     # number of a message where the middleware counts none


class Tally:
    """
    Messages of a topic, with the numbers that their sender gave them.

    A number that is left out is a message that got lost. With several senders the numbers mix,
    and nobody can say.
    """

    def __init__(self, name: str, kind: str) -> None:
        """Begin without any."""
        self.name, self.kind, self.count, self.senders = name, kind, 0, 0
        self.first = self.last = 0      # when they came                                     [ns]
        self._lost, self._newest, self._is_counted = 0, 0, False

    def take(self, time: int, number: int | None) -> None:
        """Count a message that came at a time [ns]."""
        self.first = self.first or time
        self.last = max(self.last, time)
        self.count += 1
        if number is None or number == UNKNOWN:
            return
        # a sender that began anew counts from one on
        self._lost += max(number - self._newest - 1, 0) if self._is_counted else 0
        self._newest, self._is_counted = number, True

    def forget_number(self) -> None:
        """Expect any number next: who sends or who listens has changed."""
        self._is_counted = False

    @property
    def lost(self) -> int | None:
        """How many got lost; None where nobody can say."""
        return self._lost if self.senders < 2 else None

    @property
    def rate(self) -> float | None:
        """Messages per second, of three or more."""
        if self.count < 3 or self.last <= self.first:
            return None
        return (self.count - 1) / (self.last - self.first) * 1e9


def summary(path: Path, size: int, seconds: float, tallies: Iterable[Tally],
            notes: Iterable[str] = ()) -> dict[str, Any]:
    """
    Return what a recording holds, as --json prints it.

    :param size: of the file [bytes].
    """
    found = sorted(tallies, key=lambda tally: tally.name)
    return {'file': str(path), 'bytes': size, 'seconds': seconds,
            'messages': sum(tally.count for tally in found),
            'topics': {tally.name: {'type': tally.kind, 'messages': tally.count,
                                    'rate': tally.rate, 'lost': tally.lost} for tally in found},
            'notes': list(notes)}


def as_text(facts: Mapping[str, Any]) -> Iterable[str]:
    """Yield the lines of a summary for people."""
    topics = {name: row for name, row in facts['topics'].items() if row['messages']}
    silent = [name for name, row in facts['topics'].items() if not row['messages']]
    yield (f'{facts["file"]}: {facts["messages"]} messages of {len(topics)} topics in '
           f'{facts["seconds"]:.1f} s, {MEGA * facts["bytes"]:.1f} MB')
    width = max(map(len, topics), default=0)
    for name, row in topics.items():
        rate = f'{row["rate"]:8.1f} Hz' if row['rate'] else ' ' * 11
        lost = f'  {row["lost"]} lost' if row['lost'] else ''
        yield f'  {name:{width}} {row["messages"]:>9}{rate}{lost}'
    if silent:
        yield f'  nothing came on {", ".join(silent)}'
    yield from (f'  note: {line}' for line in facts['notes'])


def status_line(seconds: float, messages: int, topics: int, lost: int, size: int) -> str:
    """Return one line about the present."""
    line = f'{seconds:7.1f} s  {messages} messages of {topics} topics  {MEGA * size:.1f} MB'
    return f'{line}  {lost} lost' if lost else line
