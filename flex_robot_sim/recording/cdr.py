"""
Messages to bytes and back, as DDS sends them: CDR, the plain one of XCDR version 1.

Four bytes say the order of the others. Every number lies at a multiple of its own size, counted
from behind these four; texts and sequences begin with their length, and a text ends with a 0.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from flex_robot_sim.recording.definitions import PRIMITIVES, TEXT, MessageType

LITTLE = b'\x00\x01\x00\x00'
HEADER = 4
# of struct, whose codes are not those of NumPy
_CODES = {kind: {'?': '?', 'u1': 'B', 'i1': 'b', 'i2': 'h', 'u2': 'H', 'i4': 'i', 'u4': 'I',
                 'i8': 'q', 'u8': 'Q', 'f4': 'f', 'f8': 'd'}[word]
          for kind, word in PRIMITIVES.items()}


class MessageError(ValueError):
    """Bytes that are no message of their type."""


def encode(kind: MessageType, values: Mapping[str, Any]) -> bytes:
    """Return the bytes of a message; fields that are not named are zero or empty."""
    body = bytearray()
    _put_message(body, kind, kind.name, values)
    return LITTLE + bytes(body)


def decode(kind: MessageType, data: bytes) -> dict[str, Any]:
    """
    Return {field: value} of the bytes of a message: numbers, texts, arrays, lists, dicts.

    What lies behind the message is passed over: some who write leave bytes there.
    """
    if len(data) < HEADER or data[0] or data[1] > 1:
        raise MessageError('these bytes are no CDR')
    try:
        return _Reader(data, '<' if data[1] else '>').message(kind, kind.name)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise MessageError('the message is cut off') from error


def trimmed(kind: MessageType, data: bytes) -> bytes:
    """
    Return the bytes of a message without those that lie behind it.

    Some who write leave room for the first number of each sequence that is empty, at the end, and
    some who read refuse that.
    """
    try:
        return data[:HEADER + _end_of(kind, kind.name, memoryview(data)[HEADER:],
                                      '<I' if data[1] else '>I', 0)]
    except (struct.error, IndexError):
        return data                     # whoever reads it will say that it is no message


def may_leave_room(kind: MessageType) -> bool:
    """Whether messages have a sequence of numbers of eight bytes, so that `trimmed` is of use."""
    return any(field.size == -1 and PRIMITIVES.get(field.kind, '  ')[1] == '8'
               for fields in kind.types.values() for field in fields)


def _end_of(kind, name, body, word, place):
    """Place behind what begins at a place of `body`, without looking at numbers."""
    for field in kind.types[name]:
        count = 1 if field.size is None else field.size
        if count < 0:
            place += -place % 4
            count, place = struct.unpack_from(word, body, place)[0], place + 4
        if field.kind in PRIMITIVES:
            size = int(PRIMITIVES[field.kind][-1]) if field.kind != 'bool' else 1
            if count:
                place += -place % size + count * size
            continue
        for _ in range(count):
            if field.kind == TEXT:
                place += -place % 4
                place += 4 + struct.unpack_from(word, body, place)[0]
            else:
                place = _end_of(kind, field.kind, body, word, place)
    return place


def _align(body, size):
    body.extend(bytes(-len(body) % size))


def _put_message(body, kind, name, values):
    for field in kind.types[name]:
        value = values.get(field.name)
        if field.size is None:
            _put_one(body, kind, field.kind, value)
            continue
        value = [None] * max(field.size, 0) if value is None else value
        if field.size < 0:
            _align(body, 4)
            body.extend(struct.pack('<I', len(value)))
        if field.kind in PRIMITIVES:
            if len(value):
                dtype = np.dtype(f'<{PRIMITIVES[field.kind]}')
                _align(body, dtype.itemsize)
                body.extend(np.array([0 if item is None else item for item in value],
                                     dtype).tobytes())
        else:
            for item in value:
                _put_one(body, kind, field.kind, item)


def _put_one(body, kind, name, value):
    if name == TEXT:
        text = (value or '').encode()
        _align(body, 4)
        body.extend(struct.pack('<I', len(text) + 1) + text + b'\0')
    elif name in PRIMITIVES:
        code = _CODES[name]
        _align(body, struct.calcsize(f'<{code}'))
        body.extend(struct.pack(f'<{code}', value or 0))
    else:
        _put_message(body, kind, name, value or {})


class _Reader:
    """Takes values off the bytes of a message, one after the other."""

    def __init__(self, data, order):
        self._data, self._order, self._place = memoryview(data)[HEADER:], order, 0

    def message(self, kind, name):
        return {field.name: self._field(kind, field) for field in kind.types[name]}

    def _field(self, kind, field):
        if field.size is None:
            return self._one(kind, field.kind)
        count = self._number('I', 4) if field.size < 0 else field.size
        if field.kind in PRIMITIVES:
            return self._array(PRIMITIVES[field.kind], count)
        # each takes a byte at least, so that a wild count ends soon
        if count > len(self._data) - self._place:
            raise MessageError('the message is cut off')
        return [self._one(kind, field.kind) for _ in range(count)]

    def _one(self, kind, name):
        if name == TEXT:
            return self._text()
        if name in PRIMITIVES:
            code = _CODES[name]
            return self._number(code, struct.calcsize(f'<{code}'))
        return self.message(kind, name)

    def _number(self, code, size):
        place = self._place + -self._place % size
        self._place = place + size
        return struct.unpack_from(f'{self._order}{code}', self._data, place)[0]

    def _text(self):
        size = self._number('I', 4)
        text = bytes(self._data[self._place:self._place + size])
        if len(text) < size:
            raise MessageError('the message is cut off')
        self._place += size
        return text[:-1].decode(errors='replace')

    def _array(self, word, count):
        dtype = np.dtype(f'{self._order}{word}')
        if not count:
            return np.empty(0, dtype.newbyteorder('='))
        place = self._place + -self._place % dtype.itemsize
        self._place = place + count * dtype.itemsize
        if self._place > len(self._data):
            raise MessageError('the message is cut off')
        return np.frombuffer(self._data, dtype, count, place).astype(dtype.newbyteorder('='))
