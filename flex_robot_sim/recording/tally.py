"""Counts of received and lost messages per topic of a recording."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

MEGABYTES_PER_BYTE = 1e-6
UNKNOWN_SEQUENCE_NUMBER = 0xFFFF_FFFF_FFFF_FFFF  # of middlewares without numbering


class Tally:
    """
    Message counts of a topic, from the sequence numbers of its sender.

    A gap in the sequence is a lost message. With several senders the sequences mix, and the number
    of lost messages is unknown.
    """

    def __init__(self, name: str, kind: str) -> None:
        self.name, self.kind, self.count, self.senders = name, kind, 0, 0
        self.first = self.last = 0  # times of arrival                                   [ns]
        self._lost, self._newest, self._is_counted = 0, 0, False

    def take(self, time: int, sequence_number: int | None) -> None:
        """Count a message that arrived at `time` [ns]."""
        self.first = self.first or time
        self.last = max(self.last, time)
        self.count += 1
        if sequence_number is None or sequence_number == UNKNOWN_SEQUENCE_NUMBER:
            return
        # a restarted sender counts from one
        self._lost += max(sequence_number - self._newest - 1, 0) if self._is_counted else 0
        self._newest, self._is_counted = sequence_number, True

    def reset_sequence(self) -> None:
        """Accept any sequence number next, because a publisher or subscriber has changed."""
        self._is_counted = False

    @property
    def lost(self) -> int | None:
        """Number of lost messages; None if unknown."""
        return self._lost if self.senders < 2 else None

    @property
    def rate(self) -> float | None:
        """Mean rate [Hz]; None for fewer than three messages."""
        if self.count < 3 or self.last <= self.first:
            return None
        return (self.count - 1) / (self.last - self.first) * 1e9


def summary(
    path: Path, size: int, seconds: float, tallies: Iterable[Tally], notes: Iterable[str] = ()
) -> dict[str, Any]:
    """Return the contents of a recording as --json prints them; size of its file [bytes]."""
    sorted_tallies = sorted(tallies, key=lambda tally: tally.name)
    return {
        'file': str(path),
        'bytes': size,
        'seconds': seconds,
        'messages': sum(tally.count for tally in sorted_tallies),
        'topics': {
            tally.name: {
                'type': tally.kind,
                'messages': tally.count,
                'rate': tally.rate,
                'lost': tally.lost,
            }
            for tally in sorted_tallies
        },
        'notes': list(notes),
    }


def as_text(facts: Mapping[str, Any]) -> Iterable[str]:
    """Yield the lines of a summary as text."""
    topics = {name: row for name, row in facts['topics'].items() if row['messages']}
    silent_topics = [name for name, row in facts['topics'].items() if not row['messages']]
    yield (
        f'{facts["file"]}: {facts["messages"]} messages of {len(topics)} topics in '
        f'{facts["seconds"]:.1f} s, {MEGABYTES_PER_BYTE * facts["bytes"]:.1f} MB'
    )
    width = max(map(len, topics), default=0)
    for name, row in topics.items():
        rate = f'{row["rate"]:8.1f} Hz' if row['rate'] else ' ' * 11
        lost = f'  {row["lost"]} lost' if row['lost'] else ''
        yield f'  {name:{width}} {row["messages"]:>9}{rate}{lost}'
    if silent_topics:
        yield f'  nothing came on {", ".join(silent_topics)}'
    yield from (f'  note: {line}' for line in facts['notes'])


def status_line(seconds: float, messages: int, topics: int, lost: int, size: int) -> str:
    """Return one line about the progress of a recording."""
    line = (
        f'{seconds:7.1f} s  {messages} messages of {topics} topics  '
        f'{MEGABYTES_PER_BYTE * size:.1f} MB'
    )
    return f'{line}  {lost} lost' if lost else line
