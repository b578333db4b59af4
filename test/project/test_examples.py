"""The examples run as they stand, say what they should, and leave their picture."""

import os
import re
import subprocess
import sys

import pytest
from forks import Forks
from node_processes import NodeProcess
from project_files import ROOT

EXAMPLES = ROOT / 'examples'
NUMBER = re.compile(r'[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?')
PATIENCE = 300.0            # with what has to be compiled                                  [s]


ENVIRONMENT = {**os.environ, 'MPLBACKEND': 'Agg'}
BEGIN = ('import matplotlib.pyplot, scipy.linalg, scipy.optimize, '
         'flex_robot_sim.simulation.simulation')


@pytest.fixture(scope='module')
def forks(tmp_path_factory):
    with Forks(tmp_path_factory.mktemp('said'), BEGIN, ENVIRONMENT) as forks:
        yield forks


@pytest.fixture
def output(tmp_path, forks):
    """Return a function from the name of an example to the numbers of each line it prints."""
    def run(name, plain=False):
        picture = tmp_path / f'{name}.png'
        words = EXAMPLES / f'{name}.py', picture
        done = subprocess.run(
            [sys.executable, *words], cwd=tmp_path, text=True, capture_output=True,
            timeout=PATIENCE, env=ENVIRONMENT,
        ) if plain else forks.run(words, tmp_path, ENVIRONMENT)
        assert (done.returncode, done.stderr) == (0, '')
        assert picture.read_bytes().startswith(b'\x89PNG')
        assert [path.name for path in tmp_path.iterdir()] == [picture.name]
        return [[float(number) for number in NUMBER.findall(line)]
                for line in done.stdout.splitlines()]
    return run


def test_every_example_is_judged():
    judged = {name[5:] for name in globals() if name.startswith('test_')}
    assert {path.stem for path in EXAMPLES.glob('*.py')} <= judged


def test_natural_modes(output):
    [[folded, stretched]] = output('natural_modes')
    assert 0.0 < stretched < folded         # what is far from the shoulder rings slowly


def test_bode_plot(output):
    [[decibels, frequency]] = output('bode_plot')
    # the rotor turns with the link on this servo, so it rings above the clamped beam's frequency
    from flex_robot_sim import load, modes
    assert decibels > 0.0
    assert frequency == pytest.approx(modes(load('single_link'), gains=(40.0, 4.0)).frequencies[0],
                                      rel=0.05)     # of a peak, which is not the frequency quite


def test_payloads(output):
    [[mass, drop, laden, empty]] = output('payloads')
    # mgh of a payload that hangs on springs in a row is at least what one of them gives
    assert (mass, drop > 0.0, laden < empty) == (0.5, True, True)


def test_own_controller(output):
    [[error, _]] = output('own_controller')
    assert error < 1e-3


def test_stop_ringing(output):
    [[before], [after]] = output('stop_ringing')
    assert after < 0.02 * before


def test_arm_from_code(output):
    [[found, first, second]] = output('arm_from_code')
    # the simulated arm against its linear model; the second mode is across the push
    assert found == pytest.approx(first, abs=0.05) and found < second


def test_spin_up(output):
    [[lag, end], [away]] = output('spin_up')
    # Kane, Ryan and Banerjee (1987) show half a metre for this beam, and a linear model that
    # leaves between 5 and 10 s
    assert 0.45 < lag < 0.6 and abs(end) < 0.02 and 5.0 < away < 10.0


def test_learn_damping(output):
    pytest.importorskip('gymnasium', reason='pip install ".[learn]"')
    [[reward, bends], [learned, still_bends]] = output('learn_damping')
    # in episodes that it has not seen while it learned
    assert learned > 0.9 * reward and still_bends < 0.7 * bends


def test_read_bench(output):
    [[count, seconds, *noise, _]] = output('read_bench')
    # 500 a second are sent; a busy computer, which is the board as well, is late
    assert 0.1 * 500 < count / seconds < 520
    assert all(0.0 < value < 0.05 for value in noise)


@pytest.mark.ros
def test_own_controller_ros(output):
    dynamics = NodeProcess('dynamics', robot='two_link')
    try:
        dynamics.wait_for_line('two_link')
        [[count, *joints]] = output('own_controller_ros', plain=True)
        assert count > 100
        assert joints == pytest.approx([0.5, 0.5, -0.8], abs=0.3)   # it sags: no weight is carried
    finally:
        dynamics.close()
