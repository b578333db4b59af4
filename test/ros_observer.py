"""
A ROS node that looks on: it listens, sends and asks.

A process may have one participant of DDS at a time: with two of them, Fast DDS 2.14 sometimes
hangs or crashes when a node is destroyed. A test with a context of its own therefore takes the
fixture `no_observer`.
"""

import time

import pytest
import rclpy
from node_processes import PATIENCE
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile

from flex_robot_sim.ros import topics
from flex_robot_sim.ros.endpoints import qos_of
from flex_robot_sim.ros.node_runner import make_executor

LATCHED = qos_of(topics.LATCHED)


def figures(message):
    """{figure: value} of a DiagnosticArray."""
    return {item.key: item.value for item in message.status[0].values}


class Observer:
    """A node that listens, sends and asks; it is there from its first use until `close`."""

    def __init__(self):
        """Make no node yet."""
        self._context = None

    def _open(self):
        """Return the executor of the node, which is made if there is none."""
        if self._context is None:
            self._context = rclpy.Context()
            rclpy.init(context=self._context)
            self._node = rclpy.create_node('observer', context=self._context)
            self._executor = make_executor('auto', self._context)
            self._executor.add_node(self._node)
            self._clients, self._heard = {}, []
            self._own_publishers = {*self._node.publishers}
        return self._executor

    @property
    def node(self):
        """The node, in a context of its own."""
        self._open()
        return self._node

    def spin_until(self, condition, timeout=PATIENCE, what='it'):
        """Handle messages until `condition` holds."""
        executor = self._open()
        end = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < end, f'{what} did not happen within {timeout:g} s'
            executor.spin_once(timeout_sec=0.02)

    def listen(self, kind, topic, qos=50):
        """Return the list that messages of a topic are added to."""
        heard: list = []
        subscription = self.node.create_subscription(kind, topic, heard.append, qos)
        self._heard.append(subscription)
        return heard

    def hear(self, kind, topic, condition=lambda message: True, qos=50):
        """Return the next message of a topic that fits."""
        heard: list = []

        def take(message):  # the executor may have more of them in hand when the first is here
            if not heard and condition(message):
                heard.append(message)

        subscription = self.node.create_subscription(kind, topic, take, qos)
        self.spin_until(lambda: heard, what=f'such a message on {topic}')
        self.node.destroy_subscription(subscription)
        return heard[0]

    def publisher(self, kind, topic, qos=10):
        """Return a publisher that already has a subscriber."""
        qos = qos if isinstance(qos, QoSProfile) else QoSProfile(depth=qos)
        publisher = self.node.create_publisher(kind, topic, qos)
        self.spin_until(publisher.get_subscription_count, what=f'a listener on {topic}')
        return publisher

    def call(self, kind, name, request=None):
        """Return the response of a service."""
        node = self.node
        # each discovery of a service takes seconds
        if name not in self._clients:
            self._clients[name] = node.create_client(kind, name)
        client = self._clients[name]
        self.spin_until(client.service_is_ready, what=f'the service {name}')
        end = time.monotonic() + PATIENCE
        while True:
            # the service of a process that was killed is still there for a while, and mute
            future = client.call_async(request or kind.Request())
            asked = time.monotonic()
            self.spin_until(
                lambda future=future, asked=asked: future.done() or time.monotonic() > asked + 5.0
            )
            if future.done():
                return future.result()
            assert time.monotonic() < end, f'no answer of {name}'

    def set_parameters(self, node, **values):
        """Set parameters of a node; return the last result."""
        request = SetParameters.Request(
            parameters=[
                Parameter(name, value=value).to_parameter_msg() for name, value in values.items()
            ]
        )
        return self.call(SetParameters, f'{node}/set_parameters', request).results[-1]

    def forget(self):
        """Listen to nothing any more, and take back what is latched."""
        if self._context is None:
            return
        for subscription in self._heard:
            self.node.destroy_subscription(subscription)
        for publisher in {*self.node.publishers} - self._own_publishers:
            self.node.destroy_publisher(publisher)
        self._heard.clear()

    def close(self):
        """Destroy the node, and leave DDS."""
        if self._context is None:
            return
        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.try_shutdown(context=self._context)
        self._context = None


@pytest.fixture(scope='session')
def the_observer():
    observer = Observer()
    yield observer
    observer.close()


@pytest.fixture
def observer(the_observer):
    yield the_observer
    the_observer.forget()


@pytest.fixture
def no_observer(the_observer):
    """Leave DDS, so that a test may have a participant of its own in this process."""
    the_observer.close()
