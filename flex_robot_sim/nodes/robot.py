"""The robot of a node: from a parameter, or from the topic robot_description."""

from std_msgs.msg import String

import flex_robot_sim as frs
from flex_robot_sim.display.description import is_display_description
from flex_robot_sim.exceptions import FlexRobotSimError, SettingError
from flex_robot_sim.nodes.topics import LATCHED


def when_arm_is_known(node, settings, start):
    """
    Call start(arm) with the ArmModel: at once, or when its description arrives.

    :param settings: RobotSettings. What is wrong with a robot ends the node: it is raised, or, if
        its description arrives later, left in node.failure for the one who spins it.
    """
    node.failure = None
    if settings.robot:
        start(_arm(settings.robot, settings))
        return
    first = []

    def on_description(message):
        if is_display_description(message.data):
            node.get_logger().warning('robot_description is a display description, made for '
                                      'drawing: send the original, or give the parameter "robot"',
                                      once=True)
        elif not first:
            first.append(message.data)
            try:
                start(_arm(message.data, settings))
            except FlexRobotSimError as error:      # an executor would print where it was raised
                node.failure = error
        elif message.data not in first:
            first.append(message.data)
            node.get_logger().warning('robot_description changed: start the node again to use it')

    node.create_subscription(String, 'robot_description', on_description, LATCHED)
    node.get_logger().info('no parameter "robot": waiting for robot_description')


def _arm(source, settings):
    wrong = [word for word in settings.xacro_arguments if ':=' not in word]
    if wrong:
        raise SettingError(f'xacro_arguments: "{wrong[0]}" is not NAME:=VALUE')
    arguments = dict(word.split(':=', 1) for word in settings.xacro_arguments)
    return frs.load(source, settings.coupling, settings.gravity, arguments)
