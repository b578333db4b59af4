"""The page of `flexsim view`, with the choice of the robot that it shows."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from flex_robot_sim.viewer.model_view import ModelView

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmModel
    from flex_robot_sim.viewer.browser import Page

RATE = 30.0             # of the picture                                                    [Hz]


class RobotChoice:
    """Shows one of several robots, until a browser asks for another one."""

    def __init__(self, page: Page, robots: Mapping[str, Callable[[], ArmModel]]) -> None:
        """
        Show the first robot on a Page.

        :param robots: {name to choose: function that returns the ArmModel}.
        """
        self._page, self._names, self._loaders = page, [*robots], [*robots.values()]
        self._shown = self._wish = 0        # rows of the list: no text of a browser is opened
        self._show(self._loaders[0]())

    def watch(self) -> None:
        """Go on with the clock until Ctrl-C."""
        before = due = time.monotonic()
        while True:
            now = time.monotonic()
            self._page.attempt(partial(self._view.turn, now - before, now))
            if self._wish != self._shown:
                self._page.attempt(self._change)
            before, due = now, max(due + 1.0 / RATE, now)
            time.sleep(max(due - time.monotonic(), 0.002))

    def _show(self, arm):
        """Fill the page with an arm, ready for whoever presses its buttons."""
        self._control = self._page.choice('robot', self._names, self._names[self._shown],
                                          self._take,
                                          'Those that come with the package, and your own')
        self._view = ModelView(self._page, arm)
        self._view.warm_up()

    def _take(self, name):
        self._wish = self._names.index(name)

    def _change(self):
        """Show the robot that is asked for; one that cannot be read leaves the present one."""
        wish, self._wish = self._wish, self._shown
        try:
            arm = self._loaders[wish]()
        except Exception:
            self._control.show(self._names[self._shown])
            raise
        self._shown = self._wish = wish
        self._page.clear(arm.description.name)
        self._show(arm)
