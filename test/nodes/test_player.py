"""`flexsim replay`, as its subscribers receive it."""

import os
import shlex
import signal
import sys
import time

import pytest
from node_processes import Process
from project_files import ROOT
from rclpy.serialization import serialize_message
from ros_observer import LATCHED
from sensor_msgs.msg import JointState
from std_msgs.msg import String

pytest.importorskip('mcap')

from flex_robot_sim.cli import main
from flex_robot_sim.recording.mcap_file import RecordedTopic, RecordingReader, RecordingWriter
from flex_robot_sim.recording.messages import JOINT_STATE, TEXT, TEXTS, joint_state, text
from flex_robot_sim.recording.playing import due_times, extent_of, in_order, is_command
from flex_robot_sim.ros.message_types import definition_of, type_of

COUNT, STEP = 100, 10_000_000  # messages, and between two of them [ns]


def write_state(writer, name, k):
    """Write the k-th joint state: at k - 1."""
    topic = writer.topic(name, JOINT_STATE, TEXTS[JOINT_STATE])
    writer.write(topic, k * STEP, joint_state(k, ['elbow'], [k - 1]))


@pytest.fixture
def recording(tmp_path):
    """Return a function that writes a second of joint states and a description to a file."""

    def write(space):
        path = tmp_path / 'run.mcap'
        writer = RecordingWriter(path, {})
        writer.write(
            writer.topic(f'/{space}/robot_description', TEXT, TEXTS[TEXT], True),
            STEP,
            text('<robot/>'),
        )
        for k in range(COUNT):
            write_state(writer, f'/{space}/joint_states', k + 1)
        writer.write(writer.topic('/odd', 'odd_msgs/msg/Odd', 'int32 x\n'), STEP, b'\0\1\0\0')
        writer.close()
        return path

    return write


@pytest.fixture
def replay(tmp_path):
    started = []

    def start(*words):
        words = [sys.executable, '-m', 'flex_robot_sim', 'replay', *map(str, words)]
        started.append(Process(words, {**os.environ, 'PYTHONPATH': str(ROOT)}))
        return started[-1]

    yield start
    for process in started:
        process.close()


def test_what_was_recorded_is_heard_again_in_its_order_and_time(replay, recording, observer):
    path = recording('again')
    heard, times = [], []

    def take(message):
        heard.append(message)
        times.append(time.monotonic())

    listener = observer.node.create_subscription(JointState, '/again/joint_states', take, 200)
    process = replay(path, '--speed', '0.5')
    observer.spin_until(lambda: heard, what='the first joint state')
    late = observer.hear(String, '/again/robot_description', qos=LATCHED)
    observer.spin_until(lambda: len(heard) == COUNT, what=f'{COUNT} joint states')
    assert late.data == '<robot/>'
    assert [message.position[0] for message in heard] == list(range(COUNT))
    assert [message.header.stamp.nanosec for message in heard] == list(range(1, COUNT + 1))
    # 0.99 s at half the speed; a busy machine is late, but never early by more than it was late
    assert times[-1] - times[0] > 1.5
    assert process.wait() == 0
    assert 'note: /odd is left out: odd_msgs/msg/Odd is not installed here' in process.lines
    assert f'{COUNT + 1} messages sent' in process.lines
    observer.node.destroy_subscription(listener)


@pytest.mark.long
def test_it_plays_a_part_again_and_again_until_a_signal(replay, recording, observer):
    heard = observer.listen(JointState, '/part/joint_states')
    process = replay(recording('part'), '--start', '0.5', '--until', '0.6', '--loop')
    observer.spin_until(lambda: len(heard) > 40, what='the fourth round')
    assert {message.position[0] for message in heard} <= set(range(49, 62))
    assert process.stop(signal.SIGINT)[0] == 0 and process.count('Traceback') == 0


@pytest.mark.long
def test_a_recording_is_seen_in_a_browser_until_a_signal(replay, tmp_path, browsers):
    pytest.importorskip('viser', reason='pip install ".[view]"')
    path = tmp_path / 'swing.mcap'
    words = shlex.split('simulate single_link --to 0.5 --within 0.5 --seconds 2 --output')
    assert main([*words, str(path)]) == 0
    process = replay(path, '--view')
    line = process.wait_for_line('/?token=')
    browser = browsers(next(word for word in line.split() if word.startswith('http://')))
    browser.wait_for(
        lambda: 'live' in browser.text and 'tip deflection' in browser.text,
        'the arm of the recording',
    )
    # in the second round, too
    process.wait_for_line('of ')
    browser.wait_for(lambda: 'live' in browser.text, 'more of it')
    assert process.stop(signal.SIGINT)[0] == 0 and process.count('Traceback') == 0


