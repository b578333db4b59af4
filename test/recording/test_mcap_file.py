"""Recordings as files: read by others, cut off, damaged, of others, on a full disk."""

import numpy as np
import pytest
from refusals import refusal
from small_disk import small_disk

pytest.importorskip('mcap')

from flex_robot_sim.recording.mcap_file import RecordingReader, RecordingWriter
from flex_robot_sim.recording.messages import JOINT_STATE, TEXT, TEXTS, joint_state, text
from flex_robot_sim.util.exceptions import UsageError

pytestmark = pytest.mark.slow

NAMES = ['shoulder', 'elbow']


def write_some(path, count, flush=0):
    """Write a recording of joint states; `flush` of them to a chunk."""
    writer = RecordingWriter(path, {'robot': 'two_link'})
    writer.write(writer.topic('/robot_description', TEXT, TEXTS[TEXT], True), 1, text('<robot/>'))
    for k in range(1, count + 1):
        writer.write(
            writer.topic('/joint_states', JOINT_STATE, TEXTS[JOINT_STATE]),
            k * 2_000_000,
            joint_state(k * 2_000_000, NAMES, [k, -k], [0.5 * k, 0.0]),
        )
        if flush and k % flush == 0:
            writer.flush()
    writer.close()


@pytest.fixture(scope='module')
def content(tmp_path_factory):
    path = tmp_path_factory.mktemp('recording') / 'run.mcap'
    write_some(path, 1000, flush=100)
    return path.read_bytes()


@pytest.fixture
def path(content, tmp_path):
    """A recording of a thousand joint states, a hundred to a chunk."""
    (tmp_path / 'run.mcap').write_bytes(content)
    return tmp_path / 'run.mcap'


def test_rosbags_reads_it(path):
    reader_of = pytest.importorskip('rosbags.highlevel')
    with reader_of.AnyReader([path]) as reader:
        topics = {item.topic: item.msgtype for item in reader.connections}
        assert topics == {'/robot_description': TEXT, '/joint_states': JOINT_STATE}
        rows = [
            (time, reader.deserialize(data, item.msgtype))
            for item, time, data in reader.messages()
            if item.topic == '/joint_states'
        ]
        latched = next(item for item in reader.connections if item.msgtype == TEXT)
        assert latched.ext.offered_qos_profiles[0].durability.name == 'TRANSIENT_LOCAL'
    assert [time for time, _ in rows] == [2_000_000 * k for k in range(1, 1001)]
    assert [message.position.tolist() for _, message in rows] == [[k, -k] for k in range(1, 1001)]
    assert rows[7][1].name == NAMES and rows[7][1].effort.size == 0


def test_mcap_ros2_support_reads_it(path):
    read = pytest.importorskip('mcap_ros2.reader').read_ros2_messages
    rows = [item.ros_msg for item in read(str(path), topics=['/joint_states'])]
    assert [list(row.velocity) for row in rows] == [[0.5 * k, 0.0] for k in range(1, 1001)]


def test_we_read_it(path):
    reader = RecordingReader(path)
    messages = list(reader)
    assert len(messages) == 1001 and reader.notes == []
    assert reader.about['robot'] == 'two_link'
    assert [message.topic.is_latched for message in messages[:2]] == [True, False]
    assert messages[5].data == joint_state(10_000_000, NAMES, [5, -5], [2.5, 0.0])


def test_a_file_that_is_cut_off_anywhere_keeps_all_but_its_last_chunk(path):
    whole = path.read_bytes()
    counts = []
    for size in np.linspace(200, len(whole) - 1, 60).astype(int):
        path.write_bytes(whole[:size])
        reader = RecordingReader(path)
        counts.append(len(list(reader)))
        if counts[-1] < 1001:
            assert (
                reader.notes
                == [
                    f'{path} is cut off or damaged at {size} of {size} bytes; what stands before '
                    'is read'
                ]
                or 'cut off' in reader.notes[0]
            )
    assert counts == sorted(counts) and counts[-1] == 1001
    assert set(counts) >= {101, 501, 901}  # chunks of a hundred


def test_a_damaged_chunk_costs_only_itself(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 3 : len(data) // 3 + 8] = b'8 bytes!'
    path.write_bytes(data)
    reader = RecordingReader(path)
    assert len(list(reader)) == 901
    assert reader.notes == [f'1 chunks of {path} are damaged and left out']


@pytest.mark.parametrize('end', [15, 2])  # of the data, of the file
def test_a_misplaced_end_record_is_reported(path, end):
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] + bytes([end]) * len(whole))
    reader = RecordingReader(path)
    assert len(list(reader)) < 1001
    assert 'cut off or damaged' in reader.notes[0]


@pytest.mark.parametrize('seed', range(60))
def test_a_file_with_wrong_bytes_is_read_without_a_crash(path, seed):
    random = np.random.default_rng(seed)
    data = bytearray(path.read_bytes())
    for place in random.integers(8, len(data), 5):
        data[place] = random.integers(256)
    path.write_bytes(data)
    assert len(list(RecordingReader(path))) <= 1001


@pytest.mark.parametrize(
    'start, line',
    [
        (
            b'SQLite format 3',
            'this is a bag of SQLite. Convert it to MCAP, by `ros2 bag convert` for instance.',
        ),
        (
            b'time,position',
            'this is no recording. Name an MCAP file, as flexsim simulate '
            '--output and ros2 bag write them.',
        ),
        (
            b'',
            'this is no recording. Name an MCAP file, as flexsim simulate --output and ros2 bag '
            'write them.',
        ),
    ],
)
def test_what_is_no_recording_is_refused(tmp_path, start, line):
    path = tmp_path / 'x.mcap'
    path.write_bytes(start)
    assert refusal(UsageError, RecordingReader, path) == f'{path}: {line}'


def test_a_folder_of_ros2_bag_is_read(path):
    assert RecordingReader(path.parent).path == path


def test_a_full_disk_is_one_line():
    assert refusal(UsageError, write_some, '/dev/full', 1000) == (
        '/dev/full: cannot be written: No space left on device; nothing is in it.'
    )


def test_what_a_disk_had_room_for_is_kept(tmp_path):
    with small_disk(tmp_path):
        path = tmp_path / 'run.mcap'
        with pytest.raises(UsageError, match='No space left on device; .* are kept'):
            write_some(path, 20_000, flush=50)
        reader = RecordingReader(path)
        assert len(list(reader)) > 500 and 'cut off' in reader.notes[0]
