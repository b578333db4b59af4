"""
The rig without a rig: the emulated board and bench behind a serial port, in real time.

    with Emulator() as emulator:
        link = connect(emulator.link)       # like any serial port
        emulator.inject('unplug=0.5')

A board is never held up, and this process is, by a busy computer or a debugger. Then board, bench
and line stand still together: the time is lost and counted, not raced after, because a host that
is heard once in many steps would look dead to the watchdog and its motors would run on blindly.
What the host has sent meanwhile waits on the line. Programs that run nothing else ask for a
real-time priority, and who stood still lets others go first, or a slow computer would do nothing
else.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from flex_robot_sim.rig.board.emulated_board import STEP_TIME
from flex_robot_sim.rig.board.emulator_faults import EMULATOR_FAULTS, PlannedFault, parse
from flex_robot_sim.rig.board.pty_port import PtyPort
from flex_robot_sim.rig.board.rig_of import rig_of
from flex_robot_sim.rig.wire.faults import BadWire
from flex_robot_sim.rig.wire.line import BYTES_PER_SECOND
from flex_robot_sim.util.exceptions import FlexRobotSimError

if TYPE_CHECKING:
    from flex_robot_sim.rig.board.emulated_rig import EmulatedRig

MAX_CATCH_UP_TIME = 0.005   # that is made up for: as long as a set point takes to come [s]
HOST_BYTES = int(BYTES_PER_SECOND * STEP_TIME)      # that a host can send in one step


AnyAnswer = TypeVar('AnyAnswer')


class Emulator:
    """An emulated rig behind a pseudo terminal; `with` starts and stops its thread."""

    def __init__(self, link: str | Path | None = None, rig: EmulatedRig | None = None,
                 faults: Iterable[str] = (), seed: int = 0) -> None:
        """
        Prepare the rig and its port.

        :param link: name of the port; default: `default_link()`.
        :param rig: EmulatedRig; default: the shipped one.
        :param faults: words as in `emulator_faults`.
        """
        planned = [parse(words) for words in faults]
        self.rig = rig or rig_of(seed=seed)
        self.port = PtyPort(link)
        self.wires = self.to_board, self.to_host = BadWire(seed + 1), BadWire(seed + 2)
        self.flood = 0.0            # random bytes that also reach the board            [1/s]
        self.pause_count = 0        # times that the rig has stood still
        self.lost_time = 0.0        # in which it did                                   [s]
        self._random = np.random.default_rng(seed)
        self._pending_faults = planned
        self._calls: queue.SimpleQueue[tuple[Callable[[EmulatedRig], Any], Any]] = (
            queue.SimpleQueue())
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._failure: FlexRobotSimError | None = None

    @property
    def link(self) -> str:
        """Path of the port."""
        return str(self.port.link)

    @property
    def is_running(self) -> bool:
        """Whether its thread runs."""
        return self._thread is not None and self._thread.is_alive()

    def __enter__(self):
        self._thread = threading.Thread(target=self.run, name='rig emulator', daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind, *_):
        try:
            self.close()
        except FlexRobotSimError:
            if kind is None:            # or what went wrong first would be hidden
                raise

    def close(self) -> None:
        """Stop, and take the port away."""
        self._stop.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        self.port.close()
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Let `run` return soon."""
        self._stop.set()

    def inject(self, words: str) -> None:
        """Let something go wrong; see `emulator_faults`."""
        planned = parse(words)
        # what is not told a time happens now
        self.call(lambda _: self.plan(planned._replace(time=self.rig.time + planned.time)))

    def plan(self, planned: PlannedFault) -> None:
        """Remember a fault to come."""
        self._pending_faults.append(planned)

    def call(self, function: Callable[[EmulatedRig], AnyAnswer]) -> AnyAnswer:
        """Return function(rig), called between two control steps."""
        if self._thread is None or self._thread is threading.current_thread():
            return function(self.rig)
        answer: queue.SimpleQueue[tuple[AnyAnswer, Exception | None]] = queue.SimpleQueue()
        self._calls.put((function, answer))
        while True:
            try:
                result, error = answer.get(timeout=0.1)
            except queue.Empty:
                if self._thread.is_alive():
                    continue
                raise RuntimeError('the emulator has stopped') from self._failure
            if error is not None:
                raise error
            return result

    def step(self) -> None:
        """One control step, now."""
        self._run_calls()
        self._apply_due_faults()
        data = self.to_board.transmit(self.port.read(HOST_BYTES))
        if self.flood > 0.0:
            data += self._random.bytes(self._random.poisson(self.flood * STEP_TIME))
        self.port.write(self.to_host.transmit(self.rig.step(data)))

    def run(self, seconds: float | None = None) -> None:
        """Run in real time until `stop`, or for a while [s]."""
        due = time.monotonic()
        end = None if seconds is None else due + seconds
        try:
            while not self._stop.is_set() and (end is None or due < end):
                ahead = due - time.monotonic()
                if ahead > 0:
                    time.sleep(ahead)
                elif ahead < -MAX_CATCH_UP_TIME:
                    self._record_pause(-ahead)
                    due -= ahead
                    time.sleep(STEP_TIME)
                # of this thread: what it waited for the processor is no work of the board
                started = time.thread_time()
                self.step()
                step_time = round((time.thread_time() - started) * 1e6)
                self.rig.board.longest_step = max(self.rig.board.longest_step, step_time)
                due += STEP_TIME
        except FlexRobotSimError as error:
            self._failure = error
        finally:
            # a host must see that nobody is there any more
            self.port.unplug()

    def _record_pause(self, seconds):
        self.pause_count += 1
        self.lost_time += seconds
        self.rig.board.late_steps += 1

    def _run_calls(self):
        while True:
            try:
                function, answer = self._calls.get_nowait()
            except queue.Empty:
                return
            try:
                answer.put((function(self.rig), None))
            except Exception as error:      # it belongs to whoever called
                answer.put((None, error))

    def _apply_due_faults(self):
        if not self._pending_faults:
            return
        now = self.rig.time
        due = [planned for planned in self._pending_faults if planned.time <= now]
        if due:
            self._pending_faults = [planned for planned in self._pending_faults if planned.time > now]
            for planned in due:
                EMULATOR_FAULTS[planned.name].apply(self, planned.value)
