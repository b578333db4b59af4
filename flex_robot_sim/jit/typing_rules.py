"""
What Numba finds at once: most of what is compiled here is a[i] and a * b of numbers.

Numba asks all who know about an operator, one after the other, and those who know plain numbers
and arrays come last: each * of two numbers is first offered to numpy's rules for arrays. Here they
are asked first. What they answer is what Numba itself would have found, in a tenth less time to
compile.
"""

import operator

from numba.core import types
from numba.core.typing import signature
from numba.core.typing.arraydecl import GetItemBuffer, SetItemBuffer
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.extending import lower_builtin

ARITHMETIC = (operator.add, operator.sub, operator.mul,
              operator.iadd, operator.isub, operator.imul)
DIVISIONS = operator.truediv, operator.itruediv
COMPARISONS = operator.lt, operator.le, operator.gt, operator.ge
FIRST = {'target': 'cpu'}       # and no other processor: that is what Numba asks first


@infer_global(operator.getitem)
class _Arrays(GetItemBuffer):
    metadata = FIRST


@infer_global(operator.setitem)
class _ArraysToSet(SetItemBuffer):
    metadata = FIRST


class _Numbers(AbstractTemplate):
    """Two numbers, whole or not, as numpy has them."""

    metadata = FIRST

    def generic(self, arguments, _):
        if len(arguments) != 2 or not {*arguments} <= {types.float64, types.int64}:
            return None
        common = types.float64 if types.float64 in arguments else types.int64
        return self.result(common)

    def result(self, common):
        return signature(common, common, common)


class _Divided(_Numbers):
    def result(self, common):
        return signature(types.float64, common, common)


class _Compared(_Numbers):
    def result(self, common):
        return signature(types.boolean, common, common)


for kind, keys in ((_Numbers, ARITHMETIC), (_Divided, DIVISIONS), (_Compared, COMPARISONS)):
    for key in keys:
        infer_global(key)(type(f'{kind.__name__}_{key.__name__}', (kind,), {'key': key}))


@lower_builtin('__array__', types.Array)
def _array_of(context, builder, signature, arguments):
    """An array is its own array: Numba looks through all it knows before it takes that for so."""
    return arguments[0]
