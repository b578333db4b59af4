"""Dynamics and controller in one process: a control loop of 1 kHz without messages."""

from rclpy.node import Node

from flex_robot_sim.nodes.controller import ControllerNode
from flex_robot_sim.nodes.dynamics import DynamicsNode


def make_nodes() -> list[Node]:
    """Return both nodes; the simulation calls the controller once per period."""
    controller = ControllerNode(is_inside=True)
    return [DynamicsNode(controller.attach), controller]
