"""Errors of sensors: white noise that depends on seed, name and index only; range and steps."""

from __future__ import annotations

from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike

BLOCK_SIZE = 256  # samples of noise that are drawn together


class IndexedNoise:
    """
    Rows of independent standard normal numbers by index.

    A row depends on seed, name and index only, so that a repeated sample has the same noise.
    """

    def __init__(self, seed: int, name: str, width: int) -> None:
        """Prepare rows of `width` numbers for a sensor by its name."""
        self._key, self._width = (seed, crc32(name.encode())), width
        self._block, self._rows = -1, np.zeros((0, width))

    def at(self, index: int) -> np.ndarray:
        """Return the row (width,) of an index >= 0."""
        block, row = divmod(index, BLOCK_SIZE)
        if block != self._block:
            random = np.random.default_rng([*self._key, block])
            self._block, self._rows = block, random.normal(size=(BLOCK_SIZE, self._width))
        return self._rows[row]


def limited(values: np.ndarray, limit: ArrayLike, bits: int | None) -> np.ndarray:
    """
    Return readings within a range, as whole steps if the sensor has a word length.

    :param limit: the range is -limit to limit, one number or one per value; inf: none.
    :param bits: of a two's complement word, whose largest value is one step below the limit.
    """
    if bits is None:
        return np.minimum(np.maximum(values, np.negative(limit)), limit)
    half = 2 ** (bits - 1)
    step = np.divide(limit, half)
    return step * np.minimum(np.maximum(np.round(values / step), -half), half - 1)


def in_steps(values: np.ndarray, resolution: np.ndarray) -> np.ndarray:
    """Return values rounded to whole steps of a resolution, both (k,); 0: not rounded."""
    has_steps = resolution > 0.0
    steps = np.where(has_steps, resolution, 1.0)
    return np.where(has_steps, steps * np.round(values / steps), values)
