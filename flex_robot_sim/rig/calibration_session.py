"""
Lead a person through the calibration of a bench, one question at a time.

The session asks and says through two functions, so that a terminal and a test are the same to it.
Nothing moves but in the step that turns the arm by its stepper, which asks before.
"""

import contextlib
import math
import threading
import time

import numpy as np

from flex_robot_sim.exceptions import CalibrationError
from flex_robot_sim.flex_sensors import flex_sensors
from flex_robot_sim.rig.bench import refuse_other
from flex_robot_sim.rig.calibration import Calibration
from flex_robot_sim.rig.calibration_fits import (
    cantilever_curvature,
    fit_encoder,
    fit_sensor,
    fit_steps,
)
from flex_robot_sim.rig.commands import describe_faults
from flex_robot_sim.rig.errors import RigError
from flex_robot_sim.rig.parts import BenchParts
from flex_robot_sim.rig.vocabulary import CONSTANTS

CONVERSIONS = CONSTANTS['ADC_CONVERSIONS'][0]
AVERAGE = 1.0               # over which readings are averaged                          [s]
BEAT = 0.02                 # of set points that keep the motors on                     [s]
SETTLE = 8.0                # after which an arm that still swings is taken as it is    [s]
RATE = 200.0                # of the stepper in its test                                [steps/s]
SWING = 0.35                # to each side in that test                                 [rad]
ARRIVAL = 15.0              # within which it gets where it is sent                     [s]
RULER = 3e-4                # deviation of a position read from a ruler                 [m]
PROTRACTOR = 4e-3           # of an angle read from a protractor                        [rad]


