"""Pushes by messages: how strong they may be, and when they end by themselves."""

import time

import pytest
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState

LET_GO = 'no message on push for 0.5 s: "tool" is no longer pushed'


def push(force):
    message = WrenchStamped()
    message.header.frame_id = 'tool'
    message.wrench.force.y = force
    return message


@pytest.fixture
def node(start):
    """The dynamics of an arm without weight, which moves only if it is pushed."""
    return start('dynamics', robot='two_link', gravity='[0.0, 0.0, 0.0]', push_timeout=0.5)


@pytest.mark.long
def test_the_last_push_of_a_silent_publisher_ends(node, observer):
    publisher = observer.publisher(WrenchStamped, 'push')
    observer.hear(JointState, 'joint_states')
    end = time.monotonic() + 1.5
    while time.monotonic() < end:  # twice the time-out, and never silent for as long
        publisher.publish(push(0.5))
        observer.spin_until(lambda: True)
        time.sleep(0.05)
    observer.hear(JointState, 'joint_states', lambda state: abs(state.velocity[0]) > 0.01)
    assert node.count(LET_GO) == 0
    node.wait_for_line(LET_GO)
    # nothing pulls the arm any more: its angular momentum stays, however its links swing
    node.forget_lines()
    publisher.publish(push(0.0))
    time.sleep(1.0)
    assert node.count('is no longer pushed') == 0


@pytest.mark.long(after=1)
@pytest.mark.parametrize('force, size', [(1e308, '1e+308'), (-2e6, '2e+06')])
def test_a_push_that_is_too_strong_is_refused_and_the_arm_goes_on(node, observer, force, size):
    publisher = observer.publisher(WrenchStamped, 'push')
    observer.hear(JointState, 'joint_states')
    publisher.publish(push(force))
    node.wait_for_line(f'refused: the force of the push at "tool" is {size} N, more than 1e+06 N')
    state = observer.hear(JointState, 'joint_states')
    assert list(state.velocity) == [0.0] * 3
