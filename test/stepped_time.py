"""
An emulated board and its host in stepped time, which advances while all of them wait.

No thread waits for a clock, and a busy machine changes nothing. One thread of the host runs at a
time, until it waits. If all threads wait, the board takes a step. So each run is the same.
Other tests check a real port and real threads, in real time.
"""

import threading
from collections.abc import Callable
from contextlib import contextmanager
from typing import NamedTuple

from flex_robot_sim.rig.board import emulator
from flex_robot_sim.rig.board.board_state import STEP_TIME
from flex_robot_sim.rig.host import command_channel, link, link_session
from flex_robot_sim.rig.host.serial_port import PortCounts

START = 100.0  # some time, as a machine has that runs already               [s]
PATIENCE = 120.0  # of the machine's own time, until a thread that runs waits   [s]


class _Waiting(NamedTuple):
    """A thread that waits."""

    is_over: Callable[[], object]
    until: float  # however that is                                             [s]
    turn: threading.Lock  # taken until it is its turn


class SteppedTime:
    """What `time` and `threading` are to modules that shall live in it."""

    def __init__(self):
        self._begun, self._steps, self._waiting = START, 0, []
        self.board = None  # the emulator, whose steps are those of the time
        time = self

        class Thread(threading.Thread):
            """A thread that runs while the others wait."""

            def start(self):
                self._turn = time._queue(lambda: True)
                super().start()

            def run(self):
                self._turn.acquire()
                try:
                    super().run()
                finally:
                    self.is_over = True
                    time._pass_on()

            is_over = False

            def is_alive(self):
                return super().is_alive() and not self.is_over

            def join(self, timeout=None):
                time.wait_for(lambda: self.is_over, timeout)

        class Event:
            """A flag that one may wait for."""

            def __init__(self):
                self._is_set = False

            def set(self):
                self._is_set = True

            def is_set(self):
                return self._is_set

            def wait(self, timeout=None):
                return time.wait_for(self.is_set, timeout)

        class Lock:
            """The thread that holds it may wait, and the others wait for it."""

            def __init__(self):
                self._is_taken = False

            def __enter__(self):
                time.wait_for(lambda: not self._is_taken)
                self._is_taken = True

            def __exit__(self, *error):
                self._is_taken = False

        class Condition:
            """A thread that reads or changes it runs alone in any case."""

            def __enter__(self):
                return self

            def __exit__(self, *error):
                pass

            def wait_for(self, is_over, timeout=None):
                return time.wait_for(is_over, timeout)

            def notify_all(self):
                pass

        self.Thread, self.Event, self.Lock, self.Condition = Thread, Event, Lock, Condition
        self.current_thread = threading.current_thread

    def monotonic(self):
        """Return the time [s]."""
        return self._begun + self._steps * STEP_TIME

    def sleep(self, seconds):
        """Let the time go on."""
        self.wait_for(lambda: False, seconds)

    def wait_for(self, is_over, timeout=None):
        """Let the time go on until something is over; return whether it is."""
        if not is_over():
            turn = self._queue(is_over, timeout)
            self._pass_on()
            if not turn.acquire(timeout=PATIENCE):
                raise TimeoutError('the thread that ran, or the board, has failed')
        return is_over()

    def _queue(self, is_over, timeout=None):
        turn = threading.Lock()
        turn.acquire()
        until = float('inf') if timeout is None else self.monotonic() + timeout - STEP_TIME / 2
        self._waiting.append(_Waiting(is_over, until, turn))
        return turn

    def _pass_on(self):
        """Let the first go on whose waiting is over; the board steps until there is one."""
        while self._waiting:
            now = self.monotonic()
            for one in self._waiting:
                if now >= one.until or one.is_over():
                    self._waiting.remove(one)
                    one.turn.release()
                    return
            self._steps += 1
            self.board.step()


class SteppedEmulator(emulator.Emulator):
    """An emulator whose steps are those of a SteppedTime."""

    def __init__(self, time, name, rig):
        super().__init__(name, rig)
        self._time, time.board = time, self

    def __enter__(self):
        return self

    def call(self, function):
        """Return function(rig); what it changes has its effect with the next step, as always."""
        answer = function(self.rig)
        self._time.sleep(STEP_TIME)
        return answer


class _BoardPort:
    """The end of the line at which the board is."""

    ports: dict = {}  # by name

    def __init__(self, name):
        self.link, self.host, self._sent = str(name), None, bytearray()
        self.ports[self.link] = self

    def read(self, most):
        """Return what the host has sent."""
        data = bytes(self._sent[:most])
        del self._sent[:most]
        return data

    def write(self, data):
        """Send to the host."""
        if data and self.host is not None:
            self.host.take(data)

    def send(self, data):
        """Send to the board."""
        self._sent += data

    def close(self):
        """Take the port away."""
        del self.ports[self.link]


class _HostPort:
    """The end at which the host is, with the methods of `host.port.Port`."""

    def __init__(self, name, on_bytes, on_open, on_lost, baud):
        self.counts, self.thread, self.is_open = PortCounts(), None, True
        self.take, self._board = on_bytes, _BoardPort.ports[name]

    def start(self):
        """Begin to read."""
        self._board.host = self
        return self

    def write(self, data):
        """Send."""
        self._board.send(data)
        return True

    def close(self):
        """Let go of the port."""
        self._board.host = None


@contextmanager
def stepped_emulator(patch, name, rig, *modules):
    """
    Give an emulated rig whose time is stepped: for host, modules, and the caller.

    :param patch: pytest's monkeypatch; name: of the port; modules: others that wait.
    """
    time = SteppedTime()
    for module in (link, command_channel, link_session, *modules):
        for taken in ('time', 'threading'):
            if hasattr(module, taken):
                patch.setattr(module, taken, time)
    patch.setattr(link, 'Port', _HostPort)
    patch.setattr(emulator, 'PtyPort', _BoardPort)
    with SteppedEmulator(time, name, rig) as emulated:
        yield emulated
