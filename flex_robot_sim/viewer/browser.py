"""
Pages in browsers; the only module that imports viser.

A page listens on 127.0.0.1 and answers only browsers that have opened its private address
(page_access.py). Messages of browsers are checked against the widgets of the page
(widget_messages.py). The page loads nothing from other machines. User input is queued until the
drawing thread calls `react`.
"""

import contextlib
import io
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import viser
import viser._messages as viser_messages

from flex_robot_sim.util.exceptions import FlexRobotSimError, as_html, plain
from flex_robot_sim.viewer.control import Control, set_changed
from flex_robot_sim.viewer.geometry import CYLINDER, UNIT_BOX
from flex_robot_sim.viewer.page_access import PageAccess, guarded
from flex_robot_sim.viewer.page_port import HOST, PORT_COUNT, free_port, port_taken_error
from flex_robot_sim.viewer.plot_lines import PlotLine, heading
from flex_robot_sim.viewer.widget_messages import (
    MessageFilter,
    button_value,
    one_of,
    slider_value,
    switch_value,
)

Reaction = Callable[[Any], object]


class Page:
    """A page that shows an arm; all browsers show the same content."""

    def __init__(self, title: str, port: int | None = None) -> None:
        """Start to listen at a port; None: the first free one, see port.py; 0: any."""
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
        self._lock, self._presses, self._controls = threading.Lock(), 0, 0
        self._pending: dict[int, tuple[Reaction, Any]] = {}
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
        with self._lock:
            self._pending = {}
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
        with self._lock:
            pending, self._pending = self._pending, {}
        for reaction, value in pending.values():
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
        style = f'{_BOX_STYLE};color:#c05621;overflow-wrap:anywhere'
        text = f'<div style="{style}">{as_html(line)}</div>'
        set_changed(self._notice, content=text, visible=bool(line))

    @contextlib.contextmanager
    def atomic_update(self) -> Iterator[None]:
        """Send all changes of this context to browsers as one update."""
        with self._server.atomic():
            yield

    # widgets of the panel

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
            f'<div style="{_BOX_STYLE}">{content}</div>', visible=bool(content)
        )

        def change(new: str) -> None:
            set_changed(
                handle, visible=bool(new), content=f'<div style="{_BOX_STYLE}">{new}</div>'
            )

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

    # scene

    def set_camera(self, at: np.ndarray, distance: float, direction: np.ndarray) -> None:
        """Set the camera of all browsers to look at a point (3,) [m] from `distance` [m]."""
        camera = self._server.initial_camera
        camera.position = at + distance * direction / np.linalg.norm(direction)
        camera.look_at, camera.fov = at, np.radians(45.0)
        camera.near, camera.far = 0.01 * distance, 100.0 * distance
        # connected browsers too, whose camera state in viser may be out of date
        for client in self._server.get_clients().values():
            with client.atomic():
                for message in (
                    viser_messages.SetCameraPositionMessage(tuple(camera.position)),
                    viser_messages.SetCameraLookAtMessage(tuple(at)),
                    viser_messages.SetCameraNearMessage(camera.near),
                    viser_messages.SetCameraFarMessage(camera.far),
                ):
                    client._websock_connection.queue_message(message)

    def grid(self, cell: float, size: float) -> None:
        """Draw a floor grid through the origin, with cells of `cell` [m] and a `size` [m]."""
        self._server.scene.add_grid(
            '/floor',
            size,
            size,
            cell_size=cell,
            section_size=cell,
            cell_thickness=0.5,
            section_thickness=0.5,
            cell_color=(150, 155, 160),
            section_color=(150, 155, 160),
            fade_distance=3 * size,
            shadow_opacity=0.0,
        )

    def frame(self, name: str) -> Callable[[np.ndarray, np.ndarray], None]:
        """Add a frame, the parent of all names NAME/...; return the setter of its pose."""
        return _pose_setter(self._server.scene.add_frame(name, show_axes=False))

    def solid(
        self,
        name: str,
        vertices: np.ndarray,
        faces: np.ndarray,
        colour: Sequence[float],
        opacity: float | None,
        is_smooth: bool,
    ) -> None:
        """Add a triangle mesh; the frame that its name begins with moves it."""
        self._server.scene.add_mesh_simple(
            name,
            vertices,
            faces,
            color=_rgb_bytes(colour),
            opacity=opacity,
            side='double',
            flat_shading=not is_smooth,
            cast_shadow=False,
            receive_shadow=False,
        )

    def pieces(
        self, name: str, shape: str, count: int
    ) -> Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], None]:
        """Add boxes or cylinders; return a setter of positions, quaternions, sizes and colours."""
        vertices, faces = UNIT_BOX if shape == 'box' else CYLINDER
        handle = self._server.scene.add_batched_meshes_simple(
            name,
            vertices,
            faces,
            np.tile([1.0, 0.0, 0.0, 0.0], (count, 1)),
            np.zeros((count, 3)),
            batched_scales=np.ones((count, 3)),
            batched_colors=np.zeros((count, 3), np.uint8),
            lod='off',
            flat_shading=True,
            cast_shadow=False,
            receive_shadow=False,
        )

        def change(
            positions: np.ndarray, quaternions: np.ndarray, sizes: np.ndarray, colours: np.ndarray
        ) -> None:
            _send(
                handle,
                viser_messages.SceneNodeUpdateMessage(
                    name,
                    {
                        'batched_positions': positions.astype(np.float32),
                        'batched_wxyzs': quaternions[:, _XYZW_TO_WXYZ].astype(np.float32),
                        'batched_scales': sizes.astype(np.float32),
                        'batched_colors': (255 * colours[:, :3]).astype(np.uint8),
                    },
                ),
            )

        return change

    def surface(self, name: str, colours: np.ndarray) -> Callable[[Sequence[np.ndarray]], None]:
        """Add triangles of colours (c, 3); return the setter of the corners (k, 3, 3) of each."""
        names = [f'{name}/{row}' for row in range(len(colours))]
        nothing = np.zeros((3, 3), np.float32), np.array([[0, 1, 2]], np.uint32)
        handles = [
            self._server.scene.add_mesh_simple(
                part,
                *nothing,
                color=_rgb_bytes(colour),
                side='double',
                flat_shading=True,
                cast_shadow=False,
                receive_shadow=False,
            )
            for part, colour in zip(names, colours)
        ]
        empty = [True] * len(names)

        def change(corners: Sequence[np.ndarray]) -> None:
            for row, part in enumerate(corners):
                vertices, faces = nothing
                if len(part):
                    vertices = part.reshape(-1, 3).astype(np.float32)
                    faces = np.arange(len(vertices), dtype=np.uint32).reshape(-1, 3)
                elif empty[row]:
                    continue
                empty[row] = not len(part)
                update = {'vertices': vertices, 'faces': faces}
                _send(handles[row], viser_messages.SceneNodeUpdateMessage(names[row], update))

        return change

    def line(self, name: str, colour: Sequence[float]) -> Callable[[np.ndarray], None]:
        """Add a line; return the setter of its points (k, 3) [m]."""
        handle = self._server.scene.add_line_segments(
            name,
            np.zeros((1, 2, 3)),
            _rgb_bytes(colour),
            thickness=2.0,
            thickness_units='screen',
            visible=False,
        )

        def change(points: np.ndarray) -> None:
            if len(points) > 1:
                _send(
                    handle,
                    viser_messages.SceneNodeUpdateMessage(
                        name,
                        {'points': np.stack([points[:-1], points[1:]], axis=1).astype(np.float32)},
                    ),
                )
            set_changed(handle, visible=len(points) > 1)

        return change

    def arrow(
        self, name: str, colour: Sequence[float], size: float
    ) -> Callable[[np.ndarray, np.ndarray], None]:
        """Add an arrow; return the setter of its foot and head (3,) [m]; equal ones hide it."""
        handle = self._server.scene.add_arrows(
            name,
            np.array([[[0, 0, 0], [0, 0, size]]], float),
            _rgb_bytes(colour),
            shaft_radius=size / 16,
            head_radius=size / 7,
            head_length=size / 3.5,
            visible=False,
        )

        def change(foot: np.ndarray, head: np.ndarray) -> None:
            is_visible = bool(np.any(foot != head))
            if is_visible:
                handle.points = np.array([[foot, head]], np.float32)
            set_changed(handle, visible=is_visible)

        return change

    def label(self, name: str, place: np.ndarray) -> Callable[[str], None]:
        """Add a text at a point (3,) [m]; return its setter, '' hides it."""
        handle = self._server.scene.add_label(
            name, '', position=place, visible=False, anchor='center-center'
        )

        def change(text: str) -> None:
            set_changed(handle, text=plain(text), visible=bool(text))

        return change

    def show(self, name: str, is_shown: bool) -> None:
        """Show or hide NAME and all names NAME/...."""
        handle = self._server.scene.get_handle_by_name(name)
        if handle is not None:
            set_changed(handle, visible=is_shown)

    def _add_common_parts(self, title):
        """Add the parts that every page has."""
        self._server.gui.set_panel_label(plain(title))
        self._server.gui.main_panel.dock_right()
        self._notice = self._server.gui.add_html('', visible=False)

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


SIDE_PANEL_WIDTH_PX = 330  # [px]
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
_XYZW_TO_WXYZ = [3, 0, 1, 2]
_BOX_STYLE = 'padding:0.1em 0.9em;font-size:0.85em;line-height:1.4'


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


def _pose_setter(handle):
    sent: list[tuple | None] = [None, None]

    def move(position, quaternion):
        x, y, z, w = quaternion.tolist()
        position = tuple(position.tolist())
        for k, (kind, new) in enumerate(
            (
                (viser_messages.SetPositionMessage, position),
                (viser_messages.SetOrientationMessage, (w, x, y, z)),
            )
        ):
            if sent[k] != new:
                sent[k] = new
                _send(handle, kind(handle.name, new))

    return move


def _send(handle, message):
    """Send an update directly: the setters of viser spend most time on comparisons."""
    handle._impl.api._queue_scene_message(message)


def _rgb_bytes(colour):
    return tuple(int(round(255 * part)) for part in colour[:3])
