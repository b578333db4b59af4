"""The browser view as a node: it shows whatever arm sends states, and asks what users want."""

from __future__ import annotations

import sys
import time
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from rclpy.clock import Clock, ClockType

from flex_robot_sim.nodes.polling_node import PollingNode
from flex_robot_sim.nodes.run import run
from flex_robot_sim.nodes.settings import VIEW_SETTINGS, ViewSettings
from flex_robot_sim.nodes.view_inputs import ViewInputs
from flex_robot_sim.nodes.view_prediction import Prediction
from flex_robot_sim.nodes.view_remote import ViewRemote
from flex_robot_sim.util.exceptions import plain
from flex_robot_sim.viewer.missing import refuse_without_view
from flex_robot_sim.viewer.observed import ObservedArm
from flex_robot_sim.viewer.opening import open_browser

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmModel
    from flex_robot_sim.viewer.browser import Page

FEW, SPARED = 2, 3      # browsers that get every picture; of more, none gets every third one


class ViewNode(PollingNode):
    """Show an arm in browsers."""

    _inputs: ViewInputs

    def __init__(self) -> None:
        """Wait for the robot, and begin to listen at an address of this machine."""
        refuse_without_view()
        self._page: Page | None = None
        self._opened: TemporaryDirectory[str] | None = None     # leads a browser to the page
        self._remote: ViewRemote | None = None
        self._turns = 0
        super().__init__('view', VIEW_SETTINGS)

    def begin(self, arm: ArmModel) -> None:
        """Show `arm`."""
        from flex_robot_sim.viewer.browser import Page
        from flex_robot_sim.viewer.robot_view import RobotView

        settings, seen = self.parameters[ViewSettings], ObservedArm(arm)
        self._remote = remote = ViewRemote(self)
        self._seen = seen
        self._inputs = ViewInputs(self, arm, seen)
        self._page = page = Page(arm.description.name, settings.view_port or None)
        self._view = RobotView(page, arm, seen, remote, settings.view_rate, settings.view_span)
        self._prediction = Prediction(arm, self._view)
        self.create_timer(1.0 / settings.view_rate, self._draw,
                          clock=Clock(clock_type=ClockType.STEADY_TIME))
        # every user of the machine can hear /rosout, and the token is for the terminal alone
        self.get_logger().info(f'{plain(arm.description.name)} at {page.address}')
        print(f'view: open {page.private_address}', file=sys.stderr, flush=True)
        if settings.view_browser:
            self._opened = open_browser(page.private_address)

    def _draw(self):
        now = time.monotonic()
        self._inputs.look(now)
        self._remote.look(now)
        self._prediction.look(now, self._seen, self._remote.parameters,
                              self.count_publishers('joint_commands') > 0)
        self._turns += 1
        # each browser has its own copy of every picture packed for it
        if self._page.watchers <= FEW or self._turns % SPARED:
            self._view.turn(now)

    def close(self) -> None:
        """End pushes, and the page."""
        for part in (self._remote, self._page):
            if part is not None:
                part.close()
        if self._opened is not None:
            self._opened.cleanup()


def main(args: list[str] | None = None) -> None:
    """Run the node until a signal."""
    sys.exit(run('view', lambda: [ViewNode()], args))
