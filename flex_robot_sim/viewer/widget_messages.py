"""
Messages of browsers, checked against what the page offers before viser reads them.

viser believes a browser: an update may set any attribute of a widget to any value. Here two kinds
of messages pass: the camera of a browser, with finite numbers, and a new value of a widget that is
shown, enabled and offers this value. All else is dropped and counted.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple

import msgspec

LARGEST = 1e9           # number about a camera
RESTORE_DELAY = 1.0     # from a refused value until the page shows the present one: a number
#                         that is typed digit by digit may leave the range on its way        [s]


class _Message(msgspec.Struct, tag=True, tag_field='type', forbid_unknown_fields=True):
    """A message as it comes; the name of its class is its type on the wire."""


class GuiUpdateMessage(_Message):
    """New values of a widget."""

    uuid: str
    updates: dict[str, bool | int | float | str]


class ViewerCameraMessage(_Message):
    """The camera of a browser; viser counts a browser from its first one on."""

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
Check = Callable[[Any], Any]        # returns an offered value, or None for one that is not offered


def slider_value(low: float, high: float, digits: int) -> Check:
    """Return the Check of a slider with so many digits after the decimal point."""
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
    """Return the Check of a choice of words."""
    offered = frozenset(options)
    return lambda value: value if type(value) is str and value in offered else None


class _Widget(NamedTuple):
    """A widget of the page."""

    check: Check
    is_usable: Callable[[], bool]
    restore: Callable[[], object]       # shows its present value in all browsers again


class MessageFilter:
    """What a page offers, and how many messages of browsers were dropped."""

    def __init__(self) -> None:
        """Begin with a page without widgets."""
        self.dropped, self._has_warned = 0, False
        self._widgets: dict[str, _Widget] = {}
        self._refused: dict[str, float] = {}        # by widget: when its last value was refused

    def offer(self, uuid: str, check: Check, is_usable: Callable[[], bool],
              restore: Callable[[], object]) -> None:
        """Let values of a widget pass that `check` returns."""
        self._widgets[uuid] = _Widget(check, is_usable, restore)

    def clear(self) -> None:
        """Offer nothing any more."""
        self._widgets, self._refused = {}, {}

    def __call__(self, raw: object) -> bytes | None:
        """Return a message with nothing in it that was not checked, or None: it is dropped."""
        message = self._checked(raw)
        if message is not None:
            return msgspec.msgpack.encode(message)
        self.dropped += 1
        return None

    def restore(self, now: float) -> None:
        """Show the present values of widgets again whose values were refused before `now` [s]."""
        for uuid in [uuid for uuid, when in self._refused.copy().items()
                     if now - when > RESTORE_DELAY]:
            self._refused.pop(uuid, None)
            widget = self._widgets.get(uuid)
            if widget is not None:
                widget.restore()

    def _checked(self, raw):
        message = _decoded(raw)
        if message is None:
            if not self._has_warned:
                self._has_warned = True
                logging.getLogger(__name__).warning(
                    'a browser sent what no page sends: such messages are dropped')
            return None
        if isinstance(message, ViewerCameraMessage):
            return message
        widget = self._widgets.get(message.uuid)
        if widget is None:
            return None
        value = widget.check(message.updates['value']) if widget.is_usable() else None
        if value is None:
            self._refused[message.uuid] = time.monotonic()
            return None
        self._refused.pop(message.uuid, None)
        return GuiUpdateMessage(message.uuid, {'value': value})


def _decoded(raw: object) -> GuiUpdateMessage | ViewerCameraMessage | None:
    """Return a message that viser's page could have sent, or None."""
    try:
        message = _DECODER.decode(raw) if isinstance(raw, bytes) else None
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None
    if isinstance(message, ViewerCameraMessage):
        return message if _is_sound(message) else None
    return message if message is not None and message.updates.keys() == {'value'} else None


def _is_sound(camera: ViewerCameraMessage) -> bool:
    """Whether all numbers about a camera are finite, and a size is one."""
    return (all(abs(number) < LARGEST for number in _numbers(camera))
            and min(camera.image_height, camera.image_width) >= 0.0)


def _numbers(camera: ViewerCameraMessage) -> Iterator[float]:
    for value in msgspec.structs.astuple(camera):
        yield from value if isinstance(value, tuple) else (value,)
