"""
Diagnostics of the dynamics node: lines in the log, and /diagnostics.

They are published once a second, and at once when the simulation is paused, resumed or fails.
"""

import time
from collections.abc import Sequence

from rclpy.node import Node

from flex_robot_sim.realtime.loop import SimulationLoop
from flex_robot_sim.realtime.loop_report import LoopReport
from flex_robot_sim.ros.reporting import RepeatFilter, Reporter, SenderWatch, log
from flex_robot_sim.ros.topics import Topic


class DynamicsDiagnostics:
    """Timers that publish events and figures of a SimulationLoop."""

    def __init__(self, node: Node, loop: SimulationLoop, command_topics: Sequence[Topic]) -> None:
        """Start the timers; only one node should publish `command_topics`."""
        self._node, self._loop = node, loop
        self._report = LoopReport(loop, time.monotonic())
        self._has_logged_same_name, self._published_state = False, loop.state
        self._repeats = RepeatFilter()
        self._senders = SenderWatch(node, command_topics)
        self._reporter = Reporter(node, 'simulation', self._log_events, self._figures)

    def _log_events(self):
        if self._loop.crash is not None:
            raise self._loop.crash
        events = self._loop.events
        while not events.empty():
            level, line = events.get()
            line = self._repeats.passed(line)
            if line:
                log(self._node, level, line)
        if self._loop.state != self._published_state:
            self._reporter.publish()

    def _figures(self):
        level, message, values = self._loop.call(lambda: self._report.figures(time.monotonic()))
        sender_problem = self._senders.check()
        if sender_problem and level != 'error':
            level, message = 'warning', sender_problem
        own_name = self._node.get_name(), self._node.get_namespace()
        node_count = self._node.get_node_names_and_namespaces().count(own_name)
        if node_count > 1:
            name = self._node.get_fully_qualified_name()
            level, message = 'error', f'{node_count} nodes are called {name}: stop all but one'
            if not self._has_logged_same_name:
                log(self._node, 'error', message)
        self._has_logged_same_name, self._published_state = node_count > 1, str(values['state'])
        return self._loop.simulation.arm.description.name, level, message, values
