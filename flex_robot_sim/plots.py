"""
Figures of motions over time, as files: panels below each other that share the time.

The only module that knows matplotlib. Nothing here keeps state between figures or needs a screen.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from flex_robot_sim.exceptions import SettingError

KINDS = ('.png', '.pdf', '.svg')
# Okabe and Ito's colours, which the colour-blind tell apart; without yellow, which paper swallows
COLOURS = ('#0072B2', '#D55E00', '#009E73', '#CC79A7', '#000000', '#56B4E9', '#E69F00')
DASHES = ('-', (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1, 1, 1)))
WIDTH, PANEL_HEIGHT, DPI = 10.0, 2.1, 120           # [inch, inch, dots per inch]


class Curve(NamedTuple):
    """One line of a panel."""

    label: str
    time: np.ndarray            # (k,) [s]
    values: np.ndarray          # (k,), nan leaves a gap
    colour: int = 0             # row of COLOURS; what belongs together has the same
    dashes: int = 0             # row of DASHES
    has_marks: bool = False     # for few points, each of which counts


class Panel(NamedTuple):
    """A pair of axes."""

    label: str                  # of the values, with their unit
    curves: tuple
    is_logarithmic: bool = False


def check_figure_path(path):
    """Raise SettingError if no figure can be written there."""
    path = Path(path)
    if path.suffix.lower() not in KINDS:
        raise SettingError(f'{path}: a figure ends in one of {", ".join(KINDS)}')
    if path.is_dir() or not path.parent.is_dir():
        raise SettingError(f'{path}: give the name of a file in a folder that exists')


def write_figure(path, title, panels):
    """Draw Panels into a file of one of KINDS; SettingError if it cannot be written."""
    check_figure_path(path)
    try:
        draw_figure(title, panels).savefig(path, dpi=DPI)
    except OSError as error:
        raise SettingError(f'{path} cannot be written: {error.strerror}') from error


def draw_figure(title, panels):
    """Return the matplotlib Figure of Panels."""
    figure = Figure(figsize=(WIDTH, 0.6 + PANEL_HEIGHT * len(panels)), layout='constrained')
    FigureCanvasAgg(figure)
    figure.suptitle(title, x=0.01, ha='left', fontsize=11)
    all_axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    for axes, panel in zip(all_axes, panels):
        _draw_panel(axes, panel)
    all_axes[-1].set_xlabel('time [s]')
    return figure


def _draw_panel(axes, panel):
    for curve in panel.curves:
        axes.plot(curve.time, curve.values, label=curve.label, linewidth=1.1,
                  color=COLOURS[curve.colour % len(COLOURS)],
                  linestyle=DASHES[curve.dashes % len(DASHES)],
                  marker='o' if curve.has_marks else None, markersize=3.5)
    axes.set_ylabel(panel.label)
    axes.margins(x=0.01)
    axes.grid(True, color='0.88', linewidth=0.6)
    axes.spines[['top', 'right']].set_visible(False)
    if panel.is_logarithmic and any((np.asarray(curve.values) > 0.0).any()
                                    for curve in panel.curves):
        axes.set_yscale('log', nonpositive='mask')
    if panel.curves:
        axes.legend(loc='center left', bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8)
