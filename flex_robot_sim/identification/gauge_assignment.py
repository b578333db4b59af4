"""Gauges of a log that are swapped, have the wrong sign, or are in microunits."""

from __future__ import annotations

from collections.abc import Sequence as Rows
from itertools import permutations
from typing import NamedTuple

import numpy as np

from flex_robot_sim.identification.sequences import Sequence

MICRO = 1e-6
GAINS = 0.6, 1.7  # of a gauge, over that of the description
MAX_GAUGES = 5  # whose orders are all compared
MIN_EXPLAINED = 0.6  # share of the variance that an assignment explains
MAX_REMAINING = 0.25  # of the variance that the columns of the log leave unexplained


class GaugeColumn(NamedTuple):
    """Column of a log that belongs to a gauge."""

    source: int  # its row in the log
    factor: float  # to the curvature


def assign_gauges(measured: np.ndarray, predicted: np.ndarray) -> list[GaugeColumn]:
    """
    Return the column for each gauge; that of the log, unless another explains clearly more.

    :param measured: signals of the gauges, (k, g); predicted: those of a model.
    """
    count = measured.shape[1]
    unchanged = [GaugeColumn(k, 1.0) for k in range(count)]
    finite = np.isfinite(predicted).all(axis=1)
    measured, predicted = (table[finite] for table in (measured, predicted))
    measured, predicted = (table - table.mean(axis=0) for table in (measured, predicted))
    if not count or count > MAX_GAUGES or not predicted.any(axis=0).all():
        return unchanged
    table = [
        [_explained(measured[:, i], predicted[:, j]) for i in range(count)] for j in range(count)
    ]
    best = best_order([[share for share, _ in row] for row in table])
    found = [GaugeColumn(i, table[j][i][1]) for j, i in enumerate(best)]
    for j, column in enumerate(found):
        before = _share(measured[:, j], predicted[:, j], 1.0)
        after = table[j][column.source][0]
        if column != unchanged[j] and not explains_clearly_more(after, before):
            return unchanged
    return found


def best_order(shares: Rows[Rows[float]]) -> tuple[int, ...]:
    """Return the column of each gauge, from the shares [gauge][column] that they explain."""
    return max(
        permutations(range(len(shares))),
        key=lambda order: sum(shares[j][i] for j, i in enumerate(order)),
    )


def explains_clearly_more(after: float, before: float) -> bool:
    """Whether a share of the variance is large, and leaves much less than another one."""
    return after > MIN_EXPLAINED and 1.0 - after < MAX_REMAINING * (1.0 - before)


def _explained(values, expected):
    """Return the largest share of the variance that is explained, and its factor."""
    shares = {factor: _share(values, expected, factor) for factor in (1.0, -1.0, MICRO, -MICRO)}
    factor = max(shares, key=lambda factor: shares[factor])
    return shares[factor], factor


def _share(values, expected, factor):
    """Return the share of the variance of factor * values that is explained, with some gain."""
    scaled = factor * values
    gain = float(np.clip(scaled @ expected / (expected @ expected), *GAINS))
    square = float(scaled @ scaled)
    return 1.0 - float(np.sum((scaled - gain * expected) ** 2)) / square if square else 0.0


def reassigned(
    sequences: Rows[Sequence], rows: Rows[int], columns: Rows[GaugeColumn]
) -> list[Sequence]:
    """Return sequences whose gauges, the channels `rows`, come from other columns."""
    out = []
    for sequence in sequences:
        measured = sequence.measured.copy()
        for row, column in zip(rows, columns):
            measured[:, row] = column.factor * sequence.measured[:, rows[column.source]]
        out.append(sequence._replace(measured=measured))
    return out


def assignment_lines(names: Rows[str], columns: Rows[GaugeColumn]) -> list[str]:
    """Return a note for each gauge that comes from another column."""
    return [
        f'{name}: the column "{names[column.source]}" times {column.factor:g} is used, which the '
        'model explains clearly better. Name it by --signal'
        for k, (name, column) in enumerate(zip(names, columns))
        if column != GaugeColumn(k, 1.0)
    ]
