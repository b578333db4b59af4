"""What tests over DDS share: a node that looks on, and processes that end with the test."""

import gc
import os
import sys

import pytest
from command_calls import restored_state
from message_packages import folder_of
from node_processes import NodeProcess
from ros_observer import no_observer, observer, the_observer

import flex_robot_sim as frs
from flex_robot_sim.control.joint_controller import JointController
from flex_robot_sim.motion.limits import effort_limits
from flex_robot_sim.realtime.loop import SimulationLoop
from flex_robot_sim.realtime.loop_settings import LoopSettings
from flex_robot_sim.start import start_node

__all__ = ['no_observer', 'observer', 'the_observer']  # fixtures


@pytest.fixture(scope='session', autouse=True)
def machine_code():
    """Compile before any node starts, so that no test waits for half a minute."""
    arm = frs.load('two_link')
    loop = SimulationLoop(frs.Simulation(arm), LoopSettings(), effort_limits(arm))
    loop.warm_up()
    JointController(arm)


@pytest.fixture
def start():
    """Start node processes; they are gone when the test is over."""
    processes = []

    def start_process(name, *ros_arguments, **parameters):
        processes.append(NodeProcess(name, *ros_arguments, **parameters))
        return processes[-1]

    yield start_process
    for process in processes:
        process.close()


@pytest.fixture
def ended(no_observer, capfd):
    """Return a function that runs a node to its end in this process; it gives code and lines."""

    def run(name, *ros_arguments, **parameters):
        capfd.readouterr()
        with restored_state(), pytest.raises(SystemExit) as end:
            sys.argv[:] = [name, '--ros-args', *ros_arguments]
            for key, value in parameters.items():
                sys.argv += ['-p', f'{key}:={value}']
            start_node(name)
        gc.collect()  # a node that has not started leaves DDS when it is deleted
        lines = capfd.readouterr().err.splitlines()
        assert not any('Traceback' in line for line in lines), lines
        return end.value.code, lines

    return run


@pytest.fixture
def refused(ended):
    """Return a function that starts a node that ends with code 2; it gives its only line."""

    def run(name, *ros_arguments, **parameters):
        code, lines = ended(name, *ros_arguments, **parameters)
        (line,) = (line for line in lines if not line.startswith('[INFO]'))
        assert code == 2
        return line

    return run


@pytest.fixture(scope='session')
def control_msgs():
    """Environment of processes that import control_msgs, which the test may import, too."""
    return _environment_with('control_msgs')


@pytest.fixture(scope='session')
def tf2_msgs():
    """Environment of processes that import tf2_msgs, which the test may import, too."""
    return _environment_with('tf2_msgs')


def _environment_with(package):
    folder = folder_of(package)
    if folder is None:
        pytest.skip(f'{package} is not installed, and cannot be built: it needs gcc and rosidl')
    if folder:
        sys.path.insert(0, folder)
    return {
        **os.environ,
        'PYTHONPATH': os.pathsep.join(filter(None, (folder, os.environ.get('PYTHONPATH')))),
    }
