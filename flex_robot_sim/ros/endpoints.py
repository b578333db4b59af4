"""Publishers, subscriptions, services and clients by the tables of this room; timers."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from rclpy.client import Client
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription
from rclpy.timer import Timer

from flex_robot_sim.ros.services import Service
from flex_robot_sim.ros.topics import Quality, Topic
from flex_robot_sim.util.exceptions import FlexRobotSimError


def qos_of(quality: Quality) -> QoSProfile:
    """Return the profile of a Quality."""
    return QoSProfile(
        depth=quality.depth,
        durability=(
            DurabilityPolicy.TRANSIENT_LOCAL if quality.is_latched else DurabilityPolicy.VOLATILE
        ),
        reliability=(
            ReliabilityPolicy.RELIABLE if quality.is_reliable else ReliabilityPolicy.BEST_EFFORT
        ),
    )


def class_of(kind: str) -> Any:
    """Return the class of a type such as std_msgs/msg/String."""
    package, group, name = kind.split('/')
    return getattr(import_module(f'{package}.{group}'), name)


def advertise(node: Node, topic: Topic) -> Publisher:
    """Return a publisher of a node."""
    return node.create_publisher(class_of(topic.kind), topic.name, qos_of(topic.quality))


def subscribe(
    node: Node,
    topic: Topic,
    callback: Callable[[Any], None],
    quality: Quality | None = None,
    raw: bool = False,
) -> Subscription:
    """Subscribe with the quality of the publishers, or another one; `raw`: to bytes."""
    return node.create_subscription(
        class_of(topic.kind), topic.name, callback, qos_of(quality or topic.quality), raw=raw
    )


def offer(node: Node, service: Service, action: Callable[..., str]) -> None:
    """
    Offer a service of a node, under its private name.

    :param action: returns the message of the response, or raises a FlexRobotSimError with the
        reason of the failure; it is called with `data` of the request if this has one.
    """

    def respond(request, response):
        try:
            response.success = True
            response.message = action(
                *(getattr(request, name) for name in request.get_fields_and_field_types())
            )
        except FlexRobotSimError as error:
            response.success, response.message = False, str(error)
        return response

    node.create_service(class_of(service.kind), service.private.name, respond)


def make_timer(node: Node, period: float, callback: Callable[[], object]) -> Timer:
    """Return a timer of a node [s] by the steady clock, which no simulation pauses."""
    return node.create_timer(period, callback, clock=Clock(clock_type=ClockType.STEADY_TIME))


def make_client(node: Node, service: Service) -> Client:
    """Return a client of a service."""
    return node.create_client(class_of(service.kind), service.name)
