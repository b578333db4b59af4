"""The emulated bench as a driver of `flexsim tune`."""

import json

import numpy as np
import pytest

import flex_robot_sim as frs
from flex_robot_sim.rig.bridge.bench_driver import BenchDriver
from flex_robot_sim.shaping.tuning import driver as tuning
from flex_robot_sim.shaping.tuning.driver import DriverError, await_state, follow
from flex_robot_sim.shaping.tuning.tune_plan import smooth_move

pytestmark = pytest.mark.slow


def test_a_move_of_the_bench_is_logged_and_a_pulled_cable_stops_it(
    emulator, patient_board, tmp_path, monkeypatch
):
    monkeypatch.setattr(tuning, 'MAX_STATE_AGE_S', 2.0)  # a busy machine holds states up
    driver = BenchDriver(frs.load('rig'), emulator.link)
    try:
        start = await_state(driver).position
        move = smooth_move(start, start + [0.02, 0.3], 0.4, 4.0)
        driver.begin_log()
        follow(driver, *move, rest=1.0)
        driver.write_log(tmp_path / 'log.csv')
        assert np.abs(driver.state().position - move.positions[-1]).max() < 0.03
        table = np.loadtxt(tmp_path / 'log.csv', delimiter=',', skiprows=1)
        assert np.diff(table[:, 0]).min() > 0.0 and len(table) > 200
        assert np.ptp(table[:, 4]) > 10  # the strip bends
        emulator.inject('unplug=30')
        with pytest.raises(DriverError):
            follow(driver, *smooth_move(driver.state().position, start, 0.1, 1.0))
    finally:
        driver.close()


@pytest.mark.long
@pytest.mark.usefixtures('patient_board')
def test_an_interrupted_session_on_the_bench_continues_and_finds_the_frequencies(
    emulator, flexsim, tmp_path, monkeypatch
):
    monkeypatch.setattr(tuning, 'MAX_STATE_AGE_S', 2.0)
    moves = '--from=0.15,-0.3', '--to=0.25,0.3', '--travel', '0.05', '--speed', '0.08'
    bench = '--driver', 'bench', '--robot', 'rig', '--port', emulator.link
    words = 'tune', tmp_path / 'session', *bench, *moves, '--acceleration', '1', '--poses', '5'
    write = BenchDriver.write_log

    def write_and_interrupt(driver, path):
        write(driver, path)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(BenchDriver, 'write_log', write_and_interrupt)
        assert flexsim(*words).returncode == 130
    assert (tmp_path / 'session' / 'before_1.csv').is_file()
    done = flexsim(*words, '--json')
    assert done.returncode == 0, done.stderr
    assert 'pose 1 of 5, before' not in done.stderr
    summary = json.loads(done.stdout)
    # those of the model with locked drives; dry friction of the drives excites vibration, too
    true = frs.frequencies(frs.load('rig'), [0.2, 0.0])[:2]
    for row in summary['poses']:
        assert all(np.abs(mode['frequency'] / true - 1).min() < 0.01 for mode in row['modes'])
    useless = np.median([row['left'] for row in summary['poses']]) > 0.6
    assert summary['advice'].startswith('Do not use the shaper') == useless
