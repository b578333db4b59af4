"""The table of the page of trust figures: written, read back, and checked."""

import re
from pathlib import Path

HEADER = ('check', 'compared', 'cases', 'largest error', 'limit', 'verdict', 'seeds', 'run')
HOLDS, FAILS = 'holds', '**fails**'
BLOCK = re.compile(r'<!-- measured: trust -->\n(.*?)<!-- end -->', re.DOTALL)
CELL = re.compile(r'(?<!\\)\|')


def row(name, figure):
    """Return the cells of a figure of `measure`."""
    checked = ', '.join(f'{number:,} {what}' for what, number in figure['checked'].items())
    return (
        f'`{name}`',
        figure['claim'],
        checked,
        _number(figure['error']),
        _number(figure['limit']),
        HOLDS if figure['holds'] else FAILS,
        f'{figure["seed"]} to {figure["seed"] + figure["cases"] - 1}, worst {figure["worst"]}',
        f'{figure["version"]}, {figure["date"]}',
    )


def rows(found, path, checks):
    """
    Return the rows of a page with new figures; checks that were not run keep their rows.

    :param found: {name: figure} as of `measure`; checks: {name: Check}, in the order of the page.
    """
    known = read_rows(Path(path).read_text('utf-8'))
    known |= {name: row(name, figure) for name, figure in found.items()}
    return [known[name] for name in checks if name in known]


def read_rows(text):
    """Return {name: cells} of the table of a page."""
    block = BLOCK.search(text)
    lines = block[1].splitlines() if block else []
    cells = [[cell.strip() for cell in CELL.split(line)[1:-1]] for line in lines if '`' in line]
    return {one[0].strip('`'): tuple(one) for one in cells if len(one) == len(HEADER)}


def problems(text, checks, version=''):
    """
    Return why the page is not up to date, one line each; none if it is.

    :param text: of the page; checks: {name: Check}.
    :param version: of the package that the figures must be of; '': any.
    """
    found, lines = read_rows(text), []
    lines += [f'{name}: is no check' for name in found if name not in checks]
    for name, check in checks.items():
        if name not in found:
            lines.append(f'{name}: is missing')
            continue
        _, claim, _, _, limit, verdict, seeds, run = found[name]
        first, last = map(int, seeds.partition(',')[0].split(' to '))
        if (claim, limit) != (check.claim, _number(check.limit)):
            lines.append(f'{name}: has another claim or limit than the check')
        if verdict != HOLDS:
            lines.append(f'{name}: fails')
        if last - first + 1 < check.page_cases:
            lines.append(f'{name}: has {last - first + 1} cases instead of {check.page_cases}')
        if version and not run.startswith(f'{version},'):
            lines.append(f'{name}: is of version {run.partition(",")[0]}')
    return lines


def _number(value):
    return f'{value:.1e}' if value else '0'
