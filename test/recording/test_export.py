"""`flexsim export`, of recordings of ours and of others."""

import csv
import json
import math

import numpy as np
import pytest

pytest.importorskip('mcap')

from flex_robot_sim.cli import main
from flex_robot_sim.recording.mcap_file import RecordingWriter
from flex_robot_sim.recording.messages import JOINT_STATE, TEXT, TEXTS, joint_state, text

ROWS = np.random.default_rng(5).normal(size=(40, 4))
FIRST, STEP = 1_700_000_000_000_000_000, 2_000_000


@pytest.fixture
def recording(tmp_path, monkeypatch):
    """Two topics; one message of joint states has no velocities, and one comes too early."""
    monkeypatch.chdir(tmp_path)
    writer = RecordingWriter('run.mcap', {})
    writer.write(
        writer.topic('/robot_description', TEXT, TEXTS[TEXT], True),
        FIRST,
        text('<robot>\n"a", b</robot>'),
    )
    topic = writer.topic('/left/joint_states', JOINT_STATE, TEXTS[JOINT_STATE])
    for k in [*range(1, 10), 0, *range(10, 40)]:
        stamp = FIRST + k * STEP
        row = ROWS[k]
        writer.write(
            topic, stamp, joint_state(stamp, ['b', 'a/z_1'], row[:2], [] if k == 3 else row[2:])
        )
    writer.close()
    return 'run.mcap'


def test_csv_holds_every_number(recording, capsys):
    assert main(['export', recording]) == 0
    with open('run_csv/left.joint_states.csv', newline='', encoding='utf-8') as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0])[:3] == ['time', 'stamp', 'frame_id']
    for k, row in enumerate(rows):
        assert float(row['time']) == pytest.approx(k * STEP * 1e-9, abs=1e-15)
        assert [float(row['position/b']), float(row['position/a/z_1'])] == ROWS[k, :2].tolist()
        assert row['velocity/b'] == ('' if k == 3 else repr(float(ROWS[k, 2])))
    with open('run_csv/robot_description.csv', newline='', encoding='utf-8') as file:
        assert [row['data'] for row in csv.DictReader(file)] == ['<robot>\n"a", b</robot>']
    assert '2 files in run_csv' in capsys.readouterr().out


def test_numpy_holds_every_number(recording):
    assert main(['export', recording, '--format', 'numpy', '--topics', 'left/joint_states']) == 0
    with np.load('run.npz') as data:
        assert np.array_equal(data['left.joint_states/position/a/z_1'], ROWS[:, 1])
        velocity = data['left.joint_states/velocity/a/z_1']
        assert math.isnan(velocity[3]) and np.array_equal(
            np.delete(velocity, 3), np.delete(ROWS[:, 3], 3)
        )
        assert not any(name.startswith('robot') for name in data)


@pytest.mark.slow
def test_parquet_holds_every_number(recording):
    parquet = pytest.importorskip('pyarrow.parquet')
    assert main(['export', recording, '--format', 'parquet', '--output', 'there']) == 0
    table = parquet.read_table('there/left.joint_states.parquet')
    assert table['position/b'].to_pylist() == ROWS[:, 0].tolist()


def test_a_recording_of_rosbags_is_read(tmp_path, monkeypatch):
    rosbag2 = pytest.importorskip('rosbags.rosbag2')
    typesys = pytest.importorskip('rosbags.typesys')
    store = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)
    of = store.types
    time = of['builtin_interfaces/msg/Time'](sec=12, nanosec=500_000_000)
    header = of['std_msgs/msg/Header'](stamp=time, frame_id='w')
    vectors = [of['geometry_msgs/msg/Vector3'](x=float(k), y=2.0, z=3.0) for k in range(2)]
    wrench = of['geometry_msgs/msg/WrenchStamped'](
        header=header, wrench=of['geometry_msgs/msg/Wrench'](force=vectors[0], torque=vectors[1])
    )
    item = of['diagnostic_msgs/msg/KeyValue']
    array = of['diagnostic_msgs/msg/DiagnosticArray'](
        header=header,
        status=[
            of['diagnostic_msgs/msg/DiagnosticStatus'](
                level=1,
                name='arm',
                message='late',
                hardware_id='x',
                values=[item(key='late [ms]', value='4.5'), item(key='state', value='ok')],
            )
        ],
    )
    monkeypatch.chdir(tmp_path)
    plugin = rosbag2.StoragePlugin.MCAP
    with rosbag2.Writer('bag', version=9, storage_plugin=plugin) as bag:
        for name, message in (('/ft', wrench), ('/diagnostics', array)):
            kind = message.__msgtype__
            link = bag.add_connection(name, kind, typestore=store)
            bag.write(link, 5 * 10**9, store.serialize_cdr(message, kind))
    assert main(['export', 'bag', '--output', 'out']) == 0
    with open('out/ft.csv', newline='', encoding='utf-8') as file:
        row = next(csv.DictReader(file))
    assert (row['stamp'], row['frame_id'], row['wrench/torque/x']) == ('12.5', 'w', '1.0')
    with open('out/diagnostics.csv', newline='', encoding='utf-8') as file:
        row = next(csv.DictReader(file))
    assert row['status/arm/values/late [ms]'] == '4.5' and row['status/arm/message'] == 'late'


def test_json_says_what_was_written(recording, capsys):
    assert main(['export', recording, '--json']) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts['files'] == ['run_csv/left.joint_states.csv', 'run_csv/robot_description.csv']
    assert facts['topics']['/left/joint_states']['rows'] == 40


@pytest.mark.parametrize(
    'words, line',
    [
        (['missing.mcap'], 'missing.mcap: cannot be read: No such file or directory.'),
        (['run.mcap', '--topics', 'x'], 'there is no topic x in the recording'),
        (
            ['run.mcap', '--output', '.'],
            '--output .: exists already. Name another one, or replace it by --force.',
        ),
        (
            ['run.mcap', '--output', 'a/b'],
            'a/b: is in a folder that does not exist. Name another place by --output.',
        ),
        (
            ['run.mcap', '--format', 'numpy', '--output', 'x.csv'],
            'x.csv: NumPy reads .npz. Name such a file by --output.',
        ),
    ],
)
def test_wrong_use_is_one_line(recording, capsys, words, line):
    assert main(['export', *words]) == 2
    assert capsys.readouterr().err == f'flexsim export: {line}\n'


def test_a_type_that_cannot_be_read_costs_only_its_topic(recording, capsys):
    writer = RecordingWriter('odd.mcap', {})
    writer.write(writer.topic('/odd', 'a/msg/B', 'wstring text'), 1, b'\0\1\0\0')
    writer.write(writer.topic('/text', TEXT, TEXTS[TEXT]), 1, text('good'))
    writer.write(writer.topic('/text', TEXT, TEXTS[TEXT]), 1, b'\0\1\0\0')
    writer.close()
    assert main(['export', 'odd.mcap']) == 0
    streams = capsys.readouterr()
    assert streams.err == (
        'flexsim export: note: /odd is left out: type a/wstring is not defined\n'
        'flexsim export: note: 1 messages of /text are left out: they are no '
        'std_msgs/msg/String\n'
    )
    assert 'odd_csv' in streams.out
