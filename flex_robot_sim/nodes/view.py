"""The view node: shows an arm in browsers, and forwards requests of the page."""

from __future__ import annotations

import json
import sys
import time
from functools import partial
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from flex_robot_sim.model.described_text import reduced_files
from flex_robot_sim.nodes.settings import KNOWN_PARAMETERS, VIEW_SETTINGS, ViewSettings
from flex_robot_sim.nodes.view_inputs import ViewInputs
from flex_robot_sim.nodes.view_prediction import Prediction
from flex_robot_sim.nodes.view_remote import ViewRemote
from flex_robot_sim.ros.endpoints import make_timer
from flex_robot_sim.ros.polling_node import PollingNode
from flex_robot_sim.ros.robot_source import REDUCED_FILES
from flex_robot_sim.ros.topics import JOINT_COMMANDS
from flex_robot_sim.util.exceptions import plain
from flex_robot_sim.viewer.missing import refuse_without_view
from flex_robot_sim.viewer.observed import ObservedArm
from flex_robot_sim.viewer.opening import open_browser

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmModel
    from flex_robot_sim.viewer.browser import Page

# up to so many browsers get every frame; with more, every SKIP_INTERVAL-th frame is skipped
MAX_FULL_RATE_BROWSERS, SKIP_INTERVAL = 2, 3


class ViewNode(PollingNode):
    """Shows an arm in browsers."""

    def __init__(self) -> None:
        """Wait for the robot; the page is served at an address of this machine."""
        refuse_without_view()
        self._page: Page | None = None
        self._browser_folder: TemporaryDirectory[str] | None = None  # redirects to the page
        self._remote: ViewRemote | None = None
        self._frame_count = 0
        self._notes: list[str] = []  # about links without their reduced file
        super().__init__('view', VIEW_SETTINGS, KNOWN_PARAMETERS)

    def on_rigid_link(self, line: str) -> None:
        """Report a link whose reduced file is missing."""
        self._notes.append(line)
        self.get_logger().warning(line)

    def begin(self, arm: ArmModel) -> None:
        """Show `arm`."""
        from flex_robot_sim.viewer.browser import Page
        from flex_robot_sim.viewer.robot_view import RobotView

        settings, observed = self.parameters[ViewSettings], ObservedArm(arm)
        self._remote = remote = ViewRemote(self)
        self._observed, self._files = observed, reduced_files(arm)
        observed.notes += self._notes
        self._inputs = ViewInputs(self, arm, observed)
        self.polled = self._inputs.polled
        self._page = page = Page(arm.description.name, settings.view_port or None)
        self._view = RobotView(page, arm, observed, remote, settings.view_rate, settings.view_span)
        self._prediction = Prediction(arm, self._view)
        make_timer(self, 1.0 / settings.view_rate, partial(self._draw, page, remote))
        # every user of the machine can read /rosout, so the token is printed to the terminal only
        self.get_logger().info(f'{plain(arm.description.name)} at {page.address}')
        print(f'view: open {page.private_address}', file=sys.stderr, flush=True)
        if settings.view_browser:
            self._browser_folder = open_browser(page.private_address)

    def _draw(self, page, remote):
        now = time.monotonic()
        self._inputs.poll(now)
        remote.poll(now)
        self._compare_files(remote.parameters)
        self._prediction.update(
            now, self._observed, remote.parameters, self.count_publishers(JOINT_COMMANDS.name) > 0
        )
        self._frame_count += 1
        # each frame is packed separately for each browser
        if page.browser_count <= MAX_FULL_RATE_BROWSERS or self._frame_count % SKIP_INTERVAL:
            self._view.update(now)

    def _compare_files(self, parameters):
        """Draw links as rigid ones while `dynamics` has another reduced file of them."""
        theirs = json.loads(parameters.get('dynamics', {}).get(REDUCED_FILES) or '{}')
        for link, digest in self._files.items():
            if link in theirs:
                line = self._inputs.draw_rigid(link, theirs[link] != digest)
                if line:
                    self.get_logger().warning(line)

    def close(self) -> None:
        """End pushes, and close the page."""
        for part in (self._remote, self._page):
            if part is not None:
                part.close()
        if self._browser_folder is not None:
            self._browser_folder.cleanup()
