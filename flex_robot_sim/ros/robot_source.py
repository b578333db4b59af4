"""The robot of a node: from a parameter, or from the topic robot_description."""

import json
from collections.abc import Callable
from typing import Any

from rcl_interfaces.msg import ParameterDescriptor
from rclpy.node import Node
from std_msgs.msg import String

from flex_robot_sim.description import read_recorded_text, read_text
from flex_robot_sim.description.tool import note_of_equal_arms
from flex_robot_sim.display.description import is_display_description
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.assembly import build_arm, load
from flex_robot_sim.model.described_text import reduced_files
from flex_robot_sim.ros.endpoints import advertise, make_timer, subscribe
from flex_robot_sim.ros.node_settings import RobotSettings
from flex_robot_sim.ros.topics import ROBOT_DESCRIPTION
from flex_robot_sim.util.exceptions import plain
from flex_robot_sim.util.xacro_arguments import xacro_arguments

POLL_PERIOD_S = 0.5  # period of polls of the topic of the description
REDUCED_FILES = 'reduced_files'  # parameter of the nodes that offer the description


def when_arm_is_known(
    node: Any,
    settings: RobotSettings,
    start: Callable[[ArmModel], object],
    on_rigid_link: Callable[[str], object] | None = None,
) -> None:
    """
    Call start(arm) with the ArmModel: at once, or when its description arrives.

    :param node: Node with an attribute `failure`.
    :param settings: RobotSettings. An unusable robot ends the node: the error is raised, or, if
        the description arrives later, stored in node.failure, which ends the spinning.
    :param on_rigid_link: gets a line for each link whose reduced file is missing; the link is
        rigid then. None: such a description is unusable.
    """
    node.failure = None

    def begin(arm):
        note = note_of_equal_arms(arm.description.tool)
        if note:
            node.get_logger().info(f'{plain(note)} (parameter tool)')
        start(arm)

    if settings.robot:
        begin(
            load(
                settings.robot,
                coupling=settings.coupling,
                gravity=settings.gravity or None,
                xacro_arguments=xacro_arguments(settings.xacro_arguments),
                tool=settings.tool,
            )
        )
        return
    received_texts: list[str] = []

    def on_description(message):
        if is_display_description(message.data):
            node.get_logger().warning(
                'robot_description is a display description, made for '
                'drawing: send the original, or give the parameter "robot"',
                once=True,
            )
        elif not received_texts:
            received_texts.append(message.data)
            try:
                begin(_built(message.data, settings, on_rigid_link))
            except Exception as error:  # any error at the start ends the node
                node.failure = error
        elif message.data not in received_texts:
            received_texts.append(message.data)
            node.get_logger().warning('robot_description changed: start the node again to use it')

    def poll():
        with subscription.handle:
            received = None if received_texts else subscription.handle.take_message(String, False)
        if received is not None:
            on_description(received[0])
        if received_texts:
            timer.cancel()

    subscription = subscribe(node, ROBOT_DESCRIPTION, on_description)
    # Fast DDS does not notify an events executor of a message that arrives just when it attaches;
    # no second description follows, so the subscription is polled
    timer = make_timer(node, POLL_PERIOD_S, poll)
    node.get_logger().info('no parameter "robot": waiting for robot_description')


def _built(text, settings, on_rigid_link):
    """Return the ArmModel of a robot_description, see `when_arm_is_known`."""
    if on_rigid_link is None:
        robot = read_text(text, settings.tool)
    else:
        robot, lines = read_recorded_text(text, settings.tool)
        for line in lines:
            on_rigid_link(line)
    return build_arm(robot, settings.coupling, settings.gravity or None)


def offer_description(node: Node, settings: RobotSettings, arm: ArmModel) -> None:
    """
    Publish the original robot on robot_description, unless it came from there.

    Planners and controllers use it. robot_state_publisher uses another one on display_description,
    where additional joints represent the bending. The read-only parameter `reduced_files` has the
    SHA-256 of the files of reduced links by link, as JSON; recordings and the view read it.
    """
    node.declare_parameter(
        REDUCED_FILES,
        json.dumps(reduced_files(arm)),
        ParameterDescriptor(
            description='SHA-256 of the files of reduced links by link, as JSON', read_only=True
        ),
        ignore_override=True,
    )
    if settings.robot:
        advertise(node, ROBOT_DESCRIPTION).publish(String(data=arm.description.text))
