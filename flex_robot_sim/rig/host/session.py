"""
What the host knows of the board: session, clock, gaps, events, the newest of everything.

No threads and no port in here: bytes and times come in, messages go out through a function.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from flex_robot_sim.rig.host.clock import ClockMap, StampMonitor
from flex_robot_sim.rig.wire.frames import FrameReader
from flex_robot_sim.rig.wire.protocol import (
    MAJOR,
    MINOR,
    NO_SESSION,
    SCHEMA_CRC,
    Ack,
    Event,
    EventAck,
    Health,
    Hello,
    HelloAck,
    Telemetry,
    Time,
    TimeReply,
)
from flex_robot_sim.rig.wire.vocabulary import Result

if TYPE_CHECKING:
    from flex_robot_sim.rig.wire.layout import Message

HELLO_PERIOD = 0.1          # between two HELLOs that nobody answers                          [s]
SILENCE_LIMIT = 0.5  # after which the host asks whether the board is still there      [s]
MAX_EVENTS = 100
MAX_PENDING_TIMES = 16      # TIMEs on the way, of which some never come back

log = logging.getLogger(__name__)


class LinkState(Enum):
    """What the host knows about the other end; the value is for people."""

    GREETING = 'the board has not answered yet'
    READY = 'connected'
    READ_ONLY = 'connected, but firmware and host are of different versions: reading only'
    STALE = 'connected, but no telemetry comes'
    NO_PORT = 'the port is gone; looking for it'
    DISPLACED = 'another host has taken the board'
    CLOSED = 'closed'


class Reading(NamedTuple):
    """Telemetry, and when it was measured and came, on `time.monotonic` [s]."""

    message: Telemetry
    stamp: float        # of the measurement; before clocks are compared: of the arrival
    arrived: float

    @property
    def age(self) -> float:
        """Time since it arrived [s]."""
        return time.monotonic() - self.arrived


class Session:
    """One board, from HELLO to the next HELLO and beyond."""

    def __init__(self, send: Callable[[Message], object], on_ack: Callable[[Ack], object],
                 on_reading: Callable[[Reading], object] | None = None,
                 on_event: Callable[[Event], object] | None = None) -> None:
        """
        Prepare; `greet` begins.

        :param send: sends a message.
        :param on_ack: called with each Ack; on_reading with each Reading; on_event once with
            each Event.
        """
        self.phase = LinkState.GREETING
        self.number = NO_SESSION
        self.board: HelloAck | None = None
        self.reading: Reading | None = None
        self.health: Health | None = None
        self.clock = ClockMap()
        self.stamps = StampMonitor()
        self.gaps = 0                   # frames of the board that never came
        self.boots = 0                  # boards and boots seen
        self.is_set_up_due = False      # the board has answered and wants its settings
        self.events: deque[Event] = deque(maxlen=MAX_EVENTS)
        self.event_count = 0
        self.frames = FrameReader(from_board=True)
        self.changed = threading.Condition()    # notified after every change
        self._send, self._on_ack = send, on_ack
        self._on_reading, self._on_event = on_reading, on_event
        self._failed_callbacks: list[Callable[..., object]] = []  # callbacks
        self._nonce = self._token = 0
        self._last_frame_time = self._last_hello_time = self._last_time_sent = 0.0  # when last [s]
        self._next_sequence = 0         # sequence number of the board without a gap
        self._last_event = None
        self._pending_times: dict[int, float] = {}  # token: when it went out                 [s]
        self._handlers = {
            HelloAck: self._handle_hello, Ack: self._handle_ack, Telemetry: self._handle_telemetry,
            TimeReply: self._handle_time, Health: self._handle_health, Event: self._handle_event}

    def greet(self, now: float) -> None:
        """Begin a new session."""
        self._nonce = secrets.randbits(32)
        self.leave(LinkState.GREETING)
        self._hello(now)

    def leave(self, phase: LinkState) -> None:
        """End the session, for the reason that `phase` names."""
        with self.changed:
            self.number, self.phase, self.is_set_up_due = NO_SESSION, phase, False
            self.changed.notify_all()

    def open(self, number: int) -> None:
        """Let session `number` be used: the board has its settings."""
        with self.changed:
            if self.is_set_up_due and number == self.number:
                self.is_set_up_due = False
                self.phase = LinkState.READY if self.is_same_version else LinkState.READ_ONLY
            self.changed.notify_all()

    def events_after(self, count: int, timeout: float) -> tuple[list[Event], int]:
        """Events beyond the first `count`, and how many there are now; wait for the next one."""
        with self.changed:
            self.changed.wait_for(lambda: self.event_count > count, timeout)
            new = min(self.event_count - count, len(self.events))
            return list(self.events)[len(self.events) - new:], self.event_count

    @property
    def is_same_version(self) -> bool:
        """Whether board and host mean the same by what they say."""
        board = self.board
        return board is not None and (board.major, board.schema_crc) == (MAJOR, SCHEMA_CRC)

    def do_housekeeping(self, now: float, time_period: float) -> None:
        """Do what is due: greet again, compare clocks."""
        if self.phase in (LinkState.NO_PORT, LinkState.DISPLACED, LinkState.CLOSED):
            return
        if self.number == NO_SESSION:
            if now - self._last_hello_time >= HELLO_PERIOD:
                self._hello(now)
            return
        if now - self._last_frame_time >= SILENCE_LIMIT and now - self._last_hello_time >= SILENCE_LIMIT:
            self._hello(now)            # the same nonce: a board that never left changes nothing
        if now - self._last_time_sent >= time_period:
            self._last_time_sent = now
            self._token = (self._token + 1) % (1 << 32)
            self._pending_times[self._token] = time.monotonic()
            while len(self._pending_times) > MAX_PENDING_TIMES:
                del self._pending_times[next(iter(self._pending_times))]
            self._send(Time(self._token))

    def take(self, data: bytes, now: float) -> None:
        """Take bytes from the port that came at `now` [s]."""
        for frame in self.frames.feed(data):
            if type(frame.message) is not HelloAck and not self._is_ours(frame):
                continue
            self._last_frame_time = now
            if type(frame.message) is not HelloAck:     # a board that has booted counts anew
                self.gaps += (frame.sequence - self._next_sequence) % 65536
            self._next_sequence = (frame.sequence + 1) % 65536
            self._handlers[type(frame.message)](frame, now)
        with self.changed:
            self.changed.notify_all()

    def _hello(self, now):
        self._last_hello_time = now
        self._send(Hello(MAJOR, MINOR, SCHEMA_CRC, self._nonce))

    def _is_ours(self, frame):
        if self.number == NO_SESSION:
            return False
        if frame.session == self.number:
            return True
        if frame.session == NO_SESSION:
            # a board that has booted knows no session; only an answer can tell of that
            if type(frame.message) is Ack and frame.message.result == Result.WRONG_SESSION:
                self._end('the board has booted')
                self.greet(time.monotonic())
        elif (frame.session - self.number) % 255 < 128:     # a later one; earlier are on the way
            self._end('another host has taken the board')
            self.leave(LinkState.DISPLACED)
        return False

    def _end(self, reason):
        log.warning('session %d is over: %s', self.number, reason)

    def _handle_hello(self, frame, now):
        if frame.message.nonce != self._nonce:
            return                      # of an earlier greeting, or of another host
        booted = self.board is None or self.board.boot_id != frame.message.boot_id
        if frame.session == self.number and not booted:
            return                      # the same answer again
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

    def _handle_ack(self, frame, now):
        self._on_ack(frame.message)

    def _handle_telemetry(self, frame, now):
        if not self.stamps.advances(frame.message.time, now):
            return                      # without readings the link becomes stale
        stamp = self.clock.to_host(frame.message.time)
        # a comparison of clocks is good to its round trip; nothing is measured after it came
        self.reading = Reading(frame.message, now if stamp is None else min(stamp, now), now)
        self._call(self._on_reading, self.reading)

    def _handle_time(self, frame, now):
        sent = self._pending_times.pop(frame.message.token, None)
        if sent is not None:
            self.clock.add(sent, frame.message.received, frame.message.sent, now)

    def _handle_health(self, frame, now):
        self.health = frame.message

    def _handle_event(self, frame, now):
        event = frame.message
        self._send(EventAck(event.number))
        if event.number == self._last_event:
            return                      # its acknowledgement was lost
        self._last_event = event.number
        with self.changed:
            self.events.append(event)
            self.event_count += 1
        self._call(self._on_event, event)

    def _call(self, function, value):
        if function is not None:
            try:
                function(value)
            except Exception:           # of the caller; the link must outlive it
                if function not in self._failed_callbacks:
                    log.exception('a callback of the rig failed; later failures are not shown')
                    self._failed_callbacks.append(function)
