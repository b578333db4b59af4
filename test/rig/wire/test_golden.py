"""The golden frames: file, reference encoder, schema and codec agree with each other."""

import re
import zlib
from typing import NamedTuple

import pytest
import slow_wire
from project_files import ROOT

from flex_robot_sim.rig.wire import protocol
from flex_robot_sim.rig.wire.binary_layout import layout_of
from flex_robot_sim.rig.wire.frames import FrameReader, encode

FILE = ROOT / 'test' / 'data' / 'rig_frames.txt'


class Golden(NamedTuple):
    """A frame of the file."""

    name: str
    fields: dict  # name: 'type:value'
    data: bytes


def golden_frames():
    text = re.sub(r'^#.*\n', '', FILE.read_text(encoding='utf-8'), flags=re.MULTILINE)
    for block in text.strip().split('\n\n'):
        name, fields, data = block.splitlines()
        yield Golden(name, dict(word.split('=') for word in fields.split()), bytes.fromhex(data))


FRAMES = list(golden_frames())
NAMES = [f'{golden.name}-{k}' for k, golden in enumerate(FRAMES)]
every_frame = pytest.mark.parametrize('golden', FRAMES, ids=NAMES)


def message_of(golden):
    """Return the message, from the integers of the file and the scales of the schema."""
    layout = protocol.FRAMES[int(golden.fields['id'].split(':')[1])]
    values = []
    for name, wire in layout.LAYOUT.fields.items():
        kind, value = golden.fields[name].split(':')
        if wire.record:
            data, size = bytes.fromhex(value), wire.record.LAYOUT.size
            values.append(
                tuple(
                    wire.record(
                        int.from_bytes(data[at : at + 4], 'little'),
                        signed(data[at + 4 : at + 6]) / 10000,
                        signed(data[at + 6 : at + 10]) / 1000,
                    )
                    for at in range(0, len(data), size)
                )
            )
        else:
            scale = wire.per_unit
            values.append(
                bytes.fromhex(value)
                if kind == 'hex'
                else int(value)
                if scale == 1
                else int(value) / scale
            )
    return layout(*values)


def signed(data):
    return int.from_bytes(data, 'little', signed=True)


def header_of(golden):
    return [int(golden.fields[name].split(':')[1]) for name in ('id', 'session', 'sequence')]


def test_the_reference_crc_has_the_published_check_value():
    assert slow_wire.crc32(b'123456789') == 0xCBF43926  # check value of CRC-32/ISO-HDLC
    assert slow_wire.crc32(b'The quick brown fox jumps over the lazy dog') == 0x414FA339


def test_the_reference_stuffing_agrees_with_the_paper():
    # Cheshire and Baker, Consistent Overhead Byte Stuffing, the packet of their example
    packet = bytes.fromhex('4500002c4c79000040064f37')
    assert slow_wire.stuffed(packet) == bytes.fromhex('0245 01 042c4c79 01 0540064f37')


def test_there_is_a_frame_of_every_kind():
    assert {golden.name for golden in FRAMES} == {
        protocol.frame_name(layout) for layout in protocol.FRAMES.values()
    }


@every_frame
def test_the_reference_encoder_gives_the_golden_bytes(golden):
    assert slow_wire.on_the_wire(golden.fields.values()) == golden.data


@every_frame
def test_the_schema_has_the_fields_and_types_of_the_file(golden):
    layout = protocol.FRAMES[header_of(golden)[0]]
    assert protocol.frame_name(layout) == golden.name
    fields = {**layout_of(protocol.Header).fields, **layout.LAYOUT.fields}
    assert {
        name: 'hex' if wire.kind in ('bytes', 'records') else wire.kind
        for name, wire in fields.items()
    } == {name: typed.split(':')[0] for name, typed in golden.fields.items()}


@every_frame
def test_encoding_gives_the_golden_bytes(golden):
    _, session, sequence = header_of(golden)
    assert encode(message_of(golden), session, sequence) == golden.data


@every_frame
def test_decoding_gives_the_golden_values(golden):
    number, session, sequence = header_of(golden)
    reader = FrameReader(from_board=protocol.is_from_board(number))
    assert reader.feed(golden.data) == [(session, sequence, message_of(golden))]


def test_the_crc_of_the_golden_profile_matches_its_segments():
    load = message_of(next(golden for golden in FRAMES if golden.name == 'PROFILE_LOAD'))
    data = b''.join(layout_of(protocol.Segment).pack(s) for s in load.segments[: load.total])
    assert zlib.crc32(data) == load.crc


def test_telemetry_takes_45_bytes_so_that_1_kHz_is_half_of_the_line():
    data = next(golden.data for golden in FRAMES if golden.name == 'TELEMETRY')
    assert len(data) == 45
    assert 45 * 10 * 1000 < 921600 / 2  # start bit, 8 data bits, stop bit
