"""
The steps of a calibration: what each asks for, does and measures, and the constants that follow.

A step has rows of raw readings, which grow as it measures and are kept whatever happens; its
constants follow from its rows, from the zero pose and from the steps before.
"""

import math
from dataclasses import replace
from typing import Any, NamedTuple

from flex_robot_sim.exceptions import CalibrationError
from flex_robot_sim.flex_sensors import flex_sensors
from flex_robot_sim.rig.calibration_bench import CalibrationBench
from flex_robot_sim.rig.calibration_dialogue import Dialogue, Word
from flex_robot_sim.rig.calibration_fits import (
    UNITS,
    cantilever_curvature,
    fit_dc_motor,
    fit_encoder,
    fit_sensor,
    fit_steps,
    refuse_wrong_signs,
)
from flex_robot_sim.rig.parts import SLIDE, TURN, BenchParts

LEAST_PLACES = 3            # of an encoder, besides the zero pose
RULER = 3e-4                # deviation of a position read from a ruler                 [m]
PROTRACTOR = 4e-3           # of an angle read from a protractor                        [rad]
SWING = 0.35                # of the arm to each side while its steps are counted       [rad]
TURNS = (0, 1, 0, -1, 0)    # of these swings
SWING_MARGIN = 0.05         # of measured travel beyond it                              [rad]
RUNS = (0.6, -0.6, 1.0, -1.0)       # of the DC motor, in shares of the smaller of ...
MOST_VOLTAGE = 4.2          # ... this                                                  [V]
MOST_DUTY = 0.35            # ... or this, because the board sees a stall from 0.4 on
SPIN_UP = 0.5               # after which the slide runs steadily                       [s]
RUN = 0.8                   # over which it is then measured                            [s]
RUN_MARGIN = 0.01           # of measured travel beyond a run                           [m]
LEAST_RUN = 1e-3            # by which it moves in a run                                [m]
CLAMP_GIVES = 5e-4          # by which a slide that is held may move                    [m]
SUPPLY = 3.0, 60.0          # lowest and highest of the motors                          [V]
LARGEST_BEND = 0.2          # of the end over the length; beyond, a beam is no line any more


class Desk(NamedTuple):
    """What all steps work with."""

    dialogue: Dialogue
    bench: CalibrationBench
    arm: Any                    # ArmModel
    parts: BenchParts           # by their data sheets
    readings: dict              # {'zero': (2,) counts, name of a step: its rows}
    found: dict                 # {name of a step: its constants}
    keep: Any                   # function(): readings have changed


class Step:
    """One step; a subclass says how it measures and what follows."""

    name, typed = '', True      # typed: a row is a number that a person has typed
    columns = ()                # of a row

    def __init__(self, desk):
        """Prepare."""
        self.desk = desk
        self.rows = desk.readings.setdefault(self.name, [])

    @property
    def is_complete(self):
        """Whether nothing need be measured any more."""
        return bool(self.rows)

    def add(self, **row):
        """Keep a reading, and show it."""
        self.rows.append(row)
        self.desk.keep()
        self.desk.dialogue.say(self.shown(len(self.rows)))

    def shown(self, number):
        """Row `number`, from 1, as a line."""
        return f'  {number}: {self.line(**self.rows[number - 1])}'

    def show(self):
        """Show all readings."""
        for number in range(len(self.rows)):
            self.desk.dialogue.say(self.shown(number + 1))

    def number(self, question, units):
        """Return a number that is typed, in SI, or None; readings may be dropped meanwhile."""
        while True:
            try:
                return self.desk.dialogue.number(question, units)
            except Word as word:
                if word.word not in ('drop', 'again'):
                    raise
                self.drop(word)

    def drop(self, word):
        """Throw the readings away that `drop` or `again` means."""
        number = word.number or len(self.rows)
        if word.word == 'again' or not self.typed:
            self.rows.clear()
        elif 1 <= number <= len(self.rows):
            self.rows.pop(number - 1)
        else:
            self.desk.dialogue.say('  There is no such reading.')
        self.desk.keep()
        self.show()

    def column(self, name):
        """A column of all rows."""
        return [row[name] for row in self.rows]


