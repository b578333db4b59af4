"""
What the dynamics node says about itself: lines in the log, and /diagnostics.

They go out once a second, and at once when the simulation is paused, goes on or is lost.
"""

import time

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.clock import Clock, ClockType

from flex_robot_sim.nodes.conversions import diagnostic_status
from flex_robot_sim.realtime.report import LoopReport


class DynamicsDiagnostics:
    """Timers that pass on events and figures of a SimulationLoop."""

    def __init__(self, node, loop):
        """Start the timers of `node`."""
        self._node, self._loop = node, loop
        self._report = LoopReport(loop, time.monotonic())
        self._publisher = node.create_publisher(DiagnosticArray, '/diagnostics', 10)
        self._told_twins, self._told_state = False, loop.state
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        node.create_timer(0.1, self._log_events, clock=steady)
        node.create_timer(1.0, self._publish, clock=steady)

    def _log_events(self):
        if self._loop.crash is not None:
            raise self._loop.crash
        log = self._node.get_logger()
        events = self._loop.events
        while not events.empty():
            level, line = events.get()
            # each level in a line of its own: rclpy refuses to change the level of a line of code
            if level == 'error':
                log.error(line)
            elif level == 'warning':
                log.warning(line)
            else:
                log.info(line)
        if self._loop.state != self._told_state:
            self._publish()

    def _publish(self):
        level, message, values = self._loop.call(
            lambda: self._report.figures(time.monotonic()))
        twins = self._twins()
        if twins > 1:
            level, message = 'error', f'{twins} nodes are called {self._name}: stop all but one'
            if not self._told_twins:
                self._node.get_logger().error(message)
        self._told_twins, self._told_state = twins > 1, values['state']
        array = DiagnosticArray(status=[diagnostic_status(
            f'{self._name}: simulation', self._loop.simulation.arm.description.name, level,
            message, values)])
        array.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(array)

    @property
    def _name(self):
        return self._node.get_fully_qualified_name()

    def _twins(self):
        """How many nodes have our name."""
        own = self._node.get_name(), self._node.get_namespace()
        return self._node.get_node_names_and_namespaces().count(own)
