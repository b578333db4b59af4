"""
Recordings with seeded damage, for the commands that read them: `recording_mutants.py SEED N`.

Checksums detect damage to the bytes of a file. So most mutants have changed definitions, names,
times, metadata and messages in an intact file.
"""

import contextlib
import io
import random
import re
import shlex
import shutil
import signal
import sys
import tempfile
import traceback
from pathlib import Path

from mcap.reader import make_reader
from mcap.writer import CompressionType, Writer
from message_texts import HEADER_TEXT

from flex_robot_sim.cli import main
from flex_robot_sim.ros.cdr import encode
from flex_robot_sim.ros.definitions import message_type

SECONDS = 60  # that a command may take on a busy machine
DIAGNOSTICS = 'diagnostic_msgs/msg/DiagnosticArray'
DIAGNOSTICS_TEXT = f"""std_msgs/Header header
DiagnosticStatus[] status
{HEADER_TEXT}================================================================================
MSG: diagnostic_msgs/DiagnosticStatus
byte level
string name
string message
string hardware_id
KeyValue[] values
================================================================================
MSG: diagnostic_msgs/KeyValue
string key
string value
"""
TEXTS = [
    '',
    '$\\frac{a$',
    '\u202egnp',
    '\x1b[31m',
    '\0',
    'nan',
    '-1e999',
    '9' * 400,
    '../../x',
    '/a b',
    '{}',
    '[1, "x"]',
    'null',
    '{"a": {}}',
    'x' * 5000,
    '\n',
    '<script>',
    '${x}',
]
TIMES = [0, 1, 2**31, 2**62, 2**63 - 1, 2**63, 2**64 - 1]


def parts_of(path):
    """Return (schemas, channels, messages, metadata) of a recording, as lists of lists."""
    with open(path, 'rb') as file:
        reader = make_reader(file)
        summary = reader.get_summary()
        schemas = [[one.id, one.name, one.encoding, one.data] for one in summary.schemas.values()]
        channels = [
            [one.id, one.topic, one.message_encoding, one.schema_id, dict(one.metadata)]
            for one in summary.channels.values()
        ]
        messages = [
            [one.channel_id, one.log_time, one.data]
            for _, _, one in reader.iter_messages(log_time_order=False)
        ]
        metadata = [[one.name, dict(one.metadata)] for one in reader.iter_metadata()]
    return schemas, channels, messages, metadata


def write(path, parts, compression=CompressionType.ZSTD):
    """Write a recording of such parts, whatever is in them."""
    schemas, channels, messages, metadata = parts
    with open(path, 'wb') as file:
        writer = Writer(file, chunk_size=2**16, compression=compression)
        writer.start('ros2', 'mutant')
        for name, facts in metadata:
            writer.add_metadata(name, facts)
        ids = {
            one: writer.register_schema(name, encoding, data)
            for one, name, encoding, data in schemas
        }
        ids = {
            one: writer.register_channel(topic, encoding, ids.get(schema, 0), metadata)
            for one, topic, encoding, schema, metadata in channels
        }
        for channel, time, data in messages:
            writer.add_message(ids.get(channel, 999), time, data, time)
        writer.finish()


def original(folder):
    """Write a short motion with diagnostics; return its path."""
    path = folder / 'run.mcap'
    with contextlib.redirect_stdout(io.StringIO()):
        assert (
            main(
                [
                    *shlex.split(
                        'simulate single_link --to 0.3 --within 0.2 --seconds 0.4 --output'
                    ),
                    str(path),
                ]
            )
            == 0
        )
    parts = parts_of(path)
    kind = message_type(DIAGNOSTICS, DIAGNOSTICS_TEXT)
    parts[0].append([99, DIAGNOSTICS, 'ros2msg', DIAGNOSTICS_TEXT.encode()])
    parts[1].append([99, '/diagnostics', 'cdr', 99, {}])
    for k in range(4):
        parts[2].append(
            [
                99,
                k * 10**8,
                encode(
                    kind,
                    {
                        'status': [
                            {
                                'name': '/dynamics: simulation',
                                'values': [
                                    {'key': 'steps', 'value': str(k)},
                                    {'key': 'state', 'value': 'runs'},
                                ],
                            }
                        ]
                    },
                ),
            ]
        )
    write(path, parts)
    return path


