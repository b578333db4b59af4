"""Lines of a plot."""

from typing import NamedTuple


class Line(NamedTuple):
    """A line of a plot."""

    name: str                   # '' has no legend entry
    colour: int = 0             # index of the colours of the page, cyclic
    is_dashed: bool = False
