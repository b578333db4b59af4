"""Lines of a plot, their colours and their legend."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from flex_robot_sim.util.exceptions import as_html

# distinguishable with red-green colour blindness, on bright and on dark background
COLOURS = ('#2b7bba', '#e07b00', '#1b9e77', '#c2408f', '#8a6fd1', '#9a8a00', '#7f7f7f')


class PlotLine(NamedTuple):
    """A line of a plot."""

    name: str  # '' has no legend entry
    colour: int = 0  # index of the colours of the page, cyclic
    is_dashed: bool = False

    @property
    def html_colour(self) -> str:
        """Colour as HTML writes it."""
        return COLOURS[self.colour % len(COLOURS)]

    @property
    def uplot_series(self) -> dict[str, Any]:
        """Options of the line as a series of uPlot."""
        dash = {'dash': [5, 4]} if self.is_dashed else {}
        return {'stroke': self.html_colour, 'width': 1.5, 'points': {'show': False}, **dash}


def heading(title: str, lines: Sequence[PlotLine], note: str) -> str:
    """Return title, note and legend of a plot as HTML."""
    # one entry for all lines of a colour, unlike the legend of uPlot
    legend = ' '.join(
        f'<span style="white-space:nowrap;margin-right:0.7em"><b style="color:{line.html_colour}">'
        f'&#9644;</b> {as_html(line.name)}</span>'
        for line in lines
        if line.name
    )
    return f'<b>{as_html(title)}</b> <span style="opacity:0.65">{as_html(note)}</span><br>{legend}'
