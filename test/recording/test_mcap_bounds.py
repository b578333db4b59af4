"""Small files that unpack to gigabytes or say what cannot be: one line, in bounded memory."""

import json
import struct
import subprocess
import sys
from itertools import chain

import pytest
from project_files import ROOT

pytest.importorskip('mcap')

import lz4.frame
from mcap.writer import CompressionType, Writer

from flex_robot_sim.cli import main
from flex_robot_sim.recording.chunks import MAX_CHUNK_VARIABLE
from flex_robot_sim.recording.mcap_file import RecordingReader, RecordingWriter
from flex_robot_sim.recording.messages import JOINT_STATE, TEXT, TEXTS, joint_state, text
from flex_robot_sim.ros.cdr import MessageError, decode, encode
from flex_robot_sim.ros.definitions import DefinitionError, message_type
from flex_robot_sim.util.exceptions import UsageError

MEGA = 2**20
READ = (
    'from flex_robot_sim.recording.mcap_file import RecordingReader\n'
    'for _ in RecordingReader(sys.argv[1]): pass'
)
# peak memory of this program alone: that of getrusage begins with what its parent had
PEAK = """import json, re, sys
code, line = 0, ''
try:
    {lines}
except Exception as error:
    code, line = 2, f'{{type(error).__name__}}: {{error}}'
status = open('/proc/self/status').read()
print(json.dumps([code, line, int(re.search(r'VmHWM:\\s+(\\d+)', status)[1]) / 1024]))"""


