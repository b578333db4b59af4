"""What an experiment leaves: figures, numbers beside those of the paper, and words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from flex_robot_sim.plots import Chart
from flex_robot_sim.reproduce.courses import LINEARISED, Course

LINEAR = 0.05           # share beyond which a linearised arm is no longer the arm
FAR = 'bends too far for what is linear in all that bends'


class Pictures(NamedTuple):
    """One file of charts."""

    name: str
    title: str
    charts: tuple[Chart, ...]
    columns: int = 2


class Number(NamedTuple):
    """A key number beside that of the paper."""

    what: str
    ours: float | str
    unit: str
    theirs: float | str | None = None   # of the paper, or of another program; None: not printed
    source: str = ''        # of `theirs`


class Reproduction(NamedTuple):
    """All that an experiment leaves."""

    figures: tuple[Pictures, ...]
    numbers: tuple[Number, ...]
    formulations: dict[str, Course]
    largest_disagreement: float     # of trajectories that should be the same, over their range
    disagreement_of: str            # what that is about
    agrees: tuple[str, ...]         # sentences
    cannot: tuple[str, ...]         # sentences: what cannot be compared
    chosen: tuple[str, ...]         # sentences: parameters that the paper does not print


def summary(name: str, found: Reproduction, paths: Sequence[str], wall: float, cpu: float
            ) -> dict[str, Any]:
    """Return a Reproduction as JSON may hold it; wall and cpu: time that it took [s]."""
    return {
        'experiment': name,
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
        'agrees': list(found.agrees),
        'cannot_be_compared': list(found.cannot),
        'chosen': list(found.chosen),
    }


def as_text(facts: Mapping[str, Any]) -> Iterator[str]:
    """Return the lines of a `summary` for people."""
    yield (f'{facts["experiment"]}: {facts["wall_s"]:.1f} s, of processor time '
           f'{facts["cpu_s"]:.1f} s')
    yield f'  {"":44s} {"here":>12s} {"there":>12s}'
    for row in facts['numbers']:
        theirs = '-' if row['theirs'] is None else _text(row['theirs'])
        source = f'  {row["source"]}' if row['source'] else ''
        yield f'  {_with_unit(row):44s} {_text(row["ours"]):>12s} {theirs:>12s}{source}'
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
    for title, key in (('agrees', 'agrees'), ('cannot be compared', 'cannot_be_compared'),
                       ('chosen', 'chosen')):
        yield from (f'  {title}: {line}' for line in facts[key])
    yield from (f'  {path}' for path in facts['figures'])


def _said(name, one):
    is_far = name in LINEARISED and max(one.trajectories or 0.0, one.accelerations or 0.0) > LINEAR
    return '; '.join(line for line in (one.words, FAR if is_far else '') if line)


def _with_unit(row):
    return f'{row["what"]} [{row["unit"]}]' if row['unit'] else row['what']


def _text(value):
    return '-' if value is None else value if isinstance(value, str) else f'{value:.5g}'


def _plain(value):
    """Return a number that JSON knows, None for one that is not finite."""
    if value is None or isinstance(value, str):
        return value
    return float(value) if np.isfinite(value) else None
