"""Recorded run of an arm: joints, targets, tips, efforts, and diagnostics of the nodes."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from flex_robot_sim.description import read_recorded_text
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.model.payload import with_payload
from flex_robot_sim.recording.mcap_file import ENCODING, SCHEMA, RecordedTopic, RecordingReader
from flex_robot_sim.recording.simulated import REDUCED_FILES
from flex_robot_sim.recording.tally import Tally
from flex_robot_sim.reports.series import NANOSECOND, Series, SeriesBuilder
from flex_robot_sim.ros import topics
from flex_robot_sim.ros.cdr import MessageError, decode
from flex_robot_sim.ros.definitions import DefinitionError, MessageType, message_type, short_name
from flex_robot_sim.ros.topics import topic_words
from flex_robot_sim.util.exceptions import FlexRobotSimError, UsageError
from flex_robot_sim.util.summary import summarized

JOINT_STATES, DIAGNOSTICS = topics.JOINT_STATES.name, topics.DIAGNOSTICS.name
STATE_TOPICS = (topics.JOINT_STATES, topics.MOTOR_STATES, topics.FLEX_STATES, topics.STRAIN)
STATE_FIELDS = 'position', 'velocity', 'effort'
TIP_TOPIC_ENDING = f'/{topics.TIP_DEFLECTION.last_word}'
EVENT_TOPICS = {
    topics.PUSH.name: 'push',
    topics.REFERENCE.name: 'reference',
    topics.TRAJECTORY.name: 'trajectory',
}
BASE_NAMES = (
    *(f'base/{axis}' for axis in 'xyz'),
    *(f'base/quaternion_{axis}' for axis in 'xyzw'),
    *(f'base/{word}_{axis}' for word in ('angular', 'linear') for axis in 'xyz'),
)
EMPTY_SERIES = Series(np.zeros(0), np.zeros((0, 0)), ())


@summarized
@dataclass
class RecordedRun:
    """Data of one arm in a recording; time starts at its first joint state [s]."""

    path: Path
    metadata: dict[str, str]
    parameters: dict[str, dict[str, Any]]  # by node, without its namespace
    notes: list[str]
    tallies: list[Tally]
    namespace: str  # of the arm, '' or '/left'
    arm: ArmModel | None = None
    position: Series = EMPTY_SERIES  # of joints                        [rad, m]
    velocity: Series = EMPTY_SERIES
    effort: Series = EMPTY_SERIES  # of motors                        [N m, N]
    target: Series = EMPTY_SERIES
    motor_velocity: Series = EMPTY_SERIES
    motor_position: Series = EMPTY_SERIES
    flex: Series = EMPTY_SERIES  # elastic coordinates
    flex_rate: Series = EMPTY_SERIES
    strain: Series = EMPTY_SERIES
    base: Series = EMPTY_SERIES  # pose (7) of a free base [m] and its twist (6) [rad/s, m/s]
    tips: dict[str, Series] = field(default_factory=dict)  # x, y, z               [m]
    commands: Series = EMPTY_SERIES
    delays: Series = EMPTY_SERIES  # from a state to its command      [s]
    arrival: np.ndarray = field(default_factory=lambda: np.zeros(0))  # of joint states  [s]
    diagnostics: dict[str, Series] = field(default_factory=dict)  # figures, by node
    events: list[tuple[float, str]] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Name of the robot, if the recording has it."""
        if self.arm is not None:
            return self.arm.description.name
        return self.metadata.get('robot', 'an unknown robot')

    @property
    def seconds(self) -> float:
        """Duration of the recorded joint states [s]."""
        return float(self.position.time[-1])

    def unit(self, joint: str) -> str:
        """Return rad or m; rad if the robot is unknown."""
        if self.arm is None or joint not in self.arm.joint_names:
            return 'rad'
        return self.arm.description.joint(joint).type.unit


