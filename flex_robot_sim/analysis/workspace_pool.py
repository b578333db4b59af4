"""
Pool of workspaces for queries of an arm, because creating one takes longer than most queries.

One thread at a time borrows a workspace, so several threads may query the same arm. A borrowed
workspace contains data of previous queries, except servos, limits and prescribed motions, which
queries never set.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

from flex_robot_sim.dynamics.derivative_arrays import (
    ColumnOrder,
    DerivativeArrays,
    column_order,
    make_derivative_arrays,
)
from flex_robot_sim.jit.compiled import bind, call_with_tables
from flex_robot_sim.model.arguments import expect_arm
from flex_robot_sim.model.arm_model import ArmModel, Frame
from flex_robot_sim.model.workspace import Workspace, make_workspace


class ScratchWorkspace:
    """A Workspace of an arm, and the compiled functions bound to it."""

    def __init__(self, model: ArmModel) -> None:
        """Create the Workspace."""
        self._arrays, self.work = model.arrays, make_workspace(model.arrays)
        self.frames: dict[str | None, Frame] = {}  # of links, as compiled functions take them
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
        bound = self._bound.get(function)
        if bound is not None:
            return bound(*arguments)
        result = bind(function, *arguments)(*arguments)  # a first call is slower
        self._bound[function] = bind(function, *arguments)
        return result


class borrowed:
    """Context with a ScratchWorkspace of an ArmModel; SettingError for anything else."""

    __slots__ = ('_pool', '_scratch')

    def __init__(self, model: ArmModel) -> None:
        """Find the pool of the arm."""
        try:
            self._pool = _idle[model]
        except (KeyError, TypeError):  # TypeError: nothing that could be an arm
            expect_arm(model, closed_loops=True, free_base=True)
            self._pool = _idle.setdefault(model, [])
        try:
            self._scratch = self._pool.pop()
        except IndexError:
            self._scratch = ScratchWorkspace(model)

    def __enter__(self) -> ScratchWorkspace:
        return self._scratch

    def __exit__(self, error: object, *_: object) -> None:
        if error is None:  # after an error its content is undefined
            self._pool.append(self._scratch)


class provided:
    """Context with a Workspace of the caller, in place of `borrowed`."""

    __slots__ = ('frames', 'work')

    def __init__(self, work: Workspace) -> None:
        self.frames: dict[str | None, Frame] = {}
        self.work = work

    def __enter__(self) -> 'provided':
        return self

    def __exit__(self, *_: object) -> None:
        """The Workspace stays with the caller."""

    @staticmethod
    def call(function: Any, *arguments: Any) -> Any:
        """Call a compiled function whose last argument is the Workspace."""
        return call_with_tables(function, *arguments)


_idle: WeakKeyDictionary[ArmModel, list[ScratchWorkspace]] = WeakKeyDictionary()
