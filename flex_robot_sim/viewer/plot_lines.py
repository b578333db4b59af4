"""What a plot is made of."""

from typing import NamedTuple


class Line(NamedTuple):
    """A line of a plot."""

    name: str                   # '' has no place in the legend
    colour: int = 0             # of the colours of the page, which begin anew after the last one
    is_dashed: bool = False
