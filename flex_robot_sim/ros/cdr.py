"""
Encoding and decoding of messages as DDS sends them: plain CDR of XCDR version 1.

The first four bytes (encapsulation) give the byte order. Each number is aligned to a multiple of
its own size, counted after these four. Texts and sequences begin with their length; a text
ends with a 0.

Each type is translated once into a list of functions, one per field, because a recording has many
messages of few types. Consecutive numbers are read and written in one step.
"""

import struct
import threading
from collections.abc import Mapping
from itertools import groupby
from typing import Any

import numpy as np

from flex_robot_sim.ros.definitions import PRIMITIVES, TEXT, Field, MessageType

LITTLE_ENDIAN = b'\x00\x01\x00\x00'  # encapsulation of an encoded message
ENCAPSULATION_SIZE = 4  # [bytes]
MAX_ALIGNMENT = 8  # of a number [bytes]; padding depends on the offset modulo this
MAX_BYTES_WITH_LISTS = 2**21  # size of a message with lists of texts or messages [bytes]
MAX_LIST_VALUES = 500_000  # per message; a trajectory of 20,000 points has 160,000
# format characters of struct, which differ from those of NumPy
_CODES = {
    kind: {
        '?': '?',
        'u1': 'B',
        'i1': 'b',
        'i2': 'h',
        'u2': 'H',
        'i4': 'i',
        'u4': 'I',
        'i8': 'q',
        'u8': 'Q',
        'f4': 'f',
        'f8': 'd',
    }[word]
    for kind, word in PRIMITIVES.items()
}


class _Budget(threading.local):
    """Number of values that lists of the current message may still have; some take no bytes."""

    remaining = 0

    def spend(self, values):
        self.remaining -= values
        if self.remaining < 0:
            raise MessageError(f'its lists have more than {MAX_LIST_VALUES} values')


_BUDGET = _Budget()


class MessageError(ValueError):
    """The bytes are not a valid message of their type."""


def byte_order(data: bytes) -> str:
    """Return the byte order of a message, `<` or `>`, as struct and NumPy write it."""
    if len(data) < ENCAPSULATION_SIZE or data[0] or data[1] > 1:
        raise MessageError('these bytes are no CDR')
    return '<' if data[1] else '>'


def encode(kind: MessageType, values: Mapping[str, Any]) -> bytes:
    """Return the bytes of a message; fields missing in `values` are zero or empty."""
    body = bytearray()
    _message_writer(kind, kind.name)(body, values)
    return LITTLE_ENDIAN + bytes(body)


def decode(kind: MessageType, data: bytes) -> dict[str, Any]:
    """
    Return {field: value} of the bytes of a message: numbers, texts, arrays, lists, dicts.

    Bytes after the message are ignored: some middlewares pad messages.
    """
    order = byte_order(data)
    _BUDGET.remaining = MAX_LIST_VALUES
    try:
        read = _message_reader(kind, kind.name, order)
        return read(memoryview(data)[ENCAPSULATION_SIZE:], 0)[0]
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise MessageError('the message is cut off') from error


def trim(kind: MessageType, data: bytes) -> bytes:
    """
    Return the bytes of a message without padding after it.

    Some middlewares append room for the first number of each empty sequence, and some readers
    reject such messages.
    """
    _BUDGET.remaining = MAX_LIST_VALUES
    try:
        return data[
            : ENCAPSULATION_SIZE
            + _end_offset(
                kind,
                kind.name,
                memoryview(data)[ENCAPSULATION_SIZE:],
                '<I' if data[1] else '>I',
                0,
            )
        ]
    except (struct.error, IndexError, MessageError):
        return data  # the reader of the recording reports the damage


def may_be_padded(kind: MessageType) -> bool:
    """Whether messages have a sequence of 8-byte numbers, so that they may need `trim`."""
    return any(
        field.size == -1 and PRIMITIVES.get(field.kind, '  ')[1] == '8'
        for fields in kind.types.values()
        for field in fields
    )


