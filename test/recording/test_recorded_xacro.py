"""A robot in a recording or a log is URDF text: its xacro is refused and never run."""

import json

import pytest
from hostile_files import write_recording, xacro_robot
from refusals import refusal

pytest.importorskip('mcap')

from flex_robot_sim.cli import main
from flex_robot_sim.description import read_description
from flex_robot_sim.rig.bridge.experiment_log import COLUMNS, FORMAT, read_experiment
from flex_robot_sim.util.exceptions import FlexRobotSimError


@pytest.fixture
def mark(tmp_path):
    """Return the file that the xacro would create."""
    return tmp_path / 'created'


@pytest.fixture
def recording(tmp_path, mark):
    return write_recording(tmp_path / 'run.mcap', xacro_robot(mark))


def test_the_xacro_of_a_file_that_the_user_names_is_run(tmp_path, mark):
    pytest.importorskip('xacro')
    path = tmp_path / 'robot.urdf'
    path.write_text(xacro_robot(mark))
    assert read_description(path).name == 'single_link'
    assert mark.exists()


@pytest.mark.parametrize(
    'words',
    [
        ('report', '{run}', '--output', '{folder}/page.html'),
        ('export', '{run}', '--output', '{folder}/tables'),
        ('compare', '{run}', '{run}', '--output', '{folder}/both.html'),
        ('shape', '--log', '{run}'),
        ('identify', '{run}', 'single_link', '--free', 'stiffness'),
    ],
    ids=lambda words: words[0],
)
def test_no_command_runs_the_xacro_of_a_recording(words, recording, mark, capsys):
    code = main([word.format(run=recording, folder=recording.parent) for word in words])
    assert code in (0, 2) and not mark.exists()
    if words[0] == 'report':
        page = (recording.parent / 'page.html').read_text('utf-8')
        assert code == 0 and 'the text holds xacro' in page


def test_a_log_of_a_bench_does_not_run_the_xacro_in_it(tmp_path, mark):
    path = tmp_path / 'run.csv'
    row = ','.join('0' for _ in COLUMNS)
    about = json.dumps({'format': FORMAT, 'robot': xacro_robot(mark, 'rig')})
    path.write_text('\n'.join([f'#{about}', ','.join(COLUMNS), row, row, row, '']))
    assert '\n' not in refusal(FlexRobotSimError, read_experiment, path) and not mark.exists()
