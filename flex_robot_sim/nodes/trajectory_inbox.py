"""
Trajectories for a joint controller, read and planned in a background thread.

The thread of the control loop only checks the size of a message, and samples the newest plan.
Reading and planning use NumPy calls that release the interpreter lock. The node publishes the
states of stamped trajectories on `~/trajectory_status`.
"""

import queue
import threading
from collections.abc import Callable

from rclpy.node import Node

from flex_robot_sim.control.joint_controller import JointController
from flex_robot_sim.realtime.priority import use_planning_priority
from flex_robot_sim.ros import topics
from flex_robot_sim.ros.endpoints import advertise, make_timer, subscribe
from flex_robot_sim.ros.node_settings import MessageSettings
from flex_robot_sim.ros.reporting import refuse
from flex_robot_sim.ros.trajectory_cdr import TrajectoryHeader
from flex_robot_sim.ros.trajectory_messages import (
    read_trajectory,
    read_trajectory_header,
    start_of,
    trajectory_status,
)
from flex_robot_sim.util.exceptions import CommandError, FlexRobotSimError

STATUS_PERIOD_S = 0.01  # period of publishing new states of trajectories


class TrajectoryInbox:
    """Subscription of `joint_trajectory`, the planning thread, and the states of trajectories."""

    def __init__(
        self,
        node: Node,
        controller: JointController,
        limits: MessageSettings,
        stamp_offset: Callable[[], float] | None = None,
    ) -> None:
        """Subscribe; `stamp_offset`: time of stamps less that of the controller [s]; None: 0."""
        self._node, self._controller, self._limits = node, controller, limits
        self._stamp_offset = stamp_offset
        self._messages: queue.Queue[tuple[bytes, TrajectoryHeader, int]] = queue.Queue(
            topics.TRAJECTORY.quality.depth
        )
        self._thread: threading.Thread | None = None
        subscribe(node, topics.TRAJECTORY, self._on_bytes, raw=True)
        self._status = advertise(node, topics.TRAJECTORY_STATUS.private)
        make_timer(node, STATUS_PERIOD_S, self._publish_events)

    def _publish_events(self):
        for event in self._controller.trajectories.take_events():
            self._status.publish(trajectory_status(event))

    def _on_bytes(self, data):
        header = None
        try:
            header = read_trajectory_header(data, self._limits)
            self._controller.refuse_if_inactive()
            self._messages.put_nowait((data, header, self._controller.trajectories.ticket()))
        except queue.Full:
            self._refuse(
                CommandError(
                    'trajectories arrive faster than they are planned: this one is left out'
                ),
                header,
            )
        except FlexRobotSimError as error:
            self._refuse(error, header)
        if self._thread is None:
            self._thread = threading.Thread(target=self._plan_loop, name='planning', daemon=True)
            self._thread.start()

    def _plan_loop(self):
        use_planning_priority()
        controller = self._controller
        while True:
            data, header, ticket = self._messages.get()
            start = start_of(header)
            if start is not None and self._stamp_offset is not None:
                start -= self._stamp_offset()
            try:
                controller.trajectories.plan(
                    read_trajectory(data, header, controller.joint_names),
                    controller.newest,
                    start,
                    ticket,
                    header.stamp or None,
                )
            except FlexRobotSimError as error:
                self._refuse(error, header)
            del data

    def _refuse(self, error, header):
        self._controller.refused += 1
        if header is not None:
            self._controller.trajectories.refuse(header.stamp or None, str(error))
        refuse(self._node, error)
