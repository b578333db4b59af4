"""Read-only arrays: values that several objects share, protected from changes in place."""

from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any

import numpy as np


def read_only(array: np.ndarray) -> np.ndarray:
    """Return a read-only view of an array; the array itself if it is read-only."""
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view


def make_read_only(value: Any) -> None:
    """Make all arrays read-only that a value contains: in dataclasses, tuples and mappings."""
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif isinstance(value, Mapping):
        make_read_only([*value.values()])
    elif isinstance(value, (tuple, list)) or is_dataclass(value):
        for item in value if isinstance(value, (tuple, list)) else vars(value).values():
            # most values are numbers and names
            if item is not None and not isinstance(item, (str, float, int)):
                make_read_only(item)
