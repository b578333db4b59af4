"""Widgets of a page: sliders, checkboxes, dropdowns and buttons."""

from typing import Any

from flex_robot_sim.util.exceptions import plain


class Control:
    """A slider, a checkbox, a dropdown or a button on the page."""

    def __init__(self, handle: Any) -> None:
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
        set_changed(self._handle, value=value)

    def label(self, text: str) -> None:
        """Change the label."""
        set_changed(self._handle, label=plain(text))

    def set_visible(self, is_visible: bool) -> None:
        """Show or hide the widget."""
        set_changed(self._handle, visible=is_visible)

    def disable_if(self, reason: str = '') -> None:
        """Disable the widget with a reason as its hint; '' enables it."""
        set_changed(self._handle, disabled=bool(reason), hint=plain(reason) or self._hint)


def set_changed(handle: Any, **values: Any) -> None:
    """Set the attributes of a viser handle that differ: each one set goes to all browsers."""
    for name, value in values.items():
        if getattr(handle, name) != value:
            setattr(handle, name, value)
