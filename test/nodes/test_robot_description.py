"""A robot arrives on its topic even if the executor learns of no message."""

import time

import pytest
from node_processes import PATIENCE
from rclpy.node import Node
from ros_observer import LATCHED
from std_msgs.msg import String

from flex_robot_sim.ros.node_runner import make_executor
from flex_robot_sim.ros.node_settings import RobotSettings
from flex_robot_sim.ros.robot_source import when_arm_is_known
from flex_robot_sim.util.share import shipped_robots


class Unheard(Node):
    """A node whose executor learns of no message, as happens when one comes at a bad moment."""

    @property
    def subscriptions(self):
        """Return what executors listen for."""
        return iter(())


@pytest.mark.parametrize('kind', [Unheard, Node])
def test_a_description_comes_once(observer, kind):
    topic = f'{kind.__name__.lower()}/robot_description'
    context = observer.node.context
    node = kind('waits', namespace=kind.__name__.lower(), context=context)
    arms: list = []
    executor = make_executor(context=context)
    executor.add_node(node)
    when_arm_is_known(node, RobotSettings(), arms.append)
    publisher = observer.publisher(String, topic, LATCHED)
    for name in ('two_link', 'rig'):
        publisher.publish(String(data=shipped_robots()[name].read_text('utf-8')))
        end = time.monotonic() + PATIENCE
        while not arms:
            assert time.monotonic() < end, 'no robot came'
            executor.spin_once(timeout_sec=0.05)
    for _ in range(15):  # longer than it would take to ask for the second one
        executor.spin_once(timeout_sec=0.05)
    assert [arm.description.name for arm in arms] == ['two_link']
    executor.shutdown()
    node.destroy_node()
