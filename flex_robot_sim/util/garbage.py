"""
Garbage, collected seldom while there is hardly any.

Whoever imports modules, loads machine code or compiles makes hundreds of thousands of objects that
stay. Python looks through all of them again and again for some that are left over, which takes a
tenth of a start and a sixth of compiling.
"""

import contextlib
import gc
from collections.abc import Iterator

SELDOM = 50000, 20, 100     # objects, and rounds of collections; Python has 700, 10, 10


@contextlib.contextmanager
def collected_seldom() -> Iterator[None]:
    """Let Python collect garbage seldom in this context, unless somebody has it so already."""
    before = gc.get_threshold()
    if before == SELDOM:        # who has set it, maybe another thread, sets it back
        yield
        return
    gc.set_threshold(*SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*before)
