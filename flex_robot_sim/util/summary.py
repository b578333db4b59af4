"""
Short texts of large objects: what an interpreter and a notebook show of them.

A class decorated with `summarized` shows its fields, or the heading and the rows that its method
`_summary` returns, each a label and a text. The text has 20 lines at most.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from html import escape
from typing import Any, TypeAlias, TypeVar

import numpy as np

from flex_robot_sim.util.exceptions import bearable, plain

MOST_ROWS = 19          # below the heading
MOST_LETTERS = 160      # in a row
MOST_WORDS = 8          # in a list

SummaryRows: TypeAlias = 'list[tuple[str, str]]'
Class = TypeVar('Class', bound=type)


def summarized(kind: Class) -> Class:
    """
    Give a class a text for terminals and one for notebooks; a decorator.

    :param kind: a class with `_summary`, a NamedTuple or a dataclass.
    """
    made: Any = kind
    if not hasattr(kind, '_summary'):
        made._summary = _fields_of
    made.__repr__, made._repr_html_ = _text, _html
    return kind


def listed(words: Iterable[object], most: int = MOST_WORDS) -> str:
    """Return words with commas, and how many are left out."""
    texts = [str(word) for word in words]
    left_out = len(texts) - most
    return ', '.join(texts[:most]) + (f' and {left_out} more' if left_out > 0 else '')


def numbers(values: Sequence[float] | np.ndarray) -> str:
    """Return the first numbers of an array in a few digits, and how many are left out."""
    first = [f'{value:.4g}' for value in np.ravel(values)[:MOST_WORDS].tolist()]
    return listed([*first, *[''] * (np.size(values) - len(first))])


def quantities(names: Sequence[str], values: Sequence[float] | np.ndarray,
               units: Sequence[str]) -> str:
    """Return names with numbers and units, and how many are left out."""
    return listed(f'{name} {value:.4g} {unit}' for name, value, unit in zip(names, values, units))


def counted(count: int, noun: str) -> str:
    """Return a number of things: '1 joint', '2 joints'."""
    return f'{count} {noun}' if count == 1 else f'{count} {noun}s'


def _fields_of(self):
    """Heading and rows of an object whose class is summarized by its fields."""
    names = getattr(self, '_fields', None) or [item.name for item in fields(self) if item.repr]
    return type(self).__name__, [(name, _shown(getattr(self, name))) for name in names]


def _shown(value):
    """A value in one row."""
    if isinstance(value, np.ndarray):
        return numbers(value) if value.ndim < 2 and value.dtype.kind in 'fiu' else (
            f'array {value.shape}')
    if hasattr(value, '_summary'):
        return value._summary()[0]
    if isinstance(value, Mapping):
        return listed(value)
    if isinstance(value, (list, tuple)) and not hasattr(value, '_fields'):
        return listed(map(_shown, value))
    return value if isinstance(value, str) else repr(value)


def _text(self):
    heading, rows = _shortened(self)
    width = max((len(label) for label, _ in rows), default=0)
    return '\n'.join([heading, *(f'  {label:{width}}  {text}'.rstrip() for label, text in rows)])


def _html(self):
    heading, rows = _shortened(self)
    cells = ''.join(f'<tr><th style="text-align: left">{escape(label)}</th>'
                    f'<td style="text-align: left">{escape(text)}</td></tr>'
                    for label, text in rows)
    return f'<div><b>{escape(heading)}</b><table>{cells}</table></div>'


def _shortened(thing):
    """Heading and rows of an object, no more of them than there is room for."""
    heading, rows = thing._summary()
    if len(rows) > MOST_ROWS:
        rows = [*rows[:MOST_ROWS - 1], ('...', f'and {len(rows) - MOST_ROWS + 1} more')]
    return bearable(heading, MOST_LETTERS), [
        (plain(label), bearable(text, MOST_LETTERS)) for label, text in rows]
