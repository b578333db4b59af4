"""Messages of a topic as a table: a row each, a column per number or text in them."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from flex_robot_sim.recording.cdr import MessageError, decode
from flex_robot_sim.recording.definitions import DefinitionError, message_type
from flex_robot_sim.recording.mcap_file import ENCODING, SCHEMA, Recorded, Topic
from flex_robot_sim.util.exceptions import UsageError

MOST_COLUMNS = 1000
MAX_EMPTY_CELLS = 1_000_000     # of a table, over the bytes of its messages
LABELS = 'name', 'joint_names', 'key'       # texts that say what stands beside them
SECOND = 1e-9


class Table(NamedTuple):
    """The messages of a topic."""

    topic: Topic
    time: np.ndarray                        # since the recording began, (rows,)            [s]
    columns: dict[str, np.ndarray]          # numbers, or texts as objects, (rows,)


class Tables(NamedTuple):
    """A recording as tables."""

    tables: list[Table]                     # by the names of their topics
    notes: list[str]                        # lines about what is not in them


def read_tables(messages: Iterable[Recorded], topics: Sequence[str] = ()) -> Tables:
    """
    Return the Tables of the messages of a recording.

    :param topics: those that are wanted; none: all. UsageError if one is not there.
    """
    wanted = {topic.strip('/') for topic in topics}
    growing: dict[Topic, _Growing] = {}
    begin = None
    for topic, time, data in messages:
        begin = time if begin is None else min(begin, time)
        if wanted and topic.name.strip('/') not in wanted:
            continue
        if topic not in growing:
            growing[topic] = _Growing(topic)
        growing[topic].add(time, data)
    missing = wanted - {topic.name.strip('/') for topic in growing}
    if missing:
        raise UsageError(f'there is no topic {sorted(missing)[0]} in the recording')
    parts = sorted(growing.values(), key=lambda part: part.topic.name)
    return Tables([part.table(begin or 0) for part in parts if part.time],
                  [note for part in parts for note in part.notes()])


class _Growing:
    """A table that grows row by row."""

    def __init__(self, topic: Topic) -> None:
        self.topic, self.time = topic, array('q')
        self._columns: dict[str, Any] = {}
        self._refused, self._problem, self._type = 0, '', None
        self._bytes, self._cells = 0, 0
        try:
            if (topic.encoding, topic.schema) != (ENCODING, SCHEMA):
                raise DefinitionError(f'its messages are {topic.encoding or "of no encoding"} '
                                      f'with {topic.schema or "no"} definitions')
            self._type = message_type(topic.kind, topic.text)
        except DefinitionError as error:
            self._problem = str(error)

    def add(self, time, data):
        if self._problem:
            return
        try:
            row = _row(decode(self._type, data))
        except MessageError:
            self._refused += 1
            return
        columns = self._columns
        names = columns.keys() | row.keys()
        self._bytes += len(data)
        self._cells += len(names)
        if len(names) > MOST_COLUMNS:
            self._give_up(f'a row would have more than {MOST_COLUMNS} columns')
            return
        if self._cells > self._bytes + MAX_EMPTY_CELLS:
            self._give_up('its rows have too few of its columns')
            return
        if any(isinstance(columns.get(name, value), (list, str)) != isinstance(value, str)
               for name, value in row.items()):
            self._refused += 1      # a label that makes a text of what was a number
            return
        rows = len(self.time)
        for name, value in row.items():
            if name not in columns:
                columns[name] = ([''] * rows if isinstance(value, str) else
                                 array('d', [math.nan]) * rows)
        for name, column in columns.items():
            is_text = isinstance(column, list)
            column.append(row.get(name, '' if is_text else math.nan))
        self.time.append(time)

    def _give_up(self, problem):
        self._problem, self._columns, self.time = problem, {}, array('q')

    def table(self, begin):
        order = np.argsort(self.time, kind='stable')
        time = (np.array(self.time, np.int64)[order] - begin) * SECOND
        # texts stay texts: as an array of letters each would take as much room as the longest
        return Table(self.topic, time, {
            name: np.array(column, object if isinstance(column, list) else float)[order]
            for name, column in self._columns.items()})

    def notes(self):
        if self._problem:
            yield f'{self.topic.name} is left out: {self._problem}'
        if self._refused:
            yield (f'{self._refused} messages of {self.topic.name} are left out: they are no '
                   f'{self.topic.kind}')


def _row(message: dict[str, Any]) -> dict[str, Any]:
    """{column: value} of a message; no more than one column over what a table may have."""
    return dict(islice(_cells('', message), MOST_COLUMNS + 1))


def _cells(place: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield (column, value) of what stands at a place of a message."""
    if isinstance(value, dict):
        if value.keys() == {'sec', 'nanosec'}:
            yield place, value['sec'] + value['nanosec'] * SECOND
            return
        labels = next((name for name in LABELS if _are_labels(value.get(name))), None)
        for name, part in value.items():
            if name == labels:
                continue
            inner = name if not place or place == 'header' else f'{place}/{name}'
            if labels and not isinstance(part, (str, dict)) and np.ndim(part) == 1 and (
                    len(part) == len(value[labels])):
                for label, item in zip(value[labels], part):
                    yield from _cells(f'{inner}/{label}', item)
            else:
                yield from _cells(inner, part)
    elif isinstance(value, (list, np.ndarray)):
        for label, item in _labelled(value):
            yield from _cells(f'{place}/{label}', item)
    else:
        yield place, value if isinstance(value, str) else float(value)


def _are_labels(value):
    """Whether these are texts, each once."""
    return (isinstance(value, list) and all(isinstance(item, str) for item in value)
            and len(set(value)) == len(value) > 0)


def _labelled(items):
    """Yield (label, item): by the name or key of an item where each has one, or by its number."""
    key = next((name for name in LABELS if all(
        isinstance(item, dict) and isinstance(item.get(name), str) for item in items)), None)
    names = [item[key] for item in items] if key else []
    if not names or len(set(names)) < len(names):
        yield from enumerate(items)
        return
    for name, item in zip(names, items):
        rest = {word: part for word, part in item.items() if word != key}
        yield name, next(iter(rest.values())) if len(rest) == 1 else rest
