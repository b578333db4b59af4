"""
Short representations of large objects for interpreters and notebooks.

A class decorated with `summarized` shows its fields, or the heading and the rows that its method
`_summary` returns, each a label and a text. The text has 20 lines at most.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from html import escape
from typing import Any, TypeAlias, TypeVar

import numpy as np

from flex_robot_sim.util.exceptions import plain, shortened

MAX_ROWS = 19  # below the heading
MAX_CHARACTERS = 160  # in a row
MAX_LIST_ITEMS = 8  # in a list

SummaryRows: TypeAlias = 'list[tuple[str, str]]'
Class = TypeVar('Class', bound=type)


def summarized(kind: Class) -> Class:
    """Decorate a class with `_summary`, a NamedTuple or a dataclass: as text and as HTML."""
    decorated: Any = kind
    if not hasattr(kind, '_summary'):
        decorated._summary = _fields_of
    decorated.__repr__, decorated._repr_html_ = _text, _html
    return kind


def listed(words: Iterable[object]) -> str:
    """Return words separated by commas, and the number of omitted ones."""
    texts = [str(word) for word in words]
    left_out = len(texts) - MAX_LIST_ITEMS
    return ', '.join(texts[:MAX_LIST_ITEMS]) + (f' and {left_out} more' if left_out > 0 else '')


def numbers(values: Sequence[float] | np.ndarray) -> str:
    """Return the first numbers of an array in a few digits, and the number of omitted ones."""
    first = [f'{value:.4g}' for value in np.ravel(values)[:MAX_LIST_ITEMS].tolist()]
    return listed([*first, *[''] * (np.size(values) - len(first))])


def quantities(
    names: Sequence[str], values: Sequence[float] | np.ndarray, units: Sequence[str]
) -> str:
    """Return names with numbers and units, and the number of omitted ones."""
    return listed(f'{name} {value:.4g} {unit}' for name, value, unit in zip(names, values, units))


def counted(count: int, noun: str) -> str:
    """Return a count with its noun: '1 joint', '2 joints'."""
    return f'{count} {noun}' if count == 1 else f'{count} {noun}s'


def _fields_of(self):
    """Heading and rows of an object whose class is summarized by its fields."""
    names = getattr(self, '_fields', None) or [item.name for item in fields(self) if item.repr]
    return type(self).__name__, [(name, _one_row(getattr(self, name))) for name in names]


def _one_row(value):
    """Return a value as text of one row."""
    if isinstance(value, np.ndarray):
        if value.ndim < 2 and value.dtype.kind in 'fiu':
            return numbers(value)
        return f'array {value.shape}'
    if hasattr(value, '_summary'):
        return value._summary()[0]
    if isinstance(value, Mapping):
        return listed(value)
    if isinstance(value, (list, tuple)) and not hasattr(value, '_fields'):
        return listed(map(_one_row, value))
    return value if isinstance(value, str) else repr(value)


def _text(self):
    heading, rows = _shortened(self)
    width = max((len(label) for label, _ in rows), default=0)
    return '\n'.join([heading, *(f'  {label:{width}}  {text}'.rstrip() for label, text in rows)])


def _html(self):
    heading, rows = _shortened(self)
    cells = ''.join(
        f'<tr><th style="text-align: left">{escape(label)}</th>'
        f'<td style="text-align: left">{escape(text)}</td></tr>'
        for label, text in rows
    )
    return f'<div><b>{escape(heading)}</b><table>{cells}</table></div>'


def _shortened(thing):
    """Return heading and rows of an object, limited in number and length."""
    heading, rows = thing._summary()
    if len(rows) > MAX_ROWS:
        rows = [*rows[: MAX_ROWS - 1], ('...', f'and {len(rows) - MAX_ROWS + 1} more')]
    return shortened(heading, MAX_CHARACTERS), [
        (plain(label), shortened(text, MAX_CHARACTERS)) for label, text in rows
    ]
