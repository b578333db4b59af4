"""How programs of the package start, and how they are stopped before they run."""

import signal
import subprocess
import sys

import pytest
from command_calls import restored_state
from node_processes import Process

from flex_robot_sim.nodes.__main__ import main
from flex_robot_sim.system.processes import EXECUTABLES


def test_a_signal_ends_a_node_that_is_still_compiling(start, tmp_path, monkeypatch):
    monkeypatch.setenv('NUMBA_CACHE_DIR', str(tmp_path))
    process = start('dynamics', robot='two_link')
    process.wait_for_line('compiling, once after an installation')
    code, _ = process.stop()
    assert code == 0 and process.count('Traceback') == 0 and process.count('coordinates') == 0


@pytest.mark.long(after=2)
@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize('module', ['numpy', 'numba', 'rclpy'])
def test_a_signal_ends_a_node_that_still_imports(module, number):
    # the interpreter prints each import as soon as it begins
    process = Process([sys.executable, '-v', '-m', 'flex_robot_sim.nodes', 'bridge'])
    process.wait_for_line(f"import '{module}.")
    code, _ = process.stop(number)
    assert code == 0 and process.count('Traceback') == 0


@pytest.mark.parametrize(
    'words, line',
    [
        ([], f'name a node: {", ".join(EXECUTABLES)}'),
        (['hip'], f'no node "hip". Known: {", ".join(EXECUTABLES)}'),
    ],
)
def test_the_package_of_nodes_says_which_there_are(words, line, monkeypatch, capsys):
    monkeypatch.setattr('sys.argv', ['flex_robot_sim.nodes', *words])
    with restored_state(), pytest.raises(SystemExit) as end:
        main()
    assert (end.value.code, capsys.readouterr().err) == (2, f'flex_robot_sim.nodes: {line}\n')


# test_topics.py starts each node without an arm or bench that has topics of its own, bridge and
# recorder start in test_bridge_faults.py and test_security.py
def test_arm_and_controller_start_in_a_process_and_point_out_a_misspelt_parameter(start):
    process = start(
        'simulation',
        robot='two_link',
        comand_timeout=0.2,
        bandwidth=2.0,
        use_sim_time='false',
        unrelated=1,
    )
    process.wait_for_line('coordinates')
    lines = [line for line in process.lines if 'WARN' in line]
    assert len(lines) == 2  # one for each node
    for line in lines:
        assert line.endswith(
            'unknown parameter "comand_timeout" is passed over. Did you mean "command_timeout"?'
        )
    # signals that arrive while it ends do not kill it
    while process.process.poll() is None:
        process.send(signal.SIGINT)
    assert process.wait() == 0 and process.count('Traceback') == 0


@pytest.mark.parametrize('module', ['start', 'nodes.__main__'])
def test_nodes_say_how_many_threads_they_want_before_numpy_is_imported(module):
    code = f'import sys, flex_robot_sim.{module}; sys.exit("numpy" in sys.modules)'
    assert subprocess.run([sys.executable, '-c', code]).returncode == 0


def test_nodes_start_without_what_only_designs_need():
    code = 'import sys, flex_robot_sim.nodes.{}, flex_robot_sim.nodes.{}, flex_robot_sim.nodes.{};'
    code = code.format('dynamics', 'controller', 'bridge') + 'print(*sys.modules)'
    modules = subprocess.run(
        [sys.executable, '-c', code], check=True, stdout=subprocess.PIPE, text=True
    ).stdout.split()
    assert not {'scipy.linalg', 'scipy.optimize', 'scipy.spatial'}.intersection(modules)
