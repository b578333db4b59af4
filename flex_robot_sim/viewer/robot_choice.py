"""The page of `flexsim view`, with the choice of the robot that it shows."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from flex_robot_sim.exceptions import FlexRobotSimError
from flex_robot_sim.viewer.model_view import ModelView

if TYPE_CHECKING:
    from flex_robot_sim.core.model import ArmModel
    from flex_robot_sim.viewer.browser import Page

RATE = 30.0             # of the picture                                                    [Hz]


class RobotChoice:
    """Shows one of several robots, until a browser asks for another one."""

    def __init__(self, page: Page, robots: Sequence[str], robot: str,
                 load: Callable[[str], ArmModel]) -> None:
        """
        Show `robot` on a Page.

        :param robots: names to choose from; load: function that returns the ArmModel of a name.
        """
        self._page, self._robots, self._load = page, robots, load
        self._shown = self._wish = robot
        self._show(load(robot))

    def watch(self) -> None:
        """Go on with the clock until Ctrl-C."""
        before = due = time.monotonic()
        while True:
            now = time.monotonic()
            self._view.turn(now - before, now)
            if self._wish != self._shown:
                self._change()
            before, due = now, max(due + 1.0 / RATE, now)
            time.sleep(max(due - time.monotonic(), 0.002))

    def _show(self, arm):
        """Fill the page with an arm, ready for whoever presses its buttons."""
        self._control = self._page.choice('robot', self._robots, self._shown, self._take,
                                          'Those that come with the package, and your own')
        self._view = ModelView(self._page, arm)
        self._view.warm_up()

    def _take(self, robot):
        self._wish = robot

    def _change(self):
        """Show the robot that is asked for; one that cannot be read leaves the present one."""
        try:
            arm = self._load(self._wish)
        except FlexRobotSimError as error:
            self._page.say(str(error))
            self._wish = self._shown
            self._control.show(self._shown)
            return
        self._shown = self._wish
        self._page.clear(arm.description.name)
        self._show(arm)
