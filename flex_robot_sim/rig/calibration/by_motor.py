"""The steps in which the motors move the bench, within travel that was measured by hand."""

import math
from dataclasses import replace

from flex_robot_sim.rig.bench.motors import dc_force
from flex_robot_sim.rig.bench.parts import SLIDE, TURN, BenchParts
from flex_robot_sim.rig.calibration.calibration import SlideFriction
from flex_robot_sim.rig.calibration.fits import (
    CURRENT_STEP,
    UNITS,
    fit_dc_motor,
    fit_friction,
    fit_steps,
)
from flex_robot_sim.rig.calibration.step import Desk, Step, known
from flex_robot_sim.util.exceptions import CalibrationError

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


class StepperStep(Step):
    """Steps that were sent against the angle that the encoder saw."""

    name, typed, columns = 'stepper', False, ('steps', 'counts')

    @property
    def about(self) -> str:
        """What the person shall do."""
        return (f'The arm will turn by {math.degrees(SWING):.0f} degrees to both sides. Put it '
                'in the middle of its travel and keep clear. Any key stops it.')

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to be measured."""
        return len(self.rows) == len(TURNS)

    def measure(self) -> None:
        """Turn the arm, after asking."""
        desk, bench = self.desk, self.desk.bench
        desk.dialogue.enter('Enter to switch the motors on: ')
        window = travel(desk, 'turn', bench.average().turn, SWING, SWING_MARGIN)
        steps = desk.parts.steps_per_turn / (2 * math.pi)
        self.rows.clear()
        with bench.armed(is_free=True), bench.within(TURN, window):
            for share in TURNS:
                bench.step_to(share * SWING * steps)
                self.add(steps=float(bench.message().step_position),
                         counts=bench.average().turn)

    def line(self, steps: float, counts: float) -> str:
        """A row for people."""
        return f'{steps:.0f} microsteps, {counts:.1f} counts'

    def fit(self) -> tuple[tuple[float, float], str]:
        """Return microsteps per radian, their deviation, and a line about it."""
        turn = self.desk.found['turn']
        expected = self.desk.parts.steps_per_turn / (2 * math.pi)
        steps, deviation = fit_steps(
            self.column('steps'), [turn.position(counts) for counts in self.column('counts')],
            expected, 1 / abs(turn.scale))
        deviation = math.hypot(deviation, steps * turn.scale_deviation / turn.scale)
        return (steps, deviation), (
            f'{known(abs(steps), deviation)} microsteps per radian'
            f'{", the other way round" if steps < 0 else ""}; the data sheets say {expected:.6g}')


class MotorStep(Step):
    """Voltage against current and speed, running free and held fast."""

    name, typed = 'motor', False
    columns = ('supply', 'duty', 'current', 'rate', 'is_held')

    @property
    def about(self) -> str:
        """What the person shall do."""
        return (f'The slide will run {len(RUNS)} times for {SPIN_UP + RUN:.1f} s, at '
                f'{self._fastest() * 1e3:.0f} mm/s or less, then push against a clamp. Keep '
                'clear. Any key stops it. Without a current monitor on the bridge, type skip.')

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to be measured."""
        return len(self.rows) == 2 * len(RUNS)

    def measure(self) -> None:
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
        window = travel(desk, 'slide', bench.average().slide, reach, RUN_MARGIN)
        self.rows[:] = [row for row in self.rows if row['is_held'] != is_held]
        with bench.armed(is_free=not is_held), bench.within(SLIDE, window):
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
            raise CalibrationError('the slide runs against its encoder. Swap the wires of the '
                                   'motor, or give --board-parameter SLIDE_REVERSED=1')

    def line(self, supply: float, duty: float, current: float, rate: float, is_held: bool) -> str:
        """A row for people."""
        speed = rate / abs(self.desk.found['slide'].scale)
        return (f'{duty * supply:.2f} V, {current:.3f} A, '
                f'{"held" if is_held else f"{speed * 1e3:.1f} mm/s"}')

    def fit(self) -> tuple[tuple[BenchParts, float, float, SlideFriction], str]:
        """Return the BenchParts with the motor as measured, deviations, friction, and a line."""
        parts, scale = self.desk.parts, abs(self.desk.found['slide'].scale)
        motor = fit_dc_motor([row['supply'] * row['duty'] for row in self.rows],
                             self.column('current'), [row['rate'] / scale for row in self.rows])
        emf = motor.back_emf / parts.motor_turn_per_metre
        deviation = math.hypot(motor.back_emf_deviation / parts.motor_turn_per_metre,
                               emf * self.desk.found['slide'].scale_deviation / scale)
        found = replace(parts, supply=self.rows[0]['supply'], resistance=motor.resistance,
                        back_emf=emf)
        friction = self._friction(found, deviation, scale)
        return (found, motor.resistance_deviation, deviation, friction), (
            f'{known(motor.resistance, motor.resistance_deviation)} ohm and '
            f'{known(emf, deviation)} V s/rad; the data sheets say {parts.resistance:g} ohm and '
            f'{parts.back_emf:g} V s/rad\n  friction of '
            f'{known(friction.coulomb, friction.coulomb_deviation)} N and '
            f'{known(friction.viscous, friction.viscous_deviation)} N s/m, if {parts.efficiency:g}'
            ' of the force arrive')

    def _friction(self, parts, emf_deviation, scale):
        """Friction by the currents of the free runs and the efficiency of the data sheets."""
        free = [row for row in self.rows if not row['is_held']]
        speeds = [row['rate'] / scale for row in free]
        forces = [dc_force(parts, row['current'], speed) for row, speed in zip(free, speeds)]
        own = self.desk.arm.description.joint(self.desk.arm.joint_names[SLIDE])
        step = abs(dc_force(parts, CURRENT_STEP, 1.0)) / math.sqrt(12)
        found = fit_friction(forces, speeds, own.viscous_friction, step)
        # forces are those of the torque constant
        share = emf_deviation / parts.back_emf
        return SlideFriction(found.coulomb, found.viscous,
                             math.hypot(found.coulomb_deviation, share * found.coulomb),
                             found.viscous_deviation)


def travel(desk: Desk, name: str, now: float, reach: float, margin: float) -> tuple[float, float]:
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


def _slope(x, y):
    """Slope of the straight line through (x, y)."""
    x = x - x.mean()
    return float(x @ y / (x @ x))
