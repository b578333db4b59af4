"""Tables of comparisons and of effects in the pages of the papers, between two marks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from flex_robot_sim.reproduce.report import effect_text, ours_text, paper_text
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.files import open_atomic

PAGES = {'dual_screw': 'dual_screw.md', 'element_sum_1': 'element_sum.md',
         'element_sum_2': 'element_sum.md', 'rig': 'element_sum.md', 'ella': 'wrench_dae.md',
         'rcm': 'screw_kinematics.md', 'spin_up': 'stiffened.md', 'canadarm2': 'stiffened.md'}
COMPARISONS, EFFECTS = 'comparisons', 'effects'
WORDS = {COMPARISONS: 'flexsim reproduce {}', EFFECTS: 'flexsim reproduce {} --variant paper'}


def check(folder: str | Path, names: Iterable[str], variant: str) -> None:
    """Refuse a folder without the pages of experiments, or pages without marks."""
    for name in names:
        path, kind = Path(folder) / PAGES[name], EFFECTS if variant else COMPARISONS
        try:
            text = path.read_text(encoding='utf-8')
        except OSError as error:
            raise UsageError(f'{path}: {error.strerror}. Name the folder docs/papers.') from error
        if not _between(name, kind).search(text):
            raise UsageError(f'{path}: no table between <!-- {kind} of {name} --> and '
                             '<!-- end -->.')


def write(folder: str | Path, facts: Mapping[str, Any]) -> None:
    """Write the table of a `summary` into the page of its paper."""
    name, kind = facts['experiment'], EFFECTS if facts['variant'] else COMPARISONS
    path = Path(folder) / PAGES[name]
    text = path.read_text(encoding='utf-8')
    table = table_of(facts)
    with open_atomic(path, 'w', encoding='utf-8') as file:
        file.write(_between(name, kind).sub(lambda found: f'{found[1]}{table}{found[2]}', text))


def table_of(facts: Mapping[str, Any]) -> str:
    """Return the table of a `summary`: comparisons, or the effects of a variant."""
    name = facts['experiment']
    if facts['variant']:
        rows = [f'From `{WORDS[EFFECTS].format(name)}`:', '', '| deviation | moves | by |',
                '|---|---|---|']
        rows += [_row(row['deviation'], row['quantity'], effect_text(row))
                 for row in facts['effects']]
        rows += [f'\n{_cell(line[:1].upper() + line[1:])}.' for line in facts['findings']]
        return '\n'.join(rows) + '\n'
    rows = [f'From `{WORDS[COMPARISONS].format(name)}`:', '',
            '| place | what | paper | ours | tolerance | verdict |', '|---|---|---|---|---|---|']
    for row in facts['comparisons']:
        verdict = f'*{row["verdict"]}*' + (f': {row["reason"]}' if row['reason'] else '')
        rows.append(_row(row['place'], row['what'], paper_text(row), ours_text(row),
                         row['tolerance'] or '-', verdict))
    return '\n'.join(rows) + '\n'


def verdicts_on(folder: str | Path, name: str) -> list[tuple[str, str, str]]:
    """Return (place, what, verdict) of the comparisons on the page of an experiment."""
    text = (Path(folder) / PAGES[name]).read_text(encoding='utf-8')
    found = _between(name, COMPARISONS).search(text)
    assert found, name
    cells = [line.strip('|').split(' | ') for line in found[0].splitlines()
             if line.startswith('|') and '*' in line]
    return [(row[0].strip(), row[1], re.findall(r'\*(.+?)\*', row[-1])[0]) for row in cells]


def _between(name, kind):
    """Pattern of what stands between the marks of an experiment, marks included."""
    return re.compile(rf'(<!-- {kind} of {name} -->\n).*?(<!-- end -->)', re.DOTALL)


def _row(*cells):
    return '| ' + ' | '.join(map(_cell, cells)) + ' |'


def _cell(text):
    """Return a text without signs that a table or Markdown takes for its own."""
    return re.sub(r'(?<=\w)~', '\\\\~', text.replace('|', '/').replace('<', '&lt;'))
