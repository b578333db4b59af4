"""Location of the files that come with the package."""

from pathlib import Path

NAME = 'flex_robot_sim'


def share_folder() -> Path:
    """
    Return the folder with urdf/, and config/ and launch/ if they exist.

    It is the source folder, or share/flex_robot_sim of the installation prefix, for pip, colcon
    and Debian packages.
    """
    for folder in Path(__file__).resolve().parents[1:]:
        if (folder / 'package.xml').is_file() and (folder / NAME).is_dir():
            return folder
        if (folder / 'share' / NAME / 'package.xml').is_file():
            return folder / 'share' / NAME
    raise FileNotFoundError(f'share/{NAME} is in no folder above {__file__}')


def shipped_robots() -> dict[str, Path]:
    """
    Return {name: path} of the robots that come with the package.

    Example::

        arms = {name: frs.load(path) for name, path in frs.robots().items()}
    """
    return {path.stem: path for path in sorted(share_folder().glob('urdf/*.urdf'))}


robots = shipped_robots  # the name in the public API
