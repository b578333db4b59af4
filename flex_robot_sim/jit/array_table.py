"""
Tables of arrays, passed by pointer: how an arm and its workspace get into compiled code.

To Numba, a NamedTuple of a hundred arrays is a value of seven hundred words: every call copies
them, and every function that takes one needs seconds to compile. The decorator `pass_by_pointer`
leaves the notation `work.R[i]` unchanged. But compiled code gets the address of a list, which has
the pointer and the shape of each array, and loads the words that it uses.

The Python object owns arrays and list, and outlives every call that takes it.

A table of many arms has the same fields with a row for each arm. Its `TableRows` hold the lists of
all rows, so that `rows[k]` is the table of one arm.
"""

from __future__ import annotations

from functools import cache, cached_property, lru_cache
from itertools import accumulate, chain
from math import prod
from typing import Annotated, Any, TypeVar

import numpy as np
from numba.extending import typeof_impl

from flex_robot_sim.jit.table_types import Handle, HandleRows, lengths_of
from flex_robot_sim.util.read_only import read_only
from flex_robot_sim.util.serialization import STAMP, make_table
from flex_robot_sim.util.summary import listed

Table = TypeVar('Table', bound=type)

# arrays with constant last dimensions, over which the compiler can unroll loops
Vectors3 = Annotated[np.ndarray, 3]
Vectors6 = Annotated[np.ndarray, 6]
Matrices3 = Annotated[np.ndarray, 3, 3]
Matrices6 = Annotated[np.ndarray, 6, 6]


def pass_by_pointer(fields: Table) -> Table:
    """Make compiled code take instances of a NamedTuple of arrays by pointer; a decorator."""
    name = fields.__name__
    return type(
        name,
        (_PassByPointer, fields),
        {
            '__doc__': fields.__doc__,  # type: ignore
            '__module__': fields.__module__,
            '__qualname__': fields.__qualname__,
        },
    )


class _PassByPointer(tuple):
    """Mixin that `pass_by_pointer` adds to a NamedTuple."""

    _fields: tuple[str, ...]

    def __reduce__(self):
        # without the list: addresses are valid in this process and for these arrays only
        return make_table, (STAMP, type(self), *self)

    def __copy__(self):
        return type(self)(*(array.copy() for array in self))

    def read_only(self):
        """Return a table of read-only views; compiled code gets the same pointers."""
        if not any(array.flags.writeable for array in self):
            return self
        table = type(self)(*map(read_only, self))
        vars(table).update(vars(self))  # list and type, if known
        return table

    def __repr__(self):
        shapes = (f'{name} {array.shape}' for name, array in zip(self._fields, self))
        return f'<{type(self).__name__}: {listed(shapes)}>'

    def _replace(self, **replacements):
        table = super()._replace(**replacements)  # type: ignore[misc]
        if '_list' in vars(self) and all(
            getattr(self, name).ndim == array.ndim for name, array in replacements.items()
        ):
            table._list = self._list.copy()  # faster than reading the pointer of each array
            for name in replacements:
                words, start = _words(table, name), self._numba_type_.word(name)
                table._list[start : start + len(words)] = words
        return table

    @cached_property
    def _list(self):
        return np.array(
            [word for name in self._fields for word in _words(self, name)], dtype=np.intp
        )

    @cached_property
    def _address(self):
        return self._list.ctypes.data

    @cached_property
    def _numba_type_(self):
        return _handle(type(self), tuple((array.dtype.char, array.ndim) for array in self))


def _words(table, name):
    """Pointer and shape of the array in a field."""
    array, lengths = getattr(table, name), lengths_of(table.__class__)[name]
    assert array.flags.c_contiguous and array.flags.aligned, name
    assert not lengths or array.shape[-len(lengths) :] == lengths, name
    return array.ctypes.data, *array.shape


def zeros(fields: Any, shapes: tuple[tuple[int, ...], ...]) -> Any:
    """
    Return a table of zeros in one block of memory.

    That takes a fifth of the time of separate arrays, each of which has to return its pointer.
    Most queries of an arm make such a table.

    :param fields: class of the table; shapes: of its arrays, in order.
    """
    size, slices, offsets, addresses, handle = _block_layout(fields, shapes)
    memory = np.zeros(size)
    table = fields(*[memory[block].reshape(shape) for block, shape in zip(slices, shapes)])
    table._list, table._numba_type_ = offsets.copy(), handle
    table._list[addresses] += memory.ctypes.data
    return table


@lru_cache(maxsize=64)
def _block_layout(fields, shapes):
    """Size, slice of each array, list with offsets, indices of these in the list, and type."""
    sizes = [prod(shape) for shape in shapes]
    starts = [0, *accumulate(size + size % 2 for size in sizes)]  # aligned to 16 bytes
    slices = [slice(start, start + size) for start, size in zip(starts, sizes)]
    words = [(start * np.dtype(float).itemsize, *shape) for start, shape in zip(starts, shapes)]
    handle = _handle(fields, tuple(('d', len(shape)) for shape in shapes))
    addresses = [handle.word(name) for name in fields._fields]
    return starts[-1], slices, np.array([*chain(*words)], np.intp), addresses, handle


class TableRows:
    """Rows of a table, each as such a NamedTuple; all rows share an array with one row."""

    def __init__(self, table: Any) -> None:
        count = max(map(len, table))
        self._table = table
        self._lists = np.stack(
            [
                word
                for array in table
                for word in (
                    array.ctypes.data
                    + np.arange(count) * (array.strides[0] if len(array) > 1 else 0),
                    *(np.full(count, length) for length in array.shape[1:]),
                )
            ],
            axis=1,
        ).astype(np.intp)
        self._address = self._lists.ctypes.data

    def __getitem__(self, k: int) -> Any:
        return type(self._table)(*(array[min(k, len(array) - 1)] for array in self._table))

    def __len__(self) -> int:
        return len(self._lists)

    @cached_property
    def _numba_type_(self):
        return HandleRows(self[0]._numba_type_, len(self) > 1)


_handle = cache(Handle)  # there are few kinds of tables


@typeof_impl.register(_PassByPointer)
@typeof_impl.register(TableRows)
def _type_of(value, _):
    return value._numba_type_
