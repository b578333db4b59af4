"""Files that a description names: relative to its folder, or in ROS packages."""

from pathlib import Path

from flex_robot_sim.description.document import Document, XmlElement
from flex_robot_sim.util.package_files import named_files


def find_named_file(document: Document, element: XmlElement, name: str, hint: str = '') -> Path:
    """
    Return the path of a file that `element` names; DescriptionError if there is none.

    :param hint: end of the remedy.
    """
    if document.folder is None and not name.startswith('package://'):
        raise document.error(
            element,
            f'the robot comes without a folder, and its <{element.tag}> names the file "{name}"',
            'Name it by package://, or load the robot from a file',
        )
    for path in named_files(name, document.folder):
        if path.is_file():
            return path
    raise document.error(
        element,
        f'the file "{name}" of <{element.tag}> is not found',
        f'Give its path from the folder of the URDF, or by package://{hint}',
    )
