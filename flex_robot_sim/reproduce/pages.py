"""Tables of comparisons and effects in docs/papers, each between two HTML comments (marks)."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from flex_robot_sim.reproduce.reproduction import effect_text, ours_text, paper_text
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.files import open_atomic

PAGES = {
    'dual_screw': 'dual_screw.md',
    'element_sum_1': 'element_sum.md',
    'element_sum_2': 'element_sum.md',
    'rig': 'element_sum.md',
    'ella': 'wrench_dae.md',
    'rcm': 'screw_kinematics.md',
    'spin_up': 'stiffened.md',
    'canadarm2': 'stiffened.md',
}
COMPARISONS, EFFECTS = 'comparisons', 'effects'
COMMANDS = {COMPARISONS: 'flexsim reproduce {}', EFFECTS: 'flexsim reproduce {} --variant paper'}


def check_pages(folder: str | Path, names: Iterable[str], variant: str) -> None:
    """Raise UsageError if a page is missing from the folder, or has no marks."""
    for name in names:
        path, kind = Path(folder) / PAGES[name], EFFECTS if variant else COMPARISONS
        try:
            text = path.read_text(encoding='utf-8')
        except OSError as error:
            raise UsageError(f'{path}: {error.strerror}. Name the folder docs/papers.') from error
        if not _table_pattern(name, kind).search(text):
            raise UsageError(
                f'{path}: no table between <!-- {kind} of {name} --> and <!-- end -->.'
            )


def write_page(folder: str | Path, facts: Mapping[str, Any]) -> None:
    """Replace the table of an experiment in the page of its paper; facts: a `summary`."""
    name, kind = facts['experiment'], EFFECTS if facts['variant'] else COMPARISONS
    path = Path(folder) / PAGES[name]
    text = path.read_text(encoding='utf-8')
    table = make_table(facts)
    with open_atomic(path, 'w', encoding='utf-8') as file:
        file.write(
            _table_pattern(name, kind).sub(lambda match: f'{match[1]}{table}{match[2]}', text)
        )


def make_table(facts: Mapping[str, Any]) -> str:
    """Return the Markdown table of a `summary`: comparisons, or the effects of a variant."""
    name = facts['experiment']
    if facts['variant']:
        rows = [
            f'From `{COMMANDS[EFFECTS].format(name)}`:',
            '',
            '| deviation | quantity | change |',
            '|---|---|---|',
        ]
        rows += [
            _row(row['deviation'], row['quantity'], effect_text(row)) for row in facts['effects']
        ]
        rows += [f'\n{_cell(line[:1].upper() + line[1:])}.' for line in facts['findings']]
        return '\n'.join(rows) + '\n'
    rows = [
        f'From `{COMMANDS[COMPARISONS].format(name)}`:',
        '',
        '| place | quantity | paper | ours | tolerance | verdict |',
        '|---|---|---|---|---|---|',
    ]
    for row in facts['comparisons']:
        verdict = f'*{row["verdict"]}*' + (f': {row["reason"]}' if row['reason'] else '')
        rows.append(
            _row(
                row['place'],
                row['what'],
                paper_text(row),
                ours_text(row),
                row['tolerance'] or '-',
                verdict,
            )
        )
    return '\n'.join(rows) + '\n'


def _table_pattern(name, kind):
    """Pattern of a table and the marks around it."""
    return re.compile(rf'(<!-- {kind} of {name} -->\n).*?(<!-- end -->)', re.DOTALL)


def _row(*cells):
    return '| ' + ' | '.join(map(_cell, cells)) + ' |'


def _cell(text):
    """Return a text with the special characters of Markdown tables replaced."""
    return re.sub(r'(?<=\w)~', '\\\\~', text.replace('|', '/').replace('<', '&lt;'))
