"""What tests of the launch files share: a node that looks on, and launches that end."""

import pytest
from launch_processes import CALM, PATIENCE, LaunchProcess
from ros_observer import no_observer, observer, the_observer

__all__ = ['no_observer', 'observer', 'the_observer']  # fixtures


@pytest.fixture
def calm(tmp_path):
    """Path of a file with parameters for a busy machine."""
    file = tmp_path / 'calm.yaml'
    file.write_text(CALM)
    return file


@pytest.fixture
def launch():
    """Return a function that starts a launch file; what it starts is gone after the test."""
    processes = []

    def start(name, **arguments):
        without_rviz = {} if name == 'shaper.launch.py' else {'use_rviz': 'false'}
        processes.append(LaunchProcess(name, **{**without_rviz, **arguments}))
        return processes[-1]

    yield start
    for process in processes:
        process.close()


@pytest.fixture
def launched(launch):
    """Return a function: exit code and lines of a launch that ends by itself."""

    def run(name, **arguments):
        process = launch(name, **arguments)
        return process.wait(PATIENCE), '\n'.join(process.lines)

    return run
