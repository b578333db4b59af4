"""Tables of arrays in compiled code: the same numbers as in Python, kept alive, found on disk."""

import copy
import pickle
from typing import NamedTuple

import numpy as np
import pytest
from small_package import start, write_package
from test_compiled import needs_numba
from tuned_numba import needs_tuned_numba

from flex_robot_sim.jit.array_table import TableRows, Vectors3, pass_by_pointer, zeros
from flex_robot_sim.jit.compiled import bind, compiled

pytestmark = pytest.mark.slow


@pass_by_pointer
class Table(NamedTuple):
    """Arrays of several kinds."""

    weights: np.ndarray  # (n,)
    places: Vectors3  # (n, 3)
    names: np.ndarray  # (n,)  whole numbers


@compiled
def _moment(table, out):
    for r in range(table.places.shape[1]):
        out[r] = 0.0
        for k in range(table.names.size):
            out[r] += table.names[k] * table.weights[k] * table.places[k, r]
    table.weights[0] = -1.0


@compiled
def _moments(rows, out):
    for k in range(len(out)):
        _moment(rows[k], out[k])


def make_table(count, seed=0):
    rng = np.random.default_rng(seed)
    return Table(rng.normal(size=count), rng.normal(size=(count, 3)), np.arange(count) + 2)


def moment_of(table):
    return (table.names * table.weights) @ table.places


def moment(table, call=_moment):
    out = np.full(3, np.nan)
    call(table, out)
    return out


def test_compiled_code_reads_and_writes_the_arrays_of_a_table():
    table = make_table(5)
    expected = moment_of(table)
    assert moment(table) == pytest.approx(expected, rel=1e-14)  # order of the sum
    assert table.weights[0] == -1.0


@pytest.mark.parametrize(
    'other',
    [
        lambda table: pickle.loads(pickle.dumps(table)),
        copy.deepcopy,
        lambda table: table._replace(weights=table.weights + 1.0),
    ],
)
def test_a_copy_of_a_table_has_separate_memory(other):
    table = make_table(5)
    moment(table)  # has made its list
    second = other(table)
    expected, before = moment_of(second), table.weights.copy()
    assert moment(second) == pytest.approx(expected, rel=1e-14)
    assert (table.weights == before).all()


def test_a_bound_call_takes_other_tables_of_the_same_type():
    call = bind(_moment, make_table(2), np.zeros(3))
    for count in (1, 7):
        table = make_table(count, seed=count)
        expected = moment_of(table)
        assert moment(table, call) == pytest.approx(expected, rel=1e-14)


@pass_by_pointer
class ScratchWorkspace(NamedTuple):
    """Arrays of odd sizes, one of them empty."""

    empty: np.ndarray  # (0, 2)
    odd: np.ndarray  # (3,)
    places: Vectors3  # (n, 3)
    one: np.ndarray  # (1, 1, 1)


@compiled
def _count_up(table, out):
    out[0], out[1] = table.odd.size + 10 * table.places.shape[0], table.empty.size
    for k in range(3):
        table.odd[k] += 1.0 + k
        table.places[1, k] += 10.0 + k
    table.one[0, 0, 0] += 100.0


def test_a_table_of_zeros_is_one_block_without_overlap():
    shapes = (0, 2), (3,), (2, 3), (1, 1, 1)
    table, other = zeros(ScratchWorkspace, shapes), zeros(ScratchWorkspace, shapes)
    assert tuple(array.shape for array in table) == shapes and not any(map(np.any, table))
    out = np.zeros(2)
    for _ in range(2):
        _count_up(table, out)
    assert [*out] == [23.0, 0.0]
    np.testing.assert_array_equal(table.odd, [2.0, 4.0, 6.0])
    np.testing.assert_array_equal(table.places, [[0.0, 0.0, 0.0], [20.0, 22.0, 24.0]])
    assert table.one == 200.0
    assert not any(map(np.any, other))


