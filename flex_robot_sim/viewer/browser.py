"""
Pages in browsers; only this module, page_panel.py and page_scene.py import viser.

A page listens on 127.0.0.1 and answers only browsers that have opened its private address
(page_access.py). Messages of browsers are checked against the widgets of the page
(widget_messages.py). The page loads nothing from other machines. User input is queued until the
drawing thread calls `react`.
"""

import contextlib
import io
import logging
import time
from collections.abc import Callable, Iterator
from functools import partial

import viser
import viser._messages as viser_messages

from flex_robot_sim.util.exceptions import FlexRobotSimError, as_html, plain
from flex_robot_sim.viewer.control import set_changed
from flex_robot_sim.viewer.page_access import PageAccess, guarded
from flex_robot_sim.viewer.page_panel import BOX_STYLE, PagePanel
from flex_robot_sim.viewer.page_port import HOST, PORT_COUNT, free_port, port_taken_error
from flex_robot_sim.viewer.page_scene import PageScene
from flex_robot_sim.viewer.widget_messages import MessageFilter


class Page(PagePanel, PageScene):
    """A page that shows an arm; all browsers show the same content."""

    def __init__(self, title: str, port: int | None = None) -> None:
        """Start to listen at a port; None: the first free one, see page_port.py; 0: any."""
        super().__init__()
        # do not log aborted connections and clients other than browsers
        logging.getLogger('websockets.server').setLevel(logging.CRITICAL)
        self._filter, self._last_error = MessageFilter(), ''
        self._server, access = _listen(plain(title), port, self._filter)
        self.port = self._server.get_port()
        # disable the tunnel that a browser could request
        self._server.request_share_url = lambda *_, **__: None
        self.address = f'http://{HOST}:{self.port}'
        self.private_address = self.address + access.path
        """Address with the token; only for the terminal, never for a log or a command line."""
        self._server.scene.configure_default_lights(True, cast_shadow=False)
        self.set_dark(False)
        self._add_common_parts(title)
        self._server._websock_server.queue_message(
            viser_messages.RunJavascriptMessage(COLLAPSE_ON_NARROW_SCREENS)
        )

    @property
    def browser_count(self) -> int:
        """Number of connected browsers."""
        return len(self._server._websock_server._client_state_from_id)

    @property
    def dropped(self) -> int:
        """Number of dropped browser messages; no widget of the page allows them."""
        return self._filter.dropped

    def close(self) -> None:
        """Stop the server; browsers show that the connection is lost."""
        with contextlib.redirect_stdout(io.StringIO()):
            self._server.stop()

    def clear(self, title: str) -> None:
        """Remove all content and start again under a new title."""
        self.take_input()
        self._filter.clear()
        self._server.scene.reset()
        self._server.gui.reset()
        self._add_common_parts(title)

    def set_dark(self, is_dark: bool) -> None:
        """Set a dark or a bright background."""
        self._server.gui.configure_theme(
            control_width='medium',
            dark_mode=is_dark,
            show_logo=False,
            show_share_button=False,
            brand_color=(43, 108, 176),
        )

    def react(self) -> None:
        """Handle user input since the last call; errors are shown on the page."""
        self._filter.restore(time.monotonic())
        for reaction, value in self.take_input():
            self.show_message('')
            self.attempt(partial(reaction, value))

    def attempt(self, act: Callable[[], object]) -> None:
        """Call a function; an error is shown on the page and does not end it."""
        try:
            act()
        except FlexRobotSimError as error:
            self.show_message(str(error))
        except Exception as error:  # a bug
            line = f'{type(error).__name__}: {error}'
            self.show_message(f'this did not work: {line}')
            if self._last_error != line:  # an error of drawing repeats 30 times a second
                self._last_error = line
                log = logging.getLogger(__name__)
                log.error('the page goes on after %s', line)
                log.debug('where it failed:', exc_info=True)

    def show_message(self, line: str) -> None:
        """Show a line in the panel until the next call; an empty line removes it."""
        style = f'{BOX_STYLE};color:#c05621;overflow-wrap:anywhere'
        text = f'<div style="{style}">{as_html(line)}</div>'
        set_changed(self._notice, content=text, visible=bool(line))

    @contextlib.contextmanager
    def atomic_update(self) -> Iterator[None]:
        """Send all changes of this context to browsers as one update."""
        with self._server.atomic():
            yield

    def _add_common_parts(self, title):
        """Add the parts that every page has."""
        self._server.gui.set_panel_label(plain(title))
        self._server.gui.main_panel.dock_right()
        self._notice = self._server.gui.add_html('', visible=False)


# Below 500 px viser shows the panel as a sheet that covers half of the arm, and has no option for
# its first state. Each browser collapses it once, by a click on its title as soon as it is there.
COLLAPSE_ON_NARROW_SCREENS = """if (innerWidth < 500 && !window.hasCollapsed) {
    window.hasCollapsed = true;
    const wait = setInterval(() => {
        const title = document.querySelector(
            '.mantine-Paper-root[style*="fixed"] [style*="cursor: pointer"]');
        if (title === null) return;
        clearInterval(wait);
        title.click();
    }, 50);
}"""


def _listen(title, requested, message_filter):
    """Return a server at the requested port or the first free one, and its PageAccess."""
    for _ in range(PORT_COUNT):
        port = free_port(requested)
        access = PageAccess(port)
        with guarded(access, message_filter), contextlib.redirect_stdout(io.StringIO()):
            server = viser.ViserServer(HOST, port, label=title, verbose=False)
            if server.get_port() == port:
                return server, access
            server.stop()  # another program took the port, and viser chose the next one
        if requested:
            break
    raise port_taken_error(port)
