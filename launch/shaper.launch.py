"""Shape trajectories in front of any trajectory controller. See docs/ros_shaper.md."""

from launch import LaunchDescription
from launch.actions import OpaqueFunction

from flex_robot_sim.system.launch_arguments import ShaperArguments
from flex_robot_sim.system.launching import actions_of, declare_arguments, read_arguments


def generate_launch_description():
    """Return the arguments, and the action that starts the requested program."""
    return LaunchDescription(
        [*declare_arguments(ShaperArguments), OpaqueFunction(function=_start)]
    )


def _start(context):
    return actions_of(read_arguments(ShaperArguments, context))
