"""What tests over DDS share: a node that looks on, and processes that end with the test."""

import time

import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile
from node_processes import PATIENCE, NodeProcess


class Observer:
    """A node that listens, sends and asks."""

    def __init__(self, context):
        """Make the node."""
        self.node = rclpy.create_node('observer', context=context)
        self._executor = SingleThreadedExecutor(context=context)
        self._executor.add_node(self.node)

    def spin_until(self, condition, timeout=PATIENCE, what='it'):
        """Handle messages until `condition` holds."""
        end = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < end, f'{what} did not happen within {timeout:g} s'
            self._executor.spin_once(timeout_sec=0.02)

    def listen(self, kind, topic, qos=50):
        """Return the list that messages of a topic are added to."""
        heard = []
        self.node.create_subscription(kind, topic, heard.append, qos)
        return heard

    def hear(self, kind, topic, condition=lambda message: True, qos=50):
        """Return the next message of a topic that fits."""
        heard = []
        subscription = self.node.create_subscription(
            kind, topic, lambda message: condition(message) and heard.append(message), qos)
        self.spin_until(lambda: heard, what=f'such a message on {topic}')
        self.node.destroy_subscription(subscription)
        return heard[0]

    def publisher(self, kind, topic, qos=10, latched=False):
        """Return a publisher that somebody listens to already."""
        qos = qos if isinstance(qos, QoSProfile) else QoSProfile(depth=qos)
        publisher = self.node.create_publisher(kind, topic, qos)
        self.spin_until(publisher.get_subscription_count, what=f'a listener on {topic}')
        return publisher

    def call(self, kind, name, request=None):
        """Return the response of a service."""
        client = self.node.create_client(kind, name)
        self.spin_until(client.service_is_ready, what=f'the service {name}')
        future = client.call_async(request or kind.Request())
        self.spin_until(future.done, what=f'an answer of {name}')
        self.node.destroy_client(client)
        return future.result()

    def close(self):
        """Destroy the node."""
        self._executor.shutdown()
        self.node.destroy_node()


@pytest.fixture(scope='session')
def ros_context():
    context = rclpy.Context()
    rclpy.init(context=context)
    yield context
    rclpy.try_shutdown(context=context)


@pytest.fixture
def observer(ros_context):
    observer = Observer(ros_context)
    yield observer
    observer.close()


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
