"""Widgets of a page: sliders, checkboxes, dropdowns and buttons."""

from typing import Any

from flex_robot_sim.util.exceptions import plain


class Control:
    """A slider, a checkbox, a dropdown or a button on the page."""

    def __init__(self, handle: Any) -> None:
        """Wrap a widget handle of viser."""
        self._handle, self._hint = handle, handle.hint

    @property
    def value(self) -> Any:
        """Value that the widget shows."""
        return self._handle.value

    @property
    def is_usable(self) -> bool:
        """Whether the widget is visible and enabled."""
        return self._handle.visible and not self._handle.disabled

    def show(self, value: Any) -> None:
        """Set the shown value without calling the reaction."""
        if self._handle.value != value:
            self._handle.value = value

    def label(self, text: str) -> None:
        """Change the label."""
        if self._handle.label != (text := plain(text)):
            self._handle.label = text

    def set_visible(self, is_visible: bool) -> None:
        """Show or hide the widget."""
        if self._handle.visible != is_visible:
            self._handle.visible = is_visible

    def disable_if(self, reason: str = '') -> None:
        """Disable the widget with a reason as its hint; '' enables it."""
        if self._handle.disabled != bool(reason):
            self._handle.disabled = bool(reason)
        if self._handle.hint != (hint := plain(reason) or self._hint):
            self._handle.hint = hint
