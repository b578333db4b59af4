"""Columns that are the magnitude of other ones, such as "Absolute acceleration" of phyphox."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from flex_robot_sim.recording.read.columns import Column

MAX_ERROR = 1e-3  # over the largest value


def magnitude_columns(columns: Mapping[str, Column]) -> list[str]:
    """
    Return the names of columns that are the root of the sum of squares of the two or three before.

    The magnitude of a vibration has twice its frequency.
    """
    names = [*columns]
    return [
        name
        for k, name in enumerate(names)
        if any(
            _is_magnitude(columns[name], [columns[one] for one in names[k - count : k]])
            for count in (2, 3)
            if k >= count
        )
    ]


def _is_magnitude(column, parts):
    if any(part.values.shape != column.values.shape for part in parts):
        return False
    size = np.sqrt(sum(part.values**2 for part in parts))
    valid = np.isfinite(size) & np.isfinite(column.values)
    if not valid.any() or not size[valid].any():
        return False
    error = np.abs(column.values - size)[valid]
    return bool(error.max() <= MAX_ERROR * size[valid].max())
