"""What the bridge node says about itself: lines in the log, and /diagnostics once a second."""

import time
from collections.abc import Sequence

from rclpy.node import Node

from flex_robot_sim.nodes.reporting import Reporter, log
from flex_robot_sim.nodes.senders import SenderWatch
from flex_robot_sim.rig.bridge.bridge import RigBridge
from flex_robot_sim.rig.bridge.experiment_log import ExperimentLog
from flex_robot_sim.rig.bridge.report import BridgeReport
from flex_robot_sim.rig.host.link import LinkState

MAX_LINES_PER_LOOK = 20     # events that a board may log in 0.1 s
GOOD = (LinkState.READY, LinkState.GREETING)


class BridgeDiagnostics:
    """Timers that pass on events and figures of a RigBridge."""

    def __init__(self, node: Node, bridge: RigBridge, log_file: ExperimentLog | None,
                 command_topics: Sequence[str]) -> None:
        """
        Start the timers of `node`.

        :param log_file: ExperimentLog, or None; command_topics: by which one node commands.
        """
        self._node, self._bridge, self._log_file = node, bridge, log_file
        self._report = BridgeReport(bridge, time.monotonic())
        self._link, self._told_failure = LinkState.READY, False
        self._senders = SenderWatch(node, command_topics)
        Reporter(node, 'rig', self._log_events, self._figures)

    def _log_events(self):
        node, events = self._node, self._bridge.events
        link = self._bridge.link.state
        if link != self._link:
            self._link = link
            if link in GOOD:
                log(node, 'info', f'link: {link.value}')
            else:
                condition = self._bridge.link.condition
                log(node, 'warning', f'link: {condition}; nothing is sent meanwhile')
        for _ in range(min(len(events), MAX_LINES_PER_LOOK)):
            log(node, *events.popleft())
        if events:
            log(node, 'warning', f'{len(events)} more events of the board are not shown')
            events.clear()
        if self._log_file is not None and self._log_file.failure and not self._told_failure:
            self._told_failure = True
            log(node, 'error', self._log_file.failure)

    def _figures(self):
        level, message, values = self._report.figures(time.monotonic())
        several = self._senders.look()
        if several and level == 'ok':
            level, message = 'warning', several
        return self._bridge.link.board.uid.hex(), level, message, values
