"""Transmit queue of the board: frames in order, and events that repeat until acknowledged."""

from collections import deque

from flex_robot_sim.rig.wire.binary_layout import Message
from flex_robot_sim.rig.wire.frames import encode, wire_length
from flex_robot_sim.rig.wire.line import SerialLine
from flex_robot_sim.rig.wire.protocol import Event, Health, Telemetry
from flex_robot_sim.rig.wire.ticks import WRAP
from flex_robot_sim.rig.wire.vocabulary import CONSTANTS, EventKind, Fault, State

BUFFER_SIZE = 1024  # of the transmitter; further frames are dropped     [B]
RESERVED_SIZE = 512  # part of it for responses and events                [B]
EVENT_REPEAT = CONSTANTS['EVENT_REPEAT_MS'][0] * 1000
EVENT_CAPACITY = CONSTANTS['EVENT_CAPACITY'][0]


class Outbox:
    """Frames for the host, sent at the rate of the line."""

    def __init__(self) -> None:
        self.session = 0
        self.dropped = 0
        self.lost_events = 0
        self.sequence = 0  # of the next frame
        self._line = SerialLine(BUFFER_SIZE)
        self._events: deque[Event] = deque()
        self._next_event_number = 0
        self._event_sent_at: int | None = None  # when the oldest event was sent last    [us]

    def put(self, message: Message) -> bool:
        """Queue a frame; return False if the buffer is full."""
        room = BUFFER_SIZE - RESERVED_SIZE * isinstance(message, (Telemetry, Health))
        if len(self._line) + wire_length(type(message)) > room:
            self.dropped += 1
            return False
        self._line.put(encode(message, self.session, self.sequence))
        self.sequence = (self.sequence + 1) & 0xFFFF
        return True

    def add_event(
        self, time: int, kind: EventKind, state: State, faults: Fault, detail: int
    ) -> None:
        """Queue an event at `time` [us]; without room it is lost and counted."""
        number = self._next_event_number
        self._next_event_number = (number + 1) & 0xFFFF
        if len(self._events) >= EVENT_CAPACITY:
            self.lost_events += 1
        else:
            self._events.append(Event(number, time % WRAP, kind, state, faults, detail))

    def acknowledge_event(self, number: int) -> None:
        """Remove the sent event, if it has this number."""
        if self._events and self._events[0].number == number and self._event_sent_at is not None:
            self._events.popleft()
            self._event_sent_at = None

    def send_event(self, now: int) -> None:
        """Queue the oldest event if it is new or its repetition is due, at `now` [us]."""
        due = self._event_sent_at is None or now - self._event_sent_at >= EVENT_REPEAT
        if self._events and due and self.put(self._events[0]):
            self._event_sent_at = now

    def take(self, duration: float) -> bytes:
        """Return the bytes that are sent within `duration` [s]."""
        return self._line.take(duration)