class EncoderStep(Step):
    """Places measured by hand against counts."""

    columns = ('position', 'counts')

    def __init__(self, desk, name, joint, units, ruler, expected):
        """Prepare for `joint`; units: {name: size in SI}; expected: scale by the data sheet."""
        self.name, self._joint, self._units, self._ruler = name, joint, units, ruler
        self._expected = expected
        super().__init__(desk)

    @property
    def about(self):
        """What the person shall do."""
        return (f'Bring the {("slide", "arm")[self._joint]} by hand to three or more places far '
                'apart, and measure each from the zero pose. The motors are off.')

    def measure(self):
        """Take readings until Enter."""
        unit = UNITS[self.name][0]
        while True:
            value = self.number(
                f'it stands at [{unit}], or Enter if that is all: ', self._units)
            if value is None:
                return
            seen = self.desk.bench.average()
            self.add(position=value, counts=(seen.slide, seen.turn)[self._joint])

    def line(self, position, counts):
        """A row for people."""
        unit, size, _ = UNITS[self.name]
        return f'{position / size:g} {unit}, {counts:.1f} counts'

    def fit(self):
        """Return the EncoderCalibration and a line about it."""
        if len(self.rows) < LEAST_PLACES:
            raise CalibrationError(f'{self.name}: needs {LEAST_PLACES} places besides the zero '
                                   'pose')
        zero = self.desk.readings['zero'][self._joint]
        found = fit_encoder(self.name, [zero, *self.column('counts')],
                            [0.0, *self.column('position')], zero, self._expected, self._ruler)
        scale, base = abs(found.scale), UNITS[self.name][2]
        return found, (f'{_known(scale, found.scale_deviation)} counts per {base}'
                       f'{", the other way round" if found.scale < 0 else ""}; the data sheets '
                       f'say {self._expected:.6g}')


class StepperStep(Step):
    """Steps that were sent against the angle that the encoder saw."""

    name, typed, columns = 'stepper', False, ('steps', 'counts')

    @property
    def about(self):
        """What the person shall do."""
        return (f'The arm will turn by {math.degrees(SWING):.0f} degrees to both sides. Put it '
                'in the middle of its travel and keep clear. Any key stops it.')

    @property
    def is_complete(self):
        """Whether nothing is left to be measured."""
        return len(self.rows) == len(TURNS)

    def measure(self):
        """Turn the arm, after asking."""
        desk, bench = self.desk, self.desk.bench
        desk.dialogue.enter('Enter to switch the motors on: ')
        window = _window(desk, 'turn', bench.average().turn, SWING, SWING_MARGIN)
        steps = desk.parts.steps_per_turn / (2 * math.pi)
        self.rows.clear()
        with bench.armed(), bench.within(TURN, window):
            for share in TURNS:
                bench.step_to(share * SWING * steps)
                self.add(steps=float(bench.link.reading.message.step_position),
                         counts=bench.average().turn)

    def line(self, steps, counts):
        """A row for people."""
        return f'{steps:.0f} microsteps, {counts:.1f} counts'

    def fit(self):
        """Return microsteps per radian, their deviation, and a line about it."""
        turn = self.desk.found['turn']
        expected = self.desk.parts.steps_per_turn / (2 * math.pi)
        steps, deviation = fit_steps(
            self.column('steps'), [turn.position(counts) for counts in self.column('counts')],
            expected, 1 / abs(turn.scale))
        deviation = math.hypot(deviation, steps * turn.scale_deviation / turn.scale)
        return (steps, deviation), (
            f'{_known(abs(steps), deviation)} microsteps per radian'
            f'{", the other way round" if steps < 0 else ""}; the data sheets say {expected:.6g}')


