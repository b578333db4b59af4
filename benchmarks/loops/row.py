"""A row of the table about closed loops."""

from typing import NamedTuple


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
