"""
Rare garbage collection during imports and compilation.

Imports, loading of machine code and compilation create hundreds of thousands of permanent objects.
Python scans them repeatedly for garbage, which takes a tenth of a start and a sixth of a
compilation.
"""

import contextlib
import gc
from collections.abc import Iterator

RARE_THRESHOLDS = 50000, 20, 100  # objects, and rounds of collections; Python has 700, 10, 10


@contextlib.contextmanager
def collected_seldom() -> Iterator[None]:
    """Collect garbage rarely in this context; nested contexts have no effect."""
    old_thresholds = gc.get_threshold()
    if old_thresholds == RARE_THRESHOLDS:  # set by an outer context
        yield
        return
    gc.set_threshold(*RARE_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*old_thresholds)