class MotorStep(Step):
    """Voltage against current and speed, running free and held fast."""

    name, typed = 'motor', False
    columns = ('supply', 'duty', 'current', 'rate', 'is_held')

    @property
    def about(self):
        """What the person shall do."""
        return (f'The slide will run {len(RUNS)} times for {SPIN_UP + RUN:.1f} s, at '
                f'{self._fastest() * 1e3:.0f} mm/s or less, then push against a clamp. Keep '
                'clear. Any key stops it. Without a current monitor on the bridge, type skip.')

    @property
    def is_complete(self):
        """Whether nothing is left to be measured."""
        return len(self.rows) == 2 * len(RUNS)

    def measure(self):
        """Let the slide run, then push, after asking for each."""
        desk = self.desk
        supply = self._supply()
        if sum(not row['is_held'] for row in self.rows) < len(RUNS):
            self._runs(supply, False, 'Take the slide to the middle of its travel. Enter to let '
                                      'it run: ')
        parts = desk.parts
        push = (parts.back_emf * parts.motor_turn_per_metre * parts.efficiency
                * _voltage(supply) / parts.resistance)
        self._runs(supply, True, f'Clamp the slide fast; it will push with {push:.0f} N or so, '
                                 'both ways. Enter to let it: ')
        desk.dialogue.say('  Take the clamp off.')

    def _supply(self):
        if self.rows:
            return self.rows[0]['supply']
        usual = self.desk.parts.supply
        while True:
            supply = self.desk.dialogue.number(
                f'motor supply by a voltmeter [V], or Enter for {usual:g} V: ', {'V': 1.0}, usual)
            if SUPPLY[0] <= supply <= SUPPLY[1]:
                return supply
            self.desk.dialogue.say(f'  {supply:g} V is no supply of these motors: '
                                   f'{SUPPLY[0]:g} to {SUPPLY[1]:g} V.')

    def _runs(self, supply, is_held, question):
        desk, bench, slide = self.desk, self.desk.bench, self.desk.found['slide']
        desk.dialogue.enter(question)
        reach = 0.0 if is_held else self._fastest() * (SPIN_UP + RUN)
        window = _window(desk, 'slide', bench.average().slide, reach, RUN_MARGIN)
        self.rows[:] = [row for row in self.rows if row['is_held'] != is_held]
        with bench.armed(), bench.within(SLIDE, window):
            for share in RUNS:
                duty = round(share * _voltage(supply) / supply, 4)
                start = bench.average().slide
                seen = bench.run(duty, SPIN_UP, RUN)
                moved = (seen.slide[-1] - start) / abs(slide.scale)
                self._refuse(supply, duty, seen, moved, is_held)
                rate = _slope(seen.time, seen.slide)
                # a current monitor need not know the sign, which is that of the duty at last
                current = math.copysign(abs(float(seen.current.mean())), duty)
                self.add(supply=supply, duty=duty, current=current, rate=rate, is_held=is_held)

    def _fastest(self):
        """Speed of the slide without friction [m/s]."""
        parts = self.desk.parts
        return MOST_VOLTAGE / (parts.back_emf * parts.motor_turn_per_metre)

    @staticmethod
    def _refuse(supply, duty, seen, moved, is_held):
        applied = float(seen.duty.mean())
        if abs(applied - duty) > 1e-3:
            raise CalibrationError(f'the board applied a duty of {applied:.2g} instead of '
                                   f'{duty:g}. A limit switch, a soft limit or DUTY_MAX is in '
                                   'the way')
        if is_held and abs(moved) > CLAMP_GIVES:
            raise CalibrationError(f'the clamp gave way by {abs(moved) * 1e3:.2g} mm. Fasten it')
        if not is_held and abs(moved) < LEAST_RUN:
            raise CalibrationError(f'{abs(duty) * supply:.2g} V do not move the slide. Check the '
                                   'motor supply, the wires of the motor, and what blocks it')
        if not is_held and moved * duty < 0:
            raise CalibrationError('the slide runs against its encoder. Write SLIDE_REVERSED = 1, '
                                   'or swap the wires of the motor')

    def line(self, supply, duty, current, rate, is_held):
        """A row for people."""
        speed = rate / abs(self.desk.found['slide'].scale)
        return (f'{duty * supply:.2f} V, {current:.3f} A, '
                f'{"held" if is_held else f"{speed * 1e3:.1f} mm/s"}')

    def fit(self):
        """Return the BenchParts with the motor as measured, its deviations, and a line."""
        parts, scale = self.desk.parts, abs(self.desk.found['slide'].scale)
        motor = fit_dc_motor([row['supply'] * row['duty'] for row in self.rows],
                             self.column('current'), [row['rate'] / scale for row in self.rows])
        emf = motor.back_emf / parts.motor_turn_per_metre
        deviation = math.hypot(motor.back_emf_deviation / parts.motor_turn_per_metre,
                               emf * self.desk.found['slide'].scale_deviation / scale)
        found = replace(parts, supply=self.rows[0]['supply'], resistance=motor.resistance,
                        back_emf=emf)
        return (found, motor.resistance_deviation, deviation), (
            f'{_known(motor.resistance, motor.resistance_deviation)} ohm and '
            f'{_known(emf, deviation)} V s/rad; the data sheets say {parts.resistance:g} ohm and '
            f'{parts.back_emf:g} V s/rad')


