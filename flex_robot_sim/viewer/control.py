"""Widgets of a page: sliders, checkboxes, dropdowns and buttons."""

from __future__ import annotations

from typing import Any

from flex_robot_sim.util.exceptions import plain


class Control:
    """A slider, a checkbox, a dropdown or a button on the page."""

    def __init__(self, handle: Any) -> None:
        """Wrap a widget handle of viser."""
        self._handle, self._hint = handle, handle.hint

    @property
    def value(self) -> Any:
        """Value that it shows."""
        return self._handle.value

    @property
    def is_usable(self) -> bool:
        """Whether it is shown and enabled."""
        return self._handle.visible and not self._handle.disabled

    def show(self, value: Any) -> None:
        """Set the shown value without calling the reaction."""
        if self._handle.value != value:
            self._handle.value = value

    def label(self, text: str) -> None:
        """Change its label."""
        if self._handle.label != (text := plain(text)):
            self._handle.label = text

    def appear(self, is_there: bool) -> None:
        """Show or hide it."""
        if self._handle.visible != is_there:
            self._handle.visible = is_there

    def allow(self, why_not: str = '') -> None:
        """Enable it, or disable it with the reason as hint."""
        if self._handle.disabled != bool(why_not):
            self._handle.disabled = bool(why_not)
        if self._handle.hint != (hint := plain(why_not) or self._hint):
            self._handle.hint = hint
