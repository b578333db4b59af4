"""What the controller node says about itself: lines in the log, and /diagnostics once a second."""

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.clock import Clock, ClockType

from flex_robot_sim.nodes.conversions import diagnostic_status


class ControllerDiagnostics:
    """Timers that pass on lines and figures of a JointController."""

    def __init__(self, node, controller, in_its_thread):
        """Start the timers of `node`; in_its_thread(action) is how the controller is asked."""
        self._node, self._controller, self._in_its_thread = node, controller, in_its_thread
        self._publisher = node.create_publisher(DiagnosticArray, '/diagnostics', 10)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        node.create_timer(0.1, self._log_reports, clock=steady)
        node.create_timer(1.0, self._publish, clock=steady)

    def _log_reports(self):
        reports = self._controller.reports
        while reports:
            self._node.get_logger().warning(reports.pop(0))

    def _publish(self):
        level, message, values = self._in_its_thread(self._figures)
        array = DiagnosticArray(status=[diagnostic_status(
            f'{self._node.get_fully_qualified_name()}: control',
            self._controller.arm.description.name, level, message, values)])
        array.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(array)

    def _figures(self):
        controller = self._controller
        values = {
            'state': 'moving' if controller.is_moving else 'holding',
            'refused': controller.refused,
            'silences': controller.silences,
            **{f'{name}: target [rad, m]': float(target)
               for name, target in zip(controller.joint_names, controller.target)},
            **{f'{name}: updates at the effort limit': int(count)
               for name, count in zip(controller.joint_names, controller.saturated)},
        }
        if not controller.is_live:
            return 'warning', 'no joint states: efforts are zero', values
        limited = np.abs(controller.effort) >= controller.limits
        if limited.any():
            name = controller.joint_names[int(np.argmax(limited))]
            return 'warning', f'"{name}" is at its effort limit', values
        return 'ok', values['state'], values