class SensorStep(Step):
    """Known forces at the end of the arm against the readings of both flex sensors."""

    name, columns = 'sensors', ('force', 'root', 'tip', 'turn_counts', 'hold')

    @property
    def about(self):
        """What the person shall do."""
        return ('The stepper will hold the arm. Pull at its very end, straight across, with known '
                'forces to both sides (a weight on a thread over a pulley), at least two to each '
                'side, and once with none.')

    def measure(self):
        """Hold the arm and take readings until Enter."""
        desk, bench = self.desk, self.desk.bench
        desk.dialogue.enter('Enter to switch the motors on: ')
        hold = 1 + max(self.column('hold'), default=0)
        with bench.armed(is_watched=False):
            while True:
                force = self.number(
                    'force towards the left of the arm [N, or g], negative to the right, or '
                    'Enter if that is all: ', {'N': 1.0, 'g': 9.80665e-3})
                if force is None:
                    return
                if self._is_too_large(force):
                    continue
                bench.wait_until_still()
                seen = bench.average()
                self.add(force=force, root=seen.root, tip=seen.tip, turn_counts=seen.turn,
                         hold=hold)

    def _is_too_large(self, force):
        beam = self._beam()
        bend = force * beam.length**3 / (3 * beam.stiffness('bending_y'))
        if abs(bend) <= LARGEST_BEND * beam.length:
            return False
        most = force * LARGEST_BEND * beam.length / bend
        self.desk.dialogue.say(
            f'  {abs(force):.4g} N would bend the end by {abs(bend) * 1e3:.0f} mm. Take '
            f'{most:.2g} N ({most / 9.80665e-3:.0f} g) or less.')
        return True

    def line(self, force, root, tip, turn_counts, hold):
        """A row for people."""
        return f'{force:.4g} N, root {root:.3%} and tip {tip:.3%} of the range'

    def fit(self):
        """Return {name: SensorCalibration} and a line about each."""
        desk, parts, beam = self.desk, self.desk.parts, self._beam()
        forces = self.column('force')
        found, lines = {}, []
        for k, (name, column) in enumerate(zip(flex_sensors(desk.arm).names, ('root', 'tip'))):
            curvatures = [cantilever_curvature(beam, beam.sensors[k], force) for force in forces]
            found[name] = sensor = fit_sensor(name, self.column(column), curvatures,
                                              parts.divider_resistance, desk.bench.noise)
            lines.append(f'{name}: {sensor.flat_resistance:.0f} ohm flat, gain '
                         f'{_known(sensor.gain, sensor.gain_deviation)} m, one reading is good '
                         f'for {sensor.deviation:.2g} 1/m')
        turn = desk.found['turn']
        refuse_wrong_signs(forces, [turn.position(counts)
                                    for counts in self.column('turn_counts')],
                           self.column('hold'), 1 / abs(turn.scale))
        return found, '\n  '.join(lines)

    def _beam(self):
        link = flex_sensors(self.desk.arm).names[0].split('/')[0]
        return self.desk.arm.description.link(link).beam


COLUMNS = {name: kind.columns for name, kind in (
    ('slide', EncoderStep), ('turn', EncoderStep), ('stepper', StepperStep),
    ('motor', MotorStep), ('sensors', SensorStep))}


def steps_of(desk):
    """All steps, in order: each may use what those before have found."""
    parts = desk.parts
    return (EncoderStep(desk, 'slide', SLIDE, {'mm': 1e-3, 'cm': 1e-2}, RULER,
                        parts.counts_per_metre),
            EncoderStep(desk, 'turn', TURN, {'degrees': math.pi / 180, 'rad': 1.0}, PROTRACTOR,
                        parts.counts_per_radian),
            StepperStep(desk), MotorStep(desk), SensorStep(desk))


def _window(desk, name, now, reach, margin):
    """
    Counts between which a joint may move, the travel that was measured by hand.

    :param now: its count; reach: how far it will go to both sides; margin: beyond that [m, rad].
    """
    unit, size, _ = UNITS[name]
    encoder = desk.found[name]
    places = [0.0] + [row['position'] for row in desk.readings[name]]
    lower, upper, here = min(places), max(places), encoder.position(now)
    room = reach + margin
    if upper - lower < 2 * room:
        raise CalibrationError(
            f'the {name} needs {2 * room / size:.0f} {unit} of travel, and '
            f'{(upper - lower) / size:.0f} {unit} were measured by hand. Go back and measure '
            'places further apart')
    if not lower + room <= here <= upper - room:
        raise CalibrationError(
            f'the {name} stands at {here / size:.0f} {unit}. Put it between '
            f'{(lower + room) / size:.0f} and {(upper - room) / size:.0f} {unit}, where it has '
            'room to both sides within the travel that was measured by hand')
    ends = sorted(encoder.zero + encoder.scale * place for place in (lower, upper))
    return tuple(ends)


def _voltage(supply):
    """Largest mean voltage of the DC motor [V]."""
    return min(MOST_VOLTAGE, MOST_DUTY * supply)


def _known(value, deviation):
    """A value and its standard deviation, to two digits of the latter."""
    if not deviation > 0:
        return f'{value:.6g}'
    decimals = max(0, 1 - math.floor(math.log10(deviation)))
    return f'{value:.{decimals}f} +- {deviation:.{decimals}f}'


def _slope(x, y):
    """Slope of the straight line through (x, y)."""
    x = x - x.mean()
    return float(x @ y / (x @ x))
