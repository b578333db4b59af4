"""Definitions of messages as MCAP files carry them: text of .msg files, one type after another."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

SEPARATOR = '=' * 80
PRIMITIVES = {
    'bool': '?', 'byte': 'u1', 'char': 'u1', 'int8': 'i1', 'uint8': 'u1', 'int16': 'i2',
    'uint16': 'u2', 'int32': 'i4', 'uint32': 'u4', 'int64': 'i8', 'uint64': 'u8',
    'float32': 'f4', 'float64': 'f8'}
"""Words of .msg files, and of NumPy without the order of bytes."""

TEXT = 'string'
NOTHING = 'structure_needs_at_least_one_member'     # what a message without fields is sent as
_TYPE = re.compile(r'([\w/]+)(?:<=\d+)?(\[(?:<=)?(\d*)\])?')
_BOUNDED = re.compile(r'\[<=\d+\]')


class DefinitionError(ValueError):
    """A definition that cannot be understood."""


class Field(NamedTuple):
    """A field of a message."""

    name: str
    kind: str               # of PRIMITIVES, TEXT, or package/Type
    size: int | None        # None: one; -1: as many as there are; else so many


@dataclass(frozen=True, eq=False)
class MessageType:
    """A type of messages and those that it is made of."""

    name: str                                   # package/Type
    types: Mapping[str, tuple[Field, ...]]      # fields of all of them

    @property
    def fields(self) -> tuple[Field, ...]:
        """Fields of the message."""
        return self.types[self.name]


def message_type(name: str, text: str) -> MessageType:
    """Return the MessageType of a name like package/msg/Type and its text."""
    first, *others = re.split(r'^={3,}\s*$', text, flags=re.MULTILINE)
    root = short_name(name)
    types = {root: _fields(root, first)}
    for other in others:
        heading, _, body = other.lstrip().partition('\n')
        if not heading.startswith('MSG:'):
            raise DefinitionError(f'"{heading[:60]}" does not name a type')
        part = short_name(heading[4:].strip())
        types[part] = _fields(part, body)
    for fields in types.values():
        for field in fields:
            if field.kind not in PRIMITIVES and field.kind != TEXT and field.kind not in types:
                raise DefinitionError(f'type {field.kind} is not defined')
    _refuse_circles(root, types, ())
    return MessageType(root, types)


def short_name(name: str) -> str:
    """Return package/Type of package/msg/Type."""
    words = name.split('/')
    return f'{words[0]}/{words[-1]}'


def _refuse_circles(name, types, above):
    if name in above:
        raise DefinitionError(f'type {name} is made of itself')
    for field in types[name]:
        if field.kind in types:
            _refuse_circles(field.kind, types, (*above, name))


def _fields(name, text):
    package, fields = name.split('/')[0], []
    for line in text.split('\n'):
        words = line.partition('#')[0].split(None, 1)
        if not words:
            continue
        place = re.match(r'(\w+)\s*(=)?', words[1]) if len(words) > 1 else None
        kind = _TYPE.fullmatch(words[0])
        if place is None or kind is None:
            raise DefinitionError(f'"{line.strip()[:60]}" is no field')
        if place[2]:
            continue                            # a constant, of which nothing is sent
        base, is_array, size = kind.groups()
        if base not in PRIMITIVES and base != TEXT:
            base = (short_name(base) if '/' in base else
                    'std_msgs/Header' if base == 'Header' else f'{package}/{base}')
        fixed = size and not _BOUNDED.search(is_array)
        fields.append(Field(place[1], base, None if not is_array else int(size) if fixed else -1))
    return tuple(fields) or (Field(NOTHING, 'uint8', None),)
