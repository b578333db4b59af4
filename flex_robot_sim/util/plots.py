"""
Figures as files: panels with a common time axis, and grids of charts.

The only module that imports matplotlib. It keeps no state between figures and needs no display.
"""

import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

from flex_robot_sim.util.exceptions import SettingError, plain
from flex_robot_sim.util.files import open_atomic, why_unwritable

KINDS = ('.png', '.pdf', '.svg')
MAX_DRAWN_VALUE = 1e100  # of drawn numbers: the ticks of an axis are sums of them
# colours of Okabe and Ito, distinguishable with colour blindness; without yellow, pale on paper
COLOURS = ('#0072B2', '#D55E00', '#009E73', '#CC79A7', '#000000', '#56B4E9', '#E69F00')
DASHES = ('-', (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1, 1, 1)))
WIDTH, PANEL_HEIGHT, DPI = 10.0, 2.1, 120  # [inch, inch, dots per inch]
CHART_WIDTH, CHART_HEIGHT, CHART_DPI = 4.4, 2.9, 90  # the same of charts
PAGE_DPI = 100  # of figures for a page, for high-resolution screens
CHART_MARGINS = 1.5  # of a chart by itself: labels, legend [inch]
WIDE = 2.6
GRID_HEX = '#e0e0e0'
PAGE_SCALE = 1.15  # of charts on a page, legible on narrow screens


class NotebookFigure(Figure):
    """A Figure that a notebook shows without further settings."""

    def _repr_png_(self) -> bytes:
        memory = io.BytesIO()
        self.savefig(memory, format='png')
        return memory.getvalue()


class Curve(NamedTuple):
    """One line of a panel."""

    label: str
    time: np.ndarray  # (k,) [s]
    values: np.ndarray  # (k,), nan leaves a gap
    colour: int = 0  # row of COLOURS; related curves share a colour
    dashes: int = 0  # row of DASHES
    has_marks: bool = False  # for curves of few points
    width: float = 1.1  # WIDE for a curve below others                 [points]


class Panel(NamedTuple):
    """A pair of axes."""

    label: str  # of the values, with their unit
    curves: Sequence[Curve]
    is_logarithmic: bool = False


class Chart(NamedTuple):
    """A separate pair of axes; `time` of its curves is the abscissa."""

    title: str
    across: str  # label of the abscissa, with its unit
    label: str  # of the values, with their unit
    curves: Sequence[Curve]
    is_logarithmic: bool = False
    has_equal_scales: bool = False  # of both axes, for positions
    has_whole_ticks: bool = False  # of the abscissa, for counts


def check_figure_path(path: str | Path) -> None:
    """Raise SettingError if no figure can be written there."""
    path = Path(path)
    if path.suffix.lower() not in KINDS:
        raise SettingError(f'{path}: a figure ends in one of {", ".join(KINDS)}')
    problem = why_unwritable(path)
    if problem:
        raise SettingError(
            f'{path}: cannot be written: {problem}. Name a file in a folder of yours'
        )


def write_figure(path: str | Path, title: str, panels: Sequence[Panel]) -> None:
    """Draw Panels into a file of one of KINDS; SettingError if it cannot be written."""
    _write([path], lambda: draw_figure(title, panels), DPI)


def write_surface(
    path: str | Path,
    title: str,
    points: np.ndarray,
    triangles: np.ndarray,
    marks: Mapping[str, np.ndarray],
) -> None:
    """
    Write a surface with marked points as a figure.

    :param points: (v, 3) [m]; triangles: rows of points, (t, 3).
    :param marks: points (k, 3) [m] by label.
    """
    _write([path], lambda: draw_surface(title, points, triangles, marks), DPI)


def write_charts(path: str | Path, title: str, charts: Sequence[Chart], columns: int = 2) -> None:
    """Draw Charts into a file of one of KINDS; SettingError if it cannot be written."""
    _write([Path(path)], lambda: draw_charts(title, charts, columns), CHART_DPI)


