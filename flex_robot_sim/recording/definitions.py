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
MAX_TEXT = 2**20            # of a definition; those of ROS are below 10 kB           [letters]
MAX_FIELDS = 20_000         # of a message with all that it is made of, arrays counted once
MAX_DEPTH = 50              # of types within types
_TYPE = re.compile(r'([\w/]+)(?:<=\d+)?(\[(?:<=)?(\d{0,9})\])?')
_BOUNDED = re.compile(r'\[<=\d+\]')


# fields that are read of messages by their names, wherever such a type stands in a file
_REQUIRED = {
    'builtin_interfaces/Time': 'int32 sec\nuint32 nanosec',
    'std_msgs/Header': 'builtin_interfaces/Time stamp\nstring frame_id',
    'std_msgs/String': 'string data',
    'sensor_msgs/JointState': 'std_msgs/Header header\nstring[] name\nfloat64[] position\n'
                              'float64[] velocity\nfloat64[] effort',
    'geometry_msgs/Point': 'float64 x\nfloat64 y\nfloat64 z',
    'geometry_msgs/Vector3': 'float64 x\nfloat64 y\nfloat64 z',
    'geometry_msgs/Pose': 'Point position\nQuaternion orientation',
    'geometry_msgs/PoseStamped': 'std_msgs/Header header\nPose pose',
    'diagnostic_msgs/KeyValue': 'string key\nstring value',
    'diagnostic_msgs/DiagnosticStatus': 'string name\nKeyValue[] values',
    'diagnostic_msgs/DiagnosticArray': 'std_msgs/Header header\nDiagnosticStatus[] status',
    'sensor_msgs/Imu': 'std_msgs/Header header\ngeometry_msgs/Vector3 angular_velocity\n'
                       'float64[9] angular_velocity_covariance\n'
                       'geometry_msgs/Vector3 linear_acceleration\n'
                       'float64[9] linear_acceleration_covariance'}


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
    if len(text) > MAX_TEXT:
        raise DefinitionError(f'its definition has more than {MAX_TEXT} letters')
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
    for part, fields in types.items():
        for field in _fields(part, _REQUIRED[part]) if part in _REQUIRED else ():
            if field not in fields:
                raise DefinitionError(f'its definition of {part} lacks "{field.name}"')
    if _count_fields(root, types, {}, ()) > MAX_FIELDS:
        raise DefinitionError(f'it has more than {MAX_FIELDS} fields')
    return MessageType(root, types)


def short_name(name: str) -> str:
    """Return package/Type of package/msg/Type."""
    words = name.split('/')
    return f'{words[0]}/{words[-1]}'


def _count_fields(name, types, counts, above):
    """Fields of a type with those of the types in it; DefinitionError for a circle."""
    if name in above:
        raise DefinitionError(f'type {name} is made of itself')
    if len(above) > MAX_DEPTH:
        raise DefinitionError(f'it has more than {MAX_DEPTH} types within each other')
    if name not in counts:
        counts[name] = sum(_count_fields(field.kind, types, counts, (*above, name))
                           if field.kind in types else 1 for field in types[name])
    return counts[name]


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
