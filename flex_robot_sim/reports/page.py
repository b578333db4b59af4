"""Self-contained HTML pages: they need no other file and send no request."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from flex_robot_sim.reports.charts import Plot
from flex_robot_sim.util.exceptions import UsageError, as_html
from flex_robot_sim.util.files import open_atomic
from flex_robot_sim.util.plots import chart_svg

PAGE_FOLDER = Path(__file__).parent
ANIMATION_HTML = """<section id="stage" class="card"><canvas></canvas><div id="controls">
<button id="play">play</button><input id="time" type="range" aria-label="time">
<span id="clock"></span><label>speed <select id="speed"><option>0.1</option>
<option>0.25</option><option>0.5</option>
<option selected>1</option><option>2</option>
<option>5</option></select></label></div>
<p class="faint">Drag to turn, wheel or pinch to come closer, Shift and drag to move. Links that
bend are coloured by their bending, full at a tenth of their length; the line is the way of the
tool. A click on a plot goes to its time.</p></section>
"""
MAX_GRID_COLUMNS = 6  # wider tables take the whole width of the page
# of JSON that is embedded in HTML
JSON_ESCAPES = str.maketrans({'<': '\\u003c', '>': '\\u003e', '&': '\\u0026'})


def page(
    title: str,
    lines: Iterable[str],
    notes: Iterable[str],
    motion: Mapping[str, Any] | None,
    plots: Sequence[Plot],
    tables: Iterable[tuple[str, list[str], list[list[str]]]],
    collapsed: Iterable[tuple[str, list[str], list[list[str]]]],
) -> str:
    """Return the page: lines and notes below the title; `collapsed` tables open on a click."""
    parts = [
        f'<h1>{as_html(title)}</h1>',
        *(f'<p class="faint">{as_html(line)}</p>' for line in lines),
        *(f'<p class="note">{as_html(note)}</p>' for note in notes),
    ]
    if motion is not None:
        data = json.dumps(motion, separators=(',', ':')).translate(JSON_ESCAPES)
        parts += [
            '<h2>The arm in motion</h2>',
            ANIMATION_HTML,
            f'<script type="application/json" id="motion">{data}</script>',
        ]
    if plots:
        parts += [
            '<h2>Plots</h2>',
            '<div class="grid">',
            *(_plot(number, plot) for number, plot in enumerate(plots)),
            '</div>',
        ]
    parts += [
        '<h2>Numbers</h2>',
        '<div class="grid">',
        *(
            f'<section class="card{" whole" * (len(heading) > MAX_GRID_COLUMNS)}">'
            f'<h3>{as_html(name)}</h3>{_table(heading, rows)}</section>'
            for name, heading, rows in tables
            if rows
        ),
        '</div>',
    ]
    parts += [
        f'<details><summary>{as_html(name)}</summary>{_table(heading, rows, True)}</details>'
        for name, heading, rows in collapsed
        if rows
    ]
    style, script = ((PAGE_FOLDER / f'page.{kind}').read_text('utf-8') for kind in ('css', 'js'))
    body = '\n'.join(parts)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{as_html(title)}</title><link rel="icon" href="data:,">'
        f'<style>\n{style}</style></head>\n<body><main>\n{body}\n</main>\n'
        f'<script>\n{script}</script>'
        '</body></html>\n'
    )


def write_page(path: str | Path, text: str) -> None:
    """Write a page; UsageError if the file cannot be written."""
    try:
        with open_atomic(path, 'w', encoding='utf-8') as file:
            file.write(text)
    except OSError as error:
        raise UsageError(
            f'{path}: cannot be written: {error.strerror}. Name another file by --output.'
        ) from error


def _plot(number, plot):
    svg, (left, right), (begin, end) = chart_svg(plot.chart, f'p{number}')
    time = ''
    if plot.is_of_time:
        time = (
            f' data-left="{left:.5f}" data-right="{right:.5f}" data-from="{begin:.6g}" '
            f'data-until="{end:.6g}"'
        )
    return (
        f'<section class="card"><div class="plot" id="{plot.file_stem}"{time} role="img" '
        f'aria-label="{as_html(plot.chart.title)}">{svg}</div></section>'
    )


def _table(heading, rows, is_text=False):
    kind = ' class="text"' if is_text else ''
    head = ''.join(f'<th>{as_html(word)}</th>' for word in heading)
    body = ''.join(
        '<tr>'
        + ''.join(
            f'<td{kind if column else ""}>{as_html(cell)}</td>' for column, cell in enumerate(row)
        )
        + '</tr>'
        for row in rows
    )
    head = f'<thead><tr>{head}</tr></thead>' if any(heading) else ''
    return f'<div class="scroll"><table>{head}<tbody>{body}</tbody></table></div>'
