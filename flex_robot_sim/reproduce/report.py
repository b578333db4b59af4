"""What an experiment leaves: figures, comparisons with the paper, and further numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from flex_robot_sim.reproduce.comparison import DIFFERS, Comparison, as_dict
from flex_robot_sim.reproduce.courses import LINEARISED, Course
from flex_robot_sim.util.plots import Chart

LINEAR = 0.05           # difference that linearised equations of motion usually keep
BEYOND_LINEAR = 'its equations are linear in the elastic coordinates'


class Pictures(NamedTuple):
    """One file of charts."""

    name: str
    title: str
    charts: tuple[Chart, ...]
    columns: int = 2


class Number(NamedTuple):
    """A further number, next to a reference that is not the paper."""

    what: str
    ours: float | str
    unit: str
    theirs: float | str | None = None   # of another program or publication; None: there is none
    source: str = ''        # of `theirs`


class Effect(NamedTuple):
    """How far one deviation from our equations or numbers moves a result of the experiment."""

    deviation: str
    quantity: str
    change: float           # largest difference over the range without it              [%]
    until: float | None = None      # where the run with it ended early                 [s]


class Reproduction(NamedTuple):
    """All that an experiment leaves."""

    figures: tuple[Pictures, ...]
    comparisons: tuple[Comparison, ...]
    numbers: tuple[Number, ...] = ()
    formulations: Mapping[str, Course] = {}
    largest_disagreement: float = 0.0   # of trajectories that should be the same, over their range
    disagreement_of: str = ''           # what that is about
    chosen: tuple[str, ...] = ()        # sentences: parameters that the paper does not print
    effects: tuple[Effect, ...] = ()    # of the deviations that make up a variant
    findings: tuple[str, ...] = ()      # lines: where a variant could not be finished


def summary(name: str, found: Reproduction, paths: Sequence[str], wall: float, cpu: float,
            variant: str = '') -> dict[str, Any]:
    """Return a Reproduction as JSON may hold it; wall and cpu: time that it took [s]."""
    return {
        'experiment': name,
        'variant': variant,
        'comparisons': [as_dict(row) for row in found.comparisons],
        'findings': list(found.findings),
        'effects': [{'deviation': row.deviation, 'quantity': row.quantity,
                     'change_percent': _plain(row.change), 'until_s': _plain(row.until)}
                    for row in found.effects],
        'figures': list(paths),
        'formulations': {key: {
            'ran': one.ran, 'until_s': _plain(one.until), 'words': _said(key, one),
            'trajectories': _plain(one.trajectories), 'farthest_off': one.farthest,
            'accelerations': _plain(one.accelerations)}
            for key, one in found.formulations.items()},
        'largest_disagreement': _plain(found.largest_disagreement),
        'disagreement_of': found.disagreement_of,
        'wall_s': round(wall, 3),
        'cpu_s': round(cpu, 3),
        'numbers': [{'what': row.what, 'unit': row.unit, 'ours': _plain(row.ours),
                     'theirs': _plain(row.theirs), 'source': row.source}
                    for row in found.numbers],
        'chosen': list(found.chosen),
    }


def as_text(facts: Mapping[str, Any]) -> Iterator[str]:
    """Return the lines of a `summary` for people."""
    variant = f', variant {facts["variant"]}' if facts['variant'] else ''
    yield (f'{facts["experiment"]}{variant}: {facts["wall_s"]:.1f} s, of processor time '
           f'{facts["cpu_s"]:.1f} s')
    counts = Counter(row['verdict'] for row in facts['comparisons'])
    if counts:
        yield '  ' + ', '.join(f'{count} {verdict}' for verdict, count in sorted(counts.items()))
    for row in facts['comparisons']:
        yield f'  {row["verdict"]:14s} {row["place"]}: {row["what"]}'
        reason = f' ({row["reason"]})' if row['reason'] else ''
        source = f'; tolerance: {row["tolerance"]}' if row['tolerance'] else ''
        yield f'  {"":14s} paper {paper_text(row)}; ours {ours_text(row)}{source}{reason}'
    yield from (f'  finding: {line}' for line in facts['findings'])
    yield from (f'  effect: {row["deviation"]}: {row["quantity"]} moves by '
                f'{effect_text(row)}' for row in facts['effects'])
    if facts['numbers']:
        yield f'  {"further numbers":44s} {"here":>12s} {"reference":>12s}'
    for row in facts['numbers']:
        theirs = '-' if row['theirs'] is None else _text(row['theirs'])
        source = f'  {row["source"]}' if row['source'] else ''
        yield f'  {_with_unit(row):44s} {_text(row["ours"]):>12s} {theirs:>12s}{source}'
    if facts['formulations']:
        yield from _formulations_text(facts)
    yield from (f'  chosen: {line}' for line in facts['chosen'])
    yield from (f'  {path}' for path in facts['figures'])


def paper_text(row: Mapping[str, Any]) -> str:
    """Return the number or claim of the paper in a row of `comparisons`, with its bounds."""
    paper = row['paper']
    if isinstance(paper, str):
        return paper
    span = '' if row['upper'] is None else f' +- {row["upper"] - paper:.2g}'
    return f'{paper:.5g}{span}{_unit(row)}'


def ours_text(row: Mapping[str, Any]) -> str:
    """Return our number in a row of `comparisons`, with the bounds of a claim."""
    if row['ours'] is None:
        return 'beyond all bounds' if row['verdict'] == DIFFERS else '-'
    bounds = ''
    if isinstance(row['paper'], str):
        bounds = ', '.join(f'{word} {row[key]:.4g}' for key, word in (
            ('lower', 'at least'), ('upper', 'at most')) if row[key] is not None)
    return f'{row["ours"]:.4g}{_unit(row)}' + (f', {bounds} agrees' if bounds else '')


def effect_text(row: Mapping[str, Any]) -> str:
    """Return the size of an effect in words."""
    if row['change_percent'] is None:
        return 'more than any bound'
    ended = '' if row['until_s'] is None else f' until the run ends at {row["until_s"]:.3g} s'
    return f'{row["change_percent"]:.3g} % of its range{ended}'


def _formulations_text(facts):
    yield '  formulations, largest difference from the recursion over the range:'
    yield f'    {"":14s} {"ran":>14s} {"trajectories":>14s} {"accelerations":>14s}'
    for name, one in facts['formulations'].items():
        ran = one['ran'] if one['ran'] != 'until' else f'until {one["until_s"]:.3g} s'
        words = f'  {one["words"]}' if one['words'] else ''
        sizes = ' '.join(f'{"-" if one[key] is None else format(one[key], ".2g"):>14s}'
                         for key in ('trajectories', 'accelerations'))
        yield f'    {name:14s} {ran:>14s} {sizes}{words}'
    yield (f'  largest disagreement: {facts["largest_disagreement"]:.2g} '
           f'({facts["disagreement_of"]})')


def _said(name, one):
    is_far = name in LINEARISED and max(one.trajectories or 0.0, one.accelerations or 0.0) > LINEAR
    return '; '.join(line for line in (one.words, BEYOND_LINEAR if is_far else '') if line)


def _unit(row):
    return f' {row["unit"]}' if row['unit'] else ''


def _with_unit(row):
    return f'{row["what"]} [{row["unit"]}]' if row['unit'] else row['what']


def _text(value):
    return '-' if value is None else value if isinstance(value, str) else f'{value:.5g}'


def _plain(value):
    """Return a number that JSON knows, None for one that is not finite."""
    if value is None or isinstance(value, str):
        return value
    return float(value) if np.isfinite(value) else None
