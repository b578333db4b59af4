"""Mesh files of a URDF, read by trimesh from this machine only."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from flex_robot_sim.description import TEXT_SOURCE
from flex_robot_sim.util.exceptions import SettingError, shortened
from flex_robot_sim.util.package_files import named_files


class Mesh(NamedTuple):
    """Triangle mesh of a file."""

    vertices: np.ndarray  # (k, 3)  [m]
    faces: np.ndarray  # (f, 3)
    colour: tuple[float, ...] | None  # red, green, blue from 0 to 1, if the file has one


def read_mesh(name: str, source: str) -> Mesh:
    """Return the Mesh `name` of the URDF file `source`; SettingError if it is unreadable."""
    path = find_mesh(name, source)
    load = _loader()
    try:
        loaded: Any = load(path, force='mesh')
        vertices: np.ndarray = np.array(loaded.vertices)
        faces: np.ndarray = np.array(loaded.faces)
        if not len(faces) or not np.isfinite(vertices).all():
            raise ValueError('it has no triangles')
    # readers of some formats raise arbitrary exceptions
    except Exception as error:
        raise SettingError(
            f'mesh {shortened(path, 200)} cannot be read: '
            f'{shortened(error, 200) or type(error).__name__}'
        ) from error
    return Mesh(vertices, faces, _colour(loaded.visual))


def find_mesh(name: str, source: str) -> Path:
    """
    Return the file that a URDF calls `name`: a path, file:// or package://.

    A URDF from a message, a recording or a log may only name files of installed packages.
    """
    scheme, has_scheme, _ = name.partition('://')
    if source == TEXT_SOURCE and scheme != 'package':
        raise SettingError(
            f'mesh {shortened(name, 200)} is left out: a robot from a message or a '
            'recording may only name meshes by package://'
        )
    if has_scheme and scheme not in ('file', 'package'):
        raise SettingError(f'mesh {shortened(name, 200)} is not on this machine: it is left out')
    candidates = named_files(name, None if source == TEXT_SOURCE else Path(source).parent)
    for path in candidates:
        if path.is_file():
            return path
    raise SettingError(
        f'mesh {shortened(name, 200)} is not found: it is left out. Give its path '
        'from the folder of the URDF, or source the workspace of its package'
    )


def _loader():
    try:
        import trimesh
    except (ImportError, TypeError) as error:  # TypeError: NumPy is too old for it
        raise SettingError(
            'meshes are left out: trimesh, which reads them, is not installed or needs a newer '
            f'NumPy than {np.__version__}: pip install --upgrade trimesh numpy'
        ) from error
    return trimesh.load


def _colour(visual):
    """Main colour of a mesh; None, drawn as grey, if the file has no readable one."""
    try:
        if visual.kind is None:
            return None
        colour = None
        if visual.kind == 'texture':
            visual = visual.to_color()
            # one row for the whole mesh if the material has no texture
            colour = visual.vertex_colors if visual.vertex_colors.ndim == 1 else None
        colour = visual.main_color if colour is None else colour
        red, green, blue = (float(part) / 255 for part in colour[:3])
    except Exception:  # draw the mesh even if its colour is unreadable
        return None
    return red, green, blue