def write_charts_of_both_kinds(
    stem: str | Path,
    title: str,
    charts: Sequence[Chart],
    columns: int = 2,
    width: float | None = None,
) -> list[str]:
    """
    Draw Charts into `stem`.png and `stem`.svg; return these; errors as for `write_charts`.

    :param width: of a figure for a page, where each chart has a legend [inch]; None: determined
        by the charts.
    """
    paths = [Path(f'{stem}{kind}') for kind in ('.png', '.svg')]
    scale = width and width / (CHART_WIDTH * min(columns, len(charts)))
    _write(
        paths,
        lambda: draw_charts(title, charts, columns, scale, width is not None),
        CHART_DPI if width is None else PAGE_DPI,
    )
    return [str(path) for path in paths]


def _write(paths, draw, dpi):
    for path in paths:
        check_figure_path(path)
    figure = draw()
    _lay_out(figure)
    for path in paths:
        try:
            with open_atomic(path, 'wb') as file:
                figure.savefig(file, dpi=dpi, format=Path(path).suffix[1:].lower())
        except OSError as error:
            raise SettingError(f'{path}: cannot be written: {error.strerror}') from error


def _escape(text):
    """
    Escape a text for a figure, so that it is no formula and no hidden label.

    Names are untrusted, and matplotlib takes $...$ for a formula, and _... for no label.
    """
    text = '\n'.join(map(plain, text.split('\n'))).replace('$', r'\$')
    return f' {text}' if text.startswith('_') else text


def _lay_out(figure):
    """Compute the layout once without drawing, which saves half of the time."""
    if hasattr(figure, 'set_layout_engine'):  # matplotlib 3.6
        figure.get_layout_engine().execute(figure)
        figure.set_layout_engine(None)


