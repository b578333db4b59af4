"""A run of an arm as a recording holds it: joints, targets, tips, efforts, and what nodes said."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flex_robot_sim.analysis.payload import with_payload
from flex_robot_sim.description import read_text
from flex_robot_sim.model.assembly import GRAVITY, build_arm
from flex_robot_sim.recording.cdr import MessageError, decode
from flex_robot_sim.recording.definitions import DefinitionError, MessageType, message_type
from flex_robot_sim.recording.mcap_file import ENCODING, SCHEMA, RecordingReader, Topic
from flex_robot_sim.recording.tally import Tally
from flex_robot_sim.recording.topic_words import topic_words
from flex_robot_sim.reports.series import SECOND, Growing, Series
from flex_robot_sim.util.exceptions import FlexRobotSimError, UsageError
from flex_robot_sim.util.summary import summarized

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmModel

JOINTS, TEXT, POSE = 'sensor_msgs/JointState', 'std_msgs/String', 'geometry_msgs/PoseStamped'
DIAGNOSTICS = 'diagnostic_msgs/DiagnosticArray'
STATE, TIP = 'joint_states', '/tip_deflection'
STATES = ('joint_states', 'motor_states', 'flex_states', 'strain')
EVENTS = {'push': 'push', 'controller/reference': 'reference', 'joint_trajectory': 'trajectory'}
EMPTY = Series(np.zeros(0), np.zeros((0, 0)), ())


@summarized
@dataclass
class RecordedRun:
    """What a recording says of one arm; time counts from its first joint state [s]."""

    path: Path
    about: dict[str, str]
    parameters: dict[str, dict[str, Any]]       # by node, without its namespace
    notes: list[str]
    tallies: list[Tally]
    space: str                                  # namespace of the arm, '' or '/left'
    arm: ArmModel | None = None
    position: Series = EMPTY                    # of joints                      [rad, m]
    velocity: Series = EMPTY
    effort: Series = EMPTY                      # of motors                      [N m, N]
    target: Series = EMPTY
    motor_velocity: Series = EMPTY
    motor_position: Series = EMPTY
    flex: Series = EMPTY                        # elastic coordinates
    flex_rate: Series = EMPTY
    strain: Series = EMPTY
    tips: dict[str, Series] = field(default_factory=dict)   # x, y, z            [m]
    commands: Series = EMPTY
    delays: Series = EMPTY                      # from a state to its command    [s]
    arrival: np.ndarray = field(default_factory=lambda: np.zeros(0))    # of joint states  [s]
    spoken: dict[str, Series] = field(default_factory=dict)  # figures of a node, by node
    events: list[tuple[float, str]] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Name of the robot, as far as anybody has told."""
        if self.arm is not None:
            return self.arm.description.name
        return self.about.get('robot', 'an unknown robot')

    @property
    def seconds(self) -> float:
        """How long the joints were seen."""
        return float(self.position.time[-1])

    def unit(self, joint: str) -> str:
        """Return rad or m; rad where the robot is not known."""
        if self.arm is None or joint not in self.arm.joint_names:
            return 'rad'
        return 'm' if self.arm.description.joint(joint).kind == 'prismatic' else 'rad'


def read_run(path: str | Path, namespace: str = '') -> RecordedRun:
    """Return the RecordedRun of a file; UsageError where there are no joint states in it."""
    reader = RecordingReader(path)
    messages = _Messages(reader, namespace)
    joints = messages.rows.get(STATE)
    if joints is None or len(joints['position']) < 2:
        found = sorted(tally.name for tally in messages.tallies.values())
        listed = f': it has {", ".join(found[:8])}' if found else ''
        raise UsageError(f'{reader.path}: there are no joint states in it{listed}. Record '
                         f'{messages.space}/{STATE}.')
    run = RecordedRun(reader.path, reader.about, _parameters(reader.facts, messages.space),
                      [*reader.notes, *messages.notes], list(messages.tallies.values()),
                      messages.space)
    run.arm = _arm(run, messages.description)
    clock = _Clock(joints['position'].times, joints['position'].stamps)
    run.arrival = (joints['position'].times - clock.first) * SECOND
    states = {topic: {word: rows.series(clock.of_stamps(rows.stamps, rows.times))
                      for word, rows in parts.items() if len(rows)}
              for topic, parts in messages.rows.items()}
    run.position = states[STATE]['position']
    run.velocity = states[STATE].get('velocity', EMPTY)
    run.effort = states[STATE].get('effort', EMPTY)
    run.motor_position = states.get('motor_states', {}).get('position', EMPTY)
    run.motor_velocity = states.get('motor_states', {}).get('velocity', EMPTY)
    run.flex = states.get('flex_states', {}).get('position', EMPTY)
    run.flex_rate = states.get('flex_states', {}).get('velocity', EMPTY)
    run.strain = states.get('strain', {}).get('position', EMPTY)
    _take_others(run, messages, clock)
    return run