def mutated(parts, rng):
    """Change one thing of the parts of a recording."""
    schemas, channels, messages, metadata = parts
    what = rng.randrange(9)
    schema, channel = rng.choice(schemas), rng.choice(channels)
    if what == 0:  # a line of a definition is left out, doubled, or changed
        lines = schema[3].decode(errors='replace').split('\n')
        k = rng.randrange(len(lines))
        lines[k : k + 1] = rng.choice(
            [
                [],
                [lines[k]] * 2,
                [rng.choice(lines)],
                [
                    lines[k].replace(
                        'float64', rng.choice(['string', 'int8', 'float64[]', 'float64[99999999]'])
                    )
                ],
                [lines[k].replace('string', 'float64')],
            ]
        )
        schema[3] = '\n'.join(lines).encode()
    elif what == 1:  # bytes of a definition
        data = bytearray(schema[3] or b' ')
        data[rng.randrange(len(data))] = rng.randrange(256)
        schema[3] = bytes(data)
    elif what == 2:
        schema[rng.choice([1, 2])] = rng.choice(TEXTS + [one[1] for one in schemas])
    elif what == 3:
        channel[rng.choice([1, 2])] = rng.choice(TEXTS + [one[1] for one in channels])
    elif what == 4:
        channel[3] = rng.choice(schemas)[0]
    elif what == 5:
        for _ in range(rng.choice([1, 1, 5, len(messages)])):
            rng.choice(messages)[1] = rng.choice(TIMES)
    elif what == 6:  # what is said about the recording
        facts = rng.choice(metadata)[1]
        facts[rng.choice([*facts, 'efforts', 'coupling'])] = rng.choice(TEXTS)
    else:  # bytes of messages
        for message in rng.choices(messages, k=rng.choice([1, 5, 50])):
            data = bytearray(message[2] or b'\0')
            if rng.random() < 0.3:
                data = data[: rng.randrange(len(data))]
            for _ in range(rng.choice([1, 1, 8])):
                if data:
                    data[rng.randrange(len(data))] = rng.choice([0, 1, 127, 128, 255])
            message[2] = bytes(data)


def write_mutant(path, source, rng):
    """Write a mutant of the recording `source`."""
    if rng.random() < 0.2:  # bytes of the file itself
        data = bytearray(source.read_bytes())
        if rng.random() < 0.3:
            data = data[: rng.randrange(9, len(data))]
        for _ in range(rng.choice([1, 5, 50])):
            data[rng.randrange(8, len(data))] = rng.randrange(256)
        path.write_bytes(data)
        return
    parts = parts_of(source)
    for _ in range(rng.choice([1, 1, 2, 5])):
        mutated(parts, rng)
    write(path, parts, rng.choice(list(CompressionType)))


def call(words):
    """Return what a command did wrong; '' if it ended as it should."""
    out, err = io.StringIO(), io.StringIO()
    signal.alarm(SECONDS)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(words)
    except BaseException:
        return traceback.format_exc()
    finally:
        signal.alarm(0)
    printed = re.sub('^loading: [0-9]+ s\n', '', err.getvalue(), flags=re.M)  # a busy machine
    text = out.getvalue() + printed
    if code not in (0, 2) or not text.replace('\n', '').isprintable():
        return f'exit code {code}, and it printed {text!r}'
    if code == 2 and len(printed.splitlines()) != 1:
        return f'it printed {printed}'
    return ''


def run(seed, count):
    """Try mutants number 0 to count; return the exit code."""
    failures = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = original(folder)
        path = folder / 'mutant.mcap'
        for number in range(count):
            write_mutant(path, source, random.Random(f'{seed} {number}'))
            commands = [['export', str(path), '--output', str(folder / 'tables')]]
            if number % 4 == 0:
                commands.append(
                    ['report', str(path), '--output', str(folder / 'page.html'), '--force']
                )  # of the mutant before
            for words in commands:
                failure = call(words)
                if failure:
                    failures += 1
                    print(f'mutant {number} of seed {seed}, {words[0]}: {failure}', flush=True)
            shutil.rmtree(folder / 'tables', ignore_errors=True)
    # not ru_maxrss, which counts the process that started this one, too
    status = Path('/proc/self/status').read_text()
    peak = int(re.findall(r'VmHWM:\s+(\d+) kB', status)[0]) / 1024
    print(f'{count} mutants of seed {seed}, {failures} failures, peak {peak:.0f} MB', flush=True)
    return 1 if failures else 0


if __name__ == '__main__':

    def too_long(*_):
        raise TimeoutError(f'no end within {SECONDS} s')

    signal.signal(signal.SIGALRM, too_long)
    sys.exit(run(int(sys.argv[1]), int(sys.argv[2])))
