"""Diagnostics of the controller node: lines in the log, and /diagnostics once a second."""

from collections.abc import Sequence

import numpy as np
from rclpy.node import Node

from flex_robot_sim.control.gains import Servo
from flex_robot_sim.control.joint_controller import JointController
from flex_robot_sim.nodes.controller_designs import FeedbackDesigns, InThread, ShaperDesigns
from flex_robot_sim.ros.reporting import RepeatFilter, Reporter, SenderWatch, log
from flex_robot_sim.ros.topics import Topic


class ControllerDiagnostics:
    """Timers that publish lines and figures of a JointController."""

    def __init__(
        self,
        node: Node,
        controller: JointController,
        call_in_loop: InThread,
        shaper: ShaperDesigns,
        feedback: FeedbackDesigns,
        state_topics: Sequence[Topic],
    ) -> None:
        """Start the timers; states arrive by `state_topics`, from one node."""
        self._node, self._controller, self._call_in_loop = node, controller, call_in_loop
        self._servo: Servo | None = None
        self._shaper, self._feedback = shaper, feedback
        self._repeats = RepeatFilter()
        self._senders = SenderWatch(node, state_topics)
        Reporter(node, 'control', self._log_reports, self._report)

    def _log_reports(self):
        controller = self._controller
        if controller.servo is not self._servo:
            self._servo = controller.servo
            if self._servo.warning:
                log(self._node, 'warning', self._servo.warning)
        controller.update_hold_monitor()
        while controller.reports:
            line = self._repeats.passed(controller.reports.pop(0))
            if line:
                log(self._node, 'warning', line)

    def _report(self):
        level, message, values = self._call_in_loop(self._figures)
        several = self._senders.check()
        if several:
            level, message = 'warning', several
        return self._controller.arm.description.name, level, message, values

    def _figures(self):
        controller = self._controller
        values = {
            'state': controller.hold_monitor.state,
            'slowest closed joint [Hz]': controller.servo.frequency,
            'shaper': self._shaper.state,
            'shaper adds at most [s]': controller.shaper_duration,
            'vibration feedback': self._feedback.state,
            'feedback at the effort limit': controller.feedback.saturated,
            'refused': controller.refused,
            'silences': controller.state_timeouts,
            **{
                f'{name}: target [{unit}]': float(target)
                for name, unit, target, is_driven in zip(
                    controller.joint_names,
                    controller.arm.units,
                    controller.target,
                    controller.arm.actuated,
                )
                if is_driven
            },
            **{
                f'{name}: updates at the effort limit': int(count)
                for name, count in zip(controller.joint_names, controller.saturated)
            },
        }
        if not controller.is_live:
            return 'warning', 'no joint states: efforts are zero', values
        if not controller.drives_arm:
            return 'ok', 'the arm ignores efforts now', values
        if controller.hold_monitor.line:
            return 'warning', controller.hold_monitor.line, values
        limited = np.abs(controller.effort) >= controller.limits
        if limited.any():
            name = controller.joint_names[int(np.argmax(limited))]
            return 'warning', f'"{name}" is at its effort limit', values
        if controller.servo.warning:
            return 'warning', controller.servo.warning, values
        note = controller.hold_monitor.note
        return 'ok', '; '.join(filter(None, (controller.hold_monitor.state, note))), values
