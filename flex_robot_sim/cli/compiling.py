"""Messages on the terminal during compilation."""

import contextlib
import sys
from collections.abc import Iterator

from flex_robot_sim.cli.terminal import show_progress
from flex_robot_sim.dynamics.parallel_warmup import progress
from flex_robot_sim.jit.compiled import must_compile, why_compiling


@contextlib.contextmanager
def show_compilation() -> Iterator[None]:
    """Print why compilation is needed, and on a terminal its progress; nothing if it is not."""
    if not must_compile():
        yield
        return
    print(why_compiling(), file=sys.stderr)
    with show_progress('compiling', 0.0, lambda: '{} of {} functions'.format(*progress())):
        yield
