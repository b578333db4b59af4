"""
What a calibration does with the bench: read it at rest, turn the arm, let the slide run.

Counts are those since the zero pose was first read: after a reboot, whose counts start anew, the
session gives `origin` so that readings before and after it fit together. Motors are on inside
`armed` only, and go off whatever ends it. What moves stays in a window, and stops at a fault, a
key, or an interrupted program.
"""

import contextlib
import math
import threading
import time
from typing import NamedTuple

import numpy as np

from flex_robot_sim.exceptions import CalibrationError
from flex_robot_sim.rig.commands import describe_faults
from flex_robot_sim.rig.errors import RigError
from flex_robot_sim.rig.vocabulary import CONSTANTS, Fault

CONVERSIONS = CONSTANTS['ADC_CONVERSIONS'][0]
CLOCK = 1 << 32             # of the board, where it wraps                              [us]
AVERAGE = 1.0               # over which readings are averaged                          [s]
BEAT = 0.02                 # of set points that keep the motors on                     [s]
LOOK = 2e-3                 # between two looks at what moves                           [s]
SETTLE = 8.0                # after which an arm that still swings is taken as it is    [s]
RATE = 200.0                # of the stepper                                            [steps/s]
ARRIVAL = 15.0              # within which it gets where it is sent                     [s]
ENCODER_FAULTS = Fault.ENCODER_SLIDE | Fault.ENCODER_TURN


class OriginLost(CalibrationError):
    """The counts have another origin than before."""


class Sample(NamedTuple):
    """Telemetry over a while, an array each; or its means."""

    time: object            # since the first                                           [s]
    slide: object           # counts since the zero pose
    turn: object
    root: object            # share of the converter's range
    tip: object
    duty: object            # applied by the board
    current: object         # of the DC motor                                           [A]


class CalibrationBench:
    """The bench behind a RigLink."""

    def __init__(self, link, parts, watch=None):
        """
        Prepare.

        :param watch: makes a context that gives a function: whether a key was pressed.
        """
        self.link, self.origin = link, np.zeros(2)
        self.noise = parts.adc_noise / (1 << parts.adc_bits) / math.sqrt(CONVERSIONS)  # of a share
        self._full = CONVERSIONS * ((1 << parts.adc_bits) - 1)
        self._watch = watch or (lambda: contextlib.nullcontext(lambda: False))
        self._is_pressed = lambda: False
        self._is_armed = False
        self._boot = None
        self._duty = self._rate = 0.0
        self._first_step = None
        self._window = None         # (joint, (lowest, highest count)) of what moves

    def new_origin(self):
        """From now on the counts of this boot are taken as they come."""
        with contextlib.suppress(RigError):     # who goes on without CLEAR is told when arming
            self.link.clear()
        self._boot = self.link.board.boot_id
        self._first_step = None

    def samples(self, seconds) -> Sample:
        """Readings over a time [s]."""
        rows, newest = [], None
        end = time.monotonic() + seconds
        while time.monotonic() < end or len(rows) < 10:
            self._look()
            if time.monotonic() > end + 2.0:
                raise RigError(f'no telemetry comes; link: {self.link.state.value}. Look at the '
                               'cable and at the board.')
            reading = self.link.reading
            if reading is not None and reading is not newest:
                newest, m = reading, reading.message
                rows.append((m.time, m.slide_counts, m.turn_counts, m.adc_root / self._full,
                             m.adc_tip / self._full, m.duty, m.current))
            time.sleep(1e-3)
        ticks, slide, turn, *others = np.array(rows, float).T
        return Sample((ticks - ticks[0]) % CLOCK * 1e-6, slide - self.origin[0],
                      turn - self.origin[1], *others)

    def average(self) -> Sample:
        """Means over AVERAGE."""
        return Sample(*(float(values.mean()) for values in self.samples(AVERAGE)))

    def wait_until_still(self):
        """Wait until the sensors show noise only, or for as long as an arm may swing."""
        end = time.monotonic() + SETTLE
        while time.monotonic() < end:
            seen = self.samples(0.5)
            if max(seen.root.std(), seen.tip.std()) < 2 * self.noise:
                return

    @contextlib.contextmanager
    def armed(self, is_watched=True):
        """Motors on; they stand but for `step_to` and `run`. A key ends it if watched."""
        link, over = self.link, threading.Event()

        def hold():
            while not over.wait(BEAT):
                link.drive(self._duty, self._rate)

        with self._watch() if is_watched else contextlib.nullcontext(lambda: False) as pressed:
            self._duty = self._rate = 0.0
            link.clear()
            link.arm()
            holder = threading.Thread(target=hold, daemon=True)
            holder.start()
            try:
                link.wait_until(lambda: not link.reading.message.faults, 0.5)
                self._is_armed, self._is_pressed = True, pressed
                yield
            finally:
                self._duty = self._rate = 0.0
                self._is_armed, self._is_pressed = False, lambda: False
                over.set()
                holder.join()
                with contextlib.suppress(RigError):     # the watchdog does it then
                    link.disarm()

    @contextlib.contextmanager
    def within(self, joint, window):
        """Nothing turns or runs on once the counts of a joint have left the window."""
        self._window = joint, window
        try:
            yield
        finally:
            self._window = None
            self._duty = self._rate = 0.0

    def step_to(self, place):
        """Turn the stepper to about `place` [microsteps] from where it first stood."""
        if self._first_step is None:
            self._first_step = self.link.reading.message.step_position
        end = time.monotonic() + ARRIVAL
        while True:
            self._look()
            left = place + self._first_step - self.link.reading.message.step_position
            if time.monotonic() > end:
                raise RigError(f'the arm has not arrived within {ARRIVAL:g} s; link: '
                               f'{self.link.state.value}. Look at the cable and at the motors.')
            if abs(left) < 8:
                break
            self._rate = math.copysign(min(RATE, max(40.0, 2 * abs(left))), left)
            time.sleep(LOOK)
        self._rate = 0.0
        self.wait_until_still()

    def run(self, duty, settle, seconds) -> Sample:
        """Drive the slide; return what was seen after `settle` for `seconds` [s]."""
        self._duty = duty
        self.samples(settle)
        seen = self.samples(seconds)
        self._duty = 0.0
        return seen

    def _look(self):
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
        if self._is_pressed():
            raise CalibrationError('a key was pressed: the motors are off')
        if self._window is not None:
            joint, (lower, upper) = self._window
            place = (message.slide_counts, message.turn_counts)[joint] - self.origin[joint]
            if not lower <= place <= upper:
                self._duty = self._rate = 0.0
                raise CalibrationError(f'the {("slide", "arm")[joint]} has come to the end of '
                                       'the travel that was measured by hand: the motors are off')
