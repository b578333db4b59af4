"""Tables of recorded messages: one row per message, one column per number or text."""

import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from flex_robot_sim.recording.mcap_file import ENCODING, SCHEMA, RecordedMessage, RecordedTopic
from flex_robot_sim.ros.cdr import MessageError, decode
from flex_robot_sim.ros.definitions import DefinitionError, message_type
from flex_robot_sim.util.exceptions import UsageError

MAX_COLUMNS = 1000
MAX_EMPTY_CELLS = 1_000_000  # of a table, in excess of the bytes of its messages
LABEL_FIELDS = 'name', 'joint_names', 'key'  # texts that label the items of other fields
SECONDS_PER_NANOSECOND = 1e-9


class Table(NamedTuple):
    """The messages of a topic."""

    topic: RecordedTopic
    time: np.ndarray  # since the recording began, (rows,)            [s]
    columns: dict[str, np.ndarray]  # numbers, or texts as objects, (rows,)


class Tables(NamedTuple):
    """A recording as tables."""

    tables: list[Table]  # sorted by topic name
    notes: list[str]  # lines about omitted messages


def read_tables(messages: Iterable[RecordedMessage], topics: Sequence[str] = ()) -> Tables:
    """Return the Tables of `topics`, or of all; UsageError if a topic is missing."""
    wanted = {topic.strip('/') for topic in topics}
    builders: dict[RecordedTopic, _TableBuilder] = {}
    begin = None
    for topic, time, data in messages:
        begin = time if begin is None else min(begin, time)
        if wanted and topic.name.strip('/') not in wanted:
            continue
        if topic not in builders:
            builders[topic] = _TableBuilder(topic)
        builders[topic].add(time, data)
    missing = wanted - {topic.name.strip('/') for topic in builders}
    if missing:
        raise UsageError(f'there is no topic {min(missing)} in the recording')
    parts = sorted(builders.values(), key=lambda part: part.topic.name)
    return Tables(
        [part.table(begin or 0) for part in parts if part.time],
        [note for part in parts for note in part.notes()],
    )


class _TableBuilder:
    """Builds the table of a topic row by row."""

    def __init__(self, topic: RecordedTopic) -> None:
        self.topic, self.time = topic, array('q')
        self._columns: dict[str, Any] = {}
        self._refused_messages, self._problem = 0, ''
        self._bytes, self._cells = 0, 0
        try:
            if (topic.encoding, topic.schema) != (ENCODING, SCHEMA):
                raise DefinitionError(
                    f'its messages are {topic.encoding or "of no encoding"} '
                    f'with {topic.schema or "no"} definitions'
                )
            self._type = message_type(topic.kind, topic.text)
        except DefinitionError as error:
            self._problem = str(error)

    def add(self, time, data):
        if self._problem:
            return
        try:
            row = _row(decode(self._type, data))
        except MessageError:
            self._refused_messages += 1
            return
        columns = self._columns
        names = columns.keys() | row.keys()
        self._bytes += len(data)
        self._cells += len(names)
        if len(names) > MAX_COLUMNS:
            self._reject(f'a row would have more than {MAX_COLUMNS} columns')
            return
        if self._cells > self._bytes + MAX_EMPTY_CELLS:
            self._reject('its rows have too few of its columns')
            return
        if any(
            isinstance(columns.get(name, value), (list, str)) != isinstance(value, str)
            for name, value in row.items()
        ):
            self._refused_messages += 1  # a column must not change between numbers and texts
            return
        rows = len(self.time)
        for name, value in row.items():
            if name not in columns:
                columns[name] = (
                    [''] * rows if isinstance(value, str) else array('d', [math.nan]) * rows
                )
        for name, column in columns.items():
            is_text = isinstance(column, list)
            column.append(row.get(name, '' if is_text else math.nan))
        self.time.append(time)

    def _reject(self, problem):
        self._problem, self._columns, self.time = problem, {}, array('q')

    def table(self, begin):
        order = np.argsort(self.time, kind='stable')
        time = (np.array(self.time, np.int64)[order] - begin) * SECONDS_PER_NANOSECOND
        # texts stay objects: in a NumPy text array each takes the size of the longest
        return Table(
            self.topic,
            time,
            {
                name: np.array(column, object if isinstance(column, list) else float)[order]
                for name, column in self._columns.items()
            },
        )

    def notes(self):
        if self._problem:
            yield f'{self.topic.name} is left out: {self._problem}'
        if self._refused_messages:
            yield (
                f'{self._refused_messages} messages of {self.topic.name} are left out: they '
                f'are no {self.topic.kind}'
            )


def _row(message: dict[str, Any]) -> dict[str, Any]:
    """Return {column: value} of a message, limited to MAX_COLUMNS + 1 columns."""
    return dict(islice(_cells('', message), MAX_COLUMNS + 1))


def _cells(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield (column, value) of the value at a path in a message."""
    if isinstance(value, dict):
        if value.keys() == {'sec', 'nanosec'}:
            yield path, value['sec'] + value['nanosec'] * SECONDS_PER_NANOSECOND
            return
        labels = next((name for name in LABEL_FIELDS if _are_labels(value.get(name))), None)
        for name, part in value.items():
            if name == labels:
                continue
            inner = name if not path or path == 'header' else f'{path}/{name}'
            if (
                labels
                and not isinstance(part, (str, dict))
                and np.ndim(part) == 1
                and (len(part) == len(value[labels]))
            ):
                for label, item in zip(value[labels], part):
                    yield from _cells(f'{inner}/{label}', item)
            else:
                yield from _cells(inner, part)
    elif isinstance(value, (list, np.ndarray)):
        for label, item in _label_items(value):
            yield from _cells(f'{path}/{label}', item)
    else:
        yield path, value if isinstance(value, str) else float(value)


def _are_labels(value):
    """Whether `value` is a non-empty list of distinct texts."""
    return (
        isinstance(value, list)
        and all(isinstance(item, str) for item in value)
        and len(set(value)) == len(value) > 0
    )


def _label_items(items):
    """Yield (label, item); the label is the unique name or key of each item, else its index."""
    key = next(
        (
            name
            for name in LABEL_FIELDS
            if all(isinstance(item, dict) and isinstance(item.get(name), str) for item in items)
        ),
        None,
    )
    names = [item[key] for item in items] if key else []
    if not names or len(set(names)) < len(names):
        yield from enumerate(items)
        return
    for name, item in zip(names, items):
        remaining_fields = {word: part for word, part in item.items() if word != key}
        yield (
            name,
            (
                next(iter(remaining_fields.values()))
                if len(remaining_fields) == 1
                else remaining_fields
            ),
        )
