"""The clock of a board: microseconds in 32 bits, which wrap after 71 minutes."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import numpy as np

AnyTicks = TypeVar('AnyTicks', int, 'np.ndarray')

WRAP = 1 << 32  # [us]


def elapsed(later: AnyTicks, earlier: AnyTicks) -> AnyTicks:
    """Time from one stamp to another [us], arrays included; less than a wrap lies between them."""
    return (later - earlier) % WRAP


def signed_elapsed(later: AnyTicks, earlier: AnyTicks) -> AnyTicks:
    """Signed time from `earlier` to `later` [us]; less than half a wrap lies between them."""
    return (later - earlier + WRAP // 2) % WRAP - WRAP // 2
