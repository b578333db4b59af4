"""simulation.launch.py in ROS's own launch: what starts, holds still, and ends."""

import subprocess
import sys
import time
from pathlib import Path

import launch_pytest
import pytest
import rclpy
from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_pytest.actions import ReadyToTest
from rclpy.executors import SingleThreadedExecutor
from sensor_msgs.msg import JointState

LAUNCH_FILE = str(Path(__file__).resolve().parents[2] / 'launch' / 'simulation.launch.py')
PROGRAM = """
import sys
from launch import LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
path, *words = sys.argv[1:]
service = LaunchService(noninteractive=True)
service.include_launch_description(IncludeLaunchDescription(
    PythonLaunchDescriptionSource(path), launch_arguments=[word.split(':=') for word in words]))
sys.exit(service.run())
"""
PATIENCE = 120.0        # machine code may have to be compiled first                         [s]


def simulation(**arguments):
    return IncludeLaunchDescription(PythonLaunchDescriptionSource(LAUNCH_FILE),
                                    launch_arguments=arguments.items())


@launch_pytest.fixture(params=['true', 'inside'])
def system(request):
    return LaunchDescription([
        simulation(namespace='left', use_controller=request.param, use_rviz='false'),
        ReadyToTest()])


@pytest.fixture
def hear():
    """Return a function that returns the first message of a topic that fits."""
    context = rclpy.Context()
    rclpy.init(context=context)
    node = rclpy.create_node('observer', context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)

    def hear(topic, fits):
        heard = []
        node.create_subscription(JointState, topic,
                                 lambda message: fits(message) and heard.append(message), 50)
        end = time.monotonic() + PATIENCE
        while not heard:
            assert time.monotonic() < end, f'no such message on {topic}'
            executor.spin_once(timeout_sec=0.1)
        return heard[0]

    yield hear
    executor.shutdown()
    node.destroy_node()
    rclpy.try_shutdown(context=context)


@pytest.mark.launch(fixture=system)
def test_the_arm_is_held_where_it_starts_in_its_namespace(system, hear):
    state = hear('/left/joint_states', lambda state: any(state.effort) and any(state.velocity))
    # it sags by less than a degree when the controller takes over
    assert max(map(abs, state.position)) < 0.02
    assert set(state.name) < set(hear('/left/display_joint_states', lambda state: True).name)


def launched(**arguments):
    """Return the exit code and the lines of a launch that ends by itself."""
    words = [f'{name}:={value}' for name, value in arguments.items()]
    answer = subprocess.run([sys.executable, '-c', PROGRAM, LAUNCH_FILE, *words], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE)
    return answer.returncode, answer.stdout


@pytest.mark.parametrize('arguments, line', [
    ({'robot': 'no_such_robot'}, 'no_such_robot'),
    ({'params_file': 'no_such.yaml'}, 'params_file = "no_such.yaml" is no file'),
    ({'use_controller': 'maybe'}, 'Argument "use_controller" provided value "maybe" is not valid'),
])
def test_a_wrong_argument_ends_the_launch_with_a_line(arguments, line):
    code, said = launched(**arguments)
    assert code == 1 and line in said and 'Traceback' not in said


def test_the_system_ends_with_the_dynamics_which_say_why(tmp_path):
    settings = tmp_path / 'wrong.yaml'
    settings.write_text('/**:\n  ros__parameters:\n    time_step: -1.0\n')
    _, said = launched(params_file=settings, use_rviz='false')
    assert 'Parameter time_step out of range' in said and 'Traceback' not in said
    assert '[dynamics-1] was required: shutting down' in said
    assert '[controller-2]: process has finished cleanly' in said
