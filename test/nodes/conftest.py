"""What tests over DDS share: a node that looks on, and processes that end with the test."""

import os
import sys

import pytest
from control_msgs_build import folder_of_control_msgs
from node_processes import NodeProcess
from ros_observer import observer, the_observer

import flex_robot_sim as frs
from flex_robot_sim.control.joint_controller import JointController
from flex_robot_sim.motion.limits import effort_limits
from flex_robot_sim.realtime.loop import SimulationLoop
from flex_robot_sim.realtime.loop_settings import LoopSettings

__all__ = ['observer', 'the_observer']  # fixtures


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


@pytest.fixture(scope='session')
def control_msgs():
    """Environment of processes that import control_msgs, which the test may import, too."""
    folder = folder_of_control_msgs()
    if folder is None:
        pytest.skip('control_msgs is not installed, and cannot be built: it needs gcc and rosidl')
    if folder:
        sys.path.insert(0, folder)
    return {
        **os.environ,
        'PYTHONPATH': os.pathsep.join(filter(None, (folder, os.environ.get('PYTHONPATH')))),
    }
