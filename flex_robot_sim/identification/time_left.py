"""Estimate of the time that an iteration still needs, from its convergence."""

import math
from collections.abc import Callable
from time import monotonic

INITIAL_RATIO = 0.3  # of the sizes of two steps, before there are two
MIN_RATIO, MAX_RATIO = 0.05, 0.8  # of the sizes of two steps, for the estimate


class TimeLeft:
    """Reports the time left of an iteration whose steps become smaller."""

    def __init__(self, tolerance: float, max_steps: int, watch: Callable[[str], object]) -> None:
        """
        Start the clock.

        :param tolerance: size of the last step; max_steps: largest number of steps.
        :param watch: receives a line after each step.
        """
        self._tolerance, self._max_steps, self._watch = tolerance, max_steps, watch
        self._sizes: list[float] = []
        self._started_at, self._cost = monotonic(), math.inf

    def note_cost(self, cost: float) -> None:
        """Note the cost at a point; its relative reduction is the size of a step."""
        if cost < self._cost < math.inf:
            self.note(1 - cost / self._cost)
        self._cost = min(self._cost, cost)  # stays if the new one is nan

    def note(self, size: float, seconds: float | None = None) -> None:
        """Note the size of a step, and report the time left; seconds: of a step, if known."""
        self._sizes.append(size)
        if seconds is None:
            seconds = (monotonic() - self._started_at) / len(self._sizes)
        count = min(steps_left(self._sizes, self._tolerance), self._max_steps - len(self._sizes))
        self._watch(time_left(count * seconds))


def steps_left(sizes: list[float], tolerance: float) -> int:
    """Return the number of steps until one is smaller than a tolerance, for sizes of steps."""
    if sizes[-1] <= tolerance:
        return 0
    ratio = sizes[-1] / sizes[-2] if len(sizes) > 1 else INITIAL_RATIO
    ratio = min(max(ratio, MIN_RATIO), MAX_RATIO)
    return math.ceil(math.log(sizes[-1] / tolerance) / -math.log(ratio))


def time_left(seconds: float) -> str:
    """Return an estimate of the time left as words."""
    if seconds < 60.0:
        return f'about {max(10, 10 * math.ceil(seconds / 10))} s left'
    return f'about {math.ceil(seconds / 60)} min left'


def stage(watch: Callable[[str], object], text: str) -> Callable[[str], object]:
    """Report a stage, and return a function that reports the time left of it."""
    watch(text)
    return lambda line: watch(f'{text}, {line}')
