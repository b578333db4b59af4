"""
Messages of browsers, checked against the widgets of the page before viser reads them.

viser trusts browsers: an update may set any attribute of a widget to any value. Two kinds of
messages pass: the camera of a browser, with finite numbers, and a new value of a widget that is
shown, enabled and allows this value. All other messages are dropped and counted.
"""

import logging
import time
from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple

import msgspec

MAX_CAMERA_VALUE = 1e9  # of any number of a camera
# from a refused value until the page shows the present value again: a number that the user types
# digit by digit may leave the range in between [s]
RESTORE_DELAY_S = 1.0


class _Message(msgspec.Struct, tag=True, tag_field='type', forbid_unknown_fields=True):
    """A message on the wire; the name of its class is its type."""


class GuiUpdateMessage(_Message):
    """New values of a widget."""

    uuid: str
    updates: dict[str, bool | int | float | str]


class ViewerCameraMessage(_Message):
    """The camera of a browser; viser counts a browser after its first message of this kind."""

    wxyz: tuple[float, float, float, float]
    position: tuple[float, float, float]
    fov: float
    near: float
    far: float
    image_height: float
    image_width: float
    look_at: tuple[float, float, float]
    up_direction: tuple[float, float, float]


_DECODER = msgspec.msgpack.Decoder(GuiUpdateMessage | ViewerCameraMessage)
Check = Callable[[Any], Any]  # returns an allowed value, or None for any other


def slider_value(low: float, high: float, digits: int) -> Check:
    """Return the Check of a slider with a number of digits after the decimal point."""
    lowest, highest = min(low, round(low, digits)), max(high, round(high, digits))

    def check(value: Any) -> Any:
        if type(value) not in (int, float) or not lowest <= value <= highest:
            return None
        # ends of the range may have more digits, and browsers round them
        value = min(max(value, low), high)
        return value if value in (low, high) or round(value, digits) == value else None

    return check


def switch_value(value: Any) -> Any:
    """Check the value of a checkbox."""
    return value if type(value) is bool else None


def button_value(value: Any) -> Any:
    """Check the value of a button."""
    return True if value is True else None


def one_of(options: Collection[str]) -> Check:
    """Return the Check of a dropdown."""
    allowed = frozenset(options)
    return lambda value: value if type(value) is str and value in allowed else None


class _Widget(NamedTuple):
    """A widget of the page."""

    check: Check
    is_usable: Callable[[], bool]
    restore: Callable[[], object]  # shows its present value in all browsers again


class MessageFilter:
    """Allowed values of all widgets of a page, and the count of dropped messages."""

    def __init__(self) -> None:
        self.dropped, self._has_warned = 0, False
        self._widgets: dict[str, _Widget] = {}
        self._refused_at: dict[str, float] = {}  # by widget: time of its last refused value

    def offer(
        self, uuid: str, check: Check, is_usable: Callable[[], bool], restore: Callable[[], object]
    ) -> None:
        """Accept those values of a widget that `check` returns."""
        self._widgets[uuid] = _Widget(check, is_usable, restore)

    def clear(self) -> None:
        """Remove all widgets."""
        self._widgets, self._refused_at = {}, {}

    def __call__(self, raw: object) -> bytes | None:
        """Return a message with checked contents only, or None to drop it."""
        message = self._check(raw)
        if message is not None:
            return msgspec.msgpack.encode(message)
        self.dropped += 1
        return None

    def restore(self, now: float) -> None:
        """Show the present value of widgets whose input was refused before `now` [s]."""
        for uuid in [
            uuid for uuid, when in self._refused_at.copy().items() if now - when > RESTORE_DELAY_S
        ]:
            self._refused_at.pop(uuid, None)
            widget = self._widgets.get(uuid)
            if widget is not None:
                widget.restore()

    def _check(self, raw):
        message = _decode(raw)
        if message is None:
            if not self._has_warned:
                self._has_warned = True
                logging.getLogger(__name__).warning(
                    'a browser sent an invalid message: such messages are dropped'
                )
            return None
        if isinstance(message, ViewerCameraMessage):
            return message
        widget = self._widgets.get(message.uuid)
        if widget is None:
            return None
        value = widget.check(message.updates['value']) if widget.is_usable() else None
        if value is None:
            self._refused_at[message.uuid] = time.monotonic()
            return None
        self._refused_at.pop(message.uuid, None)
        return GuiUpdateMessage(message.uuid, {'value': value})


def _decode(raw: object) -> GuiUpdateMessage | ViewerCameraMessage | None:
    """Return a message that viser's page could have sent, or None."""
    try:
        message = _DECODER.decode(raw) if isinstance(raw, bytes) else None
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None
    if isinstance(message, ViewerCameraMessage):
        return message if _is_valid_camera(message) else None
    return message if message is not None and message.updates.keys() == {'value'} else None


def _is_valid_camera(camera: ViewerCameraMessage) -> bool:
    """Whether all numbers of a camera are bounded and its image size is not negative."""
    return (
        all(abs(number) < MAX_CAMERA_VALUE for number in _numbers(camera))
        and min(camera.image_height, camera.image_width) >= 0.0
    )


def _numbers(camera: ViewerCameraMessage) -> Iterator[float]:
    for value in msgspec.structs.astuple(camera):
        yield from value if isinstance(value, tuple) else (value,)
