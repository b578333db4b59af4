"""Robots, protocol frames and recordings: written and read data are equal."""

import csv
import math
import random
import struct
import tempfile
from pathlib import Path

import numpy as np
import slow_wire
from random_arms import random_robot
from random_builders import random_builder

import flex_robot_sim as frs
from benchmarks.trust.check import Case, Check, different
from flex_robot_sim.description.rewriting import edits_of, rewritten
from flex_robot_sim.description.robot_parameters import parameters_of, with_parameters
from flex_robot_sim.recording.export import write_tables
from flex_robot_sim.recording.mcap_file import RecordingReader, RecordingWriter
from flex_robot_sim.recording.messages import JOINT_STATE, SECOND, TEXTS, joint_state
from flex_robot_sim.recording.tables import read_tables
from flex_robot_sim.rig.wire.cobs import unstuff
from flex_robot_sim.rig.wire.frames import FrameReader, encode
from flex_robot_sim.rig.wire.protocol import FRAMES, is_from_board
from flex_robot_sim.util.exceptions import UsageError

FRAMES_PER_CASE = 200
SIGNIFICANT_DIGITS = 6  # of rewritten parameters
LETTERS = 'ab/_ ,;"\'\n\r\t\\:=#%{}[]<>&äß漢🤖\x7f\u202e'


def _built(seed):
    """Count the numbers that change when an arm from code becomes a URDF and is loaded."""
    builder = random_builder(seed)
    built, loaded = builder.build(), frs.load(builder.to_urdf())
    wrong = built.coordinate_names != loaded.coordinate_names
    for name, value in built.arrays._asdict().items():
        found = getattr(loaded.arrays, name)
        is_same = value.dtype == found.dtype and np.array_equal(value, found, equal_nan=True)
        wrong += not is_same
    return Case(float(wrong), {'trees': 1, 'arrays': len(built.arrays)})


def _rewritten(seed):
    """Return the relative error of parameters that are written into a URDF and read again."""
    rng = np.random.default_rng(seed)
    before = frs.read_description(random_robot(seed, 4, damping=True))
    known = parameters_of(before)
    geared = {joint.name for joint in before.joints if joint.rotor_inertia > 0.0}
    names = [
        path
        for path, one in known.items()
        if one.value
        and np.isfinite(one.value)
        and not (one.group == 'drive' and path.rpartition('.')[0] not in geared)  # no effect
        and not (path.startswith('link_') and path.endswith('.stiffness'))  # a factor
    ]
    error, count = 0.0, 0
    for name in rng.choice(names, min(6, len(names)), replace=False).tolist():
        value = known[name].value * rng.uniform(0.95, 1.05)
        try:
            after = with_parameters(before, {name: value})
        except (frs.SettingError, UsageError):  # out of range, or an impossible body
            continue
        text = rewritten(before.text, edits_of(before, after, name), {})
        error = max(error, abs(parameters_of(frs.read_description(text))[name].value / value - 1))
        count += 1
    return Case(error, {'trees': 1, 'parameters': count})


def _value(wire, rng):
    """Return a random value of a field: any integer on the wire, scaled."""
    if wire.record:
        rows = [_message(wire.record, rng) for _ in range(wire.count)]
        return tuple(rows)
    if wire.kind == 'bytes':
        return rng.randbytes(wire.count)
    count = rng.randint(*wire.bounds)
    return count / wire.per_unit if wire.per_unit != 1 else count


def _message(kind, rng):
    return kind._make(_value(wire, rng) for wire in kind.LAYOUT.fields.values())


