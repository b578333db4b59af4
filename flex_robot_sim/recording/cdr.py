"""
Messages to bytes and back, as DDS sends them: CDR, the plain one of XCDR version 1.

Four bytes say the order of the others. Every number lies at a multiple of its own size, counted
from behind these four; texts and sequences begin with their length, and a text ends with a 0.

What is to be done for a type is found once, as functions for its fields in turn: a recording
has many messages of few types. Numbers that follow each other are one step.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Mapping
from itertools import groupby
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from flex_robot_sim.recording.definitions import PRIMITIVES, TEXT, Field, MessageType

LITTLE = b'\x00\x01\x00\x00'
HEADER = 4
WIDEST = 8              # of all numbers [bytes]: of a place, only the rest by this tells
MAX_LISTS = 2**21       # of a message with lists of texts or messages, which take room    [bytes]
MAX_VALUES = 500_000    # in the lists of a message; 20,000 points of a trajectory have 160,000
# of struct, whose codes are not those of NumPy
_CODES = {kind: {'?': '?', 'u1': 'B', 'i1': 'b', 'i2': 'h', 'u2': 'H', 'i4': 'i', 'u4': 'I',
                 'i8': 'q', 'u8': 'Q', 'f4': 'f', 'f8': 'd'}[word]
          for kind, word in PRIMITIVES.items()}

_Putters = WeakKeyDictionary[MessageType, Callable[[bytearray, Mapping[str, Any]], None]]
_Getters = WeakKeyDictionary[MessageType, Callable[[memoryview, int], tuple[Any, int]]]
_PUTTERS: _Putters = WeakKeyDictionary()
_GETTERS: dict[str, _Getters] = {'<': WeakKeyDictionary(), '>': WeakKeyDictionary()}


class _Budget(threading.local):
    """How many values the lists of the message in hand may still have; their bytes may be none."""

    left = 0

    def spend(self, values):
        self.left -= values
        if self.left < 0:
            raise MessageError(f'its lists have more than {MAX_VALUES} values')


_BUDGET = _Budget()


class MessageError(ValueError):
    """Bytes that are no message of their type."""


def encode(kind: MessageType, values: Mapping[str, Any]) -> bytes:
    """Return the bytes of a message; fields that are not named are zero or empty."""
    body = bytearray()
    _putter(kind)(body, values)
    return LITTLE + bytes(body)


def decode(kind: MessageType, data: bytes) -> dict[str, Any]:
    """
    Return {field: value} of the bytes of a message: numbers, texts, arrays, lists, dicts.

    What lies behind the message is passed over: some who write leave bytes there.
    """
    if len(data) < HEADER or data[0] or data[1] > 1:
        raise MessageError('these bytes are no CDR')
    _BUDGET.left = MAX_VALUES
    try:
        return _getter(kind, '<' if data[1] else '>')(memoryview(data)[HEADER:], 0)[0]
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise MessageError('the message is cut off') from error


def trimmed(kind: MessageType, data: bytes) -> bytes:
    """
    Return the bytes of a message without those that lie behind it.

    Some who write leave room for the first number of each sequence that is empty, at the end, and
    some who read refuse that.
    """
    _BUDGET.left = MAX_VALUES
    try:
        return data[:HEADER + _end_of(kind, kind.name, memoryview(data)[HEADER:],
                                      '<I' if data[1] else '>I', 0)]
    except (struct.error, IndexError, MessageError):
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
            if place > len(body):
                raise IndexError        # a wild count would go on for ever
            _BUDGET.spend(1)
            if field.kind == TEXT:
                place += -place % 4
                place += 4 + struct.unpack_from(word, body, place)[0]
            else:
                place = _end_of(kind, field.kind, body, word, place)
    return place


def _putter(kind):
    """Return what adds the values of a message to bytes."""
    put = _PUTTERS.get(kind)
    if put is None:
        put = _PUTTERS[kind] = _putter_of(kind, kind.name)
    return put


def _putter_of(kind, name):
    steps = []
    for is_run, fields in _parts(kind, name):
        if is_run:
            steps.append(_numbers_put(fields))
            continue
        field, = fields
        if field.kind in PRIMITIVES:
            steps.append(_array_put(field))
        else:
            put = _put_text if field.kind == TEXT else _putter_of(kind, field.kind)
            steps.append((_one_put if field.size is None else _list_put)(field, put))

    def put_message(body, values):
        values = values or {}
        for step in steps:
            step(body, values)
    return put_message


def _numbers_put(fields):
    names, layouts = [field.name for field in fields], _layouts(fields, '<')

    def put(body, values):
        body += layouts[len(body) % WIDEST].pack(*[values.get(name) or 0 for name in names])
    return put


def _one_put(field, put_value):
    def put(body, values):
        put_value(body, values.get(field.name))
    return put


def _list_put(field, put_value):
    def put(body, values):
        items = _items(field, values)
        if field.size < 0:
            _put_count(body, len(items))
        for item in items:
            put_value(body, item)
    return put


def _array_put(field):
    dtype = np.dtype(f'<{PRIMITIVES[field.kind]}')

    def put(body, values):
        items = _items(field, values)
        if field.size < 0:
            _put_count(body, len(items))
        if not len(items):
            return
        if not (isinstance(items, np.ndarray) and items.dtype == dtype):
            items = np.array([0 if item is None else item for item in items], dtype)
        body += bytes(-len(body) % dtype.itemsize) + items.tobytes()
    return put


def _items(field, values):
    items = values.get(field.name)
    return [None] * max(field.size, 0) if items is None else items


def _put_text(body, value):
    text = (value or '').encode()
    _put_count(body, len(text) + 1)
    body += text + b'\0'


def _put_count(body, count):
    body += _COUNTS['<'][len(body) % WIDEST].pack(count)


def _getter(kind, order):
    """Return what takes a message off bytes at a place: its values, and the place behind them."""
    get = _GETTERS[order].get(kind)
    if get is None:
        get = _GETTERS[order][kind] = _getter_of(kind, kind.name, order)
    return get


def _getter_of(kind, name, order):
    steps = []
    for is_run, fields in _parts(kind, name):
        if is_run:
            steps.append(_numbers_got(fields, order))
            continue
        field, = fields
        if field.kind in PRIMITIVES:
            steps.append(_one_got(field.name, _array_getter(field, order)))
        else:
            get = _text_getter(order) if field.kind == TEXT else _getter_of(kind, field.kind,
                                                                            order)
            steps.append(_one_got(field.name, get if field.size is None else _list_getter(
                field, get, order, _values_in(kind, field.kind))))

    def get_message(data, place):
        values = {}
        for step in steps:
            place = step(data, place, values)
        return values, place
    return get_message


def _numbers_got(fields, order):
    names, layouts = [field.name for field in fields], _layouts(fields, order)

    def get(data, place, values):
        layout = layouts[place % WIDEST]
        values.update(zip(names, layout.unpack_from(data, place)))
        return place + layout.size
    return get


def _one_got(name, get_value):
    def get(data, place, values):
        values[name], place = get_value(data, place)
        return place
    return get


def _values_in(kind, name):
    """Values in a text or a message; a list in it counts as one until it is read."""
    if name not in kind.types:
        return 1
    return 1 + sum(1 if field.size is not None else _values_in(kind, field.kind)
                   for field in kind.types[name])


def _list_getter(field, get_value, order, values):
    """:param values: in each item, see `_values_in`."""
    counts = _COUNTS[order]

    def get(data, place):
        if len(data) > MAX_LISTS:
            raise MessageError('the message is too large for its lists')
        count, place = _count(field, counts, data, place)
        # each takes a byte at least, so that a wild count ends soon
        if count > len(data) - place:
            raise MessageError('the message is cut off')
        _BUDGET.spend(count * values)
        items = []
        for _ in range(count):
            item, place = get_value(data, place)
            items.append(item)
        return items, place
    return get


def _array_getter(field, order):
    dtype, counts = np.dtype(f'{order}{PRIMITIVES[field.kind]}'), _COUNTS[order]
    ours = dtype.newbyteorder('=')

    def get(data, place):
        count, place = _count(field, counts, data, place)
        if not count:
            return np.empty(0, ours), place
        place += -place % dtype.itemsize
        end = place + count * dtype.itemsize
        if end > len(data):
            raise MessageError('the message is cut off')
        return np.frombuffer(data, dtype, count, place).astype(ours), end
    return get


def _text_getter(order):
    counts = _COUNTS[order]

    def get(data, place):
        layout = counts[place % WIDEST]
        place += layout.size
        end = place + layout.unpack_from(data, place - layout.size)[0]
        if end > len(data):
            raise MessageError('the message is cut off')
        return str(data[place:max(place, end - 1)], errors='replace'), end
    return get


def _count(field, counts, data, place):
    """How many a field has, and the place behind what tells so."""
    if field.size >= 0:
        return field.size, place
    layout = counts[place % WIDEST]
    return layout.unpack_from(data, place)[0], place + layout.size


def _parts(kind, name):
    """Fields of a type in turn: (whether they are numbers, fields), other fields one by one."""
    for is_run, fields in groupby(kind.types[name], lambda field: (
            field.size is None and field.kind in PRIMITIVES)):
        if is_run:
            yield True, list(fields)
        else:
            yield from ((False, [field]) for field in fields)


def _layouts(fields, order):
    """Numbers after each other as struct has them, for each place that the first may begin at."""
    layouts = []
    for begin in range(WIDEST):
        codes, place = [], begin
        for field in fields:
            code = _CODES[field.kind]
            size = struct.calcsize(f'<{code}')
            codes.append(f'{-place % size}x{code}')
            place += -place % size + size
        layouts.append(struct.Struct(order + ''.join(codes)))
    return layouts


_COUNTS = {order: _layouts([Field('', 'uint32', None)], order) for order in '<>'}
