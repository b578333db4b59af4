"""
Protocol state of the host: session, clock, gaps, events, and the newest messages.

The module has no threads and no port: it takes bytes and times, and sends messages by a function.
"""

import logging
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from flex_robot_sim.rig.host.clock import ClockMap, StampMonitor
from flex_robot_sim.rig.wire import protocol as wire
from flex_robot_sim.rig.wire.binary_layout import Message
from flex_robot_sim.rig.wire.frames import FrameReader
from flex_robot_sim.rig.wire.vocabulary import Result

HELLO_PERIOD = 0.1  # between unanswered HELLOs                                       [s]
SILENCE_LIMIT = 0.5  # without frames, after which the host sends HELLO                [s]
MAX_EVENTS = 100
MAX_PENDING_TIMES = 16  # TIMEs without a reply; some replies get lost

log = logging.getLogger(__name__)


class LinkState(Enum):
    """State of the link as known to the host; the value is its text for users."""

    GREETING = 'the board has not answered yet'
    READY = 'connected'
    READ_ONLY = 'connected, but firmware and host are of different versions: reading only'
    STALE = 'connected, but no telemetry comes'
    NO_PORT = 'the port is gone; looking for it'
    DISPLACED = 'another host has taken the board'
    CLOSED = 'closed'


class Reading(NamedTuple):
    """Telemetry with the times of its measurement and arrival, on `time.monotonic` [s]."""

    message: wire.Telemetry
    stamp: float  # of the measurement; before the first clock exchange: of the arrival
    arrived: float

    @property
    def age(self) -> float:
        """Time since its arrival [s]."""
        return time.monotonic() - self.arrived


