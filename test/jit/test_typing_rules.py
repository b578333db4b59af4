"""Typing rules of numbers and arrays: the results are those of plain Numba."""

import subprocess
import sys

import numba
import pytest

from flex_robot_sim.jit.typing_rules import ARITHMETIC, COMPARISONS, DIVISIONS

KINDS = (
    'float64',
    'int64',
    'float32',
    'int32',
    'uint64',
    'boolean',
    'complex128',
    'Literal[int](2)',
    'float64[::1]',
    'int64[:, ::1]',
)
# of each operator and each pair of types what Numba finds, as lines of text
RESOLVE = f"""
import itertools, operator, sys
from numba import types
from numba.core.registry import cpu_target
if sys.argv[1:]:
    import flex_robot_sim.jit.typing_rules
    if sys.argv[1] == 'wrong':
        from flex_robot_sim.jit.typing_rules import _Numbers
        _Numbers.result = lambda self, common: types.int64(common, common)
context = cpu_target.typing_context
context.refresh()
kinds = [types.literal(2) if 'Literal' in name else eval('types.' + name)
         for name in {KINDS!r}]
for name in sorted({[one.__name__ for one in (*ARITHMETIC, *DIVISIONS, *COMPARISONS)]!r}):
    for pair in itertools.product(kinds, kinds):
        try:
            found = context.resolve_function_type(getattr(operator, name), pair, {{}})
        except Exception:       # of pairs that nobody wants, Numba has other errors, too
            found = None
        print(name, *pair, '->', found)
"""


@pytest.fixture
def resolved(tmp_path):
    """Return the output of lines of code in a process with plain Numba."""

    def resolve(*words):
        run = subprocess.run(
            [sys.executable, '-c', RESOLVE, *words], cwd=tmp_path, capture_output=True, text=True
        )
        assert run.returncode == 0, run.stderr
        return run.stdout.splitlines()

    return resolve


@pytest.mark.slow
@pytest.mark.skipif(numba.config.DISABLE_JIT, reason='about machine code')
def test_operators_of_all_kinds_have_the_types_of_plain_numba(resolved):
    by_itself = resolved()
    assert len(by_itself) == 12 * len(KINDS) ** 2
    assert resolved('shortcuts') == by_itself
    assert resolved('wrong') != by_itself  # so the rules are used
