"""What is told while an installation compiles, once."""

import contextlib
import sys
from collections.abc import Iterator

from flex_robot_sim.cli.terminal import patience
from flex_robot_sim.core.compile_ahead import progress
from flex_robot_sim.core.compiled import COMPILING_ONCE, must_compile


def how_far() -> str:
    """Say how much of what a step needs is compiled."""
    return '{} of {} functions'.format(*progress())


@contextlib.contextmanager
def compiling() -> Iterator[None]:
    """Say on the terminal how far it is, while this context lasts, if there is anything to do."""
    if not must_compile():
        yield
        return
    if not sys.stderr.isatty():
        print(f'{COMPILING_ONCE}: ten seconds to a minute', file=sys.stderr)
    with patience(COMPILING_ONCE, 0.0, how_far):
        yield
