"""
Frames as bytes: `00 | COBS(header, fields, CRC-32) | 00`.

The leading zero makes a half frame cost one frame instead of two, and noise between frames none.
"""

import struct
import zlib
from dataclasses import dataclass
from typing import NamedTuple

from flex_robot_sim.rig.wire.binary_layout import Message, MessageClass, layout_of
from flex_robot_sim.rig.wire.cobs import stuff, unstuff
from flex_robot_sim.rig.wire.protocol import FRAMES, Header, is_from_board

CRC = struct.Struct('<I')
HEADER = layout_of(Header)
MIN_BODY_SIZE = HEADER.size + CRC.size
MAX_BODY_SIZE = MIN_BODY_SIZE + max(layout.LAYOUT.size for layout in FRAMES.values())
MAX_STUFFED_SIZE = MAX_BODY_SIZE + 1  # no frame is so long that it needs two bytes of stuffing


class ReceivedFrame(NamedTuple):
    """A received frame with a valid checksum."""

    session: int
    sequence: int
    message: Message  # one of the classes of `protocol`


def encode(message: Message, session: int = 0, sequence: int = 0) -> bytes:
    """Return the bytes of a message; UsageError if a value does not fit its field."""
    body = HEADER.pack((message.ID, session, sequence)) + message.LAYOUT.pack(message)
    return b'\0' + stuff(body + CRC.pack(zlib.crc32(body))) + b'\0'


def wire_length(message_class: MessageClass) -> int:
    """Bytes of a frame on the wire."""
    return MIN_BODY_SIZE + message_class.LAYOUT.size + 3


@dataclass
class ReaderCounts:
    """Counters of a FrameReader; noise on the wire is data."""

    frames: int = 0
    crc_errors: int = 0  # invalid chunks between zeros: CRC, stuffing, or too long
    length_errors: int = 0  # right CRC, wrong length: another version
    unknown_ids: int = 0  # right CRC, but no frame of the sender


class FrameReader:
    """Cut a byte stream into checked frames; give it whatever the port returned."""

    def __init__(self, from_board: bool) -> None:
        """Prepare for frames from the board, or from the host."""
        self.counts = ReaderCounts()
        self._known = {
            number: layout.LAYOUT
            for number, layout in FRAMES.items()
            if is_from_board(number) == from_board
        }
        self._tail = b''
        self._too_long = False  # the present chunk is longer than any frame

    def feed(self, data: bytes) -> list[ReceivedFrame]:
        """Return the frames completed by `data`; damaged ones are counted, not raised."""
        *chunks, tail = (self._tail + data).split(b'\0')
        frames = []
        for chunk in chunks:
            if self._too_long:
                self.counts.crc_errors += 1
                self._too_long = False
            elif chunk:
                frame = self._read(chunk)
                if frame is not None:
                    frames.append(frame)
        if len(tail) > MAX_STUFFED_SIZE:
            self._too_long, tail = True, b''
        self._tail = tail
        self.counts.frames += len(frames)
        return frames

    def _read(self, chunk):
        data = unstuff(chunk) if len(chunk) <= MAX_STUFFED_SIZE else None
        if (
            data is None
            or len(data) < MIN_BODY_SIZE
            or zlib.crc32(data[: -CRC.size]) != CRC.unpack(data[-CRC.size :])[0]
        ):
            self.counts.crc_errors += 1
            return None
        header = HEADER.unpack(data[: HEADER.size])
        layout = self._known.get(header.id)
        if layout is None:
            self.counts.unknown_ids += 1
            return None
        if len(data) != MIN_BODY_SIZE + layout.size:
            self.counts.length_errors += 1
            return None
        message = layout.unpack(data[HEADER.size : -CRC.size])
        return ReceivedFrame(header.session, header.sequence, message)
