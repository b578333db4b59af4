"""
Steps of many arms, in sequence, in one compiled call without the GIL.

Each arm is a row of every table. Rows are views, so each arm runs the same machine code on the
same numbers as a single simulation: the results are equal bit for bit.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from flex_robot_sim.dynamics.energy import set_energies
from flex_robot_sim.dynamics.free_base import move_base_pose
from flex_robot_sim.dynamics.integrators import advance
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.friction import COULOMB, VISCOUS

FRICTION_COLUMNS = {'viscous': VISCOUS, 'coulomb': COULOMB}  # live numbers of a batch


@compiled
def advance_rows(arms, loads, settings, states, steps, watches, works, first, end, taken):
    """
    Step the arms from row `first` to `end` - 1; each stops before a non-finite state.

    :param arms: TableRows of ArmArrays; the other tables are TableRows of LoadArrays, ArmState,
        Watch and Workspace.
    :param settings: StepSettings of all arms.
    :param steps: number of steps per arm, (c,); taken: receives those taken, (c,).
    """
    for k in range(first, end):
        if steps[k] == 0:
            taken[k] = 0
            continue
        taken[k] = advance(arms[k], loads[k], settings, states[k], steps[k], watches[k], works[k])


@compiled
def set_energies_of_rows(arms, states, works, rows, out):
    """Energies (r, 3) [J] of the arms in some rows (r,), see `energy.set_energies`."""
    for i in range(rows.size):
        k = rows[i]
        set_energies(arms[k], states[k].q, states[k].qd, works[k], out[i])


@compiled
def move_base_poses_of_rows(arms, states, works, rows):
    """Move the free bases of the arms in some rows (r,) by their coordinates, see (T110)."""
    for i in range(rows.size):
        k = rows[i]
        move_base_pose(arms[k], states[k].q, works[k])


def table_of(rows: Sequence[Any], shares: bool = True) -> Any:
    """Table whose rows are NamedTuples of arrays; with `shares`, equal arrays are one row."""
    columns = []
    for arrays in zip(*rows):
        is_equal = shares and all(
            array is arrays[0] or np.array_equal(array, arrays[0]) for array in arrays[1:]
        )
        columns.append(np.stack(arrays[:1] if is_equal else arrays))
    return type(rows[0])(*columns)


def repeated(row: Any, count: int) -> Any:
    """Return a table with `count` independent copies of this row."""
    return type(row)(*(np.repeat(array[None], count, axis=0) for array in row))


def row_of(table: Any, k: int) -> Any:
    """Return row k of a table, a NamedTuple of views."""
    return type(table)(*(array[k if len(array) > 1 else 0] for array in table))


def with_member_rows(table: Any, name: str, count: int) -> Any:
    """Return a table in which a field, or column, has a separate row for each member."""
    field = 'friction' if name in FRICTION_COLUMNS else name
    column = getattr(table, field)
    if len(column) == count:
        return table
    return table._replace(**{field: np.repeat(column, count, axis=0)})


def live_column(arms: Any, name: str) -> np.ndarray:
    """Return the writable numbers of a field of ArmArrays, or of a column of its friction."""
    if name in FRICTION_COLUMNS:
        return arms.friction[..., FRICTION_COLUMNS[name]]
    return getattr(arms, name)


def with_rows(table: Any, rows: np.ndarray, replacements: Sequence[Any], count: int) -> Any:
    """
    Return a table of `count` rows with some rows replaced by other NamedTuples of arrays.

    Arrays that are equal in all rows stay one row; columns with separate rows are written in
    place.
    """
    for name, *arrays in zip(table._fields, *replacements):
        column, distinct = getattr(table, name), {id(array): array for array in arrays}
        if len(column) < count and all(
            np.array_equal(array, column[0]) for array in distinct.values()
        ):
            continue
        table = with_member_rows(table, name, count)
        getattr(table, name)[rows] = arrays if len(distinct) > 1 else arrays[0]
    return table
