"""
Numba's types of tables of arrays, and how compiled code reads them, see array_table.py.

An attribute loads the pointer and the shape of an array from the list. The list is constant, and
declared so to LLVM, which moves the loads out of loops.
"""

from __future__ import annotations

import operator
import sys
from functools import cache
from itertools import accumulate
from typing import Any, get_type_hints

import numba
import numpy as np
from numba import types
from numba.extending import (
    NativeValue,
    lower_builtin,
    lower_getattr_generic,
    models,
    register_model,
    type_callable,
    unbox,
)

ADDRESS = sys.intern('_address')  # attribute of a table: where its list begins


@cache
def lengths_of(fields: type) -> dict[str, tuple[int, ...]]:
    """Return the constant last dimensions of the arrays of each field of a table."""
    return {
        name: getattr(kind, '__metadata__', ())
        for name, kind in get_type_hints(fields, include_extras=True).items()
    }


class Handle(types.BaseNamedTuple):
    """Numba's type of such a NamedTuple: its class, with dtype and dimensions of each field."""

    def __init__(self, table: Any, kinds: tuple[tuple[str, int], ...]) -> None:
        self.table, self.kinds, self.fields = table, kinds, table._fields
        self._words = [0, *accumulate(1 + dimensions for _, dimensions in kinds)]
        words = ''.join(f'{char}{dimensions}' for char, dimensions in kinds)
        super().__init__(name=f'Handle({table.__module__}.{table.__name__}, {words})')

    def __getitem__(self, index: int) -> Any:  # type: ignore[override]
        """Return the type of the array in a field; Numba resolves attributes by this."""
        char, dimensions = self.kinds[index]
        return types.Array(numba.from_dtype(np.dtype(char)), dimensions, 'C')

    def __len__(self) -> int:
        return len(self.fields)

    def lengths(self, field: str) -> tuple[int, ...]:
        """Return the constant last dimensions of the array in a field."""
        return lengths_of(self.table)[field]

    def word(self, field: str | None) -> int:
        """Index in the list of the pointer of a field, before its shape; None: the end."""
        return self._words[self.fields.index(field) if field else -1]


class HandleRows(types.Type):
    """Numba's type of TableRows: the type of a row, and whether rows differ."""

    def __init__(self, row: Handle, differ: bool) -> None:
        self.row, self.differ = row, differ
        super().__init__(name=f'Rows({row}, {differ})')


for kind in (Handle, HandleRows):
    register_model(kind)(models.OpaqueModel)


def find_address(table: Any, c: Any) -> Any:
    """Generate the look-up of an attribute; tuned_dispatcher.py replaces it by a faster one."""
    return c.pyapi.object_getattr_string(table, ADDRESS)


@unbox(Handle)
@unbox(HandleRows)
def _unboxed(_, table, c):
    number = find_address(table, c)
    address = c.builder.alloca(c.context.get_value_type(types.voidptr))
    c.builder.store(c.context.get_constant_null(types.voidptr), address)
    found = c.builder.icmp_unsigned('!=', number, c.pyapi.get_null_object())
    with c.builder.if_then(found, likely=True):
        c.builder.store(c.pyapi.long_as_voidptr(number), address)
        c.pyapi.decref(number)
    return NativeValue(c.builder.load(address), is_error=c.pyapi.c_api_error())


@lower_getattr_generic(Handle)
def _load(context, builder, handle, address, field):
    index, first = handle.fields.index(field), handle.word(field)
    kind = handle[index]
    array = context.make_array(kind)(context, builder)
    intp = context.get_value_type(types.intp)

    def word(index, type_):
        start = builder.gep(builder.bitcast(address, intp.as_pointer()), [intp(index)])
        load = builder.load(builder.bitcast(start, type_.as_pointer()))
        load.set_metadata('invariant.load', builder.module.add_metadata([]))
        return load

    shape = [word(first + 1 + k, intp) for k in range(kind.ndim)]
    for k, length in enumerate(reversed(handle.lengths(field))):
        shape[-1 - k] = intp(length)
    size = intp(np.dtype(handle.kinds[index][0]).itemsize)
    strides = [size]
    for length in shape[:0:-1]:
        strides.insert(0, builder.mul(strides[0], length))
    context.populate_array(
        array,
        data=word(first, array.data.type),
        shape=shape,
        strides=strides,
        itemsize=size,
        meminfo=None,
    )
    return array._getvalue()


@type_callable(operator.getitem)
def _type_row(_):
    def row(rows, k):
        is_row = isinstance(rows, HandleRows) and isinstance(k, types.Integer)
        return rows.row if is_row else None

    return row


@lower_builtin(operator.getitem, HandleRows, types.Integer)
def _row(context, builder, signature, arguments):
    rows, (address, k) = signature.args[0], arguments
    words = rows.row.word(None) if rows.differ else 0
    k = context.cast(builder, k, signature.args[1], types.intp)
    size = k.type(words * k.type.width // 8)
    return builder.gep(address, [builder.mul(k, size)])
