"""
Bench operations of a calibration: read at rest, turn the arm, run the slide.

Counts are relative to the first reading of the zero pose. A reboot restarts them; the session then
sets `origin`, so that readings before and after match. Motors are on only inside `armed`, and are
switched off however it ends. Motion stays within a window, and stops at a fault, at a key press,
or when the program is interrupted.
"""

import contextlib
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from flex_robot_sim.rig.bench.parts import BenchParts
from flex_robot_sim.rig.errors import RigError
from flex_robot_sim.rig.host.command_channel import describe_faults
from flex_robot_sim.rig.host.link import RigLink
from flex_robot_sim.rig.wire.protocol import Telemetry
from flex_robot_sim.rig.wire.ticks import elapsed
from flex_robot_sim.rig.wire.vocabulary import CONVERSIONS, Fault
from flex_robot_sim.util.exceptions import CalibrationError

AVERAGING_TIME = 1.0  # of readings                                               [s]
SET_POINT_PERIOD = 0.02  # while the motors are on                                   [s]
CHECK_PERIOD = 2e-3  # between two checks of a motion                            [s]
TELEMETRY_TIMEOUT = 3.0  # without telemetry, after which the board counts as lost   [s]
SETTLE_TIMEOUT = 8.0  # after which the arm is measured even if it swings         [s]
STEP_RATE = 200.0  # of the stepper                                            [steps/s]
ARRIVAL_TIMEOUT = 15.0  # of a stepper motion                                       [s]
ENCODER_FAULTS = Fault.ENCODER_SLIDE | Fault.ENCODER_TURN


class OriginLost(CalibrationError):
    """The origin of the counts has changed."""


Values: TypeAlias = Any  # np.ndarray, or the mean of one


class Sample(NamedTuple):
    """Telemetry over an interval, as arrays, or its means."""

    time: Values  # since the first                                           [s]
    slide: Values  # counts since the zero pose
    turn: Values
    root: Values  # share of the converter's range
    tip: Values
    duty: Values  # applied by the board
    current: Values  # of the DC motor                                           [A]


class CalibrationBench:
    """Measurements and motions on the bench of a RigLink."""

    def __init__(
        self,
        link: RigLink,
        parts: BenchParts,
        watch: Callable[[], AbstractContextManager[Callable[[], bool]]] | None = None,
        record: Callable[[np.ndarray | None], object] | None = None,
    ) -> None:
        """
        Prepare.

        :param watch: returns a context manager for a function: whether a key was pressed.
        :param record: called with the origin (2,) of the counts when the motors start to move an
            otherwise free arm, and with None when that ends.
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
        # (joint, (lowest, highest count)) of a motion
        self._window: tuple[int, tuple[float, float]] | None = None

    def new_origin(self) -> None:
        """Accept the counts of the present boot from now on."""
        with contextlib.suppress(RigError):  # a fault that persists prevents arming later
            self.link.clear()
        self._boot = self.link.board.boot_id
        self._first_step = None

    def samples(self, seconds: float) -> Sample:
        """Return readings over `seconds` by the clock of the board."""
        rows: list[tuple[Any, ...]] = []
        newest, end = None, time.monotonic() + TELEMETRY_TIMEOUT
        while len(rows) < 10 or elapsed(rows[-1][0], rows[0][0]) < seconds * 1e6:
            self._check()
            if time.monotonic() > end:
                raise RigError(
                    f'no telemetry comes; link: {self.link.condition}. Look at the '
                    'cable and at the board.'
                )
            reading = self.link.reading
            if reading is not None and reading is not newest:
                newest, m, end = reading, reading.message, time.monotonic() + TELEMETRY_TIMEOUT
                rows.append(
                    (
                        m.time,
                        m.slide_counts,
                        m.turn_counts,
                        m.adc_root / self._full,
                        m.adc_tip / self._full,
                        m.duty,
                        m.current,
                    )
                )
            time.sleep(1e-3)
        ticks, slide, turn, *columns = np.array(rows, float).T
        return Sample(
            elapsed(ticks, ticks[0]) * 1e-6,
            slide - self.origin[0],
            turn - self.origin[1],
            *columns,
        )

    def average(self) -> Sample:
        """Return means over AVERAGING_TIME."""
        samples: Iterable[Values] = self.samples(AVERAGING_TIME)
        return Sample(*(float(values.mean()) for values in samples))

    def wait_until_still(self) -> None:
        """Wait until the sensors show noise only, at most for SETTLE_TIMEOUT."""
        end = time.monotonic() + SETTLE_TIMEOUT
        while time.monotonic() < end:
            sample = self.samples(0.5)
            if max(sample.root.std(), sample.tip.std()) < 2 * self.noise:
                return

    @contextlib.contextmanager
    def armed(self, is_watched: bool = True, is_free: bool = False) -> Iterator[None]:
        """
        Switch the motors on; only `step_to` and `run` move them. A key ends it if watched.

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
                with contextlib.suppress(RigError):  # otherwise the watchdog disarms
                    link.disarm()

    @contextlib.contextmanager
    def within(self, joint: int, window: tuple[float, float]) -> Iterator[None]:
        """Stop the motion when the counts of a joint leave the window."""
        self._window = joint, window
        try:
            yield
        finally:
            self._window = None
            self._duty = self._rate = 0.0

    def message(self) -> Telemetry:
        """Return the newest telemetry, which must exist."""
        reading = self.link.reading
        assert reading is not None
        return reading.message

    def step_to(self, place: float) -> None:
        """Turn the stepper to about `place` [microsteps], relative to its first position."""
        if self._first_step is None:
            self._first_step = self.message().step_position
        end = time.monotonic() + ARRIVAL_TIMEOUT
        while True:
            self._check()
            remaining = place + self._first_step - self.message().step_position
            if time.monotonic() > end:
                raise RigError(
                    f'the arm has not arrived within {ARRIVAL_TIMEOUT:g} s; link: '
                    f'{self.link.condition}. Look at the cable and at the motors.'
                )
            if abs(remaining) < 8:
                break
            self._rate = math.copysign(min(STEP_RATE, max(40.0, 2 * abs(remaining))), remaining)
            time.sleep(CHECK_PERIOD)
        self._rate = 0.0
        self.wait_until_still()

    def run(self, duty: float, settle: float, seconds: float) -> Sample:
        """Drive the slide; return the readings over `seconds` after `settle` [s]."""
        self._duty = duty
        self.samples(settle)
        sample = self.samples(seconds)
        self._duty = 0.0
        return sample

    def _check(self):
        """Raise after a reboot, at a fault, at a key press, or outside the window."""
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
                raise CalibrationError(
                    f'the {("slide", "arm")[joint]} has come to the end of '
                    'the travel that was measured by hand: the motors are off'
                )
