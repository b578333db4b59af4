"""The wire under noise; page, header and tables agree with the schema."""

import math
import random
import re
import subprocess

import pytest
import slow_wire
from hypothesis import given, settings
from hypothesis import strategies as st
from wire_messages import any_message, sequences, sessions

from flex_robot_sim.rig.host.link import LinkSettings
from flex_robot_sim.rig.wire import c_header, generate, protocol, protocol_page
from flex_robot_sim.rig.wire.behaviour import ANSWERS, STATES
from flex_robot_sim.rig.wire.binary_layout import layout_of
from flex_robot_sim.rig.wire.board_parameters import PARAMETERS, Parameter
from flex_robot_sim.rig.wire.cobs import stuff, unstuff
from flex_robot_sim.rig.wire.frames import MAX_STUFFED_SIZE, FrameReader, encode, wire_length
from flex_robot_sim.rig.wire.protocol import Ack, Arm, Setpoint, Telemetry, Time
from flex_robot_sim.rig.wire.vocabulary import CONSTANTS, FAULTS, Fault, Mode, Result, State
from flex_robot_sim.util.exceptions import UsageError

pytestmark = pytest.mark.slow

TELEMETRY = Telemetry(
    12345678, 45000, -573, 33000, 32768, -0.25, -765, 1600.0, State.ARMED, 0, Fault(0), 513, -0.417
)


def reader_for(message):
    return FrameReader(from_board=protocol.is_from_board(message.ID))


@given(st.lists(st.sampled_from([0, 0, 1, 2, 254, 255]), max_size=253).map(bytes))
def test_stuffing_equals_the_reference_and_is_reversible(data):
    assert stuff(data) == slow_wire.stuffed(data) and unstuff(stuff(data)) == data
    assert 0 not in stuff(data) and len(stuff(data)) == len(data) + 1


@pytest.mark.parametrize('data', [b'', b'\x00', b'\x02', b'\x05abc', b'\x02a\x00', b'\xff' * 255])
def test_invalid_stuffing_is_not_decoded(data):
    assert unstuff(data) is None


@given(any_message, sessions, sequences)
def test_every_message_survives_encoding_and_decoding(message, session, sequence):
    data = encode(message, session, sequence)
    assert len(data) == wire_length(type(message)) and data.count(0) == 2
    assert reader_for(message).feed(data) == [(session, sequence, message)]


@given(any_message, sessions, sequences, st.data())
@settings(max_examples=300)
def test_a_damaged_frame_is_never_a_different_valid_frame(message, session, sequence, draw):
    data = bytearray(encode(message, session, sequence))
    for _ in range(draw.draw(st.integers(1, 4))):
        at = draw.draw(st.integers(0, len(data) - 1))
        how = draw.draw(st.sampled_from(['change', 'drop', 'insert']))
        if how == 'change':
            data[at] ^= draw.draw(st.integers(1, 255))
        elif how == 'drop' and len(data) > 1:
            del data[at]
        else:
            data.insert(at, draw.draw(st.integers(0, 255)))
    # two edits can cancel, and a zero removed or added at an end has no effect
    assert all(frame == (session, sequence, message) for frame in reader_for(message).feed(data))


@given(st.binary(max_size=300).map(lambda noise: noise.replace(b'\0', b'\1')), any_message)
def test_noise_between_two_frames_loses_neither(noise, message):
    data, reader = encode(message, 1, 2), reader_for(message)
    assert reader.feed(data + noise + data) == [(1, 2, message)] * 2
    assert reader.counts.crc_errors == (1 if noise else 0)


def test_a_million_bytes_of_noise_contain_no_frame():
    noise = random.Random(5)
    readers = [FrameReader(from_board=True), FrameReader(from_board=False)]
    for _ in range(1000):
        data = noise.randbytes(1000)
        assert [reader.feed(data) for reader in readers] == [[], []]
    for reader in readers:
        # a million bytes have 1e6 / 256 zeros within 4 standard deviations (62), and one in 256
        # of the chunks between them is empty, so some 15 are not errors
        assert 3906 - 4 * 62 - 40 < reader.counts.crc_errors < 3906 + 4 * 62


def test_an_endless_chunk_needs_no_memory_and_counts_once():
    reader = FrameReader(from_board=True)
    for _ in range(1000):
        reader.feed(b'\x55' * 1000)
    assert len(reader._tail) <= MAX_STUFFED_SIZE
    assert reader.feed(b'\0' + encode(TELEMETRY)) == [(0, 0, TELEMETRY)]
    assert reader.counts.crc_errors == 1


def test_an_echo_is_not_a_frame():
    reader = FrameReader(from_board=True)
    assert reader.feed(encode(Arm(), 1, 1)) == [] and reader.counts.unknown_ids == 1


def test_a_frame_of_another_length_is_counted_as_such():
    body = bytes([vars(Time)['ID'], 0, 0, 0, 1, 2, 3, 4, 5])
    body += slow_wire.crc32(body).to_bytes(4, 'little')
    reader = FrameReader(from_board=False)
    assert reader.feed(b'\0' + slow_wire.stuffed(body) + b'\0') == []
    assert reader.counts.length_errors == 1


def test_an_unknown_word_stays_a_number():
    data = encode(Ack(0x20, 77, 1, 99, 1 << 15, 0))
    answer = FrameReader(from_board=True).feed(data)[0].message
    assert (answer.result, answer.state, int(answer.faults)) == (77, 99, 1 << 15)


