"""What the bridge node says about itself: lines in the log, and /diagnostics once a second."""

import time

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.clock import Clock, ClockType

from flex_robot_sim.nodes.conversions import diagnostic_status
from flex_robot_sim.rig.bridge_report import BridgeReport
from flex_robot_sim.rig.link import LinkState

GOOD = (LinkState.READY, LinkState.GREETING)


class BridgeDiagnostics:
    """Timers that pass on events and figures of a RigBridge."""

    def __init__(self, node, bridge, log_file):
        """Start the timers of `node`; log_file is an ExperimentLog, or None."""
        self._node, self._bridge, self._log_file = node, bridge, log_file
        self._report = BridgeReport(bridge, time.monotonic())
        self._link, self._told_failure = LinkState.READY, False
        self._publisher = node.create_publisher(DiagnosticArray, '/diagnostics', 10)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        node.create_timer(0.1, self._log_events, clock=steady)
        node.create_timer(1.0, self._publish, clock=steady)

    def _log_events(self):
        log, events = self._node.get_logger(), self._bridge.events
        link = self._bridge.link.state
        if link != self._link:
            self._link = link
            if link in GOOD:
                log.info(f'link: {link.value}')
            else:
                log.warning(f'link: {link.value}; nothing is sent meanwhile')
        while events:
            level, line = events.popleft()
            # each level in a line of its own: rclpy refuses to change the level of a line of code
            if level == 'error':
                log.error(line)
            elif level == 'warning':
                log.warning(line)
            else:
                log.info(line)
        if self._log_file is not None and self._log_file.failure and not self._told_failure:
            self._told_failure = True
            log.error(self._log_file.failure)

    def _publish(self):
        level, message, values = self._report.figures(time.monotonic())
        array = DiagnosticArray(status=[diagnostic_status(
            f'{self._node.get_fully_qualified_name()}: rig', self._bridge.link.board.uid.hex(),
            level, message, values)])
        array.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(array)
