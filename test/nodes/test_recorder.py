"""`flexsim record` with real senders: rosbags reads what it has recorded."""

import os
import shlex
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from node_processes import Process
from project_files import ROOT
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from ros_observer import LATCHED
from sensor_msgs.msg import JointState
from small_disk import small_disk
from std_msgs.msg import Float64MultiArray, String
from waiting import eventually

from flex_robot_sim.recording.mcap_file import RecordingReader

pytest.importorskip('mcap')
END = b'\x89MCAP0\r\n'  # of a file that was ended, by the specification of MCAP
EARS = '_recorder'


@pytest.fixture
def record(tmp_path, observer):
    """Return a function that starts `flexsim record`, and waits until it listens to topics."""
    started = []

    def start(*words, hears=(), path=tmp_path / 'run.mcap'):
        process = Process(
            [sys.executable, '-m', 'flex_robot_sim', 'record', '--output', str(path), *words],
            {**os.environ, 'PYTHONPATH': str(ROOT)},
            cwd=tmp_path,
        )
        started.append(process)
        if hears:  # one that was killed is seen to listen for a while
            assert eventually(lambda: path.exists() and path.stat().st_size, 60.0), process.lines
        for topic in hears:
            wait_until_heard(observer, topic)
        return process, path

    yield start
    for process in started:
        process.close()


def wait_until_heard(observer, topic):
    observer.spin_until(
        lambda: any(
            listener.node_name == EARS
            for listener in observer.node.get_subscriptions_info_by_topic(topic)
        ),
        what=f'the recorder on {topic}',
    )


def states(number):
    """A joint state whose empty velocities make some senders leave bytes behind it."""
    message = JointState(name=['elbow', 'wrist'], effort=[float(number), -1.0])
    message.header.stamp.sec = number
    return message


def rows(path):
    """{topic: [message]} as rosbags reads them."""
    reader_of = pytest.importorskip('rosbags.highlevel')
    found: dict = {}
    with reader_of.AnyReader([path]) as reader:
        for item, _, data in reader.messages():
            found.setdefault(item.topic, []).append(reader.deserialize(data, item.msgtype))
    return found


def wait_for_size(path, most_growth=0.0):
    """Return when a file has stopped growing for a second."""
    size, since, end = -1, time.monotonic(), time.monotonic() + 60.0
    while time.monotonic() < since + 1.0:
        assert time.monotonic() < end
        if path.stat().st_size != size:
            size, since = path.stat().st_size, time.monotonic()
        time.sleep(0.05)


def test_all_that_was_sent_is_in_the_file_also_on_topics_that_came_later(record, observer):
    observer.node.create_publisher(String, '/left/robot_description', LATCHED).publish(
        String(data='<robot name="ärm"/>')
    )
    early = observer.node.create_publisher(JointState, '/left/joint_commands', 10)
    elsewhere = observer.node.create_publisher(JointState, '/right/joint_commands', 10)
    process, path = record(
        *shlex.split('--namespace left --topics * /odd'),
        hears=['/left/joint_commands', '/left/robot_description'],
    )
    for number in range(300):
        early.publish(states(number))
        elsewhere.publish(states(number))
        time.sleep(0.001)
    late = observer.node.create_publisher(Float64MultiArray, '/left/late', 10)
    wait_until_heard(observer, '/left/late')
    for number in range(5):
        late.publish(Float64MultiArray(data=[1.5] * number))
    wait_for_size(path)
    code, _ = process.stop(signal.SIGINT)
    assert code == 0, process.lines
    found = rows(path)
    assert set(found) == {'/left/robot_description', '/left/joint_commands', '/left/late'}
    assert [row.effort.tolist() for row in found['/left/joint_commands']] == [
        [number, -1.0] for number in range(300)
    ]
    assert all(
        row.name == ['elbow', 'wrist'] and not row.velocity.size
        for row in found['/left/joint_commands']
    )
    assert [row.data.tolist() for row in found['/left/late']] == [[1.5] * k for k in range(5)]
    assert [row.data for row in found['/left/robot_description']] == ['<robot name="ärm"/>']
    read = pytest.importorskip('mcap_ros2.reader').read_ros2_messages
    assert sum(1 for _ in read(str(path))) == 306
    latched = {message.topic.name for message in RecordingReader(path) if message.topic.is_latched}
    assert latched == {'/left/robot_description'}
    # what it says at its end
    said = '\n'.join(process.lines)
    assert f'{path}: 306 messages of 3 topics' in said and 'lost' not in said
    assert 'note: there was no topic /odd' in said


def test_a_sender_that_does_not_repeat_is_heard_and_what_it_loses_is_counted(record, observer):
    # a lost message leaves a gap in the sequence numbers
    quick = QoSProfile(
        depth=1, reliability=ReliabilityPolicy.BEST_EFFORT, durability=DurabilityPolicy.VOLATILE
    )
    sender = observer.node.create_publisher(JointState, '/joint_states', quick)
    process, path = record('--topics', 'joint_states', '--json', hears=['/joint_states'])
    for number in range(50):
        sender.publish(states(number))
        time.sleep(0.01)
    wait_for_size(path)
    observer.node.destroy_publisher(sender)  # others of this process listen to this topic, too
    assert process.stop(signal.SIGTERM)[0] == 0
    kept = rows(path)['/joint_states']
    lost = next(int(line.split(':')[1]) for line in process.lines if '"lost"' in line)
    assert len(kept) > 0 and len(kept) + lost == 50
    assert next(iter(RecordingReader(path))).topic.is_reliable is False


