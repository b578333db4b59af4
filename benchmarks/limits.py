"""Tables of figures that have limits: their rows, and how they are measured and printed."""

import sys
from importlib import import_module
from typing import NamedTuple

from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.share import share_folder


class Row(NamedTuple):
    """A figure and its limit."""

    words: str
    error: float
    limit: float
    unit: str

    @property
    def holds(self):
        """Whether the figure is within its limit."""
        return bool(self.error <= self.limit)


def measure_rows(package, modules, quick):
    """Return {words: figure} of the rows of modules of a package of benchmarks."""
    folder = str(share_folder() / 'test')
    if folder not in sys.path:  # it has random cases and references
        sys.path.append(folder)
    found = {}
    for name in modules:
        try:
            module = import_module(f'{package}.{name}')
        except ImportError as error:
            raise UsageError(
                f'this table needs {error.name}. Install it by '
                '`pip install -e ".[benchmark,test]"`.'
            ) from error
        for row in module.rows(quick):
            found[row.words] = {**row._asdict(), 'holds': row.holds}
    return found


def row_texts(rows):
    """Yield words and a text for each figure."""
    for words, row in rows.items():
        verdict = '' if row['holds'] else '; missed'
        unit = f' {row["unit"]}' if row['unit'] else ''
        yield words, f'{_figure(row)}{unit}, limit {row["limit"]:g}{verdict}'


def _figure(row):
    """Return the figure with two digits, or with three where two look like the limit."""
    text = f'{row["error"]:.2g}'
    agrees = (float(text) <= row['limit']) == row['holds']
    return text if agrees else f'{row["error"]:.3g}'
