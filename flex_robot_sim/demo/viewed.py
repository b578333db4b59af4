"""The node `view` for a replayed recording, started with the robot of the recording."""

import contextlib
import math
import queue
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from flex_robot_sim.demo.children import Children
from flex_robot_sim.demo.screen import Screen
from flex_robot_sim.description import read_recorded_text
from flex_robot_sim.recording.mcap_file import RecordingReader
from flex_robot_sim.ros.cdr import MessageError, decode
from flex_robot_sim.ros.definitions import DefinitionError, message_type
from flex_robot_sim.ros.topics import ROBOT_DESCRIPTION
from flex_robot_sim.system.processes import VIEW, Program, command
from flex_robot_sim.util.exceptions import DescriptionError, UsageError
from flex_robot_sim.util.settings import write_yaml

TOPIC = f'/{ROBOT_DESCRIPTION.name}'
_VALID_TOPIC = re.compile(r'(/[A-Za-z_]\w*)*' + TOPIC, re.ASCII)  # valid names of ROS


@contextlib.contextmanager
def viewed(reader: RecordingReader, screen: Screen) -> Iterator[str]:
    """
    Show the arm of a recording in browsers in this context, and print the address.

    The context yields the full name of the node.
    """
    namespace, text = _robot_of(reader)
    with tempfile.TemporaryDirectory() as folder, Children() as children:
        # pass the text of the URDF: a file with xacro would be expanded
        path = Path(folder) / 'recorded.yaml'
        values = {'robot': text, **_gravity_of(reader)}
        write_yaml(path, {'/**': {'ros__parameters': values}}, ['the recorded robot'])
        children.start(
            VIEW,
            command(
                Program(VIEW, {'thread_priority': 0}, namespace=namespace, params_file=str(path))
            ),
        )
        screen.show('waiting for the view')
        line = ''
        while '?token=' not in line:
            exit_report = children.exit_report()
            if exit_report:
                raise UsageError(exit_report)
            try:
                _, line = children.lines.get(timeout=0.2)
            except queue.Empty:
                continue
        screen.show('')
        screen.say(line)
        yield f'/{namespace}/{VIEW}' if namespace else f'/{VIEW}'


def _gravity_of(reader):
    """Parameter `gravity` of a recorded simulation, if it is in the recording."""
    with contextlib.suppress(KeyError, ValueError):
        gravity = [float(word) for word in reader.about['gravity'].split()]
        if len(gravity) == 3 and all(map(math.isfinite, gravity)):
            return {'gravity': gravity}
    return {}


def _robot_of(reader):
    """Namespace and URDF of the first robot in a recording; xacro is never expanded."""
    for topic, _, data in reader:
        if _VALID_TOPIC.fullmatch(topic.name):
            with contextlib.suppress(MessageError, DefinitionError, KeyError):
                kind = message_type(topic.kind, topic.text)
                text = decode(kind, data)['data']
                try:
                    read_recorded_text(text)
                except DescriptionError as error:
                    raise UsageError(
                        f'{reader.path}: the robot in it cannot be shown: {error} '
                        'Or leave --view out.'
                    ) from error
                return topic.name[: -len(TOPIC)].strip('/'), text
    raise UsageError(
        f'{reader.path}: there is no robot_description in it, without which nothing '
        'can be shown: leave --view out'
    )
