"""
Read a robot: URDF or xacro, with what `<flexibility>` says about links that bend.

`docs/description.md` is the page for users; `words.py` holds the same words for the reader.
"""

from pathlib import Path

from flex_robot_sim.description import xacro_file
from flex_robot_sim.description.bodies import check_bodies
from flex_robot_sim.description.document import Document, read_file
from flex_robot_sim.description.flexibility import add_flexibility
from flex_robot_sim.description.robot import RobotDescription
from flex_robot_sim.description.tree import order
from flex_robot_sim.description.urdf import read_robot
from flex_robot_sim.description.values import closest
from flex_robot_sim.exceptions import DescriptionError
from flex_robot_sim.share import shipped_robots

__all__ = ['RobotDescription', 'read_description']


def read_description(source, xacro_arguments=None):
    """
    Read a robot; DescriptionError says in one line where it is unusable and what to do.

    :param source: path of a URDF or xacro file, its text, or the name of a shipped robot.
    :param xacro_arguments: {name: value} for a xacro file.
    """
    document = _open(source, xacro_arguments or {})
    name, links, joints, flexibility = read_robot(document)
    add_flexibility(document, flexibility, links, joints)
    ordered_links, ordered_joints = order(document, links, joints)
    check_bodies(document, ordered_links, ordered_joints)
    return RobotDescription(name, document.source, tuple(ordered_links), tuple(ordered_joints),
                            tuple(document.warnings))


def _open(source, xacro_arguments):
    if isinstance(source, str) and '<' in source:
        document = Document('<text>', source.encode('utf-8', 'replace'))
        if _holds_xacro(document):
            raise DescriptionError('<text>', 1, 'the text holds xacro, which needs its files',
                                   'Give the path of the xacro file, or the expanded text')
        return document
    path = Path(source)
    if not path.exists() and path.name == str(source):
        path = _shipped(path)
    document = Document(str(path), read_file(path))     # also keeps entity bombs from xacro
    if path.suffix == '.xacro' or _holds_xacro(document):
        return _expanded(path, document, xacro_arguments)
    if xacro_arguments:
        raise DescriptionError(path, None, 'this is no xacro file and takes no arguments',
                               f'Leave out {", ".join(xacro_arguments)}')
    return document


def _shipped(path):
    """Return the file of the shipped robot that `path` names; `path` if it resembles none."""
    robots = shipped_robots()
    meant = closest(path.name, robots)
    if path.name not in robots and meant:
        raise DescriptionError(path, None, 'the file cannot be read: No such file or directory',
                               f'Did you mean the shipped robot "{meant}"')
    return robots.get(path.name, path)


def _expanded(path, document, xacro_arguments):
    try:
        return Document(f'{path} (expanded)', xacro_file.expand(path, xacro_arguments))
    except DescriptionError as error:
        if path.suffix == '.xacro':
            raise
        # robots in use carry the remains of macros that robot_state_publisher passes over
        document.warn(1, f'the xacro in this file is passed over: {error}',
                      'Name the file .xacro, or remove it')
        return document


def _holds_xacro(document):
    return any('ros.org/wiki/xacro}' in element.tag for element in document.root.iter('*'))
