"""Figures of moves by which shapers and motion profiles are compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Plant(NamedTuple):
    """An arm that may differ from the description."""

    error: float  # relative, of all frequencies
    payload: tuple | None  # as of `mode_table.loaded`


class MoveFigures(NamedTuple):
    """One move, or the summary of several moves."""

    left_nominal: float  # vibration of the tool after the set points; nan: other plant    [m]
    left: float  # the same, largest of all plants                                           [m]
    rest_time: float  # from the start until the tool stays within the allowed distance      [s]
    path_error: float  # largest distance of the tool from the path, nominal plant           [m]
    velocity: float  # largest of the set points; of the fastest joint, or of the tool
    acceleration: float
    added_time: float  # by the set points                                                   [s]
    mean_left: float  # as `left`, the mean of all moves and plants                          [m]


def summed_figures(rows: Sequence[MoveFigures]) -> MoveFigures:
    """Summarise moves with all plants: the worst of each figure, but the mean time to rest."""
    columns = np.array(rows)
    known = np.where(np.isnan(columns), -np.inf, columns).max(axis=0)
    known[np.isneginf(known)] = np.nan
    rest_time, left = np.mean([(row.rest_time, row.left) for row in rows], axis=0).tolist()
    return MoveFigures._make(known.tolist())._replace(rest_time=rest_time, mean_left=left)