@pytest.mark.parametrize(
    ('message', 'problem'),
    [
        (
            Setpoint(Mode.DRIVE, 3.5, 0.0, 50),
            'Setpoint: duty = 3.5 must be -3.2768 to 3.2767: duty of the DC motor: -1 to 1 of '
            'the supply.',
        ),
        (
            Setpoint(Mode.DRIVE, 0.0, math.nan, 50),
            'Setpoint: step_rate = nan must be -2147483.648 to 2147483.647 steps/s: pulse rate '
            'of the stepper.',
        ),
        (Time('soon'), "Time: token = 'soon' must be 0 to 4294967295: returned in TIME_REPLY."),
        (
            protocol.ProfileLoad(0, 9, 0, (protocol.Segment(1000, 0.0, 0.0),) * 9),
            'must be at most 8 records',
        ),
        (protocol.HelloAck(1, 0, 0, 0, 0, b'short', 0, 0, 0, 0, 0, 0), 'must be 12 bytes'),
    ],
)
def test_a_value_out_of_range_is_rejected_in_one_line(message, problem):
    with pytest.raises(UsageError) as caught:
        encode(message)
    assert problem in str(caught.value) and '\n' not in str(caught.value)


def test_every_fault_has_cause_and_remedy_and_every_parameter_a_default_in_range():
    assert list(FAULTS) == list(Fault)
    assert list(PARAMETERS) == list(Parameter)
    assert all(p.least <= p.default <= p.most for p in PARAMETERS.values())


def test_only_ARM_arms_and_only_ESTOP_is_accepted_in_every_moving_state():
    arming = {
        message
        for (message, _), row in ANSWERS.items()
        for answer in row.values()
        if answer.state == State.ARMED
    }
    assert arming == {Arm}
    assert all(row[State.FAULT].state in (None, State.DISARMED) for row in ANSWERS.values())
    for (message, _), row in ANSWERS.items():
        assert list(row) == list(STATES)
        if message.__name__ in ('Estop', 'Disarm'):
            assert all(a.result == Result.ACCEPTED and not a.conditions for a in row.values())


def test_the_schema_crc_depends_on_every_unit(monkeypatch):
    monkeypatch.setattr(
        layout_of(Telemetry),
        'fields',
        {
            name: wire._replace(unit='A2') if name == 'current' else wire
            for name, wire in layout_of(Telemetry).fields.items()
        },
    )
    assert slow_wire.crc32(protocol.schema_text().encode()) != protocol.SCHEMA_CRC


def test_the_header_of_the_firmware_agrees_with_the_schema():
    # `python3 -m flex_robot_sim.rig.wire.generate` regenerates it
    assert generate.HEADER.read_text(encoding='utf-8') == c_header.c_header()


def test_the_tables_of_the_page_agree_with_the_schema():
    page = generate.PAGE.read_text(encoding='utf-8')
    assert page == protocol_page.fill_tables(page)
    assert set(protocol_page.TABLES) == {found[2] for found in protocol_page.MARK.finditer(page)}


def test_hex_of_the_page_agrees_with_the_reference_encoder():
    page = generate.PAGE.read_text(encoding='utf-8')
    examples = re.findall(r'```\n((?:[0-9a-f]{2} )+00)\n```\n\n(.*?)<!-- end -->', page, re.DOTALL)
    assert len(examples) == 3
    for line, table in examples:
        cells = re.findall(r'^\| `([0-9a-f ]+)` \|', table, re.M)
        body, crc = bytes.fromhex(''.join(cells[:-1])), bytes.fromhex(cells[-1])
        assert crc == slow_wire.crc32(body).to_bytes(4, 'little')
        assert bytes.fromhex(line) == b'\0' + slow_wire.stuffed(body + crc) + b'\0'


def test_the_page_lists_every_fault_with_its_remedy():
    rows = dict(
        re.findall(
            r'^\| \d+ \| `(\w+)` \|.*\| (.*) \|$',
            generate.PAGE.read_text(encoding='utf-8')
            .partition('## Faults')[2]
            .partition('<!-- end -->')[0],
            re.M,
        )
    )
    assert rows == {fault.name: text.remedy for fault, text in FAULTS.items()}
    assert all(len(remedy.split()) > 3 for remedy in rows.values())


def test_page_and_host_have_the_same_timeouts():
    page, link = ' '.join(generate.PAGE.read_text(encoding='utf-8').split()), LinkSettings()
    words = {5: 'five'}
    assert (
        f'waits {link.ack_timeout * 1000:g} ms for its ACK. Without an ACK it repeats the same '
        f'bytes, up to {words[link.repetitions]} times.' in page
    )
    watchdog, rate = (CONSTANTS[name][0] for name in ('WATCHDOG_MS', 'CONTROL_RATE_HZ'))
    assert f'{watchdog - 1000 // rate} ms is WATCHDOG_MS less one control step' in page
    assert f'the wrap after {2**32 / 60e6:.1f} minutes' in page
    assert 5 <= link.time_rate <= 10 and 'Host, 5-10 Hz: request the clock of the board' in page


def test_the_header_compiles_and_its_structs_have_the_lengths_of_the_wire(tmp_path):
    source = tmp_path / 'lengths.c'
    source.write_text(
        '#include "protocol_layout.h"\n'
        '#define CHECK(name, id, fields, wire) '
        '_Static_assert(wire == fields + 11 && FRAME_##name == id, #name);\n'
        'FRAMES(CHECK)\n'
    )
    try:
        options = '-std=c11', '-Wall', '-Wextra', '-Werror', '-pedantic', '-fsyntax-only'
        answer = subprocess.run(
            ['gcc', *options, '-I', generate.HEADER.parent, source], capture_output=True, text=True
        )
    except FileNotFoundError:
        pytest.skip('needs gcc')
    assert answer.returncode == 0, answer.stderr
