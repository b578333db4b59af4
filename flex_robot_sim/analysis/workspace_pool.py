"""
Pool of workspaces for queries of an arm, because creating one takes longer than most queries.

A workspace has one borrower at a time, so several threads may query the same arm. A borrowed
workspace contains data of previous queries, except servos, limits and prescribed motions, which
queries never set.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

from flex_robot_sim.dynamics.derivative_arrays import (
    ColumnOrder,
    DerivativeArrays,
    column_order,
    make_derivative_arrays,
)
from flex_robot_sim.jit.compiled import bind
from flex_robot_sim.model.arm_model import ArmModel, make_workspace


class ScratchWorkspace:
    """A Workspace of an arm, and the compiled functions bound to it."""

    def __init__(self, model: ArmModel) -> None:
        """Create the Workspace."""
        self._arrays, self.work = model.arrays, make_workspace(model.arrays)
        self._bound: dict[Any, Callable] = {}

    @cached_property
    def order(self) -> ColumnOrder:
        """Order of the columns of `derivative_arrays`."""
        return column_order(self._arrays)

    @cached_property
    def derivative_arrays(self) -> DerivativeArrays:
        """Work arrays of the derivatives of the dynamics."""
        return make_derivative_arrays(self._arrays, self.order.coordinate.size)

    def call(self, function: Any, *arguments: Any) -> Any:
        """Call a compiled function, always with the same argument types: they are not checked."""
        if function not in self._bound:
            self._bound[function] = bind(function, *arguments)
        return self._bound[function](*arguments)


@contextmanager
def borrowed(model: ArmModel) -> Iterator[ScratchWorkspace]:
    """Provide a ScratchWorkspace for an ArmModel during this context."""
    pool = _idle.setdefault(model, [])
    try:
        scratch = pool.pop()
    except IndexError:
        scratch = ScratchWorkspace(model)
    yield scratch
    pool.append(scratch)        # not after an error: its content is undefined


_idle: WeakKeyDictionary[ArmModel, list[ScratchWorkspace]] = WeakKeyDictionary()
