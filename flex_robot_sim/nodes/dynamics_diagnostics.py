"""
What the dynamics node says about itself: lines in the log, and /diagnostics.

They go out once a second, and at once when the simulation is paused, goes on or is lost.
"""

import time
from collections.abc import Sequence

from rclpy.node import Node

from flex_robot_sim.nodes.reporting import RepeatFilter, Reporter, log
from flex_robot_sim.nodes.senders import SenderWatch
from flex_robot_sim.realtime.loop import SimulationLoop
from flex_robot_sim.realtime.report import LoopReport


class DynamicsDiagnostics:
    """Timers that pass on events and figures of a SimulationLoop."""

    def __init__(self, node: Node, loop: SimulationLoop, command_topics: Sequence[str]) -> None:
        """
        Start the timers of `node`.

        :param command_topics: by which commands arrive, from one node.
        """
        self._node, self._loop = node, loop
        self._report = LoopReport(loop, time.monotonic())
        self._told_twins, self._told_state = False, loop.state
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
        if self._loop.state != self._told_state:
            self._reporter.publish()

    def _figures(self):
        level, message, values = self._loop.call(
            lambda: self._report.figures(time.monotonic()))
        several = self._senders.look()
        if several and level != 'error':
            level, message = 'warning', several
        twins = self._twins()
        if twins > 1:
            name = self._node.get_fully_qualified_name()
            level, message = 'error', f'{twins} nodes are called {name}: stop all but one'
            if not self._told_twins:
                log(self._node, 'error', message)
        self._told_twins, self._told_state = twins > 1, values['state']
        return self._loop.simulation.arm.description.name, level, message, values

    def _twins(self):
        """How many nodes have our name."""
        own = self._node.get_name(), self._node.get_namespace()
        return self._node.get_node_names_and_namespaces().count(own)