def _end_offset(kind, name, body, word, offset):
    """Offset after the value that starts at an offset of `body`; numbers are not decoded."""
    for field in kind.types[name]:
        count = 1 if field.size is None else field.size
        if count < 0:
            offset += -offset % 4
            count, offset = struct.unpack_from(word, body, offset)[0], offset + 4
        if field.kind in PRIMITIVES:
            size = int(PRIMITIVES[field.kind][-1]) if field.kind != 'bool' else 1
            if count:
                offset += -offset % size + count * size
            continue
        for _ in range(count):
            if offset > len(body):
                raise IndexError  # a corrupt count would loop without end
            _BUDGET.spend(1)
            if field.kind == TEXT:
                offset += -offset % 4
                offset += 4 + struct.unpack_from(word, body, offset)[0]
            else:
                offset = _end_offset(kind, field.kind, body, word, offset)
    return offset


def _stored_in_type(build):
    """Store what build(kind, ...) returns in the MessageType `kind`, which has many messages."""

    def stored(kind, *arguments):
        key = build, arguments
        if key not in kind.codecs:
            kind.codecs[key] = build(kind, *arguments)
        return kind.codecs[key]

    return stored


@_stored_in_type
def _message_writer(kind, name):
    """Return the function that appends the values of a message to bytes."""
    steps = []
    for is_run, fields in _group_fields(kind, name):
        if is_run:
            steps.append(_number_writer(fields))
            continue
        (field,) = fields
        if field.kind in PRIMITIVES:
            steps.append(_array_writer(field))
        else:
            write = _write_text if field.kind == TEXT else _message_writer(kind, field.kind)
            steps.append((_single_writer if field.size is None else _list_writer)(field, write))

    def write_message(body, values):
        values = values or {}
        for step in steps:
            step(body, values)

    return write_message


def _number_writer(fields):
    names, layouts = [field.name for field in fields], _layouts(fields, '<')

    def write(body, values):
        body += layouts[len(body) % MAX_ALIGNMENT].pack(*[values.get(name) or 0 for name in names])

    return write


def _single_writer(field, write_value):
    def write(body, values):
        write_value(body, values.get(field.name))

    return write


def _list_writer(field, write_value):
    def write(body, values):
        for item in _items(field, values, body):
            write_value(body, item)

    return write


def _array_writer(field):
    dtype = np.dtype(f'<{PRIMITIVES[field.kind]}')

    def write(body, values):
        items = _items(field, values, body)
        if not len(items):
            return
        if not (isinstance(items, np.ndarray) and items.dtype == dtype):
            items = np.array([0 if item is None else item for item in items], dtype)
        body += bytes(-len(body) % dtype.itemsize) + items.tobytes()

    return write


def _items(field, values, body):
    """Return the items of a list, and append their number if it is not fixed."""
    items = values.get(field.name)
    items = [None] * max(field.size, 0) if items is None else items
    if field.size < 0:
        _write_count(body, len(items))
    return items


def _write_text(body, value):
    text = (value or '').encode()
    _write_count(body, len(text) + 1)
    body += text + b'\0'


def _write_count(body, count):
    body += _COUNT_LAYOUTS['<'][len(body) % MAX_ALIGNMENT].pack(count)


@_stored_in_type
def _message_reader(kind, name, order):
    """Return the function that reads a message at an offset; it returns values and next offset."""
    steps = []
    for is_run, fields in _group_fields(kind, name):
        if is_run:
            steps.append(_number_reader(fields, order))
            continue
        (field,) = fields
        if field.kind in PRIMITIVES:
            steps.append(_single_reader(field.name, _array_reader(field, order)))
        else:
            read = (
                _text_reader(order)
                if field.kind == TEXT
                else _message_reader(kind, field.kind, order)
            )
            steps.append(
                _single_reader(
                    field.name,
                    read
                    if field.size is None
                    else _list_reader(field, read, order, _count_values(kind, field.kind)),
                )
            )

    def read_message(data, offset):
        values: dict[str, Any] = {}
        for step in steps:
            offset = step(data, offset, values)
        return values, offset

    return read_message


