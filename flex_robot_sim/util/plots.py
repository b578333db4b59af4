"""
Figures as files: panels below each other that share the time, and charts of any kind side by side.

The only module that knows matplotlib. Nothing here keeps state between figures or needs a screen.
"""

import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from flex_robot_sim.util.exceptions import SettingError, plain
from flex_robot_sim.util.files import open_atomic, why_unwritable

KINDS = ('.png', '.pdf', '.svg')
LARGEST = 1e100         # number that is drawn: the ticks of an axis need room for sums
# Okabe and Ito's colours, which the colour-blind tell apart; without yellow, which paper swallows
COLOURS = ('#0072B2', '#D55E00', '#009E73', '#CC79A7', '#000000', '#56B4E9', '#E69F00')
DASHES = ('-', (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1, 1, 1)))
WIDTH, PANEL_HEIGHT, DPI = 10.0, 2.1, 120           # [inch, inch, dots per inch]
CHART_WIDTH, CHART_HEIGHT, CHART_DPI = 4.4, 2.9, 90     # likewise, of charts
PAGE_DPI = 100              # of figures for a page, sharp on a dense screen
MARGINS = 1.5               # of a chart by itself: labels, legend                  [inch]
WIDE = 2.6
GRID_HEX = '#e0e0e0'
PAGE_SCALE = 1.15           # of charts on a page: legible on a narrow one, too


class Curve(NamedTuple):
    """One line of a panel."""

    label: str
    time: np.ndarray            # (k,) [s]
    values: np.ndarray          # (k,), nan leaves a gap
    colour: int = 0             # row of COLOURS; what belongs together has the same
    dashes: int = 0             # row of DASHES
    has_marks: bool = False     # for few points, each of which counts
    width: float = 1.1          # WIDE for what others come to lie on           [points]


class Panel(NamedTuple):
    """A pair of axes."""

    label: str                  # of the values, with their unit
    curves: Sequence[Curve]
    is_logarithmic: bool = False


class Chart(NamedTuple):
    """A pair of axes by itself; `time` of its curves is whatever runs across."""

    title: str
    across: str                 # what runs across, with its unit
    label: str                  # of the values, with their unit
    curves: Sequence[Curve]
    is_logarithmic: bool = False
    has_equal_scales: bool = False      # of both axes, for places
    has_whole_ticks: bool = False       # across, for what is counted


def check_figure_path(path: str | Path) -> None:
    """Raise SettingError if no figure can be written there."""
    path = Path(path)
    if path.suffix.lower() not in KINDS:
        raise SettingError(f'{path}: a figure ends in one of {", ".join(KINDS)}')
    problem = why_unwritable(path)
    if problem:
        raise SettingError(f'{path}: cannot be written: {problem}. Name a file in a folder of '
                           'yours')


def write_figure(path: str | Path, title: str, panels: Sequence[Panel]) -> None:
    """Draw Panels into a file of one of KINDS; SettingError if it cannot be written."""
    check_figure_path(path)
    figure = draw_figure(title, panels)
    _lay_out(figure)
    try:
        _save(figure, path, DPI)
    except OSError as error:
        raise SettingError(f'{path}: cannot be written: {error.strerror}') from error


def write_charts(path: str | Path, title: str, charts: Sequence[Chart], columns: int = 2) -> None:
    """Draw Charts into a file of one of KINDS; SettingError if it cannot be written."""
    _write_charts([Path(path)], title, charts, columns)


def write_charts_of_both_kinds(stem: str | Path, title: str, charts: Sequence[Chart],
                               columns: int = 2, width: float | None = None) -> list[str]:
    """
    Draw Charts into `stem`.png and `stem`.svg; return these; errors as for `write_charts`.

    :param width: of a figure for a page, where each chart has a legend [inch]; None: it depends
        on the charts.
    """
    paths = [Path(f'{stem}{kind}') for kind in ('.png', '.svg')]
    _write_charts(paths, title, charts, columns, width)
    return [str(path) for path in paths]


def _write_charts(paths, title, charts, columns, width=None):
    for path in paths:
        check_figure_path(path)
    scale = width and width / (CHART_WIDTH * min(columns, len(charts)))
    figure = draw_charts(title, charts, columns, scale, has_all_legends=width is not None)
    _lay_out(figure)
    for path in paths:
        try:
            _save(figure, path, CHART_DPI if width is None else PAGE_DPI)
        except OSError as error:
            raise SettingError(f'{path}: cannot be written: {error.strerror}') from error


def _save(figure, path, dpi):
    with open_atomic(path, 'wb') as file:
        figure.savefig(file, dpi=dpi, format=Path(path).suffix[1:].lower())


def _words(text):
    """
    Return a text for a figure as it is meant: no formula, no hidden label.

    Names come from anybody, and matplotlib takes $...$ for a formula, and _... for no label.
    """
    text = '\n'.join(map(plain, text.split('\n'))).replace('$', r'\$')
    return f' {text}' if text.startswith('_') else text


def _lay_out(figure):
    """Find all places once, without a drawing that nobody sees: it is half the work."""
    if hasattr(figure, 'set_layout_engine'):            # matplotlib 3.6
        figure.get_layout_engine().execute(figure)
        figure.set_layout_engine(None)


