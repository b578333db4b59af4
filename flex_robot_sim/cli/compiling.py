"""What is told while machine code is made."""

import contextlib
import sys
from collections.abc import Iterator

from flex_robot_sim.cli.terminal import patience
from flex_robot_sim.dynamics.parallel_warmup import progress
from flex_robot_sim.jit.compiled import must_compile, why_compiling


def how_far() -> str:
    """Say how much of what a step needs is compiled."""
    return '{} of {} functions'.format(*progress())


@contextlib.contextmanager
def compiling() -> Iterator[None]:
    """Say why somebody waits, and on a terminal how far it is, if there is anything to compile."""
    if not must_compile():
        yield
        return
    print(why_compiling(), file=sys.stderr)
    with patience('compiling', 0.0, how_far):
        yield
