"""
Real-time emulator: emulated board and simulated bench behind a serial port.

    with Emulator() as emulator:
        link = connect(emulator.link)       # like any serial port
        emulator.inject('unplug=0.5')

A busy computer or a debugger can delay this process, which never happens to a real board. Board,
bench and line then pause together. The lost time is counted and not made up for: if many steps ran
at once, the host would seem dead to the watchdog, and the motors would run without control. Bytes
of the host wait on the line meanwhile. Programs that only run the emulator request a real-time
priority. After a pause the emulator sleeps for one step, so that a slow computer can run other
programs.
"""

import queue
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from flex_robot_sim.rig.board.board_state import STEP_TIME
from flex_robot_sim.rig.board.emulated_rig import EmulatedRig, rig_of
from flex_robot_sim.rig.board.emulator_faults import EMULATOR_FAULTS, PlannedFault, parse
from flex_robot_sim.rig.board.pty_port import PtyPort
from flex_robot_sim.rig.wire.faults import BadWire
from flex_robot_sim.rig.wire.line import BYTES_PER_SECOND
from flex_robot_sim.util.exceptions import FlexRobotSimError

MAX_CATCH_UP_TIME = 0.005  # longest delay that is made up for: one set-point period   [s]
HOST_BYTES = int(BYTES_PER_SECOND * STEP_TIME)  # sent by a host in one step, at most


AnyAnswer = TypeVar('AnyAnswer')


class Emulator:
    """Emulated rig behind a pseudo terminal; `with` starts and stops its thread."""

    def __init__(
        self,
        link: str | Path | None = None,
        rig: EmulatedRig | None = None,
        faults: Iterable[str] = (),
        seed: int = 0,
    ) -> None:
        """
        Prepare the rig and its port.

        :param link: name of the port; default: `default_link()`.
        :param rig: EmulatedRig; default: the shipped one.
        :param faults: fault specifications as in `emulator_faults`.
        """
        planned = [parse(words) for words in faults]
        self.rig = rig or rig_of(seed=seed)
        self.port = PtyPort(link)
        self.wires = self.to_board, self.to_host = BadWire(seed + 1), BadWire(seed + 2)
        self.flood = 0.0  # random bytes that also reach the board            [1/s]
        self.pause_count = 0  # pauses of a delayed process
        self.lost_time = 0.0  # total time of these pauses                        [s]
        self._random = np.random.default_rng(seed)
        self._pending_faults = planned
        self._calls: queue.SimpleQueue[tuple[Callable[[EmulatedRig], Any], Any]] = (
            queue.SimpleQueue()
        )
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._failure: FlexRobotSimError | None = None

    @property
    def link(self) -> str:
        """Path of the port."""
        return str(self.port.link)

    @property
    def is_running(self) -> bool:
        """Whether the thread runs."""
        return self._thread is not None and self._thread.is_alive()

    def __enter__(self):
        self._thread = threading.Thread(target=self.run, name='rig emulator', daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind, *_):
        try:
            self.close()
        except FlexRobotSimError:
            if kind is None:  # do not hide an earlier exception
                raise

    def close(self) -> None:
        """Stop, and remove the port."""
        self._stop.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        self.port.close()
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Make `run` return after the present step."""
        self._stop.set()

    def inject(self, words: str) -> None:
        """Inject a fault; see `emulator_faults`."""
        planned = parse(words)
        # a fault without a time is due now
        self.call(lambda _: self.plan(planned._replace(time=self.rig.time + planned.time)))

    def plan(self, planned: PlannedFault) -> None:
        """Schedule a fault."""
        self._pending_faults.append(planned)

    def call(self, function: Callable[[EmulatedRig], AnyAnswer]) -> AnyAnswer:
        """Call function(rig) between two control steps, and return its result."""
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
        """Run one control step."""
        self._run_calls()
        self._apply_due_faults()
        data = self.to_board.transmit(self.port.read(HOST_BYTES))
        if self.flood > 0.0:
            data += self._random.bytes(self._random.poisson(self.flood * STEP_TIME))
        self.port.write(self.to_host.transmit(self.rig.step(data)))

    def run(self, seconds: float | None = None) -> None:
        """Run in real time until `stop`, or for `seconds` [s]."""
        due = time.monotonic()
        end = None if seconds is None else due + seconds
        try:
            while not self._stop.is_set() and (end is None or due < end):
                ahead = due - time.monotonic()
                if ahead > 0:
                    time.sleep(ahead)
                elif ahead < -MAX_CATCH_UP_TIME:
                    self.pause_count += 1
                    self.lost_time -= ahead
                    self.rig.board.late_steps += 1
                    due -= ahead
                    time.sleep(STEP_TIME)
                # thread time: waiting for a processor is no load of the board
                started = time.thread_time()
                self.step()
                step_time = round((time.thread_time() - started) * 1e6)
                self.rig.board.longest_step = max(self.rig.board.longest_step, step_time)
                due += STEP_TIME
        except FlexRobotSimError as error:
            self._failure = error
        finally:
            # the host must detect that the board is gone
            self.port.unplug()

    def _run_calls(self):
        while True:
            try:
                function, answer = self._calls.get_nowait()
            except queue.Empty:
                return
            try:
                answer.put((function(self.rig), None))
            except Exception as error:  # raised again in the calling thread
                answer.put((None, error))

    def _apply_due_faults(self):
        if not self._pending_faults:
            return
        now = self.rig.time
        due = [planned for planned in self._pending_faults if planned.time <= now]
        if due:
            self._pending_faults = [
                planned for planned in self._pending_faults if planned.time > now
            ]
            for planned in due:
                EMULATOR_FAULTS[planned.name].apply(self, planned.value)
