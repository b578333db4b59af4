"""
The tool link: the frame at the end of the arm that poses, payloads, pushes and shapers refer to.

Public descriptions name it in many ways, and many end with another frame: a finger, a camera,
or a second frame at the base. Therefore the rule follows the tree first, then the names.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from flex_robot_sim.description.links import Joint, Link
from flex_robot_sim.util.exceptions import SettingError

GRIPPER_WORDS = ('finger', 'gripper', 'jaw', 'knuckle', 'thumb', 'hand')
"""A moving joint with one of these in its name belongs to a gripper: the arm ends before it."""

TOOL_NAMES = (
    'tool',
    'tool0',
    '*hand_tcp*',
    '*tcp*',
    '*tool_frame',
    '*tool_link',
    '*gripper_frame*',
    '*grasping_frame',
    '*eef*',
    'ee_link',
    '*end_effector*',
    'flange',
    'tip',
)
"""Names of tool links, the most specific first; any may have a prefix such as `left_`."""

SENSOR_WORDS = ('camera', 'sensor', 'optical', 'depth', 'imu', 'lidar', 'laser')


class ToolChoice(NamedTuple):
    """The tool link and the reason of its choice."""

    link: str
    reason: str
    candidates: tuple[str, ...]  # links that move rigidly with the end of the arm
    other_ends: tuple[str, ...]  # tools of arms of the same length, later in the file


def choose_tool(
    robot_name: str, links: Sequence[Link], joints: Sequence[Joint], wish: str = ''
) -> ToolChoice:
    """Choose the tool of a robot; SettingError if it has no link with the name `wish`."""
    names = [link.name for link in links]
    if wish:
        if wish not in names:
            raise SettingError(
                f'tool = "{wish}" is no link of {robot_name}. Known: {", ".join(names)}'
            )
        return ToolChoice(wish, 'chosen by name', (wish,), ())
    longest, *other_chains = _ends_of_longest_chains(links, joints)
    link, reason = _tool_among(longest)
    return ToolChoice(
        link, reason, tuple(longest), tuple(_tool_among(end)[0] for end in other_chains)
    )


def note_of_equal_arms(choice: ToolChoice) -> str:
    """Return a note about other arms of the same length, or ''."""
    if not choice.other_ends:
        return ''
    return (
        f'the tool is "{choice.link}"; as many joints move {", ".join(choice.other_ends)}. '
        'Choose another one by its name'
    )


def _ends_of_longest_chains(links, joints):
    """Links [[name]] of each body at the end of a longest chain, in the order of the file."""
    gripper = _gripper_joints(joints)
    base = links[0]
    body_of, is_flexible = {base.name: 0}, {link.name: link.beam is not None for link in links}
    moves, lines, bodies = [0], [base.line], [[base.name]]
    for joint in joints:
        parent = body_of.get(joint.parent)
        if parent is None or joint.name in gripper:
            continue
        # children of a flexible link move relative to it, as by a joint
        if joint.moves or is_flexible[joint.parent]:
            body_of[joint.child] = len(bodies)
            moves.append(moves[parent] + 1)
            lines.append(joint.line)
            bodies.append([joint.child])
        else:
            body_of[joint.child] = parent
            bodies[parent].append(joint.child)
    ends = [body for body, count in enumerate(moves) if count == max(moves)]
    return [bodies[body] for body in sorted(ends, key=lambda body: lines[body])]


def _gripper_joints(joints):
    """Names of the gripper joints."""
    gripper = {
        joint.name
        for joint in joints
        if joint.mimics or joint.moves and _has_a_word(joint.name, GRIPPER_WORDS)
    }
    # the driven joint of a gripper may have another name than the fingers that mimic it
    gripper |= {
        joint.mimics for joint in joints if joint.mimics and _has_a_word(joint.name, GRIPPER_WORDS)
    }
    # a robot that consists of a hand only has no arm
    return gripper if gripper < {joint.name for joint in joints if joint.kind != 'fixed'} else ()


def _tool_among(links):
    """Return the tool among the links of one body, and the reason."""
    for pattern in TOOL_NAMES:
        for name in links:
            if _matches(name.lower(), pattern):
                return name, f'its name matches "{pattern}"'
    without_sensors = [name for name in links if not _has_a_word(name, SENSOR_WORDS)]
    return (without_sensors or links)[-1], 'the last link of the longest chain'


def _matches(name, pattern):
    return fnmatchcase(name, pattern) or any(
        fnmatchcase(name, f'*{separator}{pattern}') for separator in '_-/.'
    )


def _has_a_word(name, words):
    return any(word in name.lower() for word in words)
