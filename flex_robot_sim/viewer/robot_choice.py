"""The page of `flexsim view` with a choice of robots."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.viewer.model_view import ModelView

if TYPE_CHECKING:
    from flex_robot_sim.viewer.browser import Page

FRAME_RATE_HZ = 30.0  # of the drawing


class RobotChoice:
    """Shows one of several robots, as selected in a browser."""

    def __init__(self, page: Page, robots: Mapping[str, Callable[[], ArmModel]]) -> None:
        """Show the first of `robots`: {name to choose: function that returns the ArmModel}."""
        self._page, self._names, self._loaders = page, [*robots], [*robots.values()]
        self._shown = self._requested = 0  # indices, as text of browsers is untrusted
        self._show(self._loaders[0]())

    def watch(self) -> None:
        """Run in real time until Ctrl-C."""
        previous = next_frame = time.monotonic()
        while True:
            now = time.monotonic()
            self._page.attempt(partial(self._view.update, now - previous, now))
            if self._requested != self._shown:
                self._page.attempt(self._change)
            previous, next_frame = now, max(next_frame + 1.0 / FRAME_RATE_HZ, now)
            time.sleep(max(next_frame - time.monotonic(), 0.002))

    def _show(self, arm):
        """Fill the page with an arm and warm up its buttons."""
        self._control = self._page.dropdown(
            'robot',
            self._names,
            self._names[self._shown],
            self._request,
            'Robots of the package, and your own',
        )
        self._view = ModelView(self._page, arm)
        self._view.warm_up()

    def _request(self, name):
        self._requested = self._names.index(name)

    def _change(self):
        """Show the requested robot; if it cannot be read, keep the present one."""
        requested, self._requested = self._requested, self._shown
        try:
            arm = self._loaders[requested]()
        except Exception:
            self._control.show(self._names[self._shown])
            raise
        self._shown = self._requested = requested
        self._page.clear(arm.description.name)
        self._show(arm)
