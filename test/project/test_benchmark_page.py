"""Tables of a page: written into their own blocks, with the machine, and nowhere else."""

import re
import sys

import pytest
from project_files import ROOT

from flex_robot_sim.cli import main
from flex_robot_sim.cli.benchmark import PARTS, SLOW_PARTS
from flex_robot_sim.util.exceptions import UsageError

PAGE = """# Page

<!-- measured: one -->
| old | 1 |
<!-- end -->

Words.

<!-- measured: other -->
| kept | 2 |
<!-- end -->
"""


@pytest.fixture
def page(monkeypatch):
    """Module that writes pages."""
    monkeypatch.setattr(sys, 'path', [str(ROOT), *sys.path])
    from benchmarks import page

    return page


def test_a_table_goes_into_its_own_block_and_again(page, tmp_path):
    path, found = tmp_path / 'page.md', page.machine()
    path.write_text(PAGE)
    for value in ('3 us', '4 us | 5'):
        page.write(path, found, {'one': [('a step', value)], 'unknown': [('x', 'y')]})
    text = path.read_text()
    assert text.count('| a step | 4 us \\| 5 |') == text.count('| kept | 2 |') == 1
    assert 'old' not in text
    assert '3 us' not in text
    assert text.count(page.machine_line(found)) == 1
    assert found['date'] in page.machine_line(found)
    assert text.startswith('# Page\n\n<!-- measured: one -->\n')
    assert text.endswith('<!-- end -->\n')


def test_the_page_of_the_benchmark_has_a_block_for_every_part(page):
    page.check_page(ROOT / 'docs/benchmark.md', PARTS)
    text = (ROOT / 'docs/benchmark.md').read_text('utf-8')
    assert {part for _, part, _ in page.BLOCK.findall(text)} == {*PARTS}
    assert not {*SLOW_PARTS} & {*PARTS}


def test_the_page_of_the_benchmark_names_the_tables_of_each_section(page):
    text = (ROOT / 'docs/benchmark.md').read_text('utf-8')
    rows = re.findall(r'^\| \[(.+)\]\(#.+\) \| (`\w+`.*) \|$', text, re.MULTILINE)
    assert {title: re.findall(r'\w+', names) for title, names in rows} == {
        section.partition('\n')[0]: parts
        for section in text.split('\n## ')[1:]
        if (parts := [part for _, part, _ in page.BLOCK.findall(section)])
    }


def test_a_page_without_blocks_is_refused_before_anything_is_measured(page, tmp_path, capsys):
    path = tmp_path / 'page.md'
    path.write_text('# Page\n')
    for where, message in (
        (path, 'has no line "<!-- measured: step_time -->"'),
        (tmp_path / 'none.md', 'cannot be read: No such file'),
    ):
        with pytest.raises(UsageError, match=message):
            page.check_page(where, PARTS)
        assert main(['benchmark', '--page', str(where)]) == 2
        errors = capsys.readouterr().err
        assert message in errors
        assert errors.count('\n') == 1
