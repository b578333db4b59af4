"""
Workspaces that questions about an arm borrow, as to make one takes longer than most answers.

Each has one borrower at a time, so that threads may ask about the same arm. Who borrows one finds
in it what was left there, except servos, limits and motions that are led, which nobody here sets.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from flex_robot_sim.jit.compiled import bind
from flex_robot_sim.model.arm_model import ArmModel, make_workspace


class ScratchWorkspace:
    """A Workspace of an arm, and the compiled functions that were called with it."""

    def __init__(self, model: ArmModel) -> None:
        """Make the Workspace."""
        self.work = make_workspace(model.arrays)
        self._bound: dict[Any, Callable] = {}

    def call(self, function: Any, *arguments: Any) -> Any:
        """Call a compiled function, always with arguments of the same types: nobody looks."""
        if function not in self._bound:
            self._bound[function] = bind(function, *arguments)
        return self._bound[function](*arguments)


@contextmanager
def borrowed(model: ArmModel) -> Iterator[ScratchWorkspace]:
    """Give a Scratch for an ArmModel while this context lasts."""
    idle = _idle.setdefault(model, [])
    try:
        scratch = idle.pop()
    except IndexError:
        scratch = ScratchWorkspace(model)
    yield scratch
    idle.append(scratch)        # not after an error: nobody knows what is in it


_idle: WeakKeyDictionary[ArmModel, list[ScratchWorkspace]] = WeakKeyDictionary()
