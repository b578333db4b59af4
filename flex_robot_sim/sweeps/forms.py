"""
Text forms for the variation of a number in a sweep.

    0.8,1.0,1.2             these values
    even:0.8,1.2,5          five values, evenly from 0.8 to 1.2
    uniform:0.8,1.2         a uniform distribution
    log:0.1,10              a uniform distribution of the logarithm
    normal:1.0,0.05         a normal distribution: mean, standard deviation
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from flex_robot_sim.util.exceptions import UsageError

DISTRIBUTIONS = ('uniform', 'log', 'normal')
MAX_EVEN_VALUES = 1_000_000


class Form(NamedTuple):
    """Variation of one number."""

    kind: str  # 'values', or one of DRAWN
    numbers: tuple[float, ...]

    def quantile(self, share: np.ndarray) -> np.ndarray:
        """Quantiles at these shares; of a list, its values in order."""
        first, second = self.numbers[0], self.numbers[-1]
        if self.kind == 'values':
            index = np.minimum((share * len(self.numbers)).astype(int), len(self.numbers) - 1)
            return np.array(self.numbers)[index]
        if self.kind == 'normal':
            from scipy.special import ndtri  # imported late: slow, rarely needed

            return first + second * ndtri(share)
        if self.kind == 'log':
            return np.exp(np.log(first) + share * (np.log(second) - np.log(first)))
        return first + share * (second - first)


def form_of(name: str, words: str | float | Sequence[float]) -> Form:
    """Return the Form of a text as above, of a number or of a sequence of numbers."""
    if not isinstance(words, str):
        numbers = _numbers(name, np.atleast_1d(np.asarray(words, dtype=object)))
        return Form('values', numbers)
    kind, _, tail = words.rpartition(':')
    numbers = _numbers(name, tail.split(','))
    if not kind:
        return Form('values', numbers)
    if (
        kind == 'even'
        and len(numbers) == 3
        and numbers[2] == int(numbers[2])
        and (1 <= numbers[2] <= MAX_EVEN_VALUES)
    ):
        even = np.linspace(numbers[0], numbers[1], int(numbers[2]))
        return Form('values', tuple(even.tolist()))
    if kind in DISTRIBUTIONS and len(numbers) == 2:
        low, high = numbers
        if kind == 'normal' and high >= 0.0:
            return Form(kind, numbers)
        if low <= high and (kind == 'uniform' or kind == 'log' and low > 0.0):
            return Form(kind, numbers)
    raise UsageError(
        f'{name} = "{words}" is none of 0.8,1.0,1.2, even:FROM,TO,COUNT, '
        'uniform:LOW,HIGH, log:LOW,HIGH with LOW above 0, normal:MEAN,DEVIATION.'
    )


def _numbers(name, parts):
    try:
        numbers = tuple(float(part) for part in parts)
    except (TypeError, ValueError) as error:
        raise UsageError(
            f'{name} = "{",".join(map(str, parts))}" is not numbers with commas. '
            'Write 0.8,1.0,1.2 or uniform:0.8,1.2.'
        ) from error
    if not numbers or not np.isfinite(numbers).all():
        raise UsageError(f'{name} must be finite numbers, one at least.')
    return numbers
