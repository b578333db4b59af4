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
    hides from LLVM that neighbours are neighbours.
    """

    _name = 'count_from_start'

    def __init__(self) -> None:
        """Do nothing; Numba wants one for each pass."""

    def run_pass(self, state: Any) -> bool:
        """Make indices unsigned in the signatures of all accesses."""
        state.calltypes = {statement: _from_start(statement, signature)
                           for statement, signature in state.calltypes.items()}
        return True


def _from_start(statement, signature):
    """Signature of a statement, with unsigned indices if it is an access to an array."""
    is_access = (statement.op in ('getitem', 'static_getitem') if isinstance(statement, ir.Expr)
                 else isinstance(statement, (ir.SetItem, ir.StaticSetItem)))
    if not is_access or not signature or not isinstance(signature.args[0], types.Array):
        return signature
    array, index, *value = signature.args
    return signature.replace(args=(array, _unsigned(index), *value))


def _unsigned(index):
    if isinstance(index, types.Integer):
        return types.uintp
    if isinstance(index, types.BaseTuple) and all(isinstance(one, types.Integer) for one in index):
        return types.UniTuple(types.uintp, len(index))
    return index
