"""
Closed loops: gaps, energy and speed, and comparisons with Pinocchio and Exudyn.

`flexsim benchmark loops [--page docs/closed_loops.md]`

The random loops and references are those of the tests.
"""

import sys
from importlib import import_module

from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.share import share_folder

MODULES = ('closing', 'rigid', 'flexible', 'bauchau')


def measure(quick=False, modules=MODULES):
    """Return {'loops': {words: figure}} of the modules here."""
    folder = str(share_folder() / 'test')
    if folder not in sys.path:  # it has the random loops and the references
        sys.path.append(folder)
    found = {}
    for name in modules:
        try:
            module = import_module(f'benchmarks.loops.{name}')
        except ImportError as error:
            raise UsageError(
                f'this table needs {error.name}. Install it by '
                '`pip install -e ".[benchmark,test]"`.'
            ) from error
        for row in module.rows(quick):
            found[row.words] = {**row._asdict(), 'holds': row.holds}
    return {'loops': found}


def as_text(found):
    """Yield a line for each figure."""
    for words, row in found['loops'].items():
        verdict = '' if row['holds'] else '; missed'
        unit = f' {row["unit"]}' if row['unit'] else ''
        yield words, f'{row["error"]:.2g}{unit}, limit {row["limit"]:g}{verdict}'
