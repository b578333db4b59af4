"""
Tables of arrays in compiled code, by documented interfaces of Numba.

An attribute of a table becomes `numba.carray` of the pointer and the shape in its list, see
array_table.py.
"""

import operator
from collections.abc import Callable

import numpy as np
from numba import carray, types
from numba.extending import NativeValue, intrinsic, overload, overload_attribute, unbox

from flex_robot_sim.jit.table_types import Handle, HandleRows

_field_names: set[str] = set()  # of the registered attributes


@unbox(Handle)
@unbox(HandleRows)
def _unboxed(_, table, c):
    number = c.pyapi.object_getattr_string(table, '_address')
    address = c.builder.alloca(c.context.get_value_type(types.voidptr))
    c.builder.store(c.context.get_constant_null(types.voidptr), address)
    found = c.builder.icmp_unsigned('!=', number, c.pyapi.get_null_object())
    with c.builder.if_then(found, likely=True):
        c.builder.store(c.pyapi.long_as_voidptr(number), address)
        c.pyapi.decref(number)
    return NativeValue(c.builder.load(address), is_error=c.pyapi.c_api_error())


def add_attributes(names: tuple[str, ...]) -> None:
    """Make compiled code read these fields of all tables that have them."""
    for name in names:
        if name not in _field_names:
            _field_names.add(name)
            overload_attribute(Handle, name)(_reader_of(name))


def _reader_of(name: str) -> Callable:
    def reader(table):  # Numba refuses annotations here
        if name not in table.table._fields:
            return None
        pointer, shape = _pointer_and_shape(table, name)
        dtype = np.dtype(table.kind(name)[0]).type
        return lambda table: carray(pointer(table), shape(table), dtype)

    return reader


def _pointer_and_shape(handle, name):
    """Intrinsics that read the pointer and the shape of an array from the list."""
    first, lengths = handle.word(name), handle.lengths(name)
    _, dimensions = handle.kind(name)
    free = dimensions - len(lengths)

    def word(context, builder, address, index):
        intp = context.get_value_type(types.intp)
        words = builder.bitcast(address, intp.as_pointer())
        return builder.load(builder.gep(words, [context.get_constant(types.intp, index)]))

    @intrinsic
    def pointer(_, table):
        def load(context, builder, _signature, arguments):
            return builder.inttoptr(
                word(context, builder, arguments[0], first), context.get_value_type(types.voidptr)
            )

        return types.voidptr(table), load

    @intrinsic
    def shape(_, table):
        def load(context, builder, signature, arguments):
            sizes = [word(context, builder, arguments[0], first + 1 + k) for k in range(free)]
            sizes += [context.get_constant(types.intp, length) for length in lengths]
            return context.make_tuple(builder, signature.return_type, sizes)

        return types.UniTuple(types.intp, dimensions)(table), load

    return pointer, shape


@overload(operator.getitem)
def _row(rows, k):
    if isinstance(rows, HandleRows) and isinstance(k, types.Integer):
        return lambda rows, k: _row_address(rows, k)  # type: ignore[call-arg]
    return None


@intrinsic
def _row_address(_, rows, _k):
    words = rows.row.word(None) if rows.differ else 0

    def address(context, builder, _signature, arguments):
        size = context.get_constant(types.intp, words * np.dtype(np.intp).itemsize)
        return builder.gep(arguments[0], [builder.mul(arguments[1], size)])

    return rows.row(rows, types.intp), address