def read_run(path: str | Path, namespace: str = '') -> RecordedRun:
    """Return the RecordedRun of a file; UsageError if it has no joint states."""
    reader = RecordingReader(path)
    messages = _MessageCollector(reader, namespace)
    joints = messages.rows.get(JOINT_STATES)
    if joints is None or len(joints['position']) < 2:
        topics = sorted(tally.name for tally in messages.tallies.values())
        listed = f': it has {", ".join(topics[:8])}' if topics else ''
        raise UsageError(
            f'{reader.path}: there are no joint states in it{listed}. Record '
            f'{messages.namespace}/{JOINT_STATES}.'
        )
    run = RecordedRun(
        reader.path,
        reader.about,
        _parameters(reader.facts, messages.namespace),
        [*reader.notes, *messages.notes],
        list(messages.tallies.values()),
        messages.namespace,
    )
    hashes = reader.facts.get(REDUCED_FILES) or _reduced_files(run.parameters)
    run.arm = _arm(run, messages.description, hashes)
    clock = _RunClock(joints['position'].times, joints['position'].stamps)
    run.arrival = (joints['position'].times - clock.first) * NANOSECOND
    states = {
        topic: {
            word: rows.series(clock.of_stamps(rows.stamps, rows.times))
            for word, rows in parts.items()
            if len(rows)
        }
        for topic, parts in messages.rows.items()
    }
    (
        (run.position, run.velocity, run.effort),
        (run.motor_position, run.motor_velocity, _),
        (run.flex, run.flex_rate, _),
        (run.strain, _, _),
    ) = (
        [states.get(topic.name, {}).get(word, EMPTY_SERIES) for word in STATE_FIELDS]
        for topic in STATE_TOPICS
    )
    _add_other_topics(run, messages, clock)
    return run


def _add_other_topics(run, messages, clock):
    links_by_word = (
        {} if run.arm is None else {word: link for link, word in topic_words(run.arm.tips).items()}
    )
    run.tips = {
        links_by_word.get(word, word): rows.series(clock.of_stamps(rows.stamps, rows.times))
        for word, rows in messages.tips.items()
        if len(rows) > 1
    }
    if len(messages.base):
        rows = messages.base
        run.base = rows.series(clock.of_stamps(rows.stamps, rows.times))
    if len(messages.target):
        run.target = messages.target.series(clock.of_times(messages.target.times))
    if len(messages.commands):
        rows = messages.commands
        run.commands = rows.series(clock.of_stamps(rows.stamps, rows.times))
        run.delays = _delays(rows, messages.rows[JOINT_STATES]['position'], clock)
    run.diagnostics = {
        node: _diagnostics(rows, clock) for node, rows in messages.diagnostics.items()
    }
    run.events = [
        (float(clock.of_times(np.array([time]))[0]), event) for time, event in messages.events
    ]


