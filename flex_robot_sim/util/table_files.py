"""Tables of numbers and text as CSV and Parquet files, and for pandas."""

import csv
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.files import open_atomic


def write_csv(path: Path, columns: Mapping[str, np.ndarray]) -> None:
    """Write columns of the same length, by name, as CSV; OSError if that fails."""
    with open_atomic(path, 'w', newline='', encoding='utf-8') as file:
        writer = csv.writer(file)
        writer.writerow(map(without_zeros, columns))
        # numbers in full precision; nan is an empty cell, as spreadsheets expect
        writer.writerows(
            zip(
                *(
                    map(without_zeros, column.tolist())
                    if column.dtype.kind in 'UO'
                    else ['' if value != value else repr(value) for value in column.tolist()]
                    for column in columns.values()
                )
            )
        )


def write_parquet(path: Path, columns: Mapping[str, np.ndarray]) -> None:
    """Write columns of the same length, by name, as Parquet; OSError if that fails."""
    pyarrow, parquet = _parquet()
    table = pyarrow.table(
        {name: pyarrow.array(column.tolist()) for name, column in columns.items()}
    )
    # a Python file object, for the plain system error of a full disk
    with open_atomic(path, 'wb') as file:
        parquet.write_table(table, file)


def read_parquet(path: Path, max_numbers: int) -> dict[str, np.ndarray]:
    """
    Return the columns of numbers in a file (rows,), and of lists of the same length (rows, n).

    OSError or ValueError if the file is invalid or has more than `max_numbers` numbers. Columns of
    text, images and lists of different lengths are left out.
    """
    pyarrow, parquet = _parquet()
    kinds = pyarrow.types
    with open(path, 'rb') as opened, parquet.ParquetFile(opened) as file:
        lists = {
            field.name
            for field in file.schema_arrow
            if (kinds.is_list(field.type) or kinds.is_fixed_size_list(field.type))
            and _is_number(kinds, field.type.value_type)
        }
        names = [
            field.name
            for field in file.schema_arrow
            if field.name in lists or _is_number(kinds, field.type)
        ]
        count = sum(
            file.metadata.row_group(group).column(k).num_values
            for group in range(file.metadata.num_row_groups)
            for k in range(file.metadata.num_columns)
            if file.metadata.row_group(group).column(k).path_in_schema.split('.list.')[0] in names
        )
        if count > max_numbers:
            raise ValueError(f'it has more than {max_numbers // 10**6} million numbers')
        table = file.read(names)
    columns = {}
    for name in names:
        column = table.column(name)
        if name not in lists:
            columns[name] = np.asarray(column.to_numpy(), float)
            continue
        rows = [row if row is not None else [] for row in column.to_pylist()]
        if rows and len({len(row) for row in rows}) == 1 and rows[0]:
            columns[name] = np.array(rows, float)
    return columns


def _is_number(kinds, kind):
    return kinds.is_floating(kind) or kinds.is_integer(kind)


def has_parquet() -> bool:
    """Whether pyarrow is installed."""
    return find_spec('pyarrow') is not None


def refuse_without_parquet(instead: str) -> None:
    """Raise a UsageError with the installation command; `instead`: an alternative."""
    if not has_parquet():
        raise UsageError(
            'Parquet needs the package pyarrow. Install it by `pip install pyarrow`, '
            f'or {instead}.'
        )


def data_frame(columns: Mapping[str, np.ndarray], levels: Mapping[str, np.ndarray]) -> Any:
    """
    Return a pandas DataFrame of columns, by name; UsageError without pandas.

    :param levels: values of the index by name; the rows are all their combinations, in order.
    """
    if find_spec('pandas') is None:
        raise UsageError('to_pandas needs the package pandas. Install it by `pip install pandas`.')
    import pandas

    names, values = [*levels], [*levels.values()]
    index = (
        pandas.Index(values[0], name=names[0])
        if len(names) == 1
        else pandas.MultiIndex.from_product(values, names=names)
    )
    return pandas.DataFrame(dict(columns), index=index)


def without_zeros(cell: Any) -> Any:
    """
    Return a cell with its zero characters replaced, if it is text.

    Python 3.10 neither writes nor reads them in a CSV file, and NumPy cuts names and texts there.
    """
    return cell.replace('\0', '\ufffd') if isinstance(cell, str) else cell


def _parquet() -> tuple[Any, Any]:
    import pyarrow
    from pyarrow import parquet

    return pyarrow, parquet
