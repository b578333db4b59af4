"""How programs of the package start, and how they are stopped before they run."""

import subprocess
import sys

import pytest


def test_a_signal_ends_a_node_that_is_still_compiling(start, tmp_path, monkeypatch):
    monkeypatch.setenv('NUMBA_CACHE_DIR', str(tmp_path))
    process = start('dynamics', robot='two_link')
    process.wait_for_line('compiling, once after an installation')
    code, _ = process.stop()
    assert code == 0 and process.count('Traceback') == 0 and process.count('coordinates') == 0


@pytest.mark.parametrize('words, line', [
    ([], 'name a node: dynamics, controller, simulation'),
    (['hip'], 'no node "hip". Known: dynamics, controller, simulation'),
])
def test_the_package_of_nodes_says_which_there_are(words, line):
    answer = subprocess.run([sys.executable, '-m', 'flex_robot_sim.nodes', *words],
                            capture_output=True, text=True)
    assert (answer.returncode, answer.stderr) == (2, f'flex_robot_sim.nodes: {line}\n')
