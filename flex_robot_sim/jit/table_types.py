"""Numba's types of tables of arrays, see array_table.py: the information for compilation."""

from __future__ import annotations

from functools import cache
from itertools import accumulate
from typing import Any, get_type_hints

import numba
import numpy as np
from numba import types
from numba.extending import models, register_model


@cache
def lengths_of(fields: type) -> dict[str, tuple[int, ...]]:
    """Return the constant last dimensions of the arrays of each field of a table."""
    return {
        name: getattr(kind, '__metadata__', ())
        for name, kind in get_type_hints(fields, include_extras=True).items()
    }


class Handle(types.Type):
    """Numba's type of such a NamedTuple: its class, with dtype and dimensions of each field."""

    def __init__(self, table: Any, kinds: tuple[tuple[str, int], ...]) -> None:
        self.table, self.kinds = table, kinds
        self._words = [0, *accumulate(1 + dimensions for _, dimensions in kinds)]
        words = ''.join(f'{char}{dimensions}' for char, dimensions in kinds)
        super().__init__(name=f'Handle({table.__module__}.{table.__name__}, {words})')

    def array(self, field: str) -> Any:
        """Numba's type of the array in a field; None if there is no such field."""
        if field not in self.table._fields:
            return None
        char, dimensions = self.kind(field)
        return types.Array(numba.from_dtype(np.dtype(char)), dimensions, 'C')

    def kind(self, field: str) -> tuple[str, int]:
        """Return the dtype and the number of dimensions of the array in a field."""
        return self.kinds[self.table._fields.index(field)]

    def lengths(self, field: str) -> tuple[int, ...]:
        """Return the constant last dimensions of the array in a field."""
        return lengths_of(self.table)[field]

    def word(self, field: str | None) -> int:
        """Index in the list of the pointer of a field, before its shape; None: the end."""
        return self._words[self.table._fields.index(field) if field else -1]


class HandleRows(types.Type):
    """Numba's type of TableRows: the type of a row, and whether rows differ."""

    def __init__(self, row: Handle, differ: bool) -> None:
        self.row, self.differ = row, differ
        super().__init__(name=f'Rows({row}, {differ})')


for kind in (Handle, HandleRows):
    register_model(kind)(models.OpaqueModel)
