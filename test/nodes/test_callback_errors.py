"""What ends a node, and what does not."""

import signal
import sys

import pytest
from node_processes import Process

CODE = """
import sys
from rclpy.node import Node
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.ros.node_parameters import Parameters
from flex_robot_sim.ros.node_runner import run
from flex_robot_sim.ros.node_settings import NodeSettings

class Failing(Node):
    def __init__(self):
        super().__init__('failing')
        self.parameters, self.count, self.failure = Parameters(self, NodeSettings), 0, None
        self.create_timer(0.01, self.fail)

    def fail(self):
        self.count += 1
        if self.count == 30:
            print('still there', flush=True)
        if self.count == 40 and sys.argv[1] == 'ends':
            self.failure = SettingError('no such robot')
        if self.count % 2:
            raise SettingError('evil')
        {}['evil\\n']

sys.exit(run('failing', lambda: [Failing()]))
"""


@pytest.fixture
def failing():
    """Return a function that starts a node whose timer raises whenever it is called."""
    started = []

    def start(what, *words):
        started.append(Process([sys.executable, '-c', CODE, what, '--ros-args', *words]))
        return started[-1]

    yield start
    for process in started:
        process.close()


def test_an_exception_of_a_callback_is_one_line_and_the_node_goes_on(failing):
    process = failing('goes on', '-p', 'executor:=events')
    process.wait_for_line('still there')
    code, _ = process.stop(signal.SIGTERM)
    lines = [line for line in process.lines if 'a callback failed' in line]
    assert code == 0 and process.count('Traceback') == 0
    assert 'a callback failed, and the node continues: SettingError: evil (<string>:' in lines[0]
    # thirty and more failed, and a line about them comes every five seconds
    assert len(lines) < 30


def test_a_failure_ends_the_node_and_the_debug_log_has_tracebacks(failing):
    process = failing('ends', '-p', 'executor:=single_threaded', '--log-level', 'failing:=debug')
    assert process.wait() == 2
    assert process.count('still there') == 1
    assert 1 <= process.count('a callback failed') < 30 and 1 <= process.count('Traceback') < 30
    assert process.lines[-1] == 'failing: no such robot'
