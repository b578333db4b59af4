"""The page about sweeps and environments: what it shows runs."""

import csv
import re
import shlex

import numpy as np
import pytest
from project_files import ROOT

from flex_robot_sim.cli import main
from flex_robot_sim.cli.benchmark import PARTS

PAGE = (ROOT / 'docs/sweep.md').read_text('utf-8')


def blocks(kind):
    return re.findall(rf'^```{kind}\n(.*?)^```', PAGE, re.DOTALL | re.MULTILINE)


def test_commands_run_and_leave_their_tables(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    lines = [line for block in blocks('sh') for line in block.splitlines()]
    assert len(lines) == 2
    for line in lines:
        assert main([*shlex.split(line)[1:], '--processes', '1']) == 0
        # on the oldest versions there is no pyarrow, and a line says so
        assert all('no Parquet without pyarrow' in line
                   for line in capsys.readouterr().err.splitlines())
    with open('stiffness/table.csv', newline='', encoding='utf-8') as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 6 and not any(row['note'] for row in rows)
    swings = {(float(row['forearm.EIz']), float(row['payload'])): float(row['forearm.swing'])
              for row in rows}
    soft, *_, stiff = sorted({key[0] for key in swings})
    # a softer link with the same load swings further
    assert swings[soft, 0.1] > swings[stiff, 0.1]


def test_blocks_of_python_run():
    pytest.importorskip('gymnasium', reason='pip install "flex_robot_sim[learn]"')
    names = {}
    for block in blocks('python'):
        exec(compile(block, 'docs/sweep.md', 'exec'), names)
    assert len(names['table']['run']) == 20
    # two links of which each has part of the strain energy: less than half of 5 %
    spread = names['table']['frequency'].std() / names['table']['frequency'].mean()
    assert 1e-4 < spread < 0.025
    assert names['seen'].shape == (16, 4) and np.isfinite(names['rewards']).all()


def test_the_page_of_scale_names_commands_that_there_are():
    page = (ROOT / 'docs/scale.md').read_text('utf-8')
    named = re.findall(r'`(?:flexsim benchmark|python -m benchmarks\.)\s?(\w+)`', page)
    assert {*named} <= {*PARTS} and len({*named}) >= 3
