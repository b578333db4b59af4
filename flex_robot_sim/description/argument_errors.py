"""Reading of a URDF that was built from code: messages name arguments instead of lines."""

import re
from dataclasses import replace
from pathlib import Path

from flex_robot_sim.description import TEXT_SOURCE, read_own_text
from flex_robot_sim.description.document import Document
from flex_robot_sim.description.flexibility import add_flexibility
from flex_robot_sim.description.multi_dof_joint import split_joints
from flex_robot_sim.description.robot import RobotDescription
from flex_robot_sim.description.urdf import read_robot
from flex_robot_sim.util.exceptions import DescriptionError, SettingError

# words of the reader's messages about XML, and those of the calls of `ArmBuilder`
_ARGUMENT_OF_WORD = (
    (r', or remove (it|the joint) from <flexibility>', ''),
    (r'Remove it from <flexibility>', 'Give it a type that moves'),
    (r"the friction into the joint's <dynamics>", 'the friction into viscous_friction'),
    (r' in its <dynamics>', ''),
    (r' in <(modes|elements)>', ''),
    (r'(\w+)="0"', r'\1=0'),
    (r'0 <= from <= to <= length', '0 <= start <= end <= length'),
    (r'(an|the) <inertial>( of)?', r'mass and inertia\2'),
    (r'<origin>', 'xyz'),
    (r'end="x y z"', 'length or end'),
    (r'="([-\d.]+) ([-\d.]+) ([-\d.]+)"', r'=(\1, \2, \3)'),
    (r'Add <(\w+) xyz="\.\.\."/>', r'Give \1'),
    (r'<(\w+)>', r'\1'),
)

_PLACE = re.compile(rf'^{TEXT_SOURCE}(:\d+)?: ')


def expect_valid_parts(text: str) -> None:
    """Raise SettingError if links and joints of a text are unusable; they may lack parents."""
    document = Document(TEXT_SOURCE, text.encode(), Path())
    try:
        _, links, joints, _, flexibility = read_robot(document)
        joints = split_joints(document, flexibility, links, joints)
        add_flexibility(document, flexibility, links, joints)
    except DescriptionError as error:
        raise SettingError(_about_arguments(error)) from None


def read_built(text: str, source: str, tool: str) -> RobotDescription:
    """Return the RobotDescription of a text; its source is named in messages."""
    try:
        description = read_own_text(text, tool)
    except DescriptionError as error:
        raise SettingError(f'{source}: {_about_arguments(error)}') from None
    warnings = [f'{source}: {_about_arguments(line)}' for line in description.warnings]
    constraints = tuple(replace(one, line=0) for one in description.constraints)
    return replace(description, source=source, warnings=tuple(warnings), constraints=constraints)


def _about_arguments(message):
    """Return a message of the reader without its line, in words of the builder."""
    text = _PLACE.sub('', str(message))
    for pattern, replacement in _ARGUMENT_OF_WORD:
        text = re.sub(pattern, replacement, text)
    return text
