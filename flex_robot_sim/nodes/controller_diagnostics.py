"""What the controller node says about itself: lines in the log, and /diagnostics once a second."""

import numpy as np

from flex_robot_sim.nodes.reporting import Reporter, log


class ControllerDiagnostics:
    """Timers that pass on lines and figures of a JointController."""

    def __init__(self, node, controller, in_its_thread):
        """Start the timers of `node`; in_its_thread(action) is how the controller is asked."""
        self._node, self._controller, self._in_its_thread = node, controller, in_its_thread
        Reporter(node, 'control', self._log_reports, self._ask)

    def _log_reports(self):
        reports = self._controller.reports
        while reports:
            log(self._node, 'warning', reports.pop(0))

    def _ask(self):
        return self._controller.arm.description.name, *self._in_its_thread(self._figures)

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
