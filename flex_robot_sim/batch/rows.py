"""
Steps of many arms, one after the other, in one compiled call without the GIL.

What belongs to an arm is a row of a table. Rows are views, so an arm steps by the same machine
code on the same numbers as an arm of its own: the results are the same bit for bit.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from flex_robot_sim.dynamics.energy import set_energies
from flex_robot_sim.dynamics.integrators import advance
from flex_robot_sim.jit.array_table import pass_by_pointer
from flex_robot_sim.jit.compiled import compiled


@pass_by_pointer
class State(NamedTuple):
    """What changes from step to step, a row for each of c arms with n coordinates."""

    q: np.ndarray           # (c, n)        coordinates                                [rad, m]
    qd: np.ndarray          # (c, n)        their rates
    qdd: np.ndarray         # (c, n)        the latest accelerations
    effort: np.ndarray      # (c, joints)   of the motors                              [N m, N]
    flow: np.ndarray        # (c, 3)        work, dissipation, and what was put right       [J]
    stage: np.ndarray       # (c, 9, n)     scratch


@compiled
def advance_rows(arms, loads, iterations, state, h, steps, watches, works, first, end, taken):
    """
    Let the arms from row `first` up to `end` take steps; each stops before it is not finite.

    :param arms: TableRows of ArmArrays; likewise of LoadArrays, State, Watch and Workspace.
    :param steps: of length h [s] that each shall take, (c,); taken: set to those it took, (c,).
    """
    for k in range(first, end):
        if steps[k] == 0:
            taken[k] = 0
            continue
        arm, load, now, watch, work = arms[k], loads[k], state[k], watches[k], works[k]
        taken[k] = advance(arm, load, iterations, now.q, now.qd, now.qdd, now.effort, h, steps[k],
                           now.flow, watch, now.stage, work)


@compiled
def set_energies_of_rows(arms, state, works, rows, out):
    """Energies (r, 3) of the arms in some rows (r,), see `energy.set_energies` [J]."""
    for i in range(rows.size):
        k = rows[i]
        now = state[k]
        set_energies(arms[k], now.q, now.qd, works[k], out[i])


def table_of(rows: Sequence[Any], shares: bool = True) -> Any:
    """
    Return the table, a NamedTuple of arrays, whose rows are NamedTuples of arrays.

    :param shares: whether arrays that are alike in all of them become one row.
    """
    columns = []
    for arrays in zip(*rows):
        alike = shares and all(array is arrays[0] or np.array_equal(array, arrays[0])
                               for array in arrays[1:])
        columns.append(np.stack(arrays[:1] if alike else arrays))
    return type(rows[0])(*columns)


def repeated(row: Any, count: int) -> Any:
    """Return a table of `count` rows like this one, each its own."""
    return type(row)(*(np.repeat(array[None], count, axis=0) for array in row))


def row_of(table: Any, k: int) -> Any:
    """Return row k of a table, a NamedTuple of views."""
    return type(table)(*(array[k if len(array) > 1 else 0] for array in table))


def with_own(table: Any, name: str, count: int) -> Any:
    """Return a table in which each of `count` rows has an array of its own in a field."""
    column = getattr(table, name)
    return table if len(column) == count else table._replace(
        **{name: np.repeat(column, count, axis=0)})


def with_rows(table: Any, rows: np.ndarray, others: Sequence[Any], count: int) -> Any:
    """
    Return a table of `count` rows some of which have become others, NamedTuples of arrays.

    Arrays that are alike in all rows stay one row; columns of own rows are written into.
    """
    for name, *arrays in zip(table._fields, *others):
        column, distinct = getattr(table, name), {id(array): array for array in arrays}
        if len(column) < count and all(np.array_equal(array, column[0])
                                       for array in distinct.values()):
            continue
        table = with_own(table, name, count)
        getattr(table, name)[rows] = arrays if len(distinct) > 1 else arrays[0]
    return table
