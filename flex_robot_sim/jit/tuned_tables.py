"""
Tables of arrays in compiled code, by the private interfaces of Numba.

An attribute loads the pointer and the shape of an array from the list, see array_table.py. The
list is constant, and declared so to LLVM, which moves the loads out of loops.
"""

import operator
import sys

from llvmlite import binding, ir
from numba.core import cgutils, types
from numba.core.typing import signature
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_global
from numba.extending import NativeValue, infer_getattr, lower_builtin, lower_getattr_generic, unbox

from flex_robot_sim.jit.table_types import Handle, HandleRows

# the interned attribute name, known to the linker, for a fast lookup
_NAME, _SYMBOL = sys.intern('_address'), f'{__name__}._NAME'
binding.add_symbol(_SYMBOL, id(_NAME))


@unbox(Handle)
@unbox(HandleRows)
def _unboxed(_, table, c):
    number = c.pyapi.object_getattr(table, c.pyapi.get_c_object(_SYMBOL))
    address = cgutils.alloca_once_value(c.builder, ir.Constant(cgutils.voidptr_t, None))
    with c.builder.if_then(cgutils.is_not_null(c.builder, number), likely=True):
        c.builder.store(c.pyapi.long_as_voidptr(number), address)
        c.pyapi.decref(number)
    return NativeValue(c.builder.load(address), is_error=c.pyapi.c_api_error())


@infer_getattr
class _Attributes(AttributeTemplate):
    key = Handle

    def generic_resolve(self, handle, field):  # type: ignore[override]
        return handle.array(field)


@lower_getattr_generic(Handle)
def _load(context, builder, handle, address, field):
    from numba.np.arrayobj import make_array, populate_array  # slow; only to compile
    from numba.np.numpy_support import as_dtype

    kind, first = handle.array(field), handle.word(field)
    array = make_array(kind)(context, builder)
    intp = context.get_value_type(types.intp)

    def word(index, type_):
        start = builder.gep(
            builder.bitcast(address, intp.as_pointer()), [ir.Constant(intp, index)]
        )
        load = builder.load(builder.bitcast(start, type_.as_pointer()))
        load.set_metadata('invariant.load', builder.module.add_metadata([]))
        return load

    data = word(first, array.data.type)
    shape = [word(first + 1 + k, intp) for k in range(kind.ndim)]
    for k, length in enumerate(reversed(handle.lengths(field))):
        shape[-1 - k] = ir.Constant(intp, length)
    size = as_dtype(kind.dtype).itemsize
    strides = [ir.Constant(intp, size)]
    for length in shape[:0:-1]:
        strides.insert(0, builder.mul(strides[0], length))
    populate_array(
        array,
        data=data,
        shape=cgutils.pack_array(builder, shape, intp),
        strides=cgutils.pack_array(builder, strides, intp),
        itemsize=ir.Constant(intp, size),
        meminfo=None,
    )
    return array._getvalue()


@lower_builtin(operator.getitem, HandleRows, types.Integer)
def _row(context, builder, signature, arguments):
    rows, (address, k) = signature.args[0], arguments
    words = rows.row.word(None) if rows.differ else 0
    k = context.cast(builder, k, signature.args[1], types.intp)
    size = ir.Constant(k.type, words * k.type.width // 8)
    return builder.gep(address, [builder.mul(k, size)])


@infer_global(operator.getitem)
class _RowType(AbstractTemplate):
    key = operator.getitem

    def generic(self, arguments, _):
        rows, k = arguments
        if isinstance(rows, HandleRows) and isinstance(k, types.Integer):
            return signature(rows.row, rows, types.intp)
        return None
