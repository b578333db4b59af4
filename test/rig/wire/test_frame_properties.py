"""Any bytes on the wire: no crash, no wrong frame, and the same frames in pieces of any size."""

import pytest
import slow_wire

pytest.importorskip('hypothesis')

from hypothesis import given
from hypothesis import strategies as st
from random_cases import cases
from wire_messages import any_message, sequences, sessions

from flex_robot_sim.rig.wire.cobs import unstuff
from flex_robot_sim.rig.wire.frames import FrameReader, encode

frames = st.builds(encode, any_message, sessions, sequences)
# whole, cut and damaged frames, zeros, and noise
parts = st.one_of(
    frames,
    st.tuples(frames, st.integers(0, 60)).map(lambda drawn: drawn[0][: drawn[1]]),
    st.tuples(frames, st.integers(0, 60), st.integers(1, 255)).map(
        lambda drawn: bytes(
            byte ^ (drawn[2] * (k == drawn[1] % len(drawn[0]))) for k, byte in enumerate(drawn[0])
        )
    ),
    st.binary(max_size=300),
    st.just(b'\0'),
)
streams = st.lists(parts, max_size=8).map(b''.join)


def read(stream, cuts, from_board):
    """Return the frames and counts of a stream in pieces that end at `cuts`."""
    reader, found, begin = FrameReader(from_board), [], 0
    for end in [*sorted(cuts), len(stream)]:
        found += reader.feed(stream[begin:end])
        begin = max(begin, end)
    return found, reader.counts


def checked_bodies(stream):
    """Return the bodies between zeros whose CRC is right, by slow, independent code."""
    bodies = []
    for chunk in stream.split(b'\0')[:-1]:
        body = unstuff(chunk) if chunk else None
        if body is None or len(body) < 4 or slow_wire.stuffed(body) != chunk:
            continue
        if int.from_bytes(body[-4:], 'little') == slow_wire.crc32(body[:-4]):
            bodies.append(body)
    return bodies


@pytest.mark.slow
@cases(100)
@given(streams, st.booleans(), st.lists(st.integers(0, 600), max_size=20))
def test_pieces_of_any_bytes_give_the_same_frames_and_counts(stream, from_board, cuts):
    assert read(stream, cuts, from_board) == read(stream, [], from_board)


@cases(50)
@given(streams, st.booleans())
def test_every_frame_that_is_delivered_was_sent_with_a_right_crc(stream, from_board):
    found, counts = read(stream, [], from_board)
    bodies = checked_bodies(stream)
    sent = [encode(frame.message, frame.session, frame.sequence) for frame in found]
    # a frame is encoded again as it was received
    assert {unstuff(data[1:-1]) for data in sent} <= {*bodies}
    assert counts.frames == len(found)
    assert counts.frames + counts.unknown_ids + counts.length_errors == len(bodies)


@cases(100)
@given(any_message, sessions, sequences, st.data())
def test_a_single_changed_byte_is_detected(message, session, sequence, data):
    whole = encode(message, session, sequence)
    place = data.draw(st.integers(1, len(whole) - 2))
    changed = bytearray(whole)
    changed[place] ^= data.draw(st.integers(1, 255))
    for from_board in (False, True):
        found, counts = read(bytes(changed), [], from_board)
        assert found == [] and counts.crc_errors >= 1