class LinkSession:
    """Sessions with the board on one port."""

    def __init__(
        self,
        send: Callable[[Message], object],
        on_ack: Callable[[wire.Ack], object],
        on_reading: Callable[[Reading], object] | None = None,
        on_event: Callable[[wire.Event], object] | None = None,
    ) -> None:
        """
        Prepare; `greet` starts the first session.

        :param send: sends a message.
        :param on_ack: called with each Ack; on_reading with each Reading; on_event once with
            each Event.
        """
        self.phase = LinkState.GREETING
        self.number = wire.NO_SESSION
        self.board: wire.HelloAck | None = None
        self.reading: Reading | None = None
        self.health: wire.Health | None = None
        self.clock = ClockMap()
        self.stamps = StampMonitor()
        self.gaps = 0  # lost frames of the board
        self.boots = 0  # boots, or other boards, since the start
        self.is_set_up_due = False  # the board has answered HELLO and needs its settings
        self.events: deque[wire.Event] = deque(maxlen=MAX_EVENTS)
        self.frames = FrameReader(from_board=True)
        self.changed = threading.Condition()  # notified after every change
        self._send, self._on_ack = send, on_ack
        self._on_reading, self._on_event = on_reading, on_event
        self._failed_callbacks: list[Callable[..., object]] = []  # callbacks
        self._nonce = self._token = 0
        self._last_frame_time = self._last_hello_time = self._last_time_sent = 0.0  # [s]
        self._next_sequence = 0  # expected from the board
        self._last_event = None
        self._pending_times: dict[int, float] = {}  # {token: time of sending}            [s]
        self._handlers = {
            wire.HelloAck: self._handle_hello,
            wire.Ack: lambda frame, _now: self._on_ack(frame.message),
            wire.Telemetry: self._handle_telemetry,
            wire.TimeReply: self._handle_time,
            wire.Health: self._handle_health,
            wire.Event: self._handle_event,
        }

    def greet(self, now: float) -> None:
        """Start a new session with HELLO."""
        self._nonce = secrets.randbits(32)
        self.end_session(LinkState.GREETING)
        self._hello(now)

    def end_session(self, phase: LinkState) -> None:
        """End the session; `phase` is the reason."""
        with self.changed:
            self.number, self.phase, self.is_set_up_due = wire.NO_SESSION, phase, False
            self.changed.notify_all()

    def open(self, number: int) -> None:
        """Mark session `number` as ready: the board has its settings."""
        with self.changed:
            if self.is_set_up_due and number == self.number:
                self.is_set_up_due = False
                self.phase = LinkState.READY if self.is_same_version else LinkState.READ_ONLY
            self.changed.notify_all()

    @property
    def is_same_version(self) -> bool:
        """Whether board and host have the same protocol version and schema."""
        board = self.board
        return board is not None and (board.major, board.schema_crc) == (
            wire.MAJOR,
            wire.SCHEMA_CRC,
        )

    def do_housekeeping(self, now: float, time_period: float) -> None:
        """Repeat HELLO and exchange TIME when due."""
        if self.phase in (LinkState.NO_PORT, LinkState.DISPLACED, LinkState.CLOSED):
            return
        if self.number == wire.NO_SESSION:
            if now - self._last_hello_time >= HELLO_PERIOD:
                self._hello(now)
            return
        if (
            now - self._last_frame_time >= SILENCE_LIMIT
            and now - self._last_hello_time >= SILENCE_LIMIT
        ):
            self._hello(now)  # same nonce: no effect on a board with this session
        if now - self._last_time_sent >= time_period:
            self._last_time_sent = now
            self._token = (self._token + 1) % (1 << 32)
            self._pending_times[self._token] = time.monotonic()
            while len(self._pending_times) > MAX_PENDING_TIMES:
                del self._pending_times[next(iter(self._pending_times))]
            self._send(wire.Time(self._token))

    def take(self, data: bytes, now: float) -> None:
        """Process bytes that arrived at `now` [s]."""
        for frame in self.frames.feed(data):
            if type(frame.message) is not wire.HelloAck and not self._is_ours(frame):
                continue
            self._last_frame_time = now
            if type(frame.message) is not wire.HelloAck:  # a boot restarts the sequence numbers
                self.gaps += (frame.sequence - self._next_sequence) % 65536
            self._next_sequence = (frame.sequence + 1) % 65536
            self._handlers[type(frame.message)](frame, now)
        with self.changed:
            self.changed.notify_all()

    def _hello(self, now):
        self._last_hello_time = now
        self._send(wire.Hello(wire.MAJOR, wire.MINOR, wire.SCHEMA_CRC, self._nonce))

    def _is_ours(self, frame):
        if self.number == wire.NO_SESSION:
            return False
        if frame.session == self.number:
            return True
        if frame.session == wire.NO_SESSION:
            # a board that has booted has no session; only its answer reveals the boot
            if type(frame.message) is wire.Ack and frame.message.result == Result.WRONG_SESSION:
                self._end('the board has booted')
                self.greet(time.monotonic())
        elif (frame.session - self.number) % 255 < 128:  # later; earlier ones may be in transit
            self._end('another host has taken the board')
            self.end_session(LinkState.DISPLACED)
        return False

    def _end(self, reason):
        log.warning('session %d is over: %s', self.number, reason)

    def _handle_hello(self, frame, _now):
        if frame.message.nonce != self._nonce:
            return  # answer to an earlier HELLO, or to another host
        booted = self.board is None or self.board.boot_id != frame.message.boot_id
        if frame.session == self.number and not booted:
            return  # repeated answer
        with self.changed:
            if booted:
                self.boots += 1
                self.clock.forget()
                self.stamps.forget()
                self._pending_times.clear()
                self._last_event = None
                self.reading = self.health = None
            self.number, self.board = frame.session, frame.message
            self.phase, self.is_set_up_due = LinkState.GREETING, True

    def _handle_telemetry(self, frame, now):
        if not self.stamps.advances(frame.message.time, now):
            return  # without readings the link becomes stale
        stamp = self.clock.to_host(frame.message.time)
        # the clock map is accurate to its round trip; no measurement is later than its arrival
        self.reading = Reading(frame.message, now if stamp is None else min(stamp, now), now)
        self._call(self._on_reading, self.reading)

    def _handle_time(self, frame, now):
        sent = self._pending_times.pop(frame.message.token, None)
        if sent is not None:
            self.clock.add(sent, frame.message.received, frame.message.sent, now)

    def _handle_health(self, frame, _now):
        self.health = frame.message

    def _handle_event(self, frame, _now):
        event = frame.message
        self._send(wire.EventAck(event.number))
        if event.number == self._last_event:
            return  # repeated because its acknowledgement was lost
        self._last_event = event.number
        with self.changed:
            self.events.append(event)
        self._call(self._on_event, event)

    def _call(self, function, value):
        if function is not None:
            try:
                function(value)
            except Exception:  # an error in the callback must not stop the link
                if function not in self._failed_callbacks:
                    log.exception('a callback of the rig failed; later failures are not shown')
                    self._failed_callbacks.append(function)
