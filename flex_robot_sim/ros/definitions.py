"""Definitions of messages in MCAP files: concatenated text of .msg files."""

import dataclasses
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

SEPARATOR = '=' * 80
PRIMITIVES = {
    'bool': '?',
    'byte': 'u1',
    'char': 'u1',
    'int8': 'i1',
    'uint8': 'u1',
    'int16': 'i2',
    'uint16': 'u2',
    'int32': 'i4',
    'uint32': 'u4',
    'int64': 'i8',
    'uint64': 'u8',
    'float32': 'f4',
    'float64': 'f8',
}
"""Primitive types of .msg files: their NumPy codes without the byte order."""

TEXT = 'string'
EMPTY_MESSAGE_FIELD = 'structure_needs_at_least_one_member'  # of a message without fields
MAX_DEFINITION_LENGTH = 2**20  # [characters]; those of ROS are below 10 kB
MAX_FIELDS = 20_000  # of a message with all nested types, arrays counted once
MAX_DEPTH = 50  # of nested types
_TYPE = re.compile(r'([\w/]+)(?:<=\d+)?(\[(?:<=)?(\d{0,9})\])?')
_BOUNDED = re.compile(r'\[<=\d+\]')


KNOWN_FIELDS = {
    'builtin_interfaces/Time': 'int32 sec\nuint32 nanosec',
    'std_msgs/Header': 'builtin_interfaces/Time stamp\nstring frame_id',
    'std_msgs/String': 'string data',
    'sensor_msgs/JointState': 'std_msgs/Header header\nstring[] name\nfloat64[] position\n'
    'float64[] velocity\nfloat64[] effort',
    'geometry_msgs/Point': 'float64 x\nfloat64 y\nfloat64 z',
    'geometry_msgs/Vector3': 'float64 x\nfloat64 y\nfloat64 z',
    'geometry_msgs/Pose': 'Point position\nQuaternion orientation',
    'geometry_msgs/Quaternion': 'float64 x\nfloat64 y\nfloat64 z\nfloat64 w',
    'geometry_msgs/PoseWithCovariance': 'Pose pose\nfloat64[36] covariance',
    'geometry_msgs/Twist': 'Vector3 linear\nVector3 angular',
    'geometry_msgs/TwistWithCovariance': 'Twist twist\nfloat64[36] covariance',
    'nav_msgs/Odometry': 'std_msgs/Header header\nstring child_frame_id\n'
    'geometry_msgs/PoseWithCovariance pose\ngeometry_msgs/TwistWithCovariance twist',
    'geometry_msgs/PoseStamped': 'std_msgs/Header header\nPose pose',
    'diagnostic_msgs/KeyValue': 'string key\nstring value',
    'diagnostic_msgs/DiagnosticStatus': 'string name\nKeyValue[] values',
    'diagnostic_msgs/DiagnosticArray': 'std_msgs/Header header\nDiagnosticStatus[] status',
    'sensor_msgs/Imu': 'std_msgs/Header header\ngeometry_msgs/Vector3 angular_velocity\n'
    'float64[9] angular_velocity_covariance\n'
    'geometry_msgs/Vector3 linear_acceleration\n'
    'float64[9] linear_acceleration_covariance',
}
"""Fields that other modules access by name; every definition of such a type must have them."""


class DefinitionError(ValueError):
    """A definition that cannot be parsed."""


class Field(NamedTuple):
    """A field of a message."""

    name: str
    kind: str  # of PRIMITIVES, TEXT, or package/Type
    size: int | None  # None: a single value; -1: variable length; else fixed length


@dataclasses.dataclass(frozen=True, eq=False)
class MessageType:
    """A message type and the types nested in it."""

    name: str  # package/Type
    types: Mapping[str, tuple[Field, ...]]  # fields of each of these types
    codecs: dict[Any, Any] = dataclasses.field(default_factory=dict)  # functions of cdr.py


def message_type(name: str, text: str) -> MessageType:
    """Return the MessageType for a name like package/msg/Type and its definition."""
    if len(text) > MAX_DEFINITION_LENGTH:
        raise DefinitionError(f'its definition has more than {MAX_DEFINITION_LENGTH} letters')
    first, *dependencies = re.split(r'^={3,}\s*$', text, flags=re.MULTILINE)
    root = short_name(name)
    types = {root: _fields(root, first)}
    for dependency in dependencies:
        heading, _, body = dependency.lstrip().partition('\n')
        if not heading.startswith('MSG:'):
            raise DefinitionError(f'"{heading[:60]}" does not name a type')
        part = short_name(heading[4:].strip())
        types[part] = _fields(part, body)
    for fields in types.values():
        for field in fields:
            if field.kind not in PRIMITIVES and field.kind != TEXT and field.kind not in types:
                raise DefinitionError(f'type {field.kind} is not defined')
    for part, fields in types.items():
        for field in _fields(part, KNOWN_FIELDS[part]) if part in KNOWN_FIELDS else ():
            if field not in fields:
                raise DefinitionError(f'its definition of {part} lacks "{field.name}"')
    if _count_fields(root, types, {}, ()) > MAX_FIELDS:
        raise DefinitionError(f'it has more than {MAX_FIELDS} fields')
    return MessageType(root, types)


def short_name(name: str) -> str:
    """Return package/Type of package/msg/Type."""
    tokens = name.split('/')
    return f'{tokens[0]}/{tokens[-1]}'


def _count_fields(name, types, counts, ancestors):
    """Count the fields of a type with nested types; DefinitionError for a recursive type."""
    if name in ancestors:
        raise DefinitionError(f'type {name} is made of itself')
    if len(ancestors) > MAX_DEPTH:
        raise DefinitionError(f'it has more than {MAX_DEPTH} types within each other')
    if name not in counts:
        counts[name] = sum(
            _count_fields(field.kind, types, counts, (*ancestors, name))
            if field.kind in types
            else 1
            for field in types[name]
        )
    return counts[name]


def _fields(name, text):
    package, fields = name.split('/')[0], []
    for line in text.split('\n'):
        tokens = line.partition('#')[0].split(None, 1)
        if not tokens:
            continue
        name_match = re.match(r'(\w+)\s*(=)?', tokens[1]) if len(tokens) > 1 else None
        kind = _TYPE.fullmatch(tokens[0])
        if name_match is None or kind is None:
            raise DefinitionError(f'"{line.strip()[:60]}" is no field')
        if name_match[2]:
            continue  # a constant is not sent
        base, is_array, size = kind.groups()
        if base not in PRIMITIVES and base != TEXT:
            base = (
                short_name(base)
                if '/' in base
                else 'std_msgs/Header'
                if base == 'Header'
                else f'{package}/{base}'
            )
        fixed = size and not _BOUNDED.search(is_array)
        fields.append(
            Field(name_match[1], base, None if not is_array else int(size) if fixed else -1)
        )
    return tuple(fields) or (Field(EMPTY_MESSAGE_FIELD, 'uint8', None),)
