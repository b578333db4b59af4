"""
Binary layout of Python tuples on the wire: little-endian, packed, one line per field.

A layout is a NamedTuple whose annotations define it for Python, C and the documentation:

    duty: Annotated[float, i16('1', 'of the bridge', per_unit=10000)]
"""

import struct
from collections.abc import Sequence
from enum import IntFlag
from functools import lru_cache
from typing import (
    Annotated,
    Any,
    NamedTuple,
    TypeAlias,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from flex_robot_sim.util.exceptions import UsageError

Message: TypeAlias = Any  # a NamedTuple whose class has a LAYOUT, by `laid_out`
MessageClass: TypeAlias = Any  # its class
AnyClass = TypeVar('AnyClass', bound=type)

C_TYPES = {
    'u8': 'uint8_t',
    'i8': 'int8_t',
    'u16': 'uint16_t',
    'i16': 'int16_t',
    'u32': 'uint32_t',
    'i32': 'int32_t',
}
BOUNDS = {
    f'{sign}{bits}': (-1 << bits - 1, (1 << bits - 1) - 1) if sign == 'i' else (0, (1 << bits) - 1)
    for sign in 'ui'
    for bits in (8, 16, 32)
}
CODES = {'u8': 'B', 'i8': 'b', 'u16': 'H', 'i16': 'h', 'u32': 'I', 'i32': 'i'}


class Wire(NamedTuple):
    """A field on the wire."""

    kind: str  # of C_TYPES, 'bytes', or 'records'
    unit: str  # of the value in Python
    meaning: str
    per_unit: int = 1  # counts on the wire for one unit
    choices: Any = None  # enumeration of the values
    # of bytes or of records; tuples have a `count`, too
    count: int = 1  # type: ignore[assignment]
    record: Any = None  # layout of a record

    @property
    def code(self) -> str:
        """Letters of the module `struct`."""
        return CODES.get(self.kind) or f'{self.size}s'

    @property
    def size(self) -> int:
        """Bytes on the wire."""
        if self.kind in CODES:
            return struct.calcsize(f'<{CODES[self.kind]}')
        return self.count * (self.record.LAYOUT.size if self.record else 1)

    @property
    def bounds(self) -> tuple[int, int]:
        """Smallest and largest integer on the wire."""
        return BOUNDS[self.kind]

    def to_wire(self, value: Any) -> int | bytes:
        """Return the value for `struct`; ValueError if it is out of range."""
        if self.record:
            rows = [self.record.LAYOUT.pack(row) for row in value]
            if len(rows) > self.count:
                raise ValueError(f'must be at most {self.count} records')
            return b''.join(rows).ljust(self.size, b'\0')
        if self.kind == 'bytes':
            if len(value) != self.count:
                raise ValueError(f'must be {self.count} bytes')
            return bytes(value)
        lower, upper = self.bounds
        try:
            number = round(value * self.per_unit)
        except (TypeError, ValueError, OverflowError):  # a word, nan, infinite
            number = None
        if number is None or not lower <= number <= upper:
            unit = '' if self.unit in ('', '1') else f' {self.unit}'
            raise ValueError(
                f'must be {lower / self.per_unit:.10g} to {upper / self.per_unit:.10g}{unit}'
            )
        return number

    def from_wire(self, value: Any) -> Any:
        """Return the Python value of an unpacked one."""
        if self.record:
            layout = self.record.LAYOUT
            return tuple(
                layout.unpack(value[at : at + layout.size])
                for at in range(0, self.size, layout.size)
            )
        if self.choices is None:
            return value if self.per_unit == 1 else value / self.per_unit
        return _word(self.choices, value)


@lru_cache(maxsize=4096)
def _word(words, value):
    """Member of an enumeration; cached, because creating it takes longer than a whole frame."""
    return (
        words(value) if issubclass(words, IntFlag) else words._value2member_map_.get(value, value)
    )


def _integer(kind):
    def field(unit='', meaning='', per_unit=1, choices=None):
        return Wire(kind, unit, meaning, per_unit, choices)

    return field


u8, i8, u16, i16, u32, i32 = (_integer(kind) for kind in C_TYPES)


def raw(count: int, meaning: str) -> Wire:
    """Raw bytes."""
    return Wire('bytes', '', meaning, count=count)


def records(record: MessageClass, count: int, meaning: str) -> Wire:
    """`count` records of another layout, one after the other; missing ones are zero."""
    return Wire('records', '', meaning, count=count, record=record)


class Layout:
    """Ordered fields of a NamedTuple, and their encoding as bytes."""

    def __init__(self, tuple_class: MessageClass) -> None:
        self.tuple_class = tuple_class
        self.fields = {
            name: _wire_of(hint)
            for name, hint in get_type_hints(tuple_class, include_extras=True).items()
        }
        self._struct = struct.Struct('<' + ''.join(wire.code for wire in self.fields.values()))
        self.size = self._struct.size
        # most fields are unscaled integers and need no conversion
        self._scaled = [
            (k, wire.per_unit)
            for k, wire in enumerate(self.fields.values())
            if wire.kind in CODES and wire.per_unit != 1
        ]
        self._of_bytes = [
            (k, wire.to_wire)
            for k, wire in enumerate(self.fields.values())
            if wire.kind not in CODES
        ]
        self._read = [
            (k, wire.from_wire)
            for k, wire in enumerate(self.fields.values())
            if wire.record or wire.choices is not None or wire.per_unit != 1
        ]

    def pack(self, values: Sequence[Any]) -> bytes:
        """Return the bytes of a tuple; UsageError if one of its values does not fit."""
        numbers = list(values)
        try:
            for k, per_unit in self._scaled:
                numbers[k] = round(numbers[k] * per_unit)
            for k, to_wire in self._of_bytes:
                numbers[k] = to_wire(numbers[k])
            return self._struct.pack(*numbers)
        except (struct.error, TypeError, ValueError, OverflowError):
            return self._struct.pack(*self._checked(values))

    def _checked(self, values):
        """Return the values for `struct`, with a check of each."""
        numbers = []
        for (name, wire), value in zip(self.fields.items(), values):
            try:
                numbers.append(wire.to_wire(value))
            except ValueError as error:
                raise UsageError(
                    f'{self.tuple_class.__name__}: {name} = {value!r} {error}: {wire.meaning}.'
                ) from error
        return numbers

    def unpack(self, data: bytes) -> Message:
        """Return the tuple packed in `data`, which must have the right length."""
        values = list(self._struct.unpack(data))
        for k, read in self._read:
            values[k] = read(values[k])
        return self.tuple_class._make(values)

    def describe(self) -> str:
        """Return the layout as text, the input of the schema CRC."""
        return ' '.join(
            f'{name}:{wire.kind}*{wire.count}/{wire.per_unit}[{wire.unit}]'
            for name, wire in self.fields.items()
        )


def with_layout(tuple_class: AnyClass) -> AnyClass:
    """Add a LAYOUT to a NamedTuple class."""
    message_class: MessageClass = tuple_class
    message_class.LAYOUT = Layout(message_class)
    return tuple_class


def layout_of(tuple_class: MessageClass) -> Layout:
    """Return the LAYOUT of a NamedTuple, which type checkers do not see."""
    return tuple_class.LAYOUT


def _wire_of(hint):
    if get_origin(hint) is not Annotated:
        raise TypeError(f'{hint} does not say how it lies on the wire')
    return get_args(hint)[1]
