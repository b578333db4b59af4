"""
Inverse kinematics of public arms: random poses within limits, from random positions.

`flexsim benchmark reach [--page docs/inverse_kinematics.md]`
"""

from benchmarks.limits import measure_rows, row_texts

MODULES = ('public_arms',)


def measure(quick=False, modules=MODULES):
    """Return {'reach': {words: figure}} of the modules here."""
    return {'reach': measure_rows(__name__, modules, quick)}


def as_text(found):
    """Yield a line for each figure."""
    yield from row_texts(found['reach'])
