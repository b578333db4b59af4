"""
How a number of a sweep varies, in a few words.

    0.8,1.0,1.2             these values
    even:0.8,1.2,5          five of them, evenly from 0.8 to 1.2
    uniform:0.8,1.2         anything between, as likely
    log:0.1,10              likewise, its logarithm
    normal:1.0,0.05         around 1.0, with this standard deviation
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from flex_robot_sim.util.exceptions import UsageError

DRAWN = ('uniform', 'log', 'normal')
MOST_EVEN = 1_000_000


class Form(NamedTuple):
    """How one number varies."""

    kind: str                   # 'values', or one of DRAWN
    numbers: tuple[float, ...]

    def quantile(self, share: np.ndarray) -> np.ndarray:
        """Values below which these shares of all lie; of a list, one after the other."""
        first, second = self.numbers[0], self.numbers[-1]
        if self.kind == 'values':
            place = np.minimum((share * len(self.numbers)).astype(int), len(self.numbers) - 1)
            return np.array(self.numbers)[place]
        if self.kind == 'normal':
            from scipy.special import ndtri  # a fifth of a start, and rarely needed
            return first + second * ndtri(share)
        if self.kind == 'log':
            return np.exp(np.log(first) + share * (np.log(second) - np.log(first)))
        return first + share * (second - first)


def form_of(name: str, words: str | float | Sequence[float]) -> Form:
    """
    Return the Form that words describe.

    :param name: of the number, for the message about words that are wrong.
    :param words: as told above, or one number, or a sequence of them.
    """
    if not isinstance(words, str):
        numbers = _numbers(name, np.atleast_1d(np.asarray(words, dtype=object)))
        return Form('values', numbers)
    kind, _, rest = words.rpartition(':')
    numbers = _numbers(name, rest.split(','))
    if not kind:
        return Form('values', numbers)
    if kind == 'even' and len(numbers) == 3 and numbers[2] == int(numbers[2]) and (
            1 <= numbers[2] <= MOST_EVEN):
        even = np.linspace(numbers[0], numbers[1], int(numbers[2]))
        return Form('values', tuple(even.tolist()))
    if kind in DRAWN and len(numbers) == 2:
        low, high = numbers
        if kind == 'normal' and high >= 0.0:
            return Form(kind, numbers)
        if low <= high and (kind == 'uniform' or kind == 'log' and low > 0.0):
            return Form(kind, numbers)
    raise UsageError(f'{name} = "{words}" is none of 0.8,1.0,1.2, even:FROM,TO,COUNT, '
                     'uniform:LOW,HIGH, log:LOW,HIGH with LOW above 0, normal:MEAN,DEVIATION.')


def _numbers(name, parts):
    try:
        numbers = tuple(float(part) for part in parts)
    except (TypeError, ValueError) as error:
        raise UsageError(f'{name} = "{",".join(map(str, parts))}" is not numbers with commas. '
                         'Write 0.8,1.0,1.2 or uniform:0.8,1.2.') from error
    if not numbers or not np.isfinite(numbers).all():
        raise UsageError(f'{name} must be finite numbers, one at least.')
    return numbers
