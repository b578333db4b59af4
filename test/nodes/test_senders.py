"""Several nodes that send what only one of them should send."""

import time

import pytest
from diagnostic_msgs.msg import DiagnosticArray
from sensor_msgs.msg import JointState

from flex_robot_sim.ros.reporting import REPEAT_PERIOD_S, RepeatFilter


@pytest.mark.long
def test_two_dynamics_are_named_and_their_states_are_no_flood_of_lines(start, observer):
    namespace = ['-r', '__ns:=/twins']
    start('dynamics', *namespace, robot='two_link')
    start(
        'dynamics',
        *namespace,
        '-r',
        '__node:=other',
        robot='two_link',
        initial_position='[0.5, 0.5, 0.5]',
    )
    controller = start('controller', *namespace, robot='two_link')
    line = '2 nodes send joint_states: /twins/dynamics, /twins/other. Stop all but one'
    controller.wait_for_line(line)
    controller.forget_lines()
    time.sleep(3.0)  # at 1000 states a second, each of them elsewhere
    assert len(controller.lines) < 10, controller.lines
    observer.hear(
        DiagnosticArray,
        '/diagnostics',
        lambda message: any(
            status.name == '/twins/controller: control' and status.message == line
            for status in message.status
        ),
    )


@pytest.mark.long
def test_two_senders_of_commands_are_named(start, observer):
    dynamics = start('dynamics', '-r', '__ns:=/commanded', robot='two_link')
    start('controller', '-r', '__ns:=/commanded', robot='two_link')
    observer.publisher(JointState, '/commanded/joint_commands')
    dynamics.wait_for_line(
        '2 nodes send joint_commands or effort_controller/commands: '
        '/commanded/controller, /observer. Stop all but one'
    )
    time.sleep(2.5)  # it is looked for every second, and said once
    assert dynamics.count('2 nodes send') == 1


def test_equal_lines_pass_once_in_a_while_with_their_number():
    now = [0.0]
    repeats = RepeatFilter(lambda: now[0])
    passed = []
    for _ in range(400):
        passed += [repeats.passed('late'), repeats.passed('early')]
        now[0] += 2**-5
    assert [line for line in passed if line] == [
        'late',
        'early',
        *(
            f'{word} ({round(2**5 * REPEAT_PERIOD_S) - 1} times more since the last line)'
            for word in ('late', 'early')
        ),
    ]
