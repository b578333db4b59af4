"""Widgets of the panel of a page, and what users do with them."""

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import viser._messages as viser_messages

from flex_robot_sim.util.exceptions import plain
from flex_robot_sim.viewer.control import Control, set_changed
from flex_robot_sim.viewer.plot_lines import PlotLine, heading
from flex_robot_sim.viewer.widget_messages import (
    MessageFilter,
    button_value,
    one_of,
    slider_value,
    switch_value,
)

Reaction = Callable[[Any], object]

SIDE_PANEL_WIDTH_PX = 330
BOX_STYLE = 'padding:0.1em 0.9em;font-size:0.85em;line-height:1.4'


class PagePanel:
    """Base class of Page with its widgets; user input waits for `take_input`."""

    _server: Any  # ViserServer
    _filter: MessageFilter

    def __init__(self) -> None:
        self._lock, self._presses, self._controls = threading.Lock(), 0, 0
        self._pending: dict[int, tuple[Reaction, Any]] = {}

    def take_input(self) -> list[tuple[Reaction, Any]]:
        """Return reactions and their values since the last call."""
        with self._lock:
            pending, self._pending = self._pending, {}
        return [*pending.values()]

    @contextlib.contextmanager
    def folder(self, title: str, is_open: bool = True) -> Iterator[None]:
        """Group the widgets that this context adds under a title."""
        with self._server.gui.add_folder(plain(title), expand_by_default=is_open):
            yield

    def slider(
        self,
        label: str,
        low: float,
        high: float,
        step: float,
        value: float,
        reaction: Reaction,
        hint: str = '',
    ) -> Control:
        """Add a slider."""
        handle = self._server.gui.add_slider(
            plain(label), low, high, step, value, hint=plain(hint) or None
        )
        return self._control(handle, reaction, slider_value(low, high, handle.precision))

    def checkbox(self, label: str, value: bool, reaction: Reaction, hint: str = '') -> Control:
        """Add a checkbox."""
        return self._control(
            self._server.gui.add_checkbox(plain(label), value, hint=plain(hint) or None),
            reaction,
            switch_value,
        )

    def button(self, label: str, reaction: Callable[[], object], hint: str = '') -> Control:
        """Add a button."""
        handle = self._server.gui.add_button(plain(label), hint=plain(hint) or None)
        control = Control(handle)

        @handle.on_click
        def _(_: object) -> None:
            with self._lock:
                self._presses += 1
                self._pending[self._presses] = lambda _: reaction(), None

        self._offer(handle, control, button_value)
        return control

    def dropdown(
        self, label: str, options: Sequence[str], value: str, reaction: Reaction, hint: str = ''
    ) -> Control:
        """Add a dropdown."""
        return self._control(
            self._server.gui.add_dropdown(
                plain(label), options, initial_value=value, hint=plain(hint) or None
            ),
            reaction,
            one_of(options),
        )

    def text(self, content: str = '') -> Callable[[str], None]:
        """Add a piece of HTML; return a function that changes it, '' removes it."""
        handle = self._server.gui.add_html(
            f'<div style="{BOX_STYLE}">{content}</div>', visible=bool(content)
        )

        def change(new: str) -> None:
            set_changed(handle, visible=bool(new), content=f'<div style="{BOX_STYLE}">{new}</div>')

        return change

    @contextlib.contextmanager
    def side_panel(self, title: str) -> Iterator[None]:
        """Put the widgets that this context adds into a panel at the left."""
        panel = self._server.gui.add_panel()
        with panel.add_tab(title):
            yield
        panel.dock_left()
        panel.set_width(SIDE_PANEL_WIDTH_PX)

    def plot(
        self, title: str, lines: Sequence[PlotLine], height: int = 150, note: str = ''
    ) -> Callable[[np.ndarray, np.ndarray], None]:
        """Add a plot; return its setter of increasing abscissae (k,) and values (k, lines)."""
        self.text(heading(title, lines, note))
        series: tuple[Any, ...] = ({}, *(line.uplot_series for line in lines))
        handle = self._server.gui.add_uplot(
            tuple(np.zeros((len(series), 2))),
            series,
            height=height,
            scales={'x': {'time': False}},
            legend={'show': False},
            padding=(8, 10, 0, 0),
            axes=({'size': 30}, {'size': 46}),
        )

        def change(x: np.ndarray, values: np.ndarray) -> None:
            handle.data = (x, *np.ascontiguousarray(values.T))

        return change

    def _control(self, handle, reaction, check):
        control = Control(handle)
        self._controls -= 1
        number = self._controls  # presses of buttons count upwards

        @handle.on_update
        def _(event: Any) -> None:
            if event.client is not None:  # by a user, not by `show`
                with self._lock:
                    self._pending[number] = reaction, handle.value

        self._offer(handle, control, check)
        return control

    def _offer(self, handle, control, check):
        """Accept messages of browsers for a widget."""
        uuid = handle._impl.uuid
        self._filter.offer(
            uuid,
            check,
            lambda: control.is_usable,
            lambda: self._server._websock_server.queue_message(
                viser_messages.GuiUpdateMessage(uuid, {'value': handle.value})
            ),
        )
