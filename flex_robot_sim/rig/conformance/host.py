"""Test host: sends valid and invalid frames, and records all frames of the board."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, TypeAlias

from flex_robot_sim.rig.conformance.back_ends import AnyBackEnd
from flex_robot_sim.rig.wire import protocol as wire
from flex_robot_sim.rig.wire.binary_layout import Message
from flex_robot_sim.rig.wire.frames import FrameReader, ReceivedFrame, encode
from flex_robot_sim.rig.wire.ticks import WRAP, elapsed
from flex_robot_sim.rig.wire.vocabulary import VALIDITY_MAX, EventKind, Mode, Result

REACTION_PERIOD = 5  # in which the host reads frames and acknowledges events    [ms]

Metrics: TypeAlias = dict[str, float]  # measurements of the checks, by name


class CheckFailure(Exception):
    """The board deviates from the protocol page."""


def expect(truth: object, text: str) -> None:
    """Raise CheckFailure with `text` unless `truth` holds."""
    if not truth:
        raise CheckFailure(text)


def expect_equal(actual: object, expected: object, what: str) -> None:
    """Raise CheckFailure unless both are equal."""
    if actual != expected:
        raise CheckFailure(f'{what}: {_named(actual)} instead of {_named(expected)}')


class Host:
    """One session with a board, step by step."""

    def __init__(self, back_end: AnyBackEnd, seed: int | None = 0) -> None:
        """Use `back_end`: exchange(data, milliseconds) -> bytes; seed None: random."""
        self.back_end = back_end
        self.reader = FrameReader(from_board=True)
        self.random = random.Random(seed)
        self.session = 0
        self.identity: Any = None  # HelloAck, after `hello`
        self.sent = bytearray()  # all bytes since `clear`
        self._valid_frames: set[bytes] = set()  # without their zeros
        self.telemetry: list[wire.Telemetry] = []
        self.events: list[wire.Event] = []
        self.healths: list[wire.Health] = []
        self.replies: list[wire.TimeReply] = []
        self.acks: list[ReceivedFrame] = []
        self.frames: list[ReceivedFrame] = []
        self.acknowledges_events = True
        # sequence numbers
        self.last_command = self.random.randrange(65536)
        self.last_setpoint = self.random.randrange(65536)
        self._pending = b''  # acknowledgements of events
        self.metrics: Metrics = {}

    @property
    def now(self) -> wire.Telemetry:
        """Newest telemetry."""
        expect(self.telemetry, 'no TELEMETRY came')
        return self.telemetry[-1]

    def wait(self, milliseconds: int, data: bytes = b'') -> None:
        """Send bytes and advance the time; record frames, and acknowledge events."""
        while milliseconds > 0:
            self._exchange(data, min(milliseconds, REACTION_PERIOD))
            milliseconds -= REACTION_PERIOD
            data = b''

    def _exchange(self, data, milliseconds):
        data, self._pending = self._pending + data, b''
        self.sent += data
        for frame in self.reader.feed(self.back_end.exchange(data, milliseconds)):
            self.frames.append(frame)
            message = frame.message
            if isinstance(message, wire.Telemetry):
                self.telemetry.append(message)
            elif isinstance(message, wire.Event):
                self._keep_event(message)
            elif isinstance(message, (wire.Ack, wire.HelloAck)):
                self.acks.append(frame)
            elif isinstance(message, wire.Health):
                self.healths.append(message)
            elif isinstance(message, wire.TimeReply):
                self.replies.append(message)

    def _keep_event(self, event):
        if not any(event.number == other.number for other in self.events):
            self.events.append(event)
        if self.acknowledges_events:
            self._pending += self.encode(wire.EventAck(event.number), 0)

    def encode(self, message: Message, sequence: int, session: int | None = None) -> bytes:
        """Return the bytes of a frame, in the present session by default."""
        data = encode(message, self.session if session is None else session, sequence)
        self._valid_frames.add(data.strip(b'\0'))
        return data

    def valid_frames_sent(self) -> int:
        """Return the number of undamaged frames between zeros in `sent`."""
        return sum(chunk in self._valid_frames for chunk in bytes(self.sent).split(b'\0'))

    def hello(
        self,
        nonce: int | None = None,
        major: int = wire.MAJOR,
        minor: int = wire.MINOR,
        schema_crc: int = wire.SCHEMA_CRC,
    ) -> wire.HelloAck:
        """Send HELLO and return the HelloAck."""
        nonce = self.random.randrange(1 << 32) if nonce is None else nonce
        frame = self._answered(
            wire.Hello(major, minor, schema_crc, nonce),
            0,
            0,
            lambda m: isinstance(m, wire.HelloAck) and m.nonce == nonce,
        )
        self.session, self.identity = frame.session, frame.message
        return frame.message

    def command(
        self, message: Message, sequence: int | None = None, session: int | None = None
    ) -> wire.Ack:
        """Send a command once and return its Ack; sequence None: a new number."""
        if sequence is None:
            self.last_command = sequence = (self.last_command + 1) % 65536
        return self._answered(
            message,
            sequence,
            session,
            lambda m: (
                isinstance(m, wire.Ack)
                and (m.command, m.command_sequence) == (message.ID, sequence)
            ),
        ).message

    def accepted(self, message: Message) -> wire.Ack:
        """Send a command that must be accepted."""
        ack = self.command(message)
        expect_equal(ack.result, Result.ACCEPTED, type(message).__name__)
        return ack

    def _answered(self, message, sequence, session, is_answer):
        self.acks.clear()
        data = self.encode(message, sequence, session)
        timeout = self.back_end.answer_time
        for _ in range(timeout):
            self.wait(1, data)
            data = b''
            for frame in self.acks:
                if is_answer(frame.message):
                    return frame
        raise CheckFailure(f'no answer to {type(message).__name__} within {timeout} ms')

    def setpoint(
        self,
        duty: float = 0.0,
        step_rate: float = 0.0,
        validity: int = VALIDITY_MAX,
        mode: Mode = Mode.DRIVE,
    ) -> bytes:
        """Return the bytes of the next set point."""
        self.last_setpoint = (self.last_setpoint + 1) % 65536
        return self.encode(wire.Setpoint(mode, duty, step_rate, validity), self.last_setpoint)

    def alive(self) -> bytes:
        """Return the bytes of a set point that only feeds the watchdog."""
        return self.setpoint(mode=Mode.ALIVE)

    def drive(
        self,
        milliseconds: int,
        duty: float = 0.0,
        step_rate: float = 0.0,
        until: Callable[[Host], object] | None = None,
    ) -> bool:
        """Send set points for `milliseconds`, or until `until(host)`; return whether it held."""
        return self._repeat(milliseconds, lambda: self.setpoint(duty, step_rate), until)

    def keep_alive(self, milliseconds: int, until: Callable[[Host], object] | None = None) -> bool:
        """Send ALIVE set points for `milliseconds`, or until `until(host)`; see `drive`."""
        return self._repeat(milliseconds, self.alive, until)

    def _repeat(self, milliseconds, setpoint, until):
        for k in range(milliseconds):
            self.wait(1, setpoint() if k % 10 == 0 else b'')
            if until is not None and until(self):
                return True
        return False

    def stream(self, rate: int = 1000) -> wire.Telemetry:
        """Request telemetry and wait for the first."""
        self.accepted(wire.Stream(rate))
        self.telemetry.clear()
        self.wait(4)
        for _ in range(self.back_end.answer_time):  # takes longer through a port
            if self.telemetry:
                break
            self.wait(1)
        return self.now

    def stream_armed(self) -> None:
        """Request telemetry, and arm the board."""
        self.stream()
        self.accepted(wire.Arm())

    def fresh(self) -> wire.Telemetry:
        """Return telemetry of a step that starts after this call."""
        self.wait(2)
        if not self.back_end.in_lockstep:
            self._catch_up()
        return self.now

    def _catch_up(self):
        """Wait for telemetry newer than now by the clock of the board: a port may lag."""
        token = self.random.randrange(1 << 32)
        data = self.encode(wire.Time(token), 0)
        for _ in range(self.back_end.answer_time):
            self.wait(1, data)
            data = b''
            received = next(
                (reply.received for reply in self.replies if reply.token == token), None
            )
            if (
                received is not None
                and self.telemetry
                and elapsed(self.telemetry[-1].time, received) < WRAP // 2
            ):
                return

    def health(self) -> wire.Health:
        """Return the next HEALTH."""
        self.healths.clear()
        for _ in range(300):
            self.wait(1)
            if self.healths:
                return self.healths[-1]
        raise CheckFailure('no HEALTH within 300 ms')

    def has_event(self, kind: EventKind, detail: int | None = None) -> bool:
        """Whether an event was received."""
        return any(event.kind == kind and detail in (None, event.detail) for event in self.events)


def _named(value):
    return getattr(value, 'name', None) or repr(value)
