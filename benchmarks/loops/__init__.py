"""
Closed loops: gaps, energy and speed, and comparisons with Pinocchio and Exudyn.

`flexsim benchmark loops [--page docs/closed_loops.md]`

The random loops and references are those of the tests.
"""

from benchmarks.limits import measure_rows, row_texts

MODULES = ('closing', 'rigid', 'flexible', 'bauchau')


def measure(quick=False, modules=MODULES):
    """Return {'loops': {words: figure}} of the modules here."""
    return {'loops': measure_rows(__name__, modules, quick)}


def as_text(found):
    """Yield a line for each figure."""
    yield from row_texts(found['loops'])
