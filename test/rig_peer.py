"""A minimal board at the other end of a pseudo terminal, for tests of the host."""

import os
import threading
import time
import tty
from contextlib import suppress

from flex_robot_sim.rig.wire.frames import FrameReader, encode
from flex_robot_sim.rig.wire.protocol import (
    MAJOR,
    MINOR,
    NO_SESSION,
    SCHEMA_CRC,
    Ack,
    Arm,
    Clear,
    Disarm,
    Estop,
    Event,
    EventAck,
    Hello,
    HelloAck,
    Home,
    Param,
    ProfileLoad,
    ProfileStart,
    Setpoint,
    Stream,
    Telemetry,
    Time,
    TimeReply,
)
from flex_robot_sim.rig.wire.vocabulary import Access, EventKind, Fault, Result, State

STATE_AFTER = {
    Arm: State.ARMED,
    Disarm: State.DISARMED,
    Clear: State.DISARMED,
    Estop: State.FAULT,
    Home: State.HOMING,
    ProfileStart: State.PROFILE,
}


class Peer:
    """A board that answers every command with ACCEPTED, unless configured otherwise."""

    def __init__(self, folder, clock_start=0):
        self.name = str(folder / 'board')
        self.taken = []  # executed messages, in order
        self.frames = []  # every received frame
        self.refuse = {}  # {class of the command: Result}
        self.deaf = 0  # acknowledgements to suppress
        self.version = (MAJOR, SCHEMA_CRC)
        self.boot_id, self.session, self.nonce = 41, NO_SESSION, None
        self.state, self.faults = State.DISARMED, Fault(0)
        self.silent = False
        self.master = self._slave = None
        self._started, self._clock_start = time.monotonic(), clock_start
        self._clock_rate = 1
        self._sequence = self._rate = 0
        self._last = None  # id, sequence number and Ack of the last command
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self.plug()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def plug(self):
        """Make the port appear under the same name."""
        master, self._slave = os.openpty()
        tty.setraw(self._slave)
        os.set_blocking(master, False)
        os.symlink(os.ttyname(self._slave), self.name)
        self.master, self._reader = master, FrameReader(from_board=False)

    def unplug(self):
        """Remove the port."""
        with self._lock:
            os.unlink(self.name)
            os.close(self.master)
            os.close(self._slave)
            self.master = None

    def reboot(self, same_session=False):
        """Reset the state of the board."""
        with self._lock:
            self.boot_id += 255 if same_session else 1
            self.session, self.nonce = NO_SESSION, None
            self.state, self._rate, self._sequence = State.DISARMED, 0, 0

    def close(self):
        """Close the board and its port."""
        self._closing.set()
        self._thread.join()
        if self.master is not None:
            self.unplug()

    @property
    def clock(self):
        """Return the board ticks [us]."""
        passed = (time.monotonic() - self._started) * 1e6 * self._clock_rate
        return round(passed + self._clock_start) % 2**32

    def set_clock(self, ticks, rate=1):
        """Set the clock to `ticks` [us]; with a negative rate it runs backwards."""
        with self._lock:
            self._started, self._clock_start, self._clock_rate = time.monotonic(), ticks, rate

    def send(self, message, session=None):
        """Send a message of the board."""
        with self._lock:
            self._send(message, session)

    def event(self, number, kind, detail=0):
        """Report an event."""
        self.send(Event(number, self.clock, kind, self.state, self.faults, detail))

    def write(self, data):
        """Send bytes that need not be a frame."""
        with self._lock:
            os.write(self.master, data)

    def _send(self, message, session=None):
        if self.master is None or self.silent:
            return
        data = encode(message, self.session if session is None else session, self._sequence)
        self._sequence = (self._sequence + 1) % 65536
        with suppress(BlockingIOError):  # the host does not read
            os.write(self.master, data)

    def _run(self):
        due = time.monotonic()
        while not self._closing.wait(0.001):
            with self._lock:
                if self.master is None:
                    continue
                try:
                    data = os.read(self.master, 4096)
                except (BlockingIOError, OSError):
                    data = b''
                for frame in self._reader.feed(data):
                    self.frames.append(frame)
                    self._take(frame)
                if self._rate and time.monotonic() >= due:
                    due = max(due + 1.0 / self._rate, time.monotonic() - 0.1)
                    self._send(
                        Telemetry(
                            self.clock, 1, 2, 3, 4, 0.0, 5, 0.0, self.state, 0, self.faults, 0, 0.0
                        )
                    )

    def _take(self, frame):
        message = frame.message
        if type(message) is Hello:
            if message.nonce != self.nonce:
                self.nonce = message.nonce
                self.session = (self.session or self.boot_id % 255) % 255 + 1
                self._rate, self._last = 0, None
                if self.state != State.FAULT:
                    self.state = State.DISARMED
            major, crc = self.version
            self._send(
                HelloAck(
                    major,
                    MINOR,
                    crc,
                    message.nonce,
                    self.boot_id,
                    bytes(12),
                    0x10203,
                    2,
                    1,
                    2400,
                    3200,
                    1000,
                )
            )
        elif type(message) is Estop or frame.session == self.session != NO_SESSION:
            self._take_ours(frame)
        elif type(message) not in (Time, EventAck, Setpoint):
            self._send(self._ack(frame, Result.WRONG_SESSION))

    def _take_ours(self, frame):
        message = frame.message
        if type(message) is Time:
            self._send(TimeReply(message.token, self.clock, self.clock))
        elif type(message) in (Setpoint, EventAck):
            self.taken.append(message)
        else:
            key = message.ID, frame.sequence
            if self._last is None or self._last[0] != key or type(message) is Estop:
                self._last = key, self._carry_out(frame)
            if self.deaf:
                self.deaf -= 1
            else:
                self._send(self._last[1])

    def _carry_out(self, frame):
        message = frame.message
        if type(message) in self.refuse:
            return self._ack(frame, self.refuse[type(message)])
        self.taken.append(message)
        self.state = STATE_AFTER.get(type(message), self.state)
        value = 0
        if type(message) is Stream:
            self._rate = value = message.rate
        elif type(message) is Param:
            value = message.value if message.access == Access.WRITE else 123
        elif type(message) is ProfileLoad:
            value = min(message.first + 8, message.total)
        elif type(message) is ProfileStart:
            self._send(Event(70, self.clock, EventKind.PROFILE_DONE, State.ARMED, Fault(0), 3))
        return self._ack(frame, Result.ACCEPTED, value)

    def _ack(self, frame, result, value=0):
        return Ack(frame.message.ID, result, frame.sequence, self.state, self.faults, value)
