"""Results of an experiment: figures, comparisons with the paper, and further numbers."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from flex_robot_sim.reproduce.courses import LINEARISED, FormulationResult
from flex_robot_sim.reproduce.paper_comparison import DIFFERS, PaperComparison, as_dict
from flex_robot_sim.util.plots import Chart

MAX_LINEARISATION_ERROR = 0.05  # usual limit of the error of linearised equations, over range
LINEARISED_REMARK = 'its equations are linear in the elastic coordinates'


class Figure(NamedTuple):
    """One figure file with several charts."""

    name: str
    title: str
    charts: tuple[Chart, ...]
    columns: int = 2


class Number(NamedTuple):
    """A further number, with a reference other than the paper."""

    what: str
    ours: float | str
    unit: str
    reference: float | str | None = None  # of another program or publication; None: no reference
    source: str = ''  # of `reference`


class Effect(NamedTuple):
    """Change of a result caused by one deviation from our equations or numbers."""

    deviation: str
    quantity: str
    change: float  # largest difference, over the range without the deviation  [%]
    end_time: float | None = None  # of a run with the deviation that ended early      [s]


class Reproduction(NamedTuple):
    """Results of an experiment."""

    figures: tuple[Figure, ...]
    comparisons: tuple[PaperComparison, ...]
    numbers: tuple[Number, ...] = ()
    formulations: Mapping[str, FormulationResult] = {}
    largest_disagreement: float = 0.0  # of trajectories that should be the same, over their range
    disagreement_of: str = ''  # trajectories and quantities that it covers
    assumptions: tuple[str, ...] = ()  # sentences: parameters that the paper does not print
    effects: tuple[Effect, ...] = ()  # of the deviations that a variant consists of
    findings: tuple[str, ...] = ()  # lines: where a variant ended early


def summary(
    name: str,
    reproduction: Reproduction,
    paths: Sequence[str],
    wall: float,
    cpu: float,
    variant: str = '',
) -> dict[str, Any]:
    """Return a Reproduction as a dict of JSON types; wall, cpu: time of the experiment [s]."""
    return {
        'experiment': name,
        'variant': variant,
        'comparisons': [as_dict(row) for row in reproduction.comparisons],
        'findings': list(reproduction.findings),
        'effects': [
            {
                'deviation': row.deviation,
                'quantity': row.quantity,
                'change_percent': _json_value(row.change),
                'until_s': _json_value(row.end_time),
            }
            for row in reproduction.effects
        ],
        'figures': list(paths),
        'formulations': {
            key: {
                'ran': result.status,
                'until_s': _json_value(result.end_time),
                'words': _remark(key, result),
                'trajectories': _json_value(result.trajectory_error),
                'farthest_off': result.worst_coordinate,
                'accelerations': _json_value(result.acceleration_error),
            }
            for key, result in reproduction.formulations.items()
        },
        'largest_disagreement': _json_value(reproduction.largest_disagreement),
        'disagreement_of': reproduction.disagreement_of,
        'wall_s': round(wall, 3),
        'cpu_s': round(cpu, 3),
        'numbers': [
            {
                'what': row.what,
                'unit': row.unit,
                'ours': _json_value(row.ours),
                'theirs': _json_value(row.reference),
                'source': row.source,
            }
            for row in reproduction.numbers
        ],
        'chosen': list(reproduction.assumptions),
    }


def as_text(facts: Mapping[str, Any]) -> Iterator[str]:
    """Return the lines of a `summary` as text for the terminal."""
    variant = f', variant {facts["variant"]}' if facts['variant'] else ''
    yield (
        f'{facts["experiment"]}{variant}: {facts["wall_s"]:.1f} s, of processor time '
        f'{facts["cpu_s"]:.1f} s'
    )
    counts = Counter(row['verdict'] for row in facts['comparisons'])
    if counts:
        yield '  ' + ', '.join(f'{count} {verdict}' for verdict, count in sorted(counts.items()))
    for row in facts['comparisons']:
        yield f'  {row["verdict"]:14s} {row["place"]}: {row["what"]}'
        reason = f' ({row["reason"]})' if row['reason'] else ''
        source = f'; tolerance: {row["tolerance"]}' if row['tolerance'] else ''
        yield f'  {"":14s} paper {paper_text(row)}; ours {ours_text(row)}{source}{reason}'
    yield from (f'  finding: {line}' for line in facts['findings'])
    yield from (
        f'  effect: {row["deviation"]}: {row["quantity"]} moves by {effect_text(row)}'
        for row in facts['effects']
    )
    if facts['numbers']:
        yield f'  {"further numbers":44s} {"here":>12s} {"reference":>12s}'
    for row in facts['numbers']:
        reference = '-' if row['theirs'] is None else _text(row['theirs'])
        source = f'  {row["source"]}' if row['source'] else ''
        yield f'  {_with_unit(row):44s} {_text(row["ours"]):>12s} {reference:>12s}{source}'
    if facts['formulations']:
        yield from _formulations_text(facts)
    yield from (f'  chosen: {line}' for line in facts['chosen'])
    yield from (f'  {path}' for path in facts['figures'])


def paper_text(row: Mapping[str, Any]) -> str:
    """Return the number or claim of the paper in a row of `comparisons`, with its bounds."""
    paper = row['paper']
    if isinstance(paper, str):
        return paper
    tolerance = '' if row['upper'] is None else f' +- {row["upper"] - paper:.2g}'
    return f'{paper:.5g}{tolerance}{_unit(row)}'


def ours_text(row: Mapping[str, Any]) -> str:
    """Return our number in a row of `comparisons`, with the bounds of a claim."""
    if row['ours'] is None:
        return 'beyond all bounds' if row['verdict'] == DIFFERS else '-'
    bounds = ''
    if isinstance(row['paper'], str):
        bounds = ', '.join(
            f'{word} {row[key]:.4g}'
            for key, word in (('lower', 'at least'), ('upper', 'at most'))
            if row[key] is not None
        )
    return f'{row["ours"]:.4g}{_unit(row)}' + (f', {bounds} agrees' if bounds else '')


def effect_text(row: Mapping[str, Any]) -> str:
    """Return the size of an effect in words."""
    if row['change_percent'] is None:
        return 'more than any bound'
    end_note = '' if row['until_s'] is None else f' until the run ends at {row["until_s"]:.3g} s'
    return f'{row["change_percent"]:.3g} % of its range{end_note}'


def _formulations_text(facts):
    yield '  formulations, largest difference from the recursion over the range:'
    yield f'    {"":14s} {"ran":>14s} {"trajectories":>14s} {"accelerations":>14s}'
    for name, result in facts['formulations'].items():
        status = result['ran'] if result['ran'] != 'until' else f'until {result["until_s"]:.3g} s'
        remark = f'  {result["words"]}' if result['words'] else ''
        sizes = ' '.join(
            f'{"-" if result[key] is None else format(result[key], ".2g"):>14s}'
            for key in ('trajectories', 'accelerations')
        )
        yield f'    {name:14s} {status:>14s} {sizes}{remark}'
    yield (
        f'  largest disagreement: {facts["largest_disagreement"]:.2g} ({facts["disagreement_of"]})'
    )


def _remark(name, result):
    is_far = (
        name in LINEARISED
        and max(result.trajectory_error or 0.0, result.acceleration_error or 0.0)
        > MAX_LINEARISATION_ERROR
    )
    return '; '.join(line for line in (result.remark, LINEARISED_REMARK if is_far else '') if line)


def _unit(row):
    return f' {row["unit"]}' if row['unit'] else ''


def _with_unit(row):
    return f'{row["what"]} [{row["unit"]}]' if row['unit'] else row['what']


def _text(value):
    return '-' if value is None else value if isinstance(value, str) else f'{value:.5g}'


def _json_value(value):
    """Return a number as a JSON type; None for one that is not finite."""
    if value is None or isinstance(value, str):
        return value
    return float(value) if np.isfinite(value) else None