def chart_svg(chart: Chart, key: str) -> tuple[str, tuple[float, float], tuple[float, float]]:
    """
    Return a Chart as SVG for a page, whose style sheet defines the colours --plot-0 and so on.

    :param key: prefix of its names, unique in the page.
    :returns: the SVG; both ends of the abscissa as shares of its width; their values.
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
    """Adapt an SVG to a page: flexible size, colours of the page, unique names."""
    text = text[text.index('<svg') :]
    text = re.sub(r'<metadata>.*?</metadata>', '', text, flags=re.DOTALL)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r'\1', text, count=1)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r'\1', text, count=1)
    text = re.sub(r'\bid="', f'id="{key}-', text)
    text = re.sub(r'(url\(#|href="#)', rf'\1{key}-', text)
    for number, colour in enumerate(COLOURS):
        text = text.replace(colour.lower(), f'var(--plot-{number})')
    return text.replace(GRID_HEX, 'var(--plot-grid)')


def draw_charts(
    title: str,
    charts: Sequence[Chart],
    columns: int = 2,
    scale: float | None = None,
    has_all_legends: bool = False,
) -> Figure:
    """
    Return the matplotlib Figure of Charts in a number of `columns`.

    :param scale: of the size; None: a single chart is larger than those of a grid.
    :param has_all_legends: whether a chart of one curve has a legend, too.
    """
    columns = min(columns, len(charts))
    rows = -(-len(charts) // columns)
    scale = scale or (1.5 if len(charts) == 1 else 1.0)
    width, height = scale * CHART_WIDTH * columns, 0.4 + scale * CHART_HEIGHT * rows
    if len(charts) == 1 and charts[0].has_equal_scales:
        width = min(width, CHART_MARGINS + (height - CHART_MARGINS) * _aspect_ratio(charts[0]))
    figure = Figure(figsize=(width, height), dpi=CHART_DPI, layout='constrained')
    FigureCanvasAgg(figure)
    figure.suptitle(_escape(title), x=0.01, ha='left', fontsize=11)
    all_axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, chart in zip(all_axes, charts):
        _draw_curves(axes, chart)
        axes.set_title(_escape(chart.title), loc='left', fontsize=9)  # above the multiplier
        axes.set_xlabel(_escape(chart.across))
        if chart.has_whole_ticks:
            axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        axes.margins(x=0.03)  # the label of the last tick stays within the picture
        if chart.has_equal_scales:
            axes.set_aspect('equal', adjustable='box')
        if len(chart.curves) > (0 if has_all_legends else 1):
            # below the axes, in as many columns as fit
            widest = max(len(curve.label) for curve in chart.curves)
            axes.legend(
                loc='upper center',
                bbox_to_anchor=(0.5, 0.0),
                borderaxespad=4.4,
                frameon=False,
                fontsize=7.5,
                ncol=max(1, min(4, int(66 * min(scale, 1.0)) // (widest + 8))),
                handlelength=2.4,
                columnspacing=1.0,
            )
    for axes in all_axes[len(charts) :]:
        axes.set_axis_off()
    return figure


def _aspect_ratio(chart: Chart) -> float:
    """Width over height of the data of a chart."""
    width, height = (
        float(np.ptp(np.concatenate([np.ravel(values) for values in part])))
        for part in zip(*((curve.time, curve.values) for curve in chart.curves))
    )
    return width / height if height > 0.0 else 1.0


def draw_figure(title: str, panels: Sequence[Panel]) -> Figure:
    """Return the matplotlib Figure of Panels."""
    figure = NotebookFigure(
        figsize=(WIDTH, 0.6 + PANEL_HEIGHT * len(panels)), dpi=DPI, layout='constrained'
    )
    FigureCanvasAgg(figure)
    figure.suptitle(_escape(title), x=0.01, ha='left', fontsize=11)
    all_axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    for axes, panel in zip(all_axes, panels):
        _draw_panel(axes, panel)
    all_axes[-1].set_xlabel('time [s]')
    return figure


def draw_surface(
    title: str, points: np.ndarray, triangles: np.ndarray, marks: Mapping[str, np.ndarray]
) -> Figure:
    """Return the figure of `write_surface`."""
    figure = NotebookFigure(figsize=(WIDTH, 0.6 * WIDTH), layout='constrained')
    FigureCanvasAgg(figure)
    axes: Any = figure.add_subplot(projection='3d')
    corners = points[triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    lengths = np.linalg.norm(normals, axis=1)
    light = np.abs(normals @ [0.3, -0.5, 0.8]) / np.maximum(lengths, np.finfo(float).tiny)
    colours = np.clip(0.55 + 0.4 * light, 0, 1)[:, None] * [0.86, 0.88, 0.92]
    axes.add_collection3d(Poly3DCollection(corners, facecolors=colours, alpha=0.5, clip_on=False))
    for number, (label, places) in enumerate(marks.items()):
        colour = COLOURS[number % len(COLOURS)]
        axes.scatter(*places.T, s=6, color=colour, label=_escape(label), clip_on=False)
    low, high = points.min(axis=0), points.max(axis=0)
    margin = 0.05 * np.max(high - low)
    limits = np.stack([low - margin, high + margin], 1).tolist()
    axes.set(xlim=limits[0], ylim=limits[1], zlim=limits[2])
    axes.set_proj_type('ortho')
    axes.set_box_aspect(high - low + 2 * margin, zoom=1.25)
    axes.set(xlabel='x [m]', ylabel='y [m]', zlabel='z [m]')
    axes.tick_params(labelsize=7)
    axes.locator_params(nbins=3)
    axes.legend(loc='upper left', frameon=False, fontsize=8)
    figure.suptitle(_escape(title))
    return figure


def _draw_panel(axes, panel):
    _draw_curves(axes, panel)
    if panel.curves:
        axes.legend(loc='center left', bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8)


def _drawable(values):
    """Return an array with nan for numbers that are too large for the ticks of an axis."""
    values = np.asarray(values, float)
    return np.where(np.abs(values) < MAX_DRAWN_VALUE, values, np.nan)


def _draw_curves(axes, panel):
    for curve in panel.curves:
        axes.plot(
            _drawable(curve.time),
            _drawable(curve.values),
            label=_escape(curve.label),
            linewidth=curve.width,
            color=COLOURS[curve.colour % len(COLOURS)],
            linestyle=DASHES[curve.dashes % len(DASHES)],
            marker='o' if curve.has_marks else None,
            markersize=3.5,
        )
    axes.set_ylabel(_escape(panel.label))
    axes.margins(x=0.01)
    axes.grid(True, color=GRID_HEX, linewidth=0.6)
    axes.spines[['top', 'right']].set_visible(False)
    if panel.is_logarithmic:
        values = np.concatenate(
            [np.ravel(_drawable(curve.values)) for curve in panel.curves] or [np.zeros(0)]
        )
        values = values[values > 0.0]
        # a logarithmic axis of less than a decade has no useful ticks
        if values.size and values.max() >= 10.0 * values.min():
            axes.set_yscale('log', nonpositive='mask')
        elif values.size:
            axes.set_ylim(0.0, 1.1 * values.max())  # do not zoom into a constant
