"""`flexsim replay` as those hear it who listen."""

import os
import signal
import sys
import time

import pytest
from chromium import browsers, one_chromium  # noqa: F401
from node_processes import Process
from project_files import ROOT
from sensor_msgs.msg import JointState
from std_msgs.msg import String

pytest.importorskip('mcap')

from flex_robot_sim.cli import main
from flex_robot_sim.nodes.topics import LATCHED
from flex_robot_sim.recording.mcap_file import RecordingReader, RecordingWriter
from flex_robot_sim.recording.messages import (
    JOINT_STATE,
    TEXT,
    TEXTS,
    joint_state,
    text,
)
from flex_robot_sim.recording.playing import due_times, extent_of, in_order

COUNT, STEP = 100, 10_000_000       # messages, and between two of them [ns]


@pytest.fixture
def recording(tmp_path):
    """Return a function that writes a second of joint states and a description to a file."""
    def write(space):
        path = tmp_path / 'run.mcap'
        writer = RecordingWriter(path, {})
        writer.write(writer.topic(f'/{space}/robot_description', TEXT, TEXTS[TEXT], True), STEP,
                     text('<robot/>'))
        for k in range(COUNT):
            writer.write(writer.topic(f'/{space}/joint_states', JOINT_STATE, TEXTS[JOINT_STATE]),
                         (k + 1) * STEP, joint_state(k + 1, ['elbow'], [k]))
        writer.write(writer.topic('/odd', 'odd_msgs/msg/Odd', 'int32 x\n'), STEP, b'\0\1\0\0')
        writer.close()
        return path
    return write


@pytest.fixture
def replay(tmp_path):
    started = []

    def start(*words, plain=False):
        words = [sys.executable, '-m', 'flex_robot_sim', 'replay', *map(str, words)]
        started.append(Process(words, {**os.environ, 'PYTHONPATH': str(ROOT)}, plain))
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
    process = replay(path, '--speed', '0.5', plain=True)
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


def test_it_plays_a_part_again_and_again_until_a_signal(replay, recording, observer):
    heard = observer.listen(JointState, '/part/joint_states')
    process = replay(recording('part'), '--start', '0.5', '--until', '0.6', '--loop')
    observer.spin_until(lambda: len(heard) > 40, what='the fourth round')
    assert {message.position[0] for message in heard} <= set(range(49, 62))
    assert process.stop(signal.SIGINT)[0] == 0 and process.count('Traceback') == 0


def test_a_recording_is_seen_in_a_browser_until_a_signal(replay, tmp_path, browsers):  # noqa: F811
    pytest.importorskip('viser', reason='pip install "flex_robot_sim[view]"')
    path = tmp_path / 'swing.mcap'
    assert main(['simulate', 'single_link', '--to', '0.5', '--within', '0.5', '--seconds', '2',
                 '--output', str(path)]) == 0
    process = replay(path, '--view')
    line = process.wait_for_line('/?token=')
    browser = browsers(next(word for word in line.split() if word.startswith('http://')))
    browser.wait_for(lambda: 'live' in browser.text and 'tip deflection' in browser.text,
                     'the arm of the recording')
    # in the second round, too
    process.wait_for_line('of ')
    browser.wait_for(lambda: 'live' in browser.text, 'more of it')
    assert process.stop(signal.SIGINT)[0] == 0 and process.count('Traceback') == 0


def test_what_has_no_robot_cannot_be_seen(replay, tmp_path):
    pytest.importorskip('viser')
    path = tmp_path / 'run.mcap'
    writer = RecordingWriter(path, {})
    writer.write(writer.topic('/joint_states', JOINT_STATE, TEXTS[JOINT_STATE]), STEP,
                 joint_state(1, ['elbow'], [0.0]))
    writer.close()
    process = replay(path, '--view')
    assert process.wait() == 2
    assert process.lines[-1] == (
        f'flexsim replay: {path}: there is no robot_description in it, without which nothing can '
        'be shown: leave --view out')


def test_it_does_not_send_where_an_arm_is_live(replay, recording, observer):
    observer.node.create_publisher(JointState, '/live/joint_states', 10)
    # it looks again and again, and a busy machine finds the other one late
    process = replay(recording('live'), '--loop')
    assert process.wait() == 2
    assert process.lines[-1] == (
        'flexsim replay: somebody else sends /live/joint_states in this ROS_DOMAIN_ID: an arm may '
        'be live. Stop it, or choose another domain for the replay.')


@pytest.mark.parametrize('content, line', [
    (b'time,position', 'this is no recording. Name an MCAP file, as flexsim simulate --output and '
                       'ros2 bag write them.'),
    (b'\x89MCAP0\r\n', 'there are no messages in it; {path} is cut off or damaged at 8 of 8 bytes'
                        '; what stands before is read.')], ids=['foreign', 'empty'])
def test_a_file_that_cannot_be_played_is_one_line(replay, tmp_path, content, line):
    path = tmp_path / 'x.mcap'
    path.write_bytes(content)
    process = replay(path)
    assert process.wait() == 2
    assert process.lines[-1] == f'flexsim replay: {path}: {line.format(path=path)}'


def test_due_times_are_those_of_the_recording_over_the_speed(recording):
    reader = RecordingReader(recording('x'))
    extent = extent_of(reader)
    assert extent.seconds == pytest.approx((COUNT - 1) * STEP * 1e-9)
    due = [(at, message.topic.kind) for at, message in due_times(reader, extent.begin, 2.0, 0.5)]
    # what is latched comes at once, what was sent before the start not at all
    assert due[0] == (0.0, TEXT)
    assert [at for at, kind in due if kind == JOINT_STATE] == pytest.approx(
        [k * 0.005 for k in range(COUNT - 50)], abs=1e-12)


def test_messages_that_changed_places_are_put_in_order(recording):
    messages = list(RecordingReader(recording('x')))
    mixed = [message for k in range(0, len(messages), 7) for message in messages[k:k + 7][::-1]]
    assert [message.time for message in in_order(mixed)] == sorted(
        message.time for message in messages)
