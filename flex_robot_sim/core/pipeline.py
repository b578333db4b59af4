"""
Passes in which Numba compiles, without those that look for what no function here has.

Each walks through all of a function, and after most of them Numba looks again for where every
variable is used: together a sixth of the time to compile.
"""

from typing import Any

from numba.core.compiler import CompilerBase, DefaultPassBuilder

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
        manager.finalize()
        return [manager]