def chart_svg(chart: Chart, key: str) -> tuple[str, tuple[float, float], tuple[float, float]]:
    """
    Return a Chart as SVG for a page, which says its colours as --plot-0 and so on.

    :param key: its names begin with this, so that several charts may stand in one page.
    :returns: the SVG; where the axes begin and end, as shares of its width; what these are.
    """
    figure = draw_charts('', [chart], 1, PAGE_SCALE)
    _lay_out(figure)
    text = io.StringIO()
    with rc_context({'svg.fonttype': 'none', 'svg.hashsalt': key}):
        figure.savefig(text, format='svg', transparent=True, metadata={'Date': None})
    axes = figure.axes[0]
    box, limits = axes.get_position(), axes.get_xlim()
    return _for_page(text.getvalue(), key), (box.x0, box.x1), (float(limits[0]), float(limits[1]))


def _for_page(text, key):
    """SVG whose size, colours and names are those of the page around it."""
    text = text[text.index('<svg'):]
    text = re.sub(r'<metadata>.*?</metadata>', '', text, flags=re.DOTALL)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r'\1', text, count=1)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r'\1', text, count=1)
    text = re.sub(r'\bid="', f'id="{key}-', text)
    text = re.sub(r'(url\(#|href="#)', rf'\1{key}-', text)
    for number, colour in enumerate(COLOURS):
        text = text.replace(colour.lower(), f'var(--plot-{number})')
    return text.replace(GRID_HEX, 'var(--plot-grid)')


def draw_charts(title: str, charts: Sequence[Chart], columns: int = 2,
                scale: float | None = None, has_all_legends: bool = False) -> Figure:
    """
    Return the matplotlib Figure of Charts, `columns` beside each other.

    :param scale: of the size; None: one by itself is larger than those that stand together.
    :param has_all_legends: whether a chart of one curve has a legend, too.
    """
    columns = min(columns, len(charts))
    rows = -(-len(charts) // columns)
    scale = scale or (1.5 if len(charts) == 1 else 1.0)
    width, height = scale * CHART_WIDTH * columns, 0.4 + scale * CHART_HEIGHT * rows
    if len(charts) == 1 and charts[0].has_equal_scales:
        width = min(width, MARGINS + (height - MARGINS) * _slimness(charts[0]))
    figure = Figure(figsize=(width, height), dpi=CHART_DPI, layout='constrained')
    FigureCanvasAgg(figure)
    figure.suptitle(_words(title), x=0.01, ha='left', fontsize=11)
    all_axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, chart in zip(all_axes, charts):
        _draw_curves(axes, chart)
        axes.set_title(_words(chart.title), loc='left', fontsize=9)     # above a multiplier
        axes.set_xlabel(_words(chart.across))
        if chart.has_whole_ticks:
            axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        axes.margins(x=0.03)            # the label of the last tick stays within the picture
        if chart.has_equal_scales:
            axes.set_aspect('equal', adjustable='box')
        if len(chart.curves) > (0 if has_all_legends else 1):
            # below the axes, in as many columns as have room
            widest = max(len(curve.label) for curve in chart.curves)
            axes.legend(loc='upper center', bbox_to_anchor=(0.5, 0.0), borderaxespad=4.4,
                        frameon=False, fontsize=7.5,
                        ncol=max(1, min(4, int(66 * min(scale, 1.0)) // (widest + 8))),
                        handlelength=2.4, columnspacing=1.0)
    for axes in all_axes[len(charts):]:
        axes.set_axis_off()
    return figure


def _slimness(chart: Chart) -> float:
    """Width of what a chart shows over its height."""
    across, up = (float(np.ptp(np.concatenate([np.ravel(values) for values in part])))
                  for part in zip(*((curve.time, curve.values) for curve in chart.curves)))
    return across / up if up > 0.0 else 1.0


def draw_figure(title: str, panels: Sequence[Panel]) -> Figure:
    """Return the matplotlib Figure of Panels."""
    figure = Figure(figsize=(WIDTH, 0.6 + PANEL_HEIGHT * len(panels)), dpi=DPI,
                    layout='constrained')
    FigureCanvasAgg(figure)
    figure.suptitle(_words(title), x=0.01, ha='left', fontsize=11)
    all_axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    for axes, panel in zip(all_axes, panels):
        _draw_panel(axes, panel)
    all_axes[-1].set_xlabel('time [s]')
    return figure


def _draw_panel(axes, panel):
    _draw_curves(axes, panel)
    if panel.curves:
        axes.legend(loc='center left', bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8)


def _drawable(values):
    """Return an array with gaps where a number is too large for the ticks of an axis."""
    values = np.asarray(values, float)
    return np.where(np.abs(values) < LARGEST, values, np.nan)


def _draw_curves(axes, panel):
    for curve in panel.curves:
        axes.plot(_drawable(curve.time), _drawable(curve.values),
                  label=_words(curve.label), linewidth=curve.width,
                  color=COLOURS[curve.colour % len(COLOURS)],
                  linestyle=DASHES[curve.dashes % len(DASHES)],
                  marker='o' if curve.has_marks else None, markersize=3.5)
    axes.set_ylabel(_words(panel.label))
    axes.margins(x=0.01)
    axes.grid(True, color=GRID_HEX, linewidth=0.6)
    axes.spines[['top', 'right']].set_visible(False)
    if panel.is_logarithmic:
        values = np.concatenate([np.ravel(_drawable(curve.values)) for curve in panel.curves]
                                or [[]])
        values = values[values > 0.0]
        # on less than a decade, ticks of a logarithm are all the same
        if values.size and values.max() >= 10.0 * values.min():
            axes.set_yscale('log', nonpositive='mask')
        elif values.size:
            axes.set_ylim(0.0, 1.1 * values.max())      # not nanoseconds about a constant
