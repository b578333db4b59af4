"""Simulate an arm: dynamics, controller, robot_state_publisher and rviz2. See docs/ros.md."""

from launch import LaunchDescription
from launch.actions import OpaqueFunction

from flex_robot_sim.system.launch_arguments import SimulationArguments
from flex_robot_sim.system.launching import actions_of, declare_arguments, read_arguments


def generate_launch_description():
    """Return the arguments, and the action that starts the requested programs."""
    return LaunchDescription(
        [*declare_arguments(SimulationArguments), OpaqueFunction(function=_start)]
    )


def _start(context):
    return actions_of(read_arguments(SimulationArguments, context))