class CalibrationSession:
    """One calibration; `run` returns it, or raises CalibrationError."""

    def __init__(self, link, arm, ask, say, parts=None):
        """
        Prepare.

        :param link: RigLink; arm: ArmModel of the bench.
        :param ask: function(question) -> answer; say: function(line).
        """
        refuse_other(arm)
        self._link, self._arm, self._ask, self._say = link, arm, ask, say
        self._parts = parts or BenchParts()
        self.readings = {}          # raw, for the file
        self._rate, self._first_step = 0.0, None

    def run(self):
        """Ask everything, and return the Calibration."""
        zero = self._zero_pose()
        slide = self._encoder('slide', 'mm', 1e-3, 0, zero[0], self._parts.counts_per_metre, RULER)
        turn = self._encoder('turn', 'degrees', math.pi / 180, 1, zero[1],
                             self._parts.counts_per_radian, PROTRACTOR)
        steps = self._stepper(turn)
        sensors = self._sensors()
        return Calibration(slide, turn, steps, sensors, self._parts)

    def _zero_pose(self):
        self._say('Zero pose: put the slide where its position shall be zero, and the arm '
                  'straight along the slide. The motors are off; turn the screw by hand.')
        self._ask('Enter when it stands there: ')
        zero = self._average()
        self.readings['zero'] = {'counts': zero[:2].tolist(), 'shares': zero[2:].tolist()}
        return zero[:2]

    def _encoder(self, name, unit, size, place, zero, expected, ruler):
        self._say(f'{name}: bring it to at least three places far apart, and measure each by hand '
                  'from the zero pose.')
        counts, positions = [float(zero)], [0.0]
        while True:
            value = self._number(f'{name} stands at [{unit}], or Enter if that is all: ')
            if value is None:
                break
            seen = self._average()
            counts.append(float(seen[place]))
            positions.append(value * size)
            self._say(f'  {value:g} {unit}: {seen[place]:.0f} counts')
        self.readings[name] = {'counts': counts, 'positions': positions}
        found = fit_encoder(name, counts, positions, zero, expected, ruler)
        self._say(f'  {abs(found.scale):.6g} counts per {"metre" if unit == "mm" else "radian"}'
                  f'{", the other way round" if found.scale < 0 else ""}; lead or gear as '
                  f'expected within {abs(abs(found.scale) / expected - 1):.2%}')
        return found

    def _stepper(self, turn):
        expected = self._parts.steps_per_turn / (2 * math.pi)
        self._say(f'stepper: the arm will turn by {math.degrees(SWING):.0f} degrees to both '
                  'sides. Put it in the middle of its travel and keep clear.')
        self._ask('Enter to switch the motors on: ')
        steps, angles = [], []
        with self._armed():
            for wanted in (0.0, SWING, 0.0, -SWING, 0.0):
                self._step_to(wanted * expected)
                seen = self._average()
                steps.append(float(self._link.reading.message.step_position))
                angles.append(float(turn.position(seen[1])))
        self.readings['stepper'] = {'steps': steps, 'angles': angles}
        found = fit_steps(steps, angles, expected)
        self._say(f'  {abs(found):.6g} microsteps per radian'
                  f'{", the other way round" if found < 0 else ""}')
        return found

    def _sensors(self):
        self._say('flex sensors: the stepper will hold the arm. Pull at its very end, straight '
                  'across, with known forces to both sides (a weight on a thread over a pulley), '
                  'at least two to each side, and once with none.')
        self._ask('Enter to switch the motors on: ')
        forces, rows = [], []
        with self._armed():
            while True:
                force = self._number('force towards the left of the arm [N], negative to the '
                                     'right, or Enter if that is all: ')
                if force is None:
                    break
                self._wait_until_still()
                seen = self._average()
                self._refuse_stop('flex sensors')       # nothing holds an arm without motors
                forces.append(force)
                rows.append(seen[2:].tolist())
                self._say(f'  {force:g} N: ' + ', '.join(f'{share:.4f}' for share in seen[2:])
                          + ' of the range')
        names = flex_sensors(self._arm).names
        self.readings['sensors'] = {'forces': forces, 'shares': rows}
        link = names[0].split('/')[0]
        beam = self._arm.description.link(link).beam
        noise = self._parts.adc_noise / (1 << self._parts.adc_bits) / math.sqrt(CONVERSIONS)
        found = {}
        for k, name in enumerate(names):
            curvatures = [cantilever_curvature(beam, beam.sensors[k], force) for force in forces]
            found[name] = fit_sensor(name, [row[k] for row in rows], curvatures,
                                     self._parts.divider_resistance, noise)
            self._say(f'  {name}: {found[name].flat_resistance:.0f} ohm flat, gain '
                      f'{found[name].gain:.4g} m, one reading is good for '
                      f'{found[name].deviation:.2g} 1/m')
        return found

    def _number(self, question):
        """Return a number that is typed, or None for nothing."""
        while True:
            answer = self._ask(question).strip()
            if not answer:
                return None
            try:
                value = float(answer.replace(',', '.'))
            except ValueError:
                value = math.nan
            if math.isfinite(value):
                return value
            self._say(f'"{answer}" is no number.')

    def _samples(self, seconds):
        """Readings (k, 4) over a time: counts of slide and turn, shares of both sensors."""
        rows, newest = [], None
        end = time.monotonic() + seconds
        full = CONVERSIONS * ((1 << self._parts.adc_bits) - 1)
        while time.monotonic() < end or len(rows) < 10:
            if time.monotonic() > end + 2.0:
                raise RigError('no telemetry comes. Look at the cable and at the board.')
            reading = self._link.reading
            if reading is not None and reading is not newest:
                newest, message = reading, reading.message
                rows.append((message.slide_counts, message.turn_counts,
                             message.adc_root / full, message.adc_tip / full))
            time.sleep(1e-3)
        return np.array(rows, float)

    def _average(self):
        return self._samples(AVERAGE).mean(axis=0)

    def _wait_until_still(self):
        """Wait until the sensors show noise only, or for as long as an arm may swing."""
        end = time.monotonic() + SETTLE
        noise = self._parts.adc_noise / (1 << self._parts.adc_bits) / math.sqrt(CONVERSIONS)
        while time.monotonic() < end:
            if self._samples(0.5)[:, 2:].std(axis=0).max() < 2 * noise:
                return

    @contextlib.contextmanager
    def _armed(self):
        """Motors on, with an arm that stands but for `_rate`."""
        link, self._rate, over = self._link, 0.0, threading.Event()

        def hold():
            while not over.wait(BEAT):
                link.drive(0.0, self._rate)

        link.clear()
        link.arm()
        holder = threading.Thread(target=hold, daemon=True)
        holder.start()
        try:
            yield
        finally:
            over.set()
            holder.join()
            with contextlib.suppress(RigError):     # the watchdog does it then
                link.disarm()

    def _refuse_stop(self, what, advice=''):
        faults = self._link.reading.message.faults
        if faults:
            raise CalibrationError(
                f'{what}: the board stopped. {describe_faults(faults)}.{advice}')

    def _step_to(self, place):
        """Turn the stepper to about `place` [microsteps] from where it first stood."""
        if self._first_step is None:
            self._first_step = self._link.reading.message.step_position
        end = time.monotonic() + ARRIVAL
        while True:
            message = self._link.reading.message
            left = place + self._first_step - message.step_position
            self._refuse_stop('stepper', ' If the encoder counts against the steps, write '
                                         'TURN_REVERSED = 1 first.')
            if time.monotonic() > end:
                raise CalibrationError(
                    f'stepper: the arm has not arrived within {ARRIVAL:g} s; link: '
                    f'{self._link.state.value}. Look at the cable and at the motors.')
            if abs(left) < 8:
                break
            self._rate = math.copysign(min(RATE, max(40.0, 2 * abs(left))), left)
            time.sleep(2e-3)
        self._rate = 0.0
        self._wait_until_still()