@pytest.mark.parametrize('odd', [np.ones(3), np.ones(5)])
def test_a_table_with_replaced_arrays_shares_the_unchanged_ones(odd):
    table, out = zeros(ScratchWorkspace, ((0, 2), (3,), (2, 3), (1, 1, 1))), np.zeros(2)
    changed = table._replace(odd=odd, empty=np.zeros((1, 2)))
    _count_up(changed, out)
    assert [*out] == [len(odd) + 20.0, 2.0]
    assert [*odd[:3]] == [2.0, 3.0, 4.0] and table.one == 100.0
    assert not table.odd.any() and table.places[1, 2] == 12.0


@pytest.mark.parametrize('shared', [False, True])
def test_a_row_of_many_tables_is_a_table(shared):
    tables = [make_table(4, seed=0 if shared else seed) for seed in range(3)]
    together = Table(
        np.stack([table.weights for table in tables]),
        np.stack([table.places for table in tables[: 1 if shared else 3]]),
        np.stack([table.names for table in tables[:1]]),
    )
    out = np.zeros((3, 3))
    expected = [moment_of(table) for table in tables]
    _moments(TableRows(together), out)
    assert out == pytest.approx(np.array(expected), rel=1e-14)
    assert (together.weights[:, 0] == -1.0).all()


@needs_numba
def test_arrays_that_compiled_code_would_misread_are_refused():
    table = make_table(4)
    for wrong in (
        table._replace(places=np.zeros((4, 2))),
        table._replace(weights=np.zeros(8)[::2]),
    ):
        with pytest.raises(AssertionError):
            moment(wrong)


TABLES = """
from typing import NamedTuple
import numpy as np
from small.jit.array_table import pass_by_pointer
from small.jit.compiled import compiled

@pass_by_pointer
class Table(NamedTuple):
    a: np.ndarray

@compiled
def called(table, k):
    return 2.0 * table.a[k]

@compiled
def caller(table):
    return 10.0 * called(table, 1)

@compiled
def other(table):
    return 100.0 * called(table, 1)

def called_first(table):
    return called(table, 0)

@compiled(inline=True)
def part(table, k):
    return 3.0 * called(table, k)

@compiled
def first_with_part(table, k):
    return 10.0 * part(table, k)

@compiled
def second_with_part(table, k):
    return 100.0 * part(table, k)
"""
CALL = """
from small.dynamics import tables
for name in ARGUMENTS:
    print(getattr(tables, name)(tables.Table(tables.np.array([1.0, 2.0]))))
for one in (tables.caller, tables.called):
    print(sum(one.stats.cache_hits.values()), sum(one.stats.cache_misses.values()))
"""


@pytest.mark.long
@needs_tuned_numba
def test_code_of_callees_is_loaded_with_a_function(tmp_path):
    package = write_package(tmp_path / 'small')
    (package / 'dynamics' / 'tables.py').write_text(TABLES)

    def call(*names):
        out, err = start(package, f'ARGUMENTS = {names}{CALL}').communicate(timeout=120)
        assert not err, err
        return out.split()

    assert call('caller') == ['40.0', '0', '1', '0', '1']
    assert call('caller') == ['40.0', '1', '0', '0', '0']
    # compiled after the code that it calls was loaded with another function
    assert call('caller', 'other') == ['40.0', '400.0', '1', '0', '1', '0']
    for path in (tmp_path / 'cache').rglob('tables.called-*.nb?'):
        path.unlink()
    assert call('caller', 'other') == ['40.0', '400.0', '1', '0', '0', '0']
    # called from Python, the callee is compiled again
    assert call('caller', 'called_first') == ['40.0', '2.0', '1', '0', '0', '1']


@pytest.mark.long
@needs_numba
def test_inlined_functions_are_inlined_when_loaded_from_disk(tmp_path):
    package = write_package(tmp_path / 'small')
    (package / 'dynamics' / 'tables.py').write_text(TABLES)
    program = """
from small.dynamics.tables import Table, np, part, {name}
print({name}(Table(np.array([1.0, 2.0])), 1), sum(part.stats.cache_hits.values()))
"""

    def call(name):
        out, err = start(package, program.format(name=name)).communicate(timeout=120)
        assert not err, err
        return out.split()

    assert call('first_with_part') == ['120.0', '0']
    assert call('second_with_part') == ['1200.0', '1']
    assert call('first_with_part') == ['120.0', '0']