def _take_others(run, messages, clock):
    words = {} if run.arm is None else {
        word: link for link, word in topic_words(run.arm.tips).items()}
    run.tips = {words.get(word, word): rows.series(clock.of_stamps(rows.stamps, rows.times))
                for word, rows in messages.tips.items() if len(rows) > 1}
    if len(messages.target):
        run.target = messages.target.series(clock.of_times(messages.target.times))
    if len(messages.commands):
        rows = messages.commands
        run.commands = rows.series(clock.of_stamps(rows.stamps, rows.times))
        run.delays = _delays(rows, messages.rows[STATE]['position'], clock)
    run.spoken = {node: _spoken(rows, clock) for node, rows in messages.spoken.items()}
    run.events = [(float(clock.of_times(np.array([time]))[0]), what)
                  for time, what in messages.events]


class _Messages:
    """One pass through a recording: what is of the arm, as it came."""

    def __init__(self, reader: RecordingReader, namespace: str) -> None:
        wish = f'/{namespace.strip("/")}' if namespace.strip('/') else None
        self.space = wish or ''
        self.rows: dict[str, dict[str, Growing]] = {}
        self.tips: dict[str, Growing] = {}
        self.target = self.commands = Growing(())
        self.spoken: dict[str, list[tuple[int, dict[str, float]]]] = {}
        self.events: list[tuple[int, str]] = []
        self.description, self.notes = '', []
        self.tallies: dict[Topic, Tally] = {}
        self._kinds: dict[Topic, MessageType | None] = {}
        # of all arms in it the first is taken, whose states may come after other topics
        if wish is None:
            spaces = list(dict.fromkeys(
                topic.name[:-len(STATE) - 1] for topic, _, _ in reader
                if topic.name.endswith(f'/{STATE}') and self._kind(topic) is not None
                and not topic.name.endswith('/twin/joint_states')))
            self.space = spaces[0] if spaces else ''
            if len(spaces) > 1:
                self.notes.append(f'there are several arms in it: this is {self.space or "/"}, '
                                  f'others are {", ".join(space or "/" for space in spaces[1:])} '
                                  '(--namespace)')
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
        if kind is None or not (topic.name.startswith(f'{self.space}/')
                                or topic.name == '/diagnostics'):
            return
        name = topic.name[len(self.space) + 1:] if topic.name != '/diagnostics' else 'diagnostics'
        takes = self._taker(name, kind.name)
        if takes is None:
            return
        try:
            message = decode(kind, data)
        except MessageError:
            return
        takes(name, time, message)

    def _taker(self, name, kind):
        if kind == JOINTS and name in STATES:
            return self._take_states
        if kind == JOINTS and name == 'controller/target':
            return self._take_target
        if kind == JOINTS and name == 'joint_commands':
            return self._take_command
        if kind == POSE and name.endswith(TIP):
            return self._take_tip
        if kind == DIAGNOSTICS and name == 'diagnostics':
            return self._take_diagnostics
        if kind == TEXT and name == 'robot_description':
            return self._take_description
        return self._take_event if name in EVENTS else None

    def _take_states(self, name, time, message):
        names, stamp = message['name'], _stamp(message)
        parts = self.rows.setdefault(name, {word: Growing(names) for word in (
            'position', 'velocity', 'effort')})
        for word, rows in parts.items():
            if len(message[word]):
                rows.add(time, stamp, names, message[word])

    def _take_target(self, name, time, message):
        if not self.target.names:
            self.target = Growing(message['name'])
        self.target.add(time, _stamp(message), message['name'], message['position'])

    def _take_command(self, name, time, message):
        if not self.commands.names:
            self.commands = Growing(message['name'])
        self.commands.add(time, _stamp(message), message['name'], message['effort'])

    def _take_tip(self, name, time, message):
        place = message['pose']['position']
        rows = self.tips.setdefault(name[:-len(TIP)], Growing('xyz'))
        rows.add(time, _stamp(message), 'xyz', (place[axis] for axis in 'xyz'))

    def _take_diagnostics(self, name, time, message):
        for status in message['status']:
            node = status['name'].partition(':')[0].rstrip()
            if not node.startswith(f'{self.space}/'):
                continue
            figures = {}
            for item in status['values']:
                try:
                    figures[item['key']] = float(item['value'])
                except ValueError:
                    continue
            self.spoken.setdefault(node[len(self.space) + 1:], []).append((time, figures))

    def _take_description(self, name, time, message):
        self.description = self.description or message['data']

    def _take_event(self, name, time, message):
        if not self.events or self.events[-1][1] != EVENTS[name] or (
                time - self.events[-1][0]) * SECOND > 1.0:      # a stream is one event
            self.events.append((time, EVENTS[name]))


