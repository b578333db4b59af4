"""Scene of a page: frames, meshes, lines, arrows and labels, and the camera."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import viser._messages as viser_messages

from flex_robot_sim.util.exceptions import plain
from flex_robot_sim.viewer.control import set_changed
from flex_robot_sim.viewer.geometry import CYLINDER, UNIT_BOX

_XYZW_TO_WXYZ = [3, 0, 1, 2]


class PageScene:
    """Base class of Page with its scene; most methods return a function that moves their part."""

    _server: Any  # ViserServer

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