def test_what_has_no_robot_cannot_be_seen(flexsim, tmp_path):
    pytest.importorskip('viser')
    path = tmp_path / 'run.mcap'
    writer = RecordingWriter(path, {})
    write_state(writer, '/joint_states', 1)
    writer.close()
    done = flexsim('replay', path, '--view')
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        f'flexsim replay: {path}: there is no robot_description in it, without which nothing can '
        'be shown: leave --view out'
    )


def test_it_does_not_send_where_an_arm_is_live(replay, recording, observer):
    publisher = observer.node.create_publisher(JointState, '/live/joint_states', 10)
    # it looks again and again, and a busy machine finds the other one late
    process = replay(recording('live'), '--loop')
    assert process.wait() == 2
    assert process.lines[-1] == (
        'flexsim replay: another node sends /live/joint_states in this ROS_DOMAIN_ID: an arm may '
        'be live. Stop it, or choose another domain for the replay.'
    )
    observer.node.destroy_publisher(publisher)  # the observer is no arm in the next test


COMMANDED = {  # by topic: type, and a message that moves the waist of two_link
    'joint_commands': (JOINT_STATE, joint_state(1, ['waist'], effort=[20.0])),
    'effort_controller/commands': ('std_msgs/msg/Float64MultiArray', None),
    'push': ('geometry_msgs/msg/WrenchStamped', None),
    'remapped_efforts': (JOINT_STATE, joint_state(1, ['waist'], effort=[20.0])),
}


def write_commands(path, space, *topics):
    """Write a second of commands of 100 Hz; return the path."""
    writer = RecordingWriter(path, {})
    for name in topics:
        kind, data = COMMANDED[name]
        message = type_of(kind)()
        if kind.endswith('Float64MultiArray'):
            message.data = [20.0, 0.0, 0.0]
        elif kind.endswith('WrenchStamped'):
            message.header.frame_id, message.wrench.force.y = 'forearm', 50.0
        for k in range(1, COUNT + 1):
            writer.write(
                writer.topic(f'/{space}/{name}', kind, definition_of(type_of(kind))),
                k * STEP,
                data or serialize_message(message),
            )
    writer.close()
    return path


def waist(observer, space):
    """Return the angle of the waist once a new state has come."""
    return observer.hear(JointState, f'/{space}/measured').position[0]


@pytest.mark.long
def test_recorded_commands_do_not_move_a_live_arm(flexsim, replay, start, observer, tmp_path):
    space = 'driven'
    remaps = f'-r __ns:=/{space} -r joint_commands:=remapped_efforts -r joint_states:=measured'
    arm = start('dynamics', *remaps.split(), robot='two_link')
    before = waist(observer, space)
    path = write_commands(
        tmp_path / 'run.mcap', space, 'joint_commands', 'push', 'effort_controller/commands'
    )
    done = flexsim('replay', path)
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    for name in ('joint_commands', 'push', 'effort_controller/commands'):
        note = f'note: /{space}/{name} is left out: it commands an arm. --commands sends it'
        assert note in lines
    assert lines[-1] == f'flexsim replay: {path}: none of its topics can be sent.'
    processes = {}
    for name in ('push', 'effort_controller/commands', 'remapped_efforts'):
        path = write_commands(tmp_path / f'{name.replace("/", "_")}.mcap', space, name)
        # on a busy machine the node may be found in a later round
        processes[name] = replay(path, '--commands', '--loop')
    for name, process in processes.items():
        assert process.wait() == 2
        assert process.lines[-1] == (
            f'flexsim replay: the node /{space}/dynamics listens to /{space}/{name} in this '
            'ROS_DOMAIN_ID: an arm may move. Stop it, choose another domain for the replay, or '
            'give --commands --force.'
        )
        # nothing holds the waist, which turns about the vertical: a command would have moved it
        assert abs(waist(observer, space) - before) < 1e-3
    process = replay(path, '--commands', '--force', '--loop')
    observer.spin_until(lambda: abs(waist(observer, space) - before) > 0.05, what='a motion')
    assert process.stop(signal.SIGINT)[0] == 0
    assert arm.count('Traceback') == 0


