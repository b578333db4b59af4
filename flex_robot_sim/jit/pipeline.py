"""
Compiler passes of Numba, without those that have no effect on the functions of this package.

Each skipped pass would walk through the whole function, and most would repeat the analysis of
variable uses: together a sixth of the compile time.
"""

from typing import Any

from numba.core import ir, types
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.typed_passes import NopythonTypeInference

SKIPPED_PASSES = {
    # closures, overloads to be inlined, `with`, exceptions with dynamic messages
    'InlineClosureLikes',
    'MakeFunctionToJitFunction',
    'InlineInlinables',
    'InlineOverloads',
    'WithLifting',
    'RewriteDynamicRaises',
    # literal arguments, loops over heterogeneous tuples
    'FindLiterallyCalls',
    'LiteralUnroll',
    'LiteralPropagationSubPipelinePass',
    # dead branches, which LLVM also removes, and array expressions
    'DeadBranchPrune',
    'RewriteSemanticConstants',
    'NopythonRewrites',
}


class ShortPipeline(CompilerBase):
    """Compiler of functions that consist of scalars and loops."""

    def define_pipelines(self) -> list[Any]:
        """Return the list with the one pass manager."""
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager.passes = [
            (pass_class, description)
            for pass_class, description in manager.passes
            if pass_class.__name__ not in SKIPPED_PASSES
        ]
        manager.add_pass_after(CountFromStart, NopythonTypeInference)
        manager.finalize()
        return [manager]


@register_pass(mutates_CFG=False, analysis_only=False)
class CountFromStart(FunctionPass):
    """
    Treat every array index as unsigned: no function here uses negative indices.

    Numba checks before each access whether an index is negative. The checks take a tenth of a
    step, and hide contiguous accesses from LLVM. For a literal index, Numba also tries rules for
    literal values, which do not exist for arrays.
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