def _number_reader(fields, order):
    names, layouts = [field.name for field in fields], _layouts(fields, order)

    def read(data, offset, values):
        layout = layouts[offset % MAX_ALIGNMENT]
        values.update(zip(names, layout.unpack_from(data, offset)))
        return offset + layout.size

    return read


def _single_reader(name, read_value):
    def read(data, offset, values):
        values[name], offset = read_value(data, offset)
        return offset

    return read


def _count_values(kind, name):
    """Return the number of values in a text or a message; a nested list counts as one value."""
    if name not in kind.types:
        return 1
    return 1 + sum(
        1 if field.size is not None else _count_values(kind, field.kind)
        for field in kind.types[name]
    )


def _list_reader(field, read_value, order, values):
    """:param values: number of values per item, see `_count_values`."""
    counts = _COUNT_LAYOUTS[order]

    def read(data, offset):
        if len(data) > MAX_BYTES_WITH_LISTS:
            raise MessageError('the message is too large for its lists')
        count, offset = _read_count(field, counts, data, offset)
        # each item takes at least one byte, which bounds a corrupt count
        if count > len(data) - offset:
            raise MessageError('the message is cut off')
        _BUDGET.spend(count * values)
        items = []
        for _ in range(count):
            item, offset = read_value(data, offset)
            items.append(item)
        return items, offset

    return read


def _array_reader(field, order):
    dtype, counts = np.dtype(f'{order}{PRIMITIVES[field.kind]}'), _COUNT_LAYOUTS[order]
    native_dtype = dtype.newbyteorder('=')

    def read(data, offset):
        count, offset = _read_count(field, counts, data, offset)
        if not count:
            return np.empty(0, native_dtype), offset
        offset += -offset % dtype.itemsize
        end = offset + count * dtype.itemsize
        if end > len(data):
            raise MessageError('the message is cut off')
        return np.frombuffer(data, dtype, count, offset).astype(native_dtype), end

    return read


def _text_reader(order):
    counts = _COUNT_LAYOUTS[order]

    def read(data, offset):
        layout = counts[offset % MAX_ALIGNMENT]
        offset += layout.size
        end = offset + layout.unpack_from(data, offset - layout.size)[0]
        if end > len(data):
            raise MessageError('the message is cut off')
        return str(data[offset : max(offset, end - 1)], errors='replace'), end

    return read


def _read_count(field, counts, data, offset):
    """Return the number of items of a field, and the offset after the count."""
    if field.size >= 0:
        return field.size, offset
    layout = counts[offset % MAX_ALIGNMENT]
    return layout.unpack_from(data, offset)[0], offset + layout.size


def _group_fields(kind, name):
    """Yield (is a run of numbers, fields) of a type in order; other fields one by one."""
    for is_run, fields in groupby(
        kind.types[name], lambda field: field.size is None and field.kind in PRIMITIVES
    ):
        if is_run:
            yield True, list(fields)
        else:
            yield from ((False, [field]) for field in fields)


def _layouts(fields, order):
    """Return one struct layout of consecutive numbers per offset modulo MAX_ALIGNMENT."""
    layouts = []
    for start in range(MAX_ALIGNMENT):
        codes, offset = [], start
        for field in fields:
            code = _CODES[field.kind]
            size = struct.calcsize(f'<{code}')
            codes.append(f'{-offset % size}x{code}')
            offset += -offset % size + size
        layouts.append(struct.Struct(order + ''.join(codes)))
    return layouts


_COUNT_LAYOUTS = {order: _layouts([Field('', 'uint32', None)], order) for order in '<>'}
