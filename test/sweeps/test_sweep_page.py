"""The page about sweeps and environments: its examples run."""

import csv
import re
import shlex

import numpy as np
import pytest
from project_files import ROOT

from flex_robot_sim.cli import main
from flex_robot_sim.cli.benchmark import PARTS

pytestmark = pytest.mark.slow

PAGE = (ROOT / 'docs/sweep.md').read_text('utf-8')


def blocks(kind):
    return re.findall(rf'^```{kind}\n(.*?)^```', PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.long
def test_commands_run_and_leave_their_tables(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    lines = [line for block in blocks('sh') for line in block.splitlines()]
    assert len(lines) == 2
    for line in lines:
        assert main([*shlex.split(line)[1:], '--processes', '1']) == 0
        # with the oldest versions there is no pyarrow, which causes a message
        assert all(
            'no Parquet without pyarrow' in line for line in capsys.readouterr().err.splitlines()
        )
    with open('stiffness/table.csv', newline='', encoding='utf-8') as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 6 and not any(row['note'] for row in rows)
    swings = {
        (float(row['forearm.EIz']), float(row['payload'])): float(
            row['forearm.residual_vibration']
        )
        for row in rows
    }
    soft, *_, stiff = sorted({key[0] for key in swings})
    # a softer link with the same load deflects more
    assert swings[soft, 0.1] > swings[stiff, 0.1]


def test_blocks_of_python_run():
    pytest.importorskip('gymnasium', reason='pip install ".[learn]"')
    names: dict = {}
    for block in blocks('python'):
        exec(compile(block, '<docs/sweep.md>', 'exec'), names)
    assert len(names['table']['run']) == 20
    # two links of which each has part of the strain energy: less than half of 5 %
    spread = names['table']['frequency'].std() / names['table']['frequency'].mean()
    assert 1e-4 < spread < 0.025
    assert names['seen'].shape == (16, 4) and np.isfinite(names['rewards']).all()


def test_the_page_of_scale_names_commands_that_there_are():
    page = (ROOT / 'docs/scale.md').read_text('utf-8')
    named = re.findall(r'`(?:flexsim benchmark|python -m benchmarks\.)\s?(\w+)`', page)
    assert {*named} <= {*PARTS} and len({*named}) >= 3


# row of docs/scale.md: row of docs/benchmark.md, and the factor between their numbers
SAME = {
    'steps a second of one core, two_link, 1 ms': (
        '64 arms (two_link), steps of 1 ms, one thread',
        1.0,
    ),
    'speed of two threads relative to one': ('two threads', 0.02),
    'time per arm, batch of 2048 relative to batch of 32': (
        'a step of one among 2048, 10 in a call',
        1.0,
    ),
    'building an arm from its description': ('to build an arm from its description', 1.0),
    'a part of a sweep, sent': ('a part of a sweep, sent to a worker', 1.0),
    'time of the submitting process, per run': ('time of the submitting process, per run', 1.0),
    'parts through a scheduler of Dask': ('empty parts through a scheduler of Dask', 1.0),
}


def test_the_page_of_scale_has_the_figures_of_the_tables_that_it_names():
    pages = ((ROOT / f'docs/{name}.md').read_text('utf-8') for name in ('scale', 'benchmark'))
    here, there = (dict(re.findall(r'^\| ([^|]+) \| ([^|]+) \|', page, re.M)) for page in pages)
    for row, (source, factor) in SAME.items():
        planned, measured = numbers_in(here[row]), factor * numbers_in(there[source])[0]
        # figures of the plan are rounded to two digits
        assert 0.95 * min(planned) <= measured <= 1.05 * max(planned), row


def numbers_in(text):
    return [float(number.replace(',', '')) for number in re.findall(r'\d[\d.,]*', text)]
