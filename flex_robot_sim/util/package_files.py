"""Files of ROS packages, by names such as package://my_robot/meshes/arm.stl."""

import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from flex_robot_sim.util.share import NAME, share_folder


def named_files(name: str, folder: Path | None) -> list[Path]:
    """
    Return candidates for a file that a URDF names: by a path, file:// or package://.

    :param folder: of the URDF; None: it may only name files of installed packages.
    """
    scheme, has_scheme, location = name.partition('://')
    if has_scheme and scheme == 'package':
        return [*package_files(location, None if folder is None else folder.resolve())]
    if folder is None or (has_scheme and scheme != 'file'):
        return []
    return [Path(unquote(location)) if has_scheme else folder / name]


def package_files(location: str, folder: Path | None) -> Iterator[Path]:
    """
    Yield candidates for a file of a package: in installed packages, then in folders above a file.

    Files of flex_robot_sim itself are found without ROS.

    :param location: name of the package and path in it, as after package://.
    :param folder: of the file that names it; None: installed packages only.
    """
    package, _, relative_path = location.partition('/')
    if {'', '.', '..'} & {package, *relative_path.split('/')}:
        return
    for one in _package_folders(package, folder):
        yield one / relative_path


def _package_folders(package, folder):
    if package == NAME:
        yield share_folder()
    for prefix in filter(None, os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)):
        yield Path(prefix, 'share', package)
    for prefix in filter(None, os.environ.get('ROS_PACKAGE_PATH', '').split(os.pathsep)):
        yield Path(prefix, package)
    if folder is None:
        return
    for parent in (folder, *folder.parents):
        yield parent / package
        if parent.name == package:
            yield parent
