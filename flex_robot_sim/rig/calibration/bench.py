"""
What a calibration does with the bench: read it at rest, turn the arm, let the slide run.

Counts are those since the zero pose was first read: after a reboot, whose counts start anew, the
session gives `origin` so that readings before and after it fit together. Motors are on inside
`armed` only, and go off whatever ends it. What moves stays in a window, and stops at a fault, a
key, or an interrupted program.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from flex_robot_sim.rig.errors import RigError
from flex_robot_sim.rig.host.commands import describe_faults
from flex_robot_sim.rig.wire.protocol import Telemetry
from flex_robot_sim.rig.wire.ticks import elapsed
from flex_robot_sim.rig.wire.vocabulary import CONVERSIONS, Fault
from flex_robot_sim.util.exceptions import CalibrationError

if TYPE_CHECKING:
    from flex_robot_sim.rig.bench.parts import BenchParts
    from flex_robot_sim.rig.host.link import RigLink

AVERAGING_TIME = 1.0        # over which readings are averaged                          [s]
SET_POINT_PERIOD = 0.02     # of set points that keep the motors on                     [s]
CHECK_PERIOD = 2e-3         # between two looks at what moves                           [s]
TELEMETRY_TIMEOUT = 3.0     # without telemetry, until there is no board                [s]
SETTLE_TIMEOUT = 8.0        # after which an arm that still swings is taken as it is    [s]
STEP_RATE = 200.0           # of the stepper                                            [steps/s]
ARRIVAL_TIMEOUT = 15.0      # within which it gets where it is sent                     [s]
ENCODER_FAULTS = Fault.ENCODER_SLIDE | Fault.ENCODER_TURN


class OriginLost(CalibrationError):
    """The counts have another origin than before."""


Values: TypeAlias = Any     # np.ndarray, or the mean of one


class Sample(NamedTuple):
    """Telemetry over a while, an array each; or its means."""

    time: Values            # since the first                                           [s]
    slide: Values           # counts since the zero pose
    turn: Values
    root: Values            # share of the converter's range
    tip: Values
    duty: Values            # applied by the board
    current: Values         # of the DC motor                                           [A]


class CalibrationBench:
    """The bench behind a RigLink."""

    def __init__(
            self, link: RigLink, parts: BenchParts,
            watch: Callable[[], AbstractContextManager[Callable[[], bool]]] | None = None,
            record: Callable[[np.ndarray | None], object] | None = None) -> None:
        """
        Prepare.

        :param watch: makes a context that gives a function: whether a key was pressed.
        :param record: called with the origin (2,) of the counts when the motors go on and move
            the arm alone, and with None when that ends.
        """
        self.link, self.origin = link, np.zeros(2)
        self.noise = parts.adc_noise / (1 << parts.adc_bits) / math.sqrt(CONVERSIONS)  # of a share
        self._full = CONVERSIONS * parts.adc_full
        self._watch = watch or (lambda: contextlib.nullcontext(lambda: False))
        self._record = record or (lambda origin: None)
        self._is_key_pressed = lambda: False
        self._is_armed = False
        self._boot: int | None = None
        self._duty = self._rate = 0.0
        self._first_step: int | None = None
        # (joint, (lowest, highest count)) of what moves
        self._window: tuple[int, tuple[float, float]] | None = None

    def new_origin(self) -> None:
        """From now on the counts of this boot are taken as they come."""
        with contextlib.suppress(RigError):     # who goes on without CLEAR is told when arming
            self.link.clear()
        self._boot = self.link.board.boot_id
        self._first_step = None

    def samples(self, seconds: float) -> Sample:
        """Readings over a time [s], by the clock of the board: a busy host changes nothing."""
        rows: list[tuple[Any, ...]] = []
        newest, end = None, time.monotonic() + TELEMETRY_TIMEOUT
        while len(rows) < 10 or elapsed(rows[-1][0], rows[0][0]) < seconds * 1e6:
            self._check()
            if time.monotonic() > end:
                raise RigError(f'no telemetry comes; link: {self.link.condition}. Look at the '
                               'cable and at the board.')
            reading = self.link.reading
            if reading is not None and reading is not newest:
                newest, m, end = reading, reading.message, time.monotonic() + TELEMETRY_TIMEOUT
                rows.append((m.time, m.slide_counts, m.turn_counts, m.adc_root / self._full,
                             m.adc_tip / self._full, m.duty, m.current))
            time.sleep(1e-3)
        ticks, slide, turn, *columns = np.array(rows, float).T
        return Sample(elapsed(ticks, ticks[0]) * 1e-6, slide - self.origin[0],
                      turn - self.origin[1], *columns)

    def average(self) -> Sample:
        """Means over AVERAGE."""
        samples: Iterable[Values] = self.samples(AVERAGING_TIME)
        return Sample(*(float(values.mean()) for values in samples))

    def wait_until_still(self) -> None:
        """Wait until the sensors show noise only, or for as long as an arm may swing."""
        end = time.monotonic() + SETTLE_TIMEOUT
        while time.monotonic() < end:
            sample = self.samples(0.5)
            if max(sample.root.std(), sample.tip.std()) < 2 * self.noise:
                return

    @contextlib.contextmanager
    def armed(self, is_watched: bool = True, is_free: bool = False) -> Iterator[None]:
        """
        Motors on; they stand but for `step_to` and `run`. A key ends it if watched.

        :param is_free: whether no hand, weight or clamp is at the arm.
        """
        link, is_over = self.link, threading.Event()

        def hold():
            while not is_over.wait(SET_POINT_PERIOD):
                link.drive(self._duty, self._rate)

        with self._watch() if is_watched else contextlib.nullcontext(lambda: False) as pressed:
            self._duty = self._rate = 0.0
            link.clear()
            link.arm()
            holder = threading.Thread(target=hold, daemon=True)
            holder.start()
            try:
                link.wait_until(lambda: not self.message().faults, 0.5)
                self._is_armed, self._is_key_pressed = True, pressed
                self._record(self.origin.copy() if is_free else None)
                yield
            finally:
                self._record(None)
                self._duty = self._rate = 0.0
                self._is_armed, self._is_key_pressed = False, lambda: False
                is_over.set()
                holder.join()
                with contextlib.suppress(RigError):     # the watchdog does it then
                    link.disarm()

    @contextlib.contextmanager
    def within(self, joint: int, window: tuple[float, float]) -> Iterator[None]:
        """Nothing turns or runs on once the counts of a joint have left the window."""
        self._window = joint, window
        try:
            yield
        finally:
            self._window = None
            self._duty = self._rate = 0.0

    def message(self) -> Telemetry:
        """Return the newest telemetry; there has been some."""
        reading = self.link.reading
        assert reading is not None
        return reading.message

    def step_to(self, place: float) -> None:
        """Turn the stepper to about `place` [microsteps] from where it first stood."""
        if self._first_step is None:
            self._first_step = self.message().step_position
        end = time.monotonic() + ARRIVAL_TIMEOUT
        while True:
            self._check()
            remaining = place + self._first_step - self.message().step_position
            if time.monotonic() > end:
                raise RigError(f'the arm has not arrived within {ARRIVAL_TIMEOUT:g} s; link: '
                               f'{self.link.condition}. Look at the cable and at the motors.')
            if abs(remaining) < 8:
                break
            self._rate = math.copysign(min(STEP_RATE, max(40.0, 2 * abs(remaining))), remaining)
            time.sleep(CHECK_PERIOD)
        self._rate = 0.0
        self.wait_until_still()

    def run(self, duty: float, settle: float, seconds: float) -> Sample:
        """Drive the slide; return what was seen after `settle` for `seconds` [s]."""
        self._duty = duty
        self.samples(settle)
        sample = self.samples(seconds)
        self._duty = 0.0
        return sample

    def _check(self):
        """Raise if a reboot, a fault, a key or the end of the window is in the way."""
        link, reading = self.link, self.link.reading
        if self._boot is not None and link.board.boot_id != self._boot:
            raise OriginLost('the board has restarted, and its counts with it')
        if reading is None:
            return
        message = reading.message
        if self._boot is not None and message.faults & ENCODER_FAULTS:
            raise OriginLost(describe_faults(message.faults))
        if not self._is_armed:
            return
        if message.faults:
            raise CalibrationError(f'the board stopped. {describe_faults(message.faults)}')
        if self._is_key_pressed():
            raise CalibrationError('a key was pressed: the motors are off')
        if self._window is not None:
            joint, (lower, upper) = self._window
            place = (message.slide_counts, message.turn_counts)[joint] - self.origin[joint]
            if not lower <= place <= upper:
                self._duty = self._rate = 0.0
                raise CalibrationError(f'the {("slide", "arm")[joint]} has come to the end of '
                                       'the travel that was measured by hand: the motors are off')