class _MessageCollector:
    """Collects the messages of one arm in a pass through a recording."""

    def __init__(self, reader: RecordingReader, namespace: str) -> None:
        chosen = f'/{namespace.strip("/")}' if namespace.strip('/') else None
        self.namespace = chosen or ''
        self.rows: dict[str, dict[str, SeriesBuilder]] = {}
        self.tips: dict[str, SeriesBuilder] = {}
        self.target = self.commands = SeriesBuilder(())
        self.base = SeriesBuilder(BASE_NAMES)
        self.diagnostics: dict[str, list[tuple[int, dict[str, float]]]] = {}
        self.events: list[tuple[int, str]] = []
        self.description, self.notes = '', []
        self.tallies: dict[RecordedTopic, Tally] = {}
        self._kinds: dict[RecordedTopic, MessageType | None] = {}
        self._handlers = {
            (topic.name.strip('/'), short_name(topic.kind)): handler
            for topic, handler in (
                *((topic, self._take_states) for topic in STATE_TOPICS),
                (topics.TARGET, partial(self._take_joints, 'target', 'position')),
                (topics.JOINT_COMMANDS, partial(self._take_joints, 'commands', 'effort')),
                (topics.BASE_ODOMETRY, self._take_base),
                (topics.DIAGNOSTICS, self._take_diagnostics),
                (topics.ROBOT_DESCRIPTION, self._take_description),
            )
        }
        # take the first arm in the file; its states may come after other topics
        if chosen is None:
            namespaces = list(
                dict.fromkeys(
                    topic.name[: -len(JOINT_STATES) - 1]
                    for topic, _, _ in reader
                    if topic.name.endswith(f'/{JOINT_STATES}')
                    and self._kind(topic) is not None
                    and not topic.name.endswith(f'/{topics.TWIN_JOINT_STATES.name}')
                )
            )
            self.namespace = namespaces[0] if namespaces else ''
            if len(namespaces) > 1:
                self.notes.append(
                    f'there are several arms in it: this is {self.namespace or "/"}, others are '
                    f'{", ".join(namespace or "/" for namespace in namespaces[1:])} (--namespace)'
                )
        for topic, time, data in reader:
            tally = self.tallies.get(topic)
            if tally is None:
                tally = self.tallies[topic] = Tally(topic.name, topic.kind)
            tally.take(time, None)
            self._take(topic, time, data)

    def _kind(self, topic):
        if topic not in self._kinds:
            try:
                is_known = (topic.encoding, topic.schema) == (ENCODING, SCHEMA)
                self._kinds[topic] = message_type(topic.kind, topic.text) if is_known else None
            except DefinitionError:
                self._kinds[topic] = None
        return self._kinds[topic]

    def _take(self, topic, time, data):
        kind = self._kind(topic)
        if kind is None or not (
            topic.name.startswith(f'{self.namespace}/') or topic.name == DIAGNOSTICS
        ):
            return
        name = DIAGNOSTICS.strip('/')
        if topic.name != DIAGNOSTICS:
            name = topic.name[len(self.namespace) + 1 :]
        handler = self._handler(name, kind.name)
        if handler is None:
            return
        try:
            message = decode(kind, data)
        except MessageError:
            return
        handler(name, time, message)

    def _handler(self, name, kind):
        handler = self._handlers.get((name, kind))
        if handler is not None:
            return handler
        if name.endswith(TIP_TOPIC_ENDING) and kind == short_name(topics.TIP_DEFLECTION.kind):
            return self._take_tip
        return self._take_event if name in EVENT_TOPICS else None

    def _take_states(self, name, time, message):
        names, stamp = message['name'], _stamp(message)
        parts = self.rows.setdefault(name, {word: SeriesBuilder(names) for word in STATE_FIELDS})
        for word, rows in parts.items():
            if len(message[word]):
                rows.add(time, stamp, names, message[word])

    def _take_joints(self, series, word, _name, time, message):
        if not getattr(self, series).names:
            setattr(self, series, SeriesBuilder(message['name']))
        getattr(self, series).add(time, _stamp(message), message['name'], message[word])

    def _take_tip(self, name, time, message):
        position = message['pose']['position']
        rows = self.tips.setdefault(name[: -len(TIP_TOPIC_ENDING)], SeriesBuilder('xyz'))
        rows.add(time, _stamp(message), 'xyz', (position[axis] for axis in 'xyz'))

    def _take_base(self, _name, time, message):
        pose, twist = message['pose']['pose'], message['twist']['twist']
        row = [
            *(pose['position'][axis] for axis in 'xyz'),
            *(pose['orientation'][axis] for axis in 'xyzw'),
            *(twist[word][axis] for word in ('angular', 'linear') for axis in 'xyz'),
        ]
        self.base.add(time, _stamp(message), BASE_NAMES, row)

    def _take_diagnostics(self, _name, time, message):
        for status in message['status']:
            node = status['name'].partition(':')[0].rstrip()
            if not node.startswith(f'{self.namespace}/'):
                continue
            figures = {}
            for item in status['values']:
                try:
                    figures[item['key']] = float(item['value'])
                except ValueError:
                    continue
            self.diagnostics.setdefault(node[len(self.namespace) + 1 :], []).append(
                (time, figures)
            )

    def _take_description(self, _name, _time, message):
        self.description = self.description or message['data']

    def _take_event(self, name, time, _message):
        if (
            not self.events
            or self.events[-1][1] != EVENT_TOPICS[name]
            or (time - self.events[-1][0]) * NANOSECOND > 1.0
        ):  # close messages are one event
            self.events.append((time, EVENT_TOPICS[name]))


