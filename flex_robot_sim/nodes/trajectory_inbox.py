"""
Trajectories for a joint controller: read and planned in a thread beside its control loop.

The thread of the loop only looks at the size of a message, and follows what is planned between two
samples. NumPy reads and plans in pieces that release the lock of the interpreter.
"""

from __future__ import annotations

import queue
import threading

from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from flex_robot_sim.control.joint_controller import JointController
from flex_robot_sim.exceptions import CommandError, FlexRobotSimError
from flex_robot_sim.nodes.reporting import refuse
from flex_robot_sim.nodes.settings import MessageSettings
from flex_robot_sim.nodes.topics import COMMANDS
from flex_robot_sim.nodes.trajectory_messages import (
    read_trajectory,
    read_trajectory_header,
    start_of,
)
from flex_robot_sim.realtime.priority import use_planning_priority
from flex_robot_sim.recording.trajectory_cdr import TrajectoryHeader


class TrajectoryInbox:
    """Subscription of `joint_trajectory`, and the thread that plans."""

    def __init__(self, node: Node, controller: JointController, limits: MessageSettings) -> None:
        """Subscribe `node`; the thread starts with the first message."""
        self._node, self._controller, self._limits = node, controller, limits
        self._messages: queue.Queue[tuple[bytes, TrajectoryHeader, int]] = queue.Queue(
            COMMANDS.depth)
        self._thread: threading.Thread | None = None
        node.create_subscription(JointTrajectory, 'joint_trajectory', self._on_bytes, COMMANDS,
                                 raw=True)

    def _on_bytes(self, data):
        try:
            header = read_trajectory_header(data, self._limits)
            self._controller.refuse_if_dead()
            self._messages.put_nowait((data, header, self._controller.trajectories.ticket()))
        except queue.Full:
            self._refuse(CommandError(
                'trajectories arrive faster than they are planned: this one is left out'))
        except FlexRobotSimError as error:
            self._refuse(error)
        if self._thread is None:
            self._thread = threading.Thread(target=self._plan_all, name='planning', daemon=True)
            self._thread.start()

    def _plan_all(self):
        use_planning_priority()
        controller = self._controller
        while True:
            data, header, ticket = self._messages.get()
            try:
                controller.trajectories.plan(
                    read_trajectory(data, header, controller.joint_names), controller.newest,
                    start_of(header), ticket)
            except FlexRobotSimError as error:
                self._refuse(error)
            del data

    def _refuse(self, error):
        self._controller.refused += 1
        refuse(self._node, error)
