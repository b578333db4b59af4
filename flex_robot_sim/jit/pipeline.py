"""
Passes in which Numba compiles.

Those that look for what no function here has are left out. Each walks through all of a function,
and after most of them Numba looks again for where every variable is used: together a sixth of the
time to compile.
"""

from typing import Any

from numba.core import ir, types
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.typed_passes import NopythonTypeInference

LEFT_OUT = {
    # closures, overloads to be written out, `with`, messages made when something is raised
    'InlineClosureLikes', 'MakeFunctionToJitFunction', 'InlineInlinables', 'InlineOverloads',
    'WithLifting', 'RewriteDynamicRaises',
    # arguments whose values are types, loops over tuples of mixed types
    'FindLiterallyCalls', 'LiteralUnroll', 'LiteralPropagationSubPipelinePass',
    # branches that are never taken, which LLVM finds, too, and expressions of whole arrays
    'DeadBranchPrune', 'RewriteSemanticConstants', 'NopythonRewrites',
}


class ShortPipeline(CompilerBase):
    """What compiles a function that is numbers and loops."""

    def define_pipelines(self) -> list[Any]:
        """Return the one list of passes."""
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager.passes = [(one, what) for one, what in manager.passes
                          if one.__name__ not in LEFT_OUT]
        manager.add_pass_after(CountFromStart, NopythonTypeInference)
        manager.finalize()
        return [manager]


@register_pass(mutates_CFG=False, analysis_only=False)
class CountFromStart(FunctionPass):
    """
    Take every index of an array as one from its start: no function here counts from the end.

    Numba asks before each access whether an index is negative. That is a tenth of a step, and
    hides from LLVM that neighbours are neighbours. Of an index that is written as a number it asks
    everybody whether they want to know the number, which for arrays nobody does.
    """

    _name = 'count_from_start'

    def __init__(self) -> None:
        """Do nothing; Numba wants one for each pass."""

    def run_pass(self, state: Any) -> bool:
        """Make indices unsigned in the signatures of all accesses."""
        for block in state.func_ir.blocks.values():
            for k, statement in enumerate(block.body):
                if isinstance(statement, ir.Assign) and isinstance(statement.value, ir.Expr):
                    statement.value = _got_from_start(statement.value, state.calltypes)
                elif isinstance(statement, (ir.SetItem, ir.StaticSetItem)):
                    block.body[k] = _set_from_start(statement, state.calltypes)
        return True


def _got_from_start(expression, calltypes):
    if expression.op not in ('getitem', 'static_getitem'):
        return expression
    signature = calltypes.pop(expression)
    if _is_of_array(signature):
        signature = _from_start(signature)
        if expression.op == 'static_getitem' and expression.index_var is not None:
            expression = ir.Expr.getitem(expression.value, expression.index_var, expression.loc)
    calltypes[expression] = signature
    return expression


def _set_from_start(statement, calltypes):
    signature = calltypes.pop(statement)
    if _is_of_array(signature):
        signature = _from_start(signature)
        if isinstance(statement, ir.StaticSetItem) and statement.index_var is not None:
            statement = ir.SetItem(statement.target, statement.index_var, statement.value,
                                   statement.loc)
    calltypes[statement] = signature
    return statement


def _is_of_array(signature):
    return signature and isinstance(signature.args[0], types.Array)


def _from_start(signature):
    array, index, *value = signature.args
    return signature.replace(args=(array, _unsigned(index), *value))


def _unsigned(index):
    if isinstance(index, types.Integer):
        return types.uintp
    if isinstance(index, types.BaseTuple) and all(isinstance(one, types.Integer) for one in index):
        return types.UniTuple(types.uintp, len(index))
    return index