class _RunClock:
    """Time of the run, from stamps of joint states or from their receive times."""

    def __init__(self, times: np.ndarray, stamps: np.ndarray) -> None:
        # a reset sets simulated time back, and some publishers leave stamps empty
        self._has_stamps = bool((np.diff(stamps) > 0).all())
        order = np.argsort(times, kind='stable')
        self._times, self._stamps = times[order], stamps[order]
        self._begin = int(stamps[0]) if self._has_stamps else int(self._times[0])
        self.first = int(self._times[0])

    def of_times(self, times):
        """Time of the run (k,) for receive times [s]."""
        if not self._has_stamps:
            return (times - self._begin) * NANOSECOND
        inside = np.interp(
            (times - self.first) * NANOSECOND,
            (self._times - self.first) * NANOSECOND,
            (self._stamps - self._begin) * NANOSECOND,
        )
        clipped = np.clip(times, self._times[0], self._times[-1])
        return inside + (times - clipped) * NANOSECOND

    def of_stamps(self, stamps, times):
        """Time of the run (k,) for header stamps of the arm [s]."""
        is_near = (
            self._has_stamps
            and len(stamps)
            and (
                stamps.min() > self._begin - 60 / NANOSECOND
                and stamps.max() < self._stamps[-1] + 60 / NANOSECOND
            )
        )
        return (stamps - self._begin) * NANOSECOND if is_near else self.of_times(times)


def _delays(commands, states, clock):
    """Delays from the arrival of a state to the arrival of the command with its stamp [s]."""
    arrival_by_stamp = dict(zip(states.stamps.tolist(), states.times.tolist()))
    pairs = [
        (time, (time - arrival_by_stamp[stamp]) * NANOSECOND)
        for stamp, time in zip(commands.stamps.tolist(), commands.times.tolist())
        if stamp in arrival_by_stamp
    ]
    if not pairs:
        return EMPTY_SERIES
    times, delays = map(np.array, zip(*pairs))
    return Series(clock.of_times(times), delays[:, None], ('state to command',))


def _diagnostics(rows: Iterable[tuple[int, dict[str, float]]], clock: _RunClock) -> Series:
    rows = list(rows)
    names = tuple(dict.fromkeys(key for _, figures in rows for key in figures))
    values = np.array([[figures.get(name, np.nan) for name in names] for _, figures in rows])
    return Series(
        clock.of_times(np.array([time for time, _ in rows])),
        values.reshape(len(rows), len(names)),
        names,
    )


def _stamp(message):
    stamp = message['header']['stamp']
    return stamp['sec'] * 1_000_000_000 + stamp['nanosec']


def _parameters(metadata, namespace):
    """{node: {name: value}} from the metadata of the recorder."""
    parameters_by_node: dict[str, dict[str, Any]] = {}
    for name, texts in metadata.items():
        node = name.partition('parameters ')[2]
        if node.startswith(f'{namespace}/'):
            values = parameters_by_node[node[len(namespace) + 1 :]] = {}
            for key, text in texts.items():
                try:
                    values[key] = json.loads(text)
                except ValueError:
                    values[key] = text
    return parameters_by_node


def _reduced_files(parameters_by_node):
    """SHA-256 of the files of reduced links by link, from the parameters of the nodes."""
    for values in parameters_by_node.values():
        try:
            found = json.loads(values.get('reduced_files') or '{}')
        except (TypeError, ValueError):
            continue
        if found and isinstance(found, dict):
            return found
    return {}


def _arm(run, description, hashes):
    """Return the model of the recorded arm, or None and add a note."""
    if not description:
        run.notes.append(
            'the robot is not in it: there are no energies, no predicted frequencies '
            'and no moving picture'
        )
        return None
    settings: dict[str, Any] = next(
        (
            run.parameters[node]
            for node in ('dynamics', 'bridge', 'controller')
            if node in run.parameters
        ),
        {},
    )
    try:
        gravity = (
            [float(word) for word in run.metadata['gravity'].split()]
            if 'gravity' in run.metadata
            else settings.get('gravity') or None
        )
        robot, notes = read_recorded_text(description, hashes=hashes)
        run.notes += notes
        return _with_recorded_payload(
            build_arm(
                robot,
                run.metadata.get('coupling') or settings.get('coupling') or 'shortening',
                gravity,
            ),
            settings,
        )
    except (FlexRobotSimError, TypeError, ValueError) as error:  # text in place of numbers
        run.notes.append(f'the robot of the recording cannot be read: {error}')
        return None


def _with_recorded_payload(arm, settings):
    """Return the arm with the payload in the recorded parameters."""
    link, mass = settings.get('payload_link'), settings.get('payload_mass')
    if not (link and mass):
        return arm
    return with_payload(arm, link, mass, centre=settings.get('payload_centre') or (0.0, 0.0, 0.0))
