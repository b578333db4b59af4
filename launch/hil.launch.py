"""Drive the bench: bridge, controller, robot_state_publisher and rviz2. See docs/rig_bridge.md."""

from launch import LaunchDescription
from launch.actions import OpaqueFunction

from flex_robot_sim.system.launch_arguments import HilArguments
from flex_robot_sim.system.launching import actions_of, declare_arguments, read_arguments


def generate_launch_description():
    """Return the arguments, and the action that starts the requested programs."""
    return LaunchDescription([*declare_arguments(HilArguments), OpaqueFunction(function=_start)])


def _start(context):
    return actions_of(read_arguments(HilArguments, context))
