"""A launch file of the package in ROS's own launch, as a process that a terminal would start."""

import os
import signal
import sys

from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from node_processes import Process
from project_files import ROOT

FOLDER = ROOT / 'launch'
PATIENCE = 120.0  # machine code may have to be compiled first                         [s]
# test, nodes and DDS share the machine with whatever else runs: more patience with silence
CALM = """
/**:
  ros__parameters:
    state_timeout: 2.0
    command_timeout: 2.0
"""
PROGRAM = """
import sys
from launch import LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
path, *words = sys.argv[1:]
service = LaunchService()
service.include_launch_description(IncludeLaunchDescription(
    PythonLaunchDescriptionSource(path), launch_arguments=[word.split(':=', 1) for word in words]))
sys.exit(service.run())
"""


def included(name, **arguments):
    """Return the action that includes a launch file with arguments."""
    return IncludeLaunchDescription(
        PythonLaunchDescriptionSource(str(FOLDER / name)), launch_arguments=texts(arguments)
    )


class LaunchProcess(Process):
    """What `ros2 launch` does with a launch file, in a session of its own."""

    def __init__(self, name, **arguments):
        """Start the launch file with arguments."""
        words = [f'{key}:={value}' for key, value in texts(arguments)]
        super().__init__(
            [sys.executable, '-c', PROGRAM, str(FOLDER / name), *words], start_new_session=True
        )

    def process_id(self, program):
        """Return the process id of a program that it has started."""
        line = self.wait_for_line(f'[{program}-', PATIENCE)
        return int(line.partition('process started with pid [')[2].rstrip(']'))

    def interrupt(self):
        """Press Ctrl-C, which reaches all processes of a terminal."""
        os.killpg(self.process.pid, signal.SIGINT)

    def close(self):
        """Make sure that it is gone, and all that it has started."""
        if self.process.poll() is None:
            self.interrupt()
            self.wait(PATIENCE)
        super().close()


def texts(arguments):
    """Return arguments as launch takes them."""
    return [(name, str(value)) for name, value in arguments.items()]
