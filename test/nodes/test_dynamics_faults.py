"""What goes wrong around the dynamics node, and how it ends."""

import signal
import time

import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from node_processes import NodeProcess
from ros_observer import LATCHED, figures
from sensor_msgs.msg import JointState
from std_msgs.msg import String

import flex_robot_sim as frs
from flex_robot_sim.display.description import display_description


@pytest.mark.long(after=3)
@pytest.mark.parametrize(
    'parameters, line',
    [
        ({'robot': 'no_such_robot'}, 'no_such_robot'),
        ({'robot': 'two_link', 'time_step': -1.0}, 'Parameter time_step out of range Min: 0.0'),
        (
            {'robot': 'two_link', 'time_step': 0.0},
            'time_step = 0.0 must be > 0.0: integration step',
        ),
        ({'robot': 'two_link', 'pacing': 'slow'}, "pacing = 'slow' must be one of"),
        ({'robot': 'two_link', 'time_step': 1.5e-3}, 'must be a whole number of'),
        (
            {'robot': 'two_link', 'initial_position': '[1.0]'},
            'initial_position must be 3 finite numbers, in this order: waist, shoulder, elbow',
        ),
        ({'robot': 'two_link', 'tool': 'hand'}, 'tool = "hand" is no link'),
        ({'robot': 'two_link', 'wrench_joints': '["hip"]'}, 'no joint "hip" carries a body'),
        ({'robot': 'two_link', 'period': 'soon'}, 'must be a number'),
    ],
    ids=str,
)
def test_a_useless_start_ends_with_one_line_and_code_2(refused, parameters, line):
    assert line in refused('dynamics', **parameters)


@pytest.mark.parametrize(
    'space, text, complaint',
    [
        (
            'broken',
            '<robot name="r">\n<link name="a"/><link name="a"/></robot>',
            ':2: a second link "a", after the one in line 2. Rename one link.',
        ),
        (
            'name',
            'two_link',
            ': this is no text of a robot. Give the text of a URDF, with xacro expanded.',
        ),
    ],
)
def test_a_useless_robot_description_ends_with_one_line_and_code_2(
    start, observer, space, text, complaint
):
    observer.node.create_publisher(String, f'/{space}/robot_description', LATCHED).publish(
        String(data=text)
    )
    process = start('dynamics', '-r', f'__ns:=/{space}')
    assert process.wait() == 2 and 'waiting for robot_description' in process.lines[0]
    assert process.lines[1:] == [f'dynamics: <text>{complaint}']


def test_a_display_description_is_no_robot_to_simulate(start, observer):
    process = start('dynamics')
    process.wait_for_line('waiting for robot_description')
    observer.publisher(String, 'robot_description', LATCHED).publish(
        String(data=display_description(frs.load('two_link')))
    )
    process.wait_for_line('robot_description is a display description')
    assert process.process.poll() is None


@pytest.mark.long
def test_the_executor_of_one_thread_does_as_well(start, observer):
    process = start('dynamics', robot='two_link', executor='single_threaded')
    observer.hear(
        DiagnosticArray, '/diagnostics', lambda message: figures(message)['state'] == 'running'
    )
    assert_stops(process, signal.SIGTERM)


def test_wrong_ros_arguments_end_with_one_line(refused):
    assert '--wrong' in refused('dynamics', '--wrong')


@pytest.fixture(scope='module')
def shared():
    """One node for the tests that follow; the last ones stop it."""
    process = NodeProcess('dynamics', robot='two_link')
    yield process
    process.close()


def test_a_subscriber_that_never_looks_does_not_hold_up_the_arm(shared, observer):
    # no executor spins it
    sleeper = rclpy.create_node('sleeper', context=observer.node.context)
    for depth in (1, 1000):
        sleeper.create_subscription(JointState, 'joint_states', print, depth)
    seen = observer.listen(DiagnosticArray, '/diagnostics')
    observer.spin_until(lambda: len(seen) >= 4)
    sleeper.destroy_node()
    assert figures(seen[-1])['state'] == 'running'
    assert float(figures(seen[-1])['real-time factor']) > 0.5  # a shared machine may be slow


def test_time_that_cannot_be_kept_is_dropped_and_counted_not_raced_after(shared, observer):
    process = shared
    observer.hear(DiagnosticArray, '/diagnostics')
    process.send(signal.SIGSTOP)
    stopped = time.monotonic()
    observer.spin_until(lambda: time.monotonic() > stopped + 1.0)
    process.send(signal.SIGCONT)
    process.wait_for_line('too slow for real time')
    seen = figures(
        observer.hear(
            DiagnosticArray,
            '/diagnostics',
            lambda message: float(figures(message)['time dropped [s]']) > 0.9,
        )
    )
    assert seen['state'] == 'running'
    later = figures(observer.hear(DiagnosticArray, '/diagnostics'))
    assert float(later['real-time factor']) < 1.2


def test_two_nodes_of_one_name_are_noticed_and_a_signal_stops_them(shared, start, observer):
    second = start('dynamics', robot='two_link')
    for process in (shared, second):
        process.wait_for_line('2 nodes are called /dynamics: stop all but one')
    assert_stops(shared, signal.SIGINT)
    assert_stops(second, signal.SIGTERM, signal.SIGTERM)


def assert_stops(process, *numbers):
    for number in numbers[1:]:
        process.send(number)
    code, seconds = process.stop(numbers[0])
    assert code == 0 and seconds < 2.0
    assert process.count('Traceback') == 0, process.lines


def test_ctrl_c_twice_does_no_harm(start, observer):
    process = start('dynamics', robot='two_link')
    observer.hear(JointState, 'joint_states')
    assert_stops(process, signal.SIGINT, signal.SIGINT)


@pytest.mark.long
def test_a_pace_beyond_the_machine_drops_time_and_says_so(start, observer):
    process = start('dynamics', robot='two_link', real_time_factor=1000)
    process.wait_for_line('too slow for real time')
    message = observer.hear(
        DiagnosticArray,
        '/diagnostics',
        lambda message: float(figures(message)['time dropped [s]']) > 0.0,
    )
    assert message.status[0].level == b'\x01'