@pytest.mark.long
def test_a_listener_that_comes_later_ends_a_replay_of_commands(replay, observer, tmp_path):
    path = write_commands(tmp_path / 'run.mcap', 'later', 'joint_commands')
    process = replay(path, '--commands', '--loop')
    process.wait_for_line('Ctrl-C ends it')
    observer.listen(JointState, '/later/joint_commands')
    assert process.wait() == 2
    assert 'the node /observer listens to /later/joint_commands' in process.lines[-1]


@pytest.mark.parametrize(
    'name, kind, commands',
    [
        ('/joint_commands', JOINT_STATE, True),
        ('/left/joint_commands', JOINT_STATE, True),
        ('/effort_controller/commands', 'std_msgs/msg/Float64MultiArray', True),
        ('/a/controller/reference', JOINT_STATE, True),
        ('/push', 'geometry_msgs/msg/WrenchStamped', True),
        ('/any', 'trajectory_msgs/msg/JointTrajectory', True),
        ('/joint_states', JOINT_STATE, False),
        ('/controller/target', JOINT_STATE, False),
        ('/joint_wrenches/push', 'geometry_msgs/msg/WrenchStamped', False),
    ],
)
def test_commands_are_known_by_name_and_type(name, kind, commands):
    assert is_command(RecordedTopic(name, kind, '')) is commands


@pytest.mark.long
def test_a_topic_name_that_ros_does_not_allow_is_left_out_with_a_line(replay, observer, tmp_path):
    path = tmp_path / 'run.mcap'
    writer = RecordingWriter(path, {})
    names = ['/a b', '', '/1x', '/a//b', '/a/', '/{x}', '/' + 'x' * 300, '/\u202ea', '/good']
    for k in range(1, 21):
        for name in names:
            write_state(writer, name, k)
    writer.close()
    heard = observer.listen(JointState, '/good')
    # a busy machine may find the listener when a recording of 0.2 s has ended
    process = replay(path, '--loop')
    observer.spin_until(lambda: len(heard) >= 20, what='the topic with a good name')
    assert process.stop()[0] == 0 and process.count('Traceback') == 0
    assert process.count('is left out') == len(names) - 1
    assert ('note: /a b is left out: ROS does not allow this name of a topic') in process.lines


@pytest.mark.parametrize(
    'content, line',
    [
        (
            b'time,position',
            'this is no recording. Name an MCAP file, as flexsim simulate --output and '
            'ros2 bag write them.',
        ),
        (
            b'\x89MCAP0\r\n',
            'there are no messages in it; {path} is cut off or damaged at 8 of 8 bytes'
            '; what stands before is read.',
        ),
    ],
    ids=['foreign', 'empty'],
)
def test_a_file_that_cannot_be_played_is_one_line(flexsim, tmp_path, content, line):
    path = tmp_path / 'x.mcap'
    path.write_bytes(content)
    done = flexsim('replay', path)
    assert done.returncode == 2
    assert done.stderr == f'flexsim replay: {path}: {line.format(path=path)}\n'


def test_due_times_are_those_of_the_recording_over_the_speed(recording):
    reader = RecordingReader(recording('x'))
    extent = extent_of(reader)
    assert extent.seconds == pytest.approx((COUNT - 1) * STEP * 1e-9)
    due = [(at, message.topic.kind) for at, message in due_times(reader, extent.begin, 2.0, 0.5)]
    # what is latched comes at once, what was sent before the start not at all
    assert due[0] == (0.0, TEXT)
    assert [at for at, kind in due if kind == JOINT_STATE] == pytest.approx(
        [k * 0.005 for k in range(COUNT - 50)], abs=1e-12
    )


def test_messages_that_changed_places_are_put_in_order(recording):
    messages = list(RecordingReader(recording('x')))
    mixed = [message for k in range(0, len(messages), 7) for message in messages[k : k + 7][::-1]]
    assert [message.time for message in in_order(mixed)] == sorted(
        message.time for message in messages
    )
