"""
Compiler passes of Numba, with one more that makes array indices unsigned.

Numba checks before each access whether an index is negative. The checks take a tenth of a step.
"""

from typing import Any

from numba.core import ir, types
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.typed_passes import NopythonTypeInference


class UnsignedIndexPipeline(CompilerBase):
    """Compiler of functions that use no negative index."""

    def define_pipelines(self) -> list[Any]:
        """Return the list with the one pass manager."""
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager.add_pass_after(CountFromStart, NopythonTypeInference)
        manager.finalize()
        return [manager]


@register_pass(mutates_CFG=False, analysis_only=False)
class CountFromStart(FunctionPass):
    """
    Treat every array index as unsigned: no function here uses negative indices.

    The checks for negative indices also hide contiguous accesses from LLVM. For a literal index,
    Numba also tries rules for literal values, which do not exist for arrays.
    """

    _name = 'count_from_start'

    def __init__(self) -> None:
        """Do nothing; Numba requires a constructor for each pass."""

    def run_pass(self, state: Any) -> bool:
        """Make indices unsigned in the signatures of all accesses."""
        for block in state.func_ir.blocks.values():
            for k, statement in enumerate(block.body):
                if isinstance(statement, ir.Assign) and isinstance(statement.value, ir.Expr):
                    statement.value = _get_unsigned(statement.value, state.calltypes)
                elif isinstance(statement, (ir.SetItem, ir.StaticSetItem)):
                    block.body[k] = _set_unsigned(statement, state.calltypes)
        return True


def _get_unsigned(expression, calltypes):
    if expression.op not in ('getitem', 'static_getitem'):
        return expression
    signature = calltypes.pop(expression)
    if _is_of_array(signature):
        signature = _with_unsigned_index(signature)
        if expression.op == 'static_getitem' and expression.index_var is not None:
            expression = ir.Expr.getitem(expression.value, expression.index_var, expression.loc)
    calltypes[expression] = signature
    return expression


def _set_unsigned(statement, calltypes):
    signature = calltypes.pop(statement)
    if _is_of_array(signature):
        signature = _with_unsigned_index(signature)
        if isinstance(statement, ir.StaticSetItem) and statement.index_var is not None:
            statement = ir.SetItem(
                statement.target, statement.index_var, statement.value, statement.loc
            )
    calltypes[statement] = signature
    return statement


def _is_of_array(signature):
    return signature and isinstance(signature.args[0], types.Array)


def _with_unsigned_index(signature):
    array, index, *value = signature.args
    return signature.replace(args=(array, _unsigned(index), *value))


def _unsigned(index):
    if isinstance(index, types.Integer):
        return types.uintp
    if isinstance(index, types.BaseTuple) and all(
        isinstance(element, types.Integer)
        for element in index  # type: ignore[attr-defined]
    ):
        return types.UniTuple(types.uintp, len(index))
    return index