class _Clock:
    """Time of the run, from stamps of joint states or from when they came."""

    def __init__(self, times: np.ndarray, stamps: np.ndarray) -> None:
        # a reset sets simulated time back, and some who send leave stamps out
        self._has_stamps = bool((np.diff(stamps) > 0).all())
        order = np.argsort(times, kind='stable')
        self._times, self._stamps = times[order], stamps[order]
        self._begin = int(stamps[0]) if self._has_stamps else int(self._times[0])
        self.first = int(self._times[0])

    def of_times(self, times):
        """Time of the run (k,) at which something came [s]."""
        if not self._has_stamps:
            return (times - self._begin) * SECOND
        here = np.interp((times - self.first) * SECOND, (self._times - self.first) * SECOND,
                         (self._stamps - self._begin) * SECOND)
        beyond = np.clip(times, self._times[0], self._times[-1])
        return here + (times - beyond) * SECOND

    def of_stamps(self, stamps, times):
        """Time of the run (k,) of what the arm itself has stamped [s]."""
        near = self._has_stamps and len(stamps) and (
            stamps.min() > self._begin - 60 / SECOND and stamps.max() < self._stamps[-1]
            + 60 / SECOND)
        return (stamps - self._begin) * SECOND if near else self.of_times(times)


def _delays(commands, states, clock):
    """From the coming of a state to that of the command with its stamp [s]."""
    came = dict(zip(states.stamps.tolist(), states.times.tolist()))
    pairs = [(time, (time - came[stamp]) * SECOND) for stamp, time in zip(
        commands.stamps.tolist(), commands.times.tolist()) if stamp in came]
    if not pairs:
        return EMPTY
    times, delays = map(np.array, zip(*pairs))
    return Series(clock.of_times(times), delays[:, None], ('state to command',))


def _spoken(rows: Iterable[tuple[int, dict[str, float]]], clock: _Clock) -> Series:
    rows = list(rows)
    names = tuple(dict.fromkeys(key for _, figures in rows for key in figures))
    values = np.array([[figures.get(name, np.nan) for name in names] for _, figures in rows])
    return Series(clock.of_times(np.array([time for time, _ in rows])),
                  values.reshape(len(rows), len(names)), names)


def _stamp(message):
    stamp = message['header']['stamp']
    return stamp['sec'] * 1_000_000_000 + stamp['nanosec']


def _parameters(facts, space):
    """{node: {name: value}} of the metadata of the recorder."""
    found = {}
    for name, texts in facts.items():
        node = name.partition('parameters ')[2]
        if node.startswith(f'{space}/'):
            values = found[node[len(space) + 1:]] = {}
            for key, text in texts.items():
                try:
                    values[key] = json.loads(text)
                except ValueError:
                    values[key] = text
    return found


def _arm(run, description):
    """Return the arm that was recorded, or None with a note."""
    if not description:
        run.notes.append('the robot is not in it: there are no energies, no predicted frequencies '
                         'and no moving picture')
        return None
    told = next((run.parameters[node] for node in ('dynamics', 'bridge', 'controller')
                 if node in run.parameters), {})
    try:
        gravity = ([float(word) for word in run.about['gravity'].split()]
                   if 'gravity' in run.about else told.get('gravity') or GRAVITY)
        return _laden(build_arm(read_text(description), run.about.get('coupling') or told.get(
            'coupling') or 'shortening', gravity), told)
    except (FlexRobotSimError, TypeError, ValueError) as error:     # words where numbers belong
        run.notes.append(f'the robot of the recording cannot be read: {error}')
        return None


def _laden(arm, told):
    """Return the arm with the payload that it had when its parameters were recorded."""
    link, mass = told.get('payload_link'), told.get('payload_mass')
    return with_payload(arm, link, mass, told.get('payload_centre') or (0.0, 0.0, 0.0)) if (
        link and mass) else arm