def _frames(seed):
    """
    Count wrong frames of a stream in random pieces.

    Some frames are damaged: they may be lost, but must not decode to other frames. The CRC and the
    stuffing of all frames are those of slow, independent code.
    """
    rng, wrong = random.Random(seed), 0
    from_board = bool(rng.getrandbits(1))
    kinds = [kind for kind in FRAMES.values() if is_from_board(kind.ID) == from_board]
    stream, sent, damaged = bytearray(), [], 0
    for number in range(FRAMES_PER_CASE):
        message = _message(rng.choice(kinds), rng)
        frame = (rng.randrange(256), number, message)
        data = bytearray(encode(message, *frame[:2]))
        body = unstuff(bytes(data[1:-1]))
        assert body is not None
        wrong += struct.unpack('<I', body[-4:])[0] != slow_wire.crc32(body[:-4])
        wrong += slow_wire.stuffed(body) != bytes(data[1:-1])
        if rng.random() < 0.2:
            damaged += 1
            for _ in range(rng.randint(1, 4)):
                place = rng.randrange(len(data))
                data[place : place + rng.randint(0, 2)] = rng.randbytes(rng.randint(0, 2))
            sent.append((frame, False))
        else:
            sent.append((frame, True))
        stream += data
    reader, found = FrameReader(from_board), []
    while stream:
        size = rng.randint(1, 100)
        found += reader.feed(bytes(stream[:size]))
        del stream[:size]
    by_number = {frame[1]: frame for frame in found}
    for frame, is_whole in sent:
        received = by_number.pop(frame[1], None)
        wrong += received != frame if is_whole or received is not None else 0
    wrong += len(by_number) + (len(found) - len({frame[1] for frame in found}))
    return Case(float(wrong), {'frames': len(sent), 'damaged': damaged})


def _hostile_name(rng):
    return ''.join(rng.choice(LETTERS) for _ in range(rng.randint(1, 12)))


def _number(rng):
    """Return any double: special values, and random bits."""
    special = (0.0, -0.0, math.inf, -math.inf, 5e-324, 1.7976931348623157e308, 0.1, -1e-17)
    if rng.random() < 0.5:
        return rng.choice(special)
    value = struct.unpack('<d', rng.randbytes(8))[0]
    return 0.5 if math.isnan(value) else value


def _recordings(seed):
    """Count the numbers that a recording loses: in MCAP, CSV and NumPy, whole or cut off."""
    rng, wrong = random.Random(seed), 0
    names = list(dict.fromkeys(_hostile_name(rng) for _ in range(rng.randint(1, 6))))
    rows = [[_number(rng) for _ in names] for _ in range(rng.randint(1, 60))]
    topic = '/' + _hostile_name(rng)
    table = np.array(rows)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'run.mcap'
        writer = RecordingWriter(path, {'note': _hostile_name(rng)})
        channel = writer.topic(topic, JOINT_STATE, TEXTS[JOINT_STATE])
        for k, row in enumerate(rows):
            writer.write(channel, (k + 1) * SECOND, joint_state((k + 1) * SECOND, names, row))
            if rng.random() < 0.2:
                writer.flush()
        writer.close()
        (found,) = read_tables(RecordingReader(path)).tables
        wrong += found.topic.name != topic
        for name, column in zip(names, table.T):
            wrong += different(found.columns[f'position/{name}'], column)
        (file,) = write_tables([found], Path(folder) / 'csv', 'csv')
        with open(file, newline='', encoding='utf-8') as opened:
            cells = list(csv.DictReader(opened))
        (file,) = write_tables([found], Path(folder) / 'run.npz', 'numpy')
        for name, column in zip(names, table.T):
            written = np.array([float(row[f'position/{name}']) for row in cells])
            wrong += different(written, column)
        with np.load(file) as arrays:
            stem = next(iter(arrays.files)).partition('/')[0]
            for name, column in zip(names, table.T):
                wrong += different(arrays[f'{stem}/position/{name}'], column)
        whole = path.read_bytes()
        earlier = 0
        for size in sorted(rng.randrange(60, len(whole)) for _ in range(6)):
            path.write_bytes(whole[:size])
            parts = read_tables(RecordingReader(path)).tables
            kept = parts[0].columns[f'position/{names[0]}'] if parts else np.zeros(0)
            wrong += different(kept, table[: len(kept), 0]) + (len(kept) < earlier)
            earlier = len(kept)
    return Case(float(wrong), {'recordings': 1, 'numbers': 3 * table.size})


CHECKS = {
    'urdf_of_code': Check(
        'arrays of random arms from code that differ after writing and loading a URDF',
        0.0, 100, 2, _built,
    ),
    'urdf_rewritten': Check(
        f'parameters written into a URDF with {SIGNIFICANT_DIGITS} digits and read again',
        1e-5, 150, 3, _rewritten,
    ),
    'frames': Check(
        'frames lost, altered or invented in a stream with damaged ones in pieces',
        0.0, 300, 3, _frames,
    ),
    'recordings': Check(
        'numbers that recordings with hostile names and values lose or change',
        0.0, 300, 4, _recordings,
    ),
}  # fmt: skip