def test_a_recorder_that_was_killed_has_kept_all_but_its_last_second(record, observer):
    # the topic is of this test alone: others see the killed one listen for a while
    sender = observer.node.create_publisher(JointState, '/killed', 10)
    process, path = record(hears=['/killed'])
    begin = time.monotonic()
    sent: list = []
    while time.monotonic() < begin + 2.5:
        sender.publish(states(len(sent)))
        sent.append(time.monotonic())
        time.sleep(0.005)
    killed = time.monotonic()
    process.send(signal.SIGKILL)
    process.wait()
    reader = RecordingReader(path)
    count = len([message for message in reader if message.topic.name == '/killed'])
    # a busy machine may hold the recorder up, which then is late by as much
    late = 1.0 * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    assert count >= sum(time < killed - late for time in sent)
    assert len(rows_that_stand(path)) == count


def rows_that_stand(path):
    """Messages that mcap-ros2-support reads of a file that was cut off."""
    from mcap_ros2.decoder import DecoderFactory

    stream = pytest.importorskip('mcap.stream_reader')
    factory: Any = DecoderFactory()
    schemas: dict = {}
    found = []
    with open(path, 'rb') as file:
        try:
            for item in stream.StreamReader(file).records:
                if type(item).__name__ == 'Schema':
                    schemas[item.id] = item
                elif type(item).__name__ == 'Channel':
                    topic = item
                    schemas['of', item.id] = schemas[item.schema_id], topic.topic
                elif type(item).__name__ == 'Message':
                    schema, name = schemas['of', item.channel_id]
                    if name == '/killed':
                        found.append(factory.decoder_for('cdr', schema)(item.data))
        except Exception as error:  # of a file without an end
            assert 'EndOfFile' in type(error).__name__, error
    return found


@pytest.mark.long(after=1)
@pytest.mark.parametrize('number, times', [(signal.SIGINT, 2), (signal.SIGTERM, 1)])
def test_a_signal_ends_the_file_as_it_should(record, observer, number, times):
    topic = f'/ended_{int(number)}'
    observer.node.create_publisher(JointState, topic, 10)
    process, path = record(hears=[topic])
    for _ in range(times):
        process.send(number)
    assert process.wait() == 0
    assert path.read_bytes().endswith(END)
    assert process.count('Traceback') == 0


def test_a_file_that_is_there_is_left_alone(flexsim, tmp_path):
    path = tmp_path / 'old.mcap'
    path.write_text('mine')
    done = flexsim('record', '--output', path)
    assert (done.returncode, done.stderr) == (
        2,
        f'flexsim record: --output {path}: exists already. Name another one, or replace it by '
        '--force.\n',
    )
    assert path.read_text() == 'mine'


def test_a_full_disk_is_one_line_and_what_is_written_can_be_read(record, observer, tmp_path):
    with small_disk(tmp_path / 'disk') as disk:
        sender = observer.node.create_publisher(Float64MultiArray, '/noise', 10)
        process, path = record(hears=['/noise'], path=disk / 'run.mcap')
        noise, end = iter(lambda: os.urandom(1600), b''), time.monotonic() + 60.0
        while process.process.poll() is None and time.monotonic() < end:
            sender.publish(Float64MultiArray(data=[float(byte) for byte in next(noise)]))
            time.sleep(0.002)
        assert process.wait() == 2
        line = process.wait_for_line('cannot be written')
        assert line.startswith(
            f'flexsim record: {path}: cannot be written: No space left on device; '
        )
        assert process.count('Traceback') == 0
        assert len(list(RecordingReader(path))) > 2


@pytest.mark.long
def test_parameters_of_the_nodes_are_in_the_file(record, observer, start):
    node = start('shaper', '-p', 'robot:=two_link', '-p', 'frequencies:=[2.5]')
    node.wait_for_line('shapes')
    process, path = record('--seconds', '60', hears=['/joint_states'])
    reader = RecordingReader(path)

    def is_reported():
        list(reader)
        return 'parameters /shaper' in reader.facts

    observer.spin_until(is_reported, what='the parameters in the file')
    assert process.stop()[0] == 0
    assert reader.facts['parameters /shaper']['frequencies'] == '[2.5]'
    assert reader.facts['parameters /shaper']['shaper'] == '"auto"'


def test_without_a_name_the_file_is_called_by_the_time(tmp_path):
    process = Process(
        [sys.executable, '-m', 'flex_robot_sim', 'record', '--seconds', '0.1'],
        {**os.environ, 'PYTHONPATH': str(ROOT)},
        cwd=tmp_path,
    )
    try:
        assert process.wait() == 0, process.lines
        assert [path.suffix for path in Path(tmp_path).glob('record_*')] == ['.mcap']
    finally:
        process.close()
