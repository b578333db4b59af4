"""Sessions of `flexsim tune` on simulated arms: results, interruptions, and bad input."""

import json
import shutil

import numpy as np
import pytest

import flex_robot_sim as frs
from flex_robot_sim.cli import main
from flex_robot_sim.shaping.shaper_file import read_shaper
from flex_robot_sim.shaping.tuning.simulated_driver import SimulatedDriver
from flex_robot_sim.shaping.tuning.tune_plan import TuneSettings, make_plan
from flex_robot_sim.shaping.tuning.tune_session import TuneSession
from flex_robot_sim.util.exceptions import SettingError, UsageError

pytestmark = pytest.mark.slow
CORNERS = [-0.8], [0.8]
SESSION = ('--driver', 'simulation', '--robot', 'single_link', '--from=-0.8', '--to=0.8')
WORDS = ('--driver', 'simulation', '--robot', 'two_link', '--from=0,0,-1', '--to=0,1,1')


@pytest.fixture(scope='module')
def arm():
    return frs.load('single_link')


@pytest.fixture(scope='module')
def finished(arm, tmp_path_factory):
    """Return folder, plan and result of a session that was interrupted after each log."""
    folder = tmp_path_factory.mktemp('session')
    plan = make_plan(arm.joint_names, *CORNERS, TuneSettings(poses=5, ring=3.0))
    result, interruptions = None, 0
    while result is None:
        driver = SimulatedDriver(arm, plan.starts[0])
        write = driver.write_log

        def write_and_end(path, write=write):
            write(path)
            if path.name == 'before_2.csv' or path.name.startswith('after') and '_1.' in path.name:
                raise KeyboardInterrupt

        driver.write_log = write_and_end  # type: ignore[method-assign]
        try:
            result = TuneSession(folder, plan, driver).run()
        except KeyboardInterrupt:
            interruptions += 1
    assert interruptions == 2
    return folder, plan, result


def test_frequencies_are_those_of_the_linear_model(arm, finished):
    _, plan, result = finished
    assert len(result.table.logs) == 5
    for log, pose in zip(result.table.logs, plan.poses):
        true = frs.frequencies(arm, pose)
        assert log.modes[0].frequency == pytest.approx(true[0], rel=0.005)


def test_the_shaper_leaves_little_vibration(finished):
    _, _, result = finished
    assert max(one.left for one in result.poses) < 0.1


def test_the_shaper_file_follows_the_pose(arm, finished):
    folder, _, result = finished
    shaper = read_shaper(folder / 'shaper.json', arm.joint_names)
    samples = np.linspace(*CORNERS, 200)
    np.testing.assert_allclose(
        shaper.online(1, 5e-3).run(samples), result.shaper.online(1, 5e-3).run(samples), rtol=1e-9
    )


def test_shaper_for_reads_the_table_of_modes(arm, finished):
    folder, _, result = finished
    shaper = frs.shaping.shaper_for(folder / 'modes.json')
    samples = np.linspace(*CORNERS, 200)
    np.testing.assert_allclose(
        shaper.online(1, 5e-3).run(samples), result.shaper.online(1, 5e-3).run(samples), rtol=1e-9
    )
    with pytest.raises(SettingError, match='is a table of flexsim tune, which takes no fixed'):
        frs.shaping.shaper_for(folder / 'modes.json', fixed=True)


def test_the_command_continues_a_finished_folder_without_moves(finished, tmp_path, capsys):
    folder = tmp_path / 'copy'
    shutil.copytree(finished[0], folder)
    code = main(['tune', str(folder), *SESSION, '--poses', '5', '--json'])
    captured = capsys.readouterr()
    assert code == 0 and 'before shaping' not in captured.err
    summary = json.loads(captured.out)
    assert summary['advice'].startswith('Use the shaper')
    assert [row['left'] for row in summary['poses']] == pytest.approx(
        [one.left for one in finished[2].poses]
    )


def test_a_folder_of_another_plan_is_not_changed(arm, finished, tmp_path):
    plan = make_plan(arm.joint_names, *CORNERS, TuneSettings(poses=5, travel=0.1))
    driver = SimulatedDriver(arm, plan.starts[0])
    with pytest.raises(UsageError, match='holds another session. Repeat its command'):
        TuneSession(finished[0], plan, driver)


def test_logs_of_a_session_give_a_table(arm, finished, tmp_path, capsys):
    folder, _, result = finished
    logs = [word for k in (1, 2, 3) for word in ('--log', str(folder / f'before_{k}.csv'))]
    joints = ','.join(arm.joint_names)
    assert main(['tune', str(tmp_path / 'new'), '--joints', joints, *logs, '--json']) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary['band'] == pytest.approx(result.band, rel=0.05)
    assert [row['modes'][0]['frequency'] for row in summary['poses']] == [
        log.modes[0].frequency for log in result.table.logs[:3]
    ]


def test_a_dry_run_prints_all_moves_and_moves_nothing(tmp_path, capsys):
    folder = tmp_path / 'new'
    assert main(['tune', str(folder), *WORDS, '--dry-run', '--json']) == 0
    moves = json.loads(capsys.readouterr().out)['moves']
    assert [move['kind'] for move in moves] == ['short', *8 * ['transfer', 'short']]
    assert all(a['to'] == b['from'] for a, b in zip(moves, moves[1:]))
    assert max(move['speed'] for move in moves) <= 0.5
    assert not folder.exists()


@pytest.mark.parametrize(
    'words, line',
    [
        (['--joints', 'a'], 'give either --driver (simulation, ros, bench, files) or --log'),
        (['--driver', 'simulation'], '--driver simulation needs --robot URDF.'),
        (['--driver', 'files'], 'give the names of the joints by --joints NAME,NAME, or --robot'),
        (['--driver', 'files', '--joints', 'a'], 'give the range of poses by --from POSE and'),
        (['--log', 'a', '--joints', 'a', '--pose', '1', '--pose', '2'], '--pose is given 2 times'),
        ([*WORDS, '--speed', '9'], '--speed 9 is above the'),
        ([*WORDS, '--poses', '3'], 'poses = 3 must be >= 5'),
        ([*WORDS[:4], '--from=0,0', '--to=0,1,1'], '--from needs 3 finite numbers, one for each'),
        ([*WORDS[:4], '--from=0,-9,0', '--to=0,1,1'], '"shoulder"'),
    ],
)
def test_bad_input_is_one_line(words, line, tmp_path, capsys):
    assert main(['tune', str(tmp_path / 'new'), *words]) == 2
    err = capsys.readouterr().err
    assert line in err and err.count('\n') == 1
    assert not (tmp_path / 'new').exists()