def run(lines, *words):
    """Run lines in a process; return exit code, its line, and its peak memory [MB]."""
    done = subprocess.run(
        [sys.executable, '-c', PEAK.format(lines=lines.replace('\n', '\n    ')), *map(str, words)],
        capture_output=True,
        text=True,
        timeout=200,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    code, line, peak = json.loads(done.stdout.splitlines()[-1])
    return code, line or done.stderr.strip(), peak


def zstd_zeros(size):
    """Return a Zstandard frame of zeros, 4 bytes for 128 kB: blocks that repeat one byte."""
    blocks = size // 2**17
    head = struct.pack('<IBBQ', 0xFD2FB528, 0xC0, 13 << 3, size)
    return head + b''.join(
        struct.pack('<I', (k == blocks - 1) | 1 << 1 | 2**17 << 3) for k in range(blocks)
    )


def write_chunk(path, way, data, size):
    """Write a recording with one chunk of packed data that says its size."""
    fields = struct.pack('<QQQI', 0, 0, size, 0) + struct.pack('<I', len(way)) + way.encode()
    chunk = fields + struct.pack('<Q', len(data)) + data
    path.write_bytes(
        b'\x89MCAP0\r\n'
        + struct.pack('<BQ', 1, 8)
        + bytes(8)
        + struct.pack('<BQ', 6, len(chunk))
        + chunk
    )
    return path


@pytest.fixture(scope='module')
def bombs(tmp_path_factory):
    """Files of a chunk that unpacks to gigabytes."""
    folder = tmp_path_factory.mktemp('bombs')
    lz4_frame = lz4.frame.compress(bytes(256 * MEGA))
    return {
        'zstd': write_chunk(folder / 'zstd.mcap', 'zstd', zstd_zeros(8 * 2**30), 8 * 2**30),
        'lz4': write_chunk(folder / 'lz4.mcap', 'lz4', lz4_frame, 256 * MEGA),
    }


@pytest.mark.parametrize('name', ['zstd', 'lz4'])
def test_a_chunk_of_gigabytes_is_refused_in_one_line(bombs, name):
    path = bombs[name]
    size = path.stat().st_size
    code, line, peak = run('import sys\n' + READ, path)
    assert code == 2 and line == (
        f'UsageError: {path}: what it unpacks to at {size} of {size} bytes is larger than the '
        f'limit. Set {MAX_CHUNK_VARIABLE} (default 64) if you trust the file.'
    )
    assert peak < 150 + 4 * size / MEGA


@pytest.mark.slow
@pytest.mark.parametrize('words', [('export',), ('report',)], ids=lambda words: words[0])
def test_commands_refuse_it_too(bombs, words, tmp_path, capsys):
    place = tmp_path / ('page.html' if words[0] == 'report' else 'tables')
    assert main([*words, str(bombs['zstd']), '--output', str(place)]) == 2
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1 and MAX_CHUNK_VARIABLE in error and not place.exists()


def test_the_setting_raises_the_limit(bombs, monkeypatch):
    monkeypatch.setenv(MAX_CHUNK_VARIABLE, '300')
    assert list(RecordingReader(bombs['lz4'])) == []
    monkeypatch.setenv(MAX_CHUNK_VARIABLE, 'much')
    with pytest.raises(UsageError) as error:
        list(RecordingReader(bombs['lz4']))
    assert str(error.value) == f'{MAX_CHUNK_VARIABLE} = much must be a number above 0 [MB].'


def test_a_chunk_that_is_larger_than_it_says_is_damaged(tmp_path):
    path = write_chunk(tmp_path / 'run.mcap', 'zstd', zstd_zeros(8 * 2**30), 1000)
    code, line, peak = run('import sys\n' + READ + '\nassert 0', path)
    assert line == 'AssertionError: ' and peak < 150
    reader = RecordingReader(path)
    assert list(reader) == [] and f'1 chunks of {path} are damaged' in reader.notes[1]


@pytest.mark.slow
def test_many_chunks_within_the_limit_are_bounded_together(tmp_path):
    path = write_chunk(tmp_path / 'run.mcap', 'zstd', zstd_zeros(60 * MEGA), 60 * MEGA)
    data = path.read_bytes()
    path.write_bytes(data + data[25:] * 40)  # 25: magic and header
    code, line, peak = run('import sys\n' + READ, path)
    assert code == 2 and 'larger than the limit' in line and peak < 150


@pytest.mark.slow
@pytest.mark.parametrize('way', [CompressionType.ZSTD, CompressionType.LZ4, CompressionType.NONE])
def test_large_files_take_little_more_than_a_chunk(tmp_path, way):
    path = tmp_path / 'run.mcap'
    with open(path, 'wb') as file:
        writer = Writer(file, chunk_size=8 * MEGA, compression=way)
        writer.start('ros2', '')
        schema = writer.register_schema(TEXT, 'ros2msg', TEXTS[TEXT].encode())
        channel = writer.register_channel('/text', 'cdr', schema)
        for k in range(100):
            writer.add_message(channel, k, text('x' * MEGA), k)
        writer.finish()
    code, line, peak = run('import sys\n' + READ, path)
    assert code == 0 and line == ''
    assert peak < 150 + 4 * path.stat().st_size / MEGA


def test_definitions_that_topics_share_are_kept_once(tmp_path):
    path = tmp_path / 'run.mcap'
    with open(path, 'wb') as file:
        writer = Writer(file, chunk_size=MEGA)
        writer.start('ros2', '')
        schema = writer.register_schema(TEXT, 'ros2msg', TEXTS[TEXT].encode() + b'# ' * MEGA)
        for k in range(2000):
            writer.add_message(writer.register_channel(f'/{k}', 'cdr', schema), k, text('x'), k)
        writer.finish()
    code, _, peak = run('import sys\n' + READ, path)
    assert code == 0 and peak < 150 + 4 * path.stat().st_size / MEGA


@pytest.fixture
def states(tmp_path):
    """Return a function that writes joint states with a definition and some times."""

    def write(definition=TEXTS[JOINT_STATE], times=range(1, 11)):
        path = tmp_path / 'run.mcap'
        writer = RecordingWriter(path, {})
        for k in times:
            writer.write(
                writer.topic('/joint_states', JOINT_STATE, definition),
                k,
                joint_state(k % 2**31, ['a'], [0.0]),
            )
        writer.close()
        return path

    return write


@pytest.mark.slow
def test_a_time_beyond_those_of_ros_leaves_the_message_out(states, tmp_path, capsys):
    path = states(times=[10**6, 2 * 10**6, 2**63, 2**64 - 1, 3 * 10**6])
    assert main(['export', str(path), '--output', str(tmp_path / 'tables')]) == 0
    assert (
        f'note: 2 messages of {path} have an impossible time and are left out'
        in capsys.readouterr().err
    )
    assert main(['report', str(path), '--output', str(tmp_path / 'page.html')]) == 0


@pytest.mark.parametrize('field', ['name', 'position', 'header', 'sec', 'frame_id'])
def test_a_definition_that_lacks_a_field_is_one_line(states, tmp_path, capsys, field):
    lines = TEXTS[JOINT_STATE].split('\n')
    lacking = [line for line in lines if not line.endswith(f' {field}')]
    assert len(lacking) == len(lines) - 1
    path = states('\n'.join(lacking))
    assert main(['export', str(path), '--output', str(tmp_path / 'tables')]) == 2
    assert f'lacks "{field}"' in capsys.readouterr().err
    assert main(['report', str(path), '--output', str(tmp_path / 'page.html')]) == 2
    assert 'Traceback' not in (error := capsys.readouterr().err) and error.count('\n') == 1


@pytest.mark.parametrize(
    'definition, problem',
    [
        ('int32[99999999999999999999] x', 'is no field'),
        (
            'T0 x'
            + ''.join(f'\n====\nMSG: a/T{k}\nT{k + 1} x\nT{k + 1} y' for k in range(40))
            + '\n====\nMSG: a/T40\nint8 x',
            'fields',
        ),
        (
            'T0 x'
            + ''.join(f'\n====\nMSG: a/T{k}\nT{k + 1} x' for k in range(2000))
            + '\n====\nMSG: a/T2000\nint8 x',
            'types within each other',
        ),
        ('int8 x\n' * 200_000, 'letters'),
    ],
    ids=['number', 'doubling', 'deep', 'long'],
)
def test_a_definition_without_bounds_is_refused(definition, problem):
    with pytest.raises(DefinitionError, match=problem):
        message_type('a/A', definition)


def test_lists_in_a_message_are_bounded():
    kind = message_type('a/A', 'B[] x\n====\nMSG: a/B\nuint8 y')
    data = encode(kind, {'x': [{'y': 1}] * 10})
    assert len(decode(kind, data)['x']) == 10
    wild = data[:4] + struct.pack('<I', 3 * MEGA) + bytes(3 * MEGA)
    with pytest.raises(MessageError, match='too large for its lists'):
        decode(kind, wild)


@pytest.mark.slow
def test_rows_with_ever_new_columns_are_left_out(tmp_path, capsys):
    path = tmp_path / 'run.mcap'
    writer = RecordingWriter(path, {})
    topic = writer.topic('/joint_states', JOINT_STATE, TEXTS[JOINT_STATE])
    names = [f'j{k}' for k in range(900)]
    for k, chosen in enumerate(chain([names], (names[:0] for _ in range(10_000)))):
        writer.write(topic, k, joint_state(k, chosen, [0.0] * len(chosen)))
    writer.close()
    assert main(['export', str(path), '--output', str(tmp_path / 'tables')]) == 2
    assert 'its rows have too few of its columns' in capsys.readouterr().err


def test_one_long_text_does_not_multiply_in_numpy(tmp_path, capsys):
    path = tmp_path / 'run.mcap'
    writer = RecordingWriter(path, {})
    topic = writer.topic('/text', TEXT, TEXTS[TEXT])
    for k in range(3000):
        writer.write(topic, k, text('x' * (MEGA if k == 0 else 1)))
    writer.close()
    assert (
        main(['export', str(path), '--format', 'numpy', '--output', str(tmp_path / 'run.npz')])
        == 2
    )
    assert '/text: the texts of data are too long for NumPy' in capsys.readouterr().err
    assert main(['export', str(path), '--output', str(tmp_path / 'tables')]) == 0
