"""
Robots from URDF or xacro, with the `<flexibility>` of their links and joints.

`docs/description.md` is the user documentation; `words.py` has the same vocabulary for the reader.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from flex_robot_sim.description import xacro_file
from flex_robot_sim.description.base_motion import read_base_motion
from flex_robot_sim.description.bodies import check_bodies
from flex_robot_sim.description.constraint import check_bases, check_constraints
from flex_robot_sim.description.contact import check_contacts, read_contacts
from flex_robot_sim.description.document import Document, RecordedFiles, read_file
from flex_robot_sim.description.flexibility import add_flexibility
from flex_robot_sim.description.foreign_loops import warn_of_foreign_loops
from flex_robot_sim.description.free_base import check_free_base
from flex_robot_sim.description.gravity import read_gravity
from flex_robot_sim.description.mimic import (
    check_mimics,
    hold_massless_mimics,
    mimic_choice,
    with_mimics,
)
from flex_robot_sim.description.multi_dof_joint import split_joints
from flex_robot_sim.description.robot import RobotDescription
from flex_robot_sim.description.sliding_link import refuse_loops_of_sliding_links
from flex_robot_sim.description.tree import order
from flex_robot_sim.description.urdf import read_robot
from flex_robot_sim.description.values import closest
from flex_robot_sim.util.exceptions import DescriptionError, SettingError, shortened
from flex_robot_sim.util.share import shipped_robots

__all__ = [
    'TEXT_SOURCE',
    'RobotDescription',
    'read_description',
    'read_text',
    'read_urdf',
    'with_tool',
]

TEXT_SOURCE = '<text>'  # source of a description without a file


def read_description(
    source: str | Path, *, xacro_arguments: Mapping[str, str] | None = None, tool: str = ''
) -> RobotDescription:
    """
    Read a robot description; a DescriptionError names the line and the remedy.

    Xacro is executable: a file with xacro runs with the permissions of the user. Read text from
    untrusted sources by `read_text`.

    :param source: path of a URDF or xacro file, its text, or the name of a shipped robot.
    :param xacro_arguments: {name: value} for a xacro file.
    :param tool: tool link; '': found by name and position, as `flexsim check` shows.

    Example::

        description = frs.read_description('two_link')
        length = description.beam('forearm').length
    """
    return with_tool(_read_source(source, xacro_arguments), tool)


def read_without_flexibility(
    source: str | Path, xacro_arguments: Mapping[str, str] | None = None
) -> RobotDescription:
    """
    Read a robot as a rigid one: its `<flexibility>` may name files that do not exist yet.

    Arguments and errors are those of `read_description`.
    """
    return _read_source(source, xacro_arguments, is_rigid=True)


def _read_source(source, xacro_arguments, is_rigid=False):
    if not isinstance(source, (str, os.PathLike)):
        raise DescriptionError(
            f'a {type(source).__name__}',
            None,
            'this names no robot',
            'Give a path, the name of a shipped robot, or the text of a URDF',
        )
    if isinstance(source, str) and '<' in source:
        return _read(_parse_text(source), is_rigid)
    if xacro_arguments is not None and not isinstance(xacro_arguments, Mapping):
        raise SettingError(
            f'xacro_arguments = {shortened(repr(xacro_arguments), 60)} must be a '
            'dict from names to values'
        )
    path = _find(source)
    # also keeps entity bombs away from xacro
    document = Document(str(path), read_file(path), path.parent)
    if path.suffix == '.xacro' or _has_xacro(document):
        return _read_xacro(path, document, xacro_arguments or {}, is_rigid)
    if xacro_arguments:
        raise DescriptionError(
            path,
            None,
            'this is no xacro file and takes no arguments',
            f'Leave out {", ".join(xacro_arguments)}',
        )
    return _read(document, is_rigid)


def read_urdf(source: str | Path) -> RobotDescription:
    """Read a robot from an untrusted path of a URDF file, or a shipped robot; no xacro."""
    path = _find(source)
    document = Document(str(path), read_file(path), path.parent)
    if path.suffix == '.xacro' or _has_xacro(document):
        raise DescriptionError(
            path, 1, 'the file holds xacro, which would be run', 'Give the expanded URDF'
        )
    return _read(document)


def read_text(text: str, tool: str = '') -> RobotDescription:
    """Read a robot from the text of its URDF only: no path, no name, no xacro."""
    if '<' not in text:
        raise DescriptionError(
            TEXT_SOURCE,
            None,
            'this is no text of a robot',
            'Give the text of a URDF, with xacro expanded',
        )
    return with_tool(_read(_parse_text(text)), tool)


def with_tool(description: RobotDescription, tool: str) -> RobotDescription:
    """Return the RobotDescription with the tool of this name; SettingError if no such link."""
    if not isinstance(tool, str):
        raise SettingError(f'tool = {shortened(repr(tool), 60)} must be the name of a link')
    if not tool:
        return description
    described = replace(description, requested_tool=tool)
    assert described.tool  # raises the error early
    return described


def _read(document, is_rigid=False):
    name, links, joints, constraints, flexibility = read_robot(document)
    gravity = read_gravity(document, flexibility)
    if is_rigid:
        flexibility = None
    joints = split_joints(document, flexibility, links, joints)
    check_mimics(document, joints)
    joints = with_mimics(document, joints, mimic_choice(document, flexibility))
    add_flexibility(document, flexibility, links, joints)
    contacts, world = read_contacts(document, flexibility, links)
    check_bases(document, constraints.values(), links, joints.values())
    ordered_links, ordered_joints = order(document, links, joints)
    ordered_joints = hold_massless_mimics(document, ordered_links, ordered_joints)
    check_free_base(document, ordered_links, ordered_joints)
    check_constraints(document, constraints.values(), links, ordered_joints)
    check_contacts(document, contacts, links, ordered_joints)
    base_motion = read_base_motion(document, flexibility, ordered_joints)
    refuse_loops_of_sliding_links(document, ordered_links, ordered_joints, constraints.values())
    warn_of_foreign_loops(document)
    check_bodies(document, ordered_links, ordered_joints, flexibility is not None)
    return RobotDescription(
        name,
        document.source,
        tuple(ordered_links),
        tuple(ordered_joints),
        tuple(document.warnings),
        document.text,
        constraints=tuple(constraints.values()),
        contacts=tuple(contacts),
        world=tuple(world),
        base_motion=base_motion,
        gravity=gravity,
    )


def read_own_text(text: str, tool: str = '', folder: Path | None = None) -> RobotDescription:
    """Read a robot from a text of this process or its user; it may name any files."""
    return with_tool(_read(_parse_text(text, folder or Path())), tool)


def read_recorded_text(
    text: str, tool: str = '', hashes: Mapping[str, str] | None = None
) -> tuple[RobotDescription, list[str]]:
    """
    Read a recorded robot; links whose reduced file is missing or differs are rigid.

    :param hashes: SHA-256 of the reduced files by link, see `reduced_files`.
    :returns: the robot, and a line for each link that became rigid.
    """
    recorded = RecordedFiles(hashes or {}, [])
    description = with_tool(_read(_parse_text(text, recorded=recorded)), tool)
    return description, recorded.notes


def _parse_text(text, folder=None, recorded=None):
    document = Document(TEXT_SOURCE, text.encode('utf-8', 'replace'), folder, recorded)
    if _has_xacro(document):
        raise DescriptionError(
            TEXT_SOURCE,
            1,
            'the text holds xacro, which needs its files',
            'Give the path of the xacro file, or the expanded text',
        )
    return document


def _find(source):
    """Path of the file that `source` names: a path, or a shipped robot."""
    if not str(source).strip():
        raise DescriptionError(
            f"'{source}'", None, 'no file name was given', 'Give the path of a URDF or xacro file'
        )
    path = Path(source)
    if path.name != str(source) or os.path.isfile(path):
        return path
    robots = shipped_robots()
    suggestion = closest(path.name, robots)
    if path.name not in robots and suggestion and not os.path.exists(path):
        raise DescriptionError(
            path,
            None,
            'the file cannot be read: No such file or directory',
            f'Did you mean the shipped robot "{suggestion}"?',
        )
    return robots.get(path.name, path)


def _read_xacro(path, document, arguments, is_rigid):
    try:
        expanded = Document(f'{path} (expanded)', xacro_file.expand(path, arguments), path.parent)
    except DescriptionError as failure:
        if path.suffix == '.xacro':
            raise
        # robots in use have remains of macros, which robot_state_publisher ignores
        document.warn(
            1,
            f'the xacro in this file is passed over: {failure}',
            'Name the file .xacro, or remove it',
        )
        try:
            return _read(document, is_rigid)
        except DescriptionError:
            raise failure from None
    if _has_xacro(document, 'macro') and expanded.root.find('link') is None:
        raise DescriptionError(
            path, None, 'this file only defines macros', 'Give the file that uses them'
        )
    return _read(expanded, is_rigid)


def _has_xacro(document, word=''):
    # the namespace of xacro has several spellings
    tag = re.compile(rf'{{.*\bros\.org/(wiki/)?xacro}}{word}')
    return any(tag.match(element.tag) for element in document.root.iter('*'))
