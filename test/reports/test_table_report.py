"""Reports of tables in text files."""

import json

import numpy as np
import pytest

from flex_robot_sim.cli import main
from flex_robot_sim.reports.table_report import MISSING

PERIOD, COUNT = 0.004, 500
TIMES = PERIOD * np.arange(COUNT)
WAVE = np.round(3 * np.sin(7 * TIMES) - 1, 6)


def reported(capsys, path, *words):
    """Return the numbers of `flexsim report --json`, of a table."""
    page = path.with_suffix('.html')
    assert main(['report', str(path), '--output', str(page), '--json', *words]) == 0
    assert '<svg' in page.read_text('utf-8')
    return json.loads(capsys.readouterr().out)


def written(path, times=TIMES, header='time,wave,ramp'):
    table = np.column_stack([times, WAVE, np.arange(COUNT)])
    np.savetxt(path, table, '%.9g', ',', header=header, comments='')
    return path


def test_a_table_gives_times_gaps_and_extremes(tmp_path, capsys):
    times = 1e3 * (TIMES + 0.1 * (np.arange(COUNT) >= 300))
    path = written(tmp_path / 'run.csv', times, 'time_ms,wave,ramp')
    facts = reported(capsys, path)
    assert (facts['rows'], facts['gaps'], facts['steps_back']) == (COUNT, 1, 0)
    assert facts['seconds'] == pytest.approx(PERIOD * (COUNT - 1) + 0.1)
    assert facts['rate'] == pytest.approx(250.0)
    assert facts['longest_step'] == pytest.approx(0.104)
    wave = facts['columns']['wave']
    assert wave['least'] == WAVE.min() and wave['largest'] == WAVE.max()
    assert wave['mean'] == pytest.approx(np.average(WAVE))
    assert facts['columns']['ramp']['std'] == pytest.approx(np.sqrt((COUNT**2 - 1) / 12))
    assert facts['notes'] == [f'{path}: "time_ms" is in ms', f'{path}: {MISSING}']


def test_a_table_without_a_time_has_only_extremes(tmp_path, capsys):
    facts = reported(capsys, written(tmp_path / 'run.csv', header='row,wave,ramp'))
    assert facts['rows'] == COUNT and 'rate' not in facts
    assert [*facts['columns']] == ['row', 'wave', 'ramp']


def test_cells_without_a_number_are_counted(tmp_path, capsys):
    path = written(tmp_path / 'run.csv')
    first, second, *rest = path.read_text().splitlines()
    path.write_text('\n'.join([first, f'{second.rpartition(",")[0]},nan', *rest]))
    ramp = reported(capsys, path)['columns']['ramp']
    assert (ramp['invalid'], ramp['least']) == (1, 1.0)


def test_a_namespace_of_a_table_is_refused(tmp_path, capsys):
    path = written(tmp_path / 'run.csv')
    words = '--namespace', 'left', '--output', str(tmp_path / 'run.html')
    assert main(['report', str(path), *words]) == 2
    assert capsys.readouterr().err == f'flexsim report: {path}: a table has no namespaces.\n'
