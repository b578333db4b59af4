"""Diagnostics of the bridge node: lines in the log, and /diagnostics once a second."""

import time
from collections.abc import Sequence

from rclpy.node import Node

from flex_robot_sim.rig.bridge.bridge import RigBridge
from flex_robot_sim.rig.bridge.bridge_report import BridgeReport
from flex_robot_sim.rig.bridge.experiment_log import ExperimentLog
from flex_robot_sim.rig.host.link import LinkState
from flex_robot_sim.ros.reporting import Reporter, SenderWatch, log
from flex_robot_sim.ros.topics import Topic

MAX_LINES_PER_POLL = 20  # events that a board may log in 0.1 s
WORKING_LINK_STATES = (LinkState.READY, LinkState.GREETING)


class BridgeDiagnostics:
    """Timers that publish events and figures of a RigBridge."""

    def __init__(
        self,
        node: Node,
        bridge: RigBridge,
        log_file: ExperimentLog | None,
        command_topics: Sequence[Topic],
    ) -> None:
        """Start the timers; only one node should publish `command_topics`."""
        self._node, self._bridge, self._log_file = node, bridge, log_file
        self._report = BridgeReport(bridge, time.monotonic())
        self._link, self._has_logged_failure = LinkState.READY, False
        self._senders = SenderWatch(node, command_topics)
        Reporter(node, 'rig', self._log_events, self._figures)

    def _log_events(self):
        node, events = self._node, self._bridge.events
        link = self._bridge.link.state
        if link != self._link:
            self._link = link
            if link in WORKING_LINK_STATES:
                log(node, 'info', f'link: {link.value}')
            else:
                condition = self._bridge.link.condition
                log(node, 'warning', f'link: {condition}; nothing is sent meanwhile')
        for _ in range(min(len(events), MAX_LINES_PER_POLL)):
            log(node, *events.popleft())
        if events:
            log(node, 'warning', f'{len(events)} more events of the board are not shown')
            events.clear()
        if self._log_file is not None and self._log_file.failure and not self._has_logged_failure:
            self._has_logged_failure = True
            log(node, 'error', self._log_file.failure)

    def _figures(self):
        level, message, values = self._report.figures(time.monotonic())
        sender_problem = self._senders.check()
        if sender_problem and level == 'ok':
            level, message = 'warning', sender_problem
        return self._bridge.link.board.uid.hex(), level, message, values
