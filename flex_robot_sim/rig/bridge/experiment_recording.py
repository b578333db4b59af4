"""
Log of an experiment as a recording: telemetry as messages, everything else as metadata.

The file format is that of docs/recording.md, so every reader of recordings can open it. The topic
`telemetry` has the two times and the fields of a TELEMETRY; `robot_description` has the robot.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from flex_robot_sim.recording.mcap_file import RecordingReader, RecordingWriter
from flex_robot_sim.recording.messages import SECOND, TEXTS, text
from flex_robot_sim.rig.host.link_session import Reading
from flex_robot_sim.rig.wire.protocol import Telemetry
from flex_robot_sim.ros.cdr import MessageError, decode, encode
from flex_robot_sim.ros.definitions import DefinitionError, message_type
from flex_robot_sim.ros.topics import ROBOT_DESCRIPTION, TEXT

MAGIC = b'\x89MCAP'
KIND, TOPIC, ABOUT = 'flex_robot_sim/msg/Telemetry', '/telemetry', 'experiment'
FIELDS = Telemetry._fields
COLUMNS = ('stamp', 'arrived', *FIELDS)  # both [s], on a clock that never jumps


def is_number(name: str) -> bool:
    """Whether a field of telemetry is a floating-point number."""
    return Telemetry.__annotations__[name].__origin__ is float


DEFINITION = ''.join(
    f'{"int64" if name in FIELDS and not is_number(name) else "float64"} {name}\n'
    for name in COLUMNS
)


class ExperimentRecording:
    """Writer of a telemetry recording; `failure` holds the reason of a failed write."""

    def __init__(self, path: Path, about: Mapping[str, Any]) -> None:
        """Create the file; UsageError if it cannot be written, or exists already."""
        self._writer = RecordingWriter(
            path,
            {
                'coupling': about['coupling'],
                'gravity': ' '.join(f'{value:.9g}' for value in about['gravity']),
            },
            is_new=True,
        )
        self._writer.note(ABOUT, {'about': json.dumps(about)})
        self._kind = message_type(KIND, DEFINITION)
        self._topic = self._writer.topic(TOPIC, KIND, DEFINITION)
        self._robot = text(about['robot'])

    @property
    def failure(self) -> str:
        """Reason why writing has stopped, or ''."""
        return self._writer.failure

    def write(self, readings: Iterable[Reading]) -> None:
        """Add readings and flush the file."""
        for reading in readings:
            stamp, arrived = reading.stamp, reading.arrived
            message: tuple[Any, ...] = reading.message
            if self._robot:
                robot = self._writer.topic(f'/{ROBOT_DESCRIPTION.name}', TEXT, TEXTS[TEXT], True)
                self._writer.write(robot, round(arrived * SECOND), self._robot)
                self._robot = b''
            values = {
                name: value if is_number(name) else int(value)
                for name, value in zip(FIELDS, message)
            }
            self._writer.write(
                self._topic,
                round(arrived * SECOND),
                encode(self._kind, {'stamp': stamp, 'arrived': arrived, **values}),
            )
        self._writer.flush()

    def close(self) -> None:
        """End the file; may be called twice. UsageError if it could not be written."""
        self._writer.close()


def read_recording(path: str | Path) -> tuple[Any, list[list[str]]]:
    """
    Return the metadata of an experiment, and its rows as the words of a CSV log.

    Missing metadata is None, and missing rows are an empty list. UsageError if the file is no
    recording.
    """
    reader, kinds, rows = RecordingReader(path), {}, []
    for topic, _, data in reader:
        if topic.name != TOPIC:
            continue
        try:
            if topic not in kinds:
                kinds[topic] = message_type(topic.kind, topic.text)
            values = decode(kinds[topic], data)
        except (DefinitionError, MessageError):
            continue
        rows.append([repr(values.get(name)) for name in COLUMNS])
    try:
        return json.loads(reader.facts.get(ABOUT, {}).get('about', 'null')), rows
    except (ValueError, RecursionError):
        return None, rows
