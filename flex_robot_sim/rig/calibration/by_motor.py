"""Calibration steps by motor, within the travel that was measured by hand."""

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
from flex_robot_sim.rig.calibration.step import CalibrationContext, Step, with_deviation
from flex_robot_sim.util.exceptions import CalibrationError

SWING_ANGLE = 0.35  # of the arm to each side during the stepper calibration    [rad]
SWING_SEQUENCE = (0, 1, 0, -1, 0)  # targets in SWING_ANGLE
SWING_MARGIN = 0.05  # required travel beyond SWING_ANGLE                        [rad]
RUN_LEVELS = (0.6, -0.6, 1.0, -1.0)  # voltage over the smaller of the next two limits
MAX_VOLTAGE = 4.2  # of the DC motor                                           [V]
MAX_DUTY = 0.35  # the board monitors stalls from a duty of 0.4 on
SPIN_UP_TIME = 0.5  # until the slide runs steadily                             [s]
RUN_TIME = 0.8  # of the measurement that follows                           [s]
RUN_MARGIN = 0.01  # required travel beyond a run                              [m]
MIN_RUN_TRAVEL = 1e-3  # of a free run                                             [m]
MAX_CLAMP_SLIP = 5e-4  # of a clamped slide                                        [m]
SUPPLY_RANGE = 3.0, 60.0  # accepted motor supply                                     [V]


class StepperStep(Step):
    """Microsteps sent to the driver, and the angle from the encoder."""

    name, is_typed, columns = 'stepper', False, ('steps', 'counts')

    @property
    def about(self) -> str:
        """Instructions for the user."""
        return (
            f'The arm will turn by {math.degrees(SWING_ANGLE):.0f} degrees to both sides. '
            'Put it in the middle of its travel and keep clear. Any key stops it.'
        )

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to be measured."""
        return len(self.rows) == len(SWING_SEQUENCE)

    def measure(self) -> None:
        """Turn the arm, after confirmation."""
        context, bench = self.context, self.context.bench
        context.dialogue.enter('Enter to switch the motors on: ')
        window = travel(context, 'turn', bench.average().turn, SWING_ANGLE, SWING_MARGIN)
        steps = context.parts.steps_per_turn / (2 * math.pi)
        self.rows.clear()
        with bench.armed(is_free=True), bench.within(TURN, window):
            for share in SWING_SEQUENCE:
                bench.step_to(share * SWING_ANGLE * steps)
                self.add(steps=float(bench.message().step_position), counts=bench.average().turn)

    def line(self, steps: float, counts: float) -> str:
        """Text of a row."""
        return f'{steps:.0f} microsteps, {counts:.1f} counts'

    def fit(self) -> tuple[tuple[float, float], str]:
        """Return microsteps per radian, their deviation, and a line about it."""
        turn = self.context.results['turn']
        expected = self.context.parts.steps_per_turn / (2 * math.pi)
        steps, deviation = fit_steps(
            self.column('steps'),
            [turn.position(counts) for counts in self.column('counts')],
            expected,
            1 / abs(turn.scale),
        )
        deviation = math.hypot(deviation, steps * turn.scale_deviation / turn.scale)
        return (steps, deviation), (
            f'{with_deviation(abs(steps), deviation)} microsteps per radian'
            f'{", the other way round" if steps < 0 else ""}; the data sheets say {expected:.6g}'
        )


class MotorStep(Step):
    """Voltage, current and speed of the motor, free and clamped."""

    name, is_typed = 'motor', False
    columns = ('supply', 'duty', 'current', 'rate', 'is_held')

    @property
    def about(self) -> str:
        """Instructions for the user."""
        return (
            f'The slide will run {len(RUN_LEVELS)} times for {SPIN_UP_TIME + RUN_TIME:.1f} s, at '
            f'{self._no_load_speed() * 1e3:.0f} mm/s or less, then push against a clamp. Keep '
            'clear. Any key stops it. Without a current monitor on the bridge, type skip.'
        )

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to be measured."""
        return len(self.rows) == 2 * len(RUN_LEVELS)

    def measure(self) -> None:
        """Run the slide free, then clamped, after confirmation of each."""
        context = self.context
        supply = self._supply()
        if sum(not row['is_held'] for row in self.rows) < len(RUN_LEVELS):
            self._runs(
                supply, False, 'Take the slide to the middle of its travel. Enter to let it run: '
            )
        parts = context.parts
        push = (
            parts.back_emf
            * parts.motor_turn_per_metre
            * parts.efficiency
            * _voltage(supply)
            / parts.resistance
        )
        self._runs(
            supply,
            True,
            f'Clamp the slide fast; it will push with {push:.0f} N or so, '
            'both ways. Enter to let it: ',
        )
        context.dialogue.say('  Take the clamp off.')

    def _supply(self):
        if self.rows:
            return self.rows[0]['supply']
        default_supply = self.context.parts.supply
        while True:
            supply = self.context.dialogue.number(
                f'motor supply by a voltmeter [V], or Enter for {default_supply:g} V: ',
                {'V': 1.0},
                default_supply,
            )
            if SUPPLY_RANGE[0] <= supply <= SUPPLY_RANGE[1]:
                return supply
            self.context.dialogue.say(
                f'  {supply:g} V is no supply of these motors: '
                f'{SUPPLY_RANGE[0]:g} to {SUPPLY_RANGE[1]:g} V.'
            )

    def _runs(self, supply, is_held, question):
        context, bench, slide = self.context, self.context.bench, self.context.results['slide']
        context.dialogue.enter(question)
        reach = 0.0 if is_held else self._no_load_speed() * (SPIN_UP_TIME + RUN_TIME)
        window = travel(context, 'slide', bench.average().slide, reach, RUN_MARGIN)
        self.rows[:] = [row for row in self.rows if row['is_held'] != is_held]
        with bench.armed(is_free=not is_held), bench.within(SLIDE, window):
            for share in RUN_LEVELS:
                duty = round(share * _voltage(supply) / supply, 4)
                start = bench.average().slide
                sample = bench.run(duty, SPIN_UP_TIME, RUN_TIME)
                moved = (sample.slide[-1] - start) / abs(slide.scale)
                self._check_run(supply, duty, sample, moved, is_held)
                rate = _slope(sample.time, sample.slide)
                # a current monitor may be unsigned; the current has the sign of the duty
                current = math.copysign(abs(float(sample.current.mean())), duty)
                self.add(supply=supply, duty=duty, current=current, rate=rate, is_held=is_held)

    def _no_load_speed(self):
        """Speed of the slide without friction [m/s]."""
        parts = self.context.parts
        return MAX_VOLTAGE / (parts.back_emf * parts.motor_turn_per_metre)

    @staticmethod
    def _check_run(supply, duty, sample, moved, is_held):
        applied = float(sample.duty.mean())
        if abs(applied - duty) > 1e-3:
            raise CalibrationError(
                f'the board applied a duty of {applied:.2g} instead of {duty:g}. A limit switch, '
                'a soft limit or DUTY_MAX is in the way'
            )
        if is_held and abs(moved) > MAX_CLAMP_SLIP:
            raise CalibrationError(f'the clamp gave way by {abs(moved) * 1e3:.2g} mm. Fasten it')
        if not is_held and abs(moved) < MIN_RUN_TRAVEL:
            raise CalibrationError(
                f'{abs(duty) * supply:.2g} V do not move the slide. Check the '
                'motor supply, the wires of the motor, and what blocks it'
            )
        if not is_held and moved * duty < 0:
            raise CalibrationError(
                'the slide runs against its encoder. Swap the wires of the '
                'motor, or give --board-parameter SLIDE_REVERSED=1'
            )

    def line(self, supply: float, duty: float, current: float, rate: float, is_held: bool) -> str:
        """Text of a row."""
        speed = rate / abs(self.context.results['slide'].scale)
        return (
            f'{duty * supply:.2f} V, {current:.3f} A, '
            f'{"held" if is_held else f"{speed * 1e3:.1f} mm/s"}'
        )

    def fit(self) -> tuple[tuple[BenchParts, float, float, SlideFriction], str]:
        """Return BenchParts with the measured motor, deviations, friction, and a line."""
        parts, scale = self.context.parts, abs(self.context.results['slide'].scale)
        motor = fit_dc_motor(
            [row['supply'] * row['duty'] for row in self.rows],
            self.column('current'),
            [row['rate'] / scale for row in self.rows],
        )
        emf = motor.back_emf / parts.motor_turn_per_metre
        deviation = math.hypot(
            motor.back_emf_deviation / parts.motor_turn_per_metre,
            emf * self.context.results['slide'].scale_deviation / scale,
        )
        found = replace(
            parts, supply=self.rows[0]['supply'], resistance=motor.resistance, back_emf=emf
        )
        friction = self._friction(found, deviation, scale)
        return (found, motor.resistance_deviation, deviation, friction), (
            f'{with_deviation(motor.resistance, motor.resistance_deviation)} ohm and '
            f'{with_deviation(emf, deviation)} V s/rad; the data sheets say '
            f'{parts.resistance:g} ohm and {parts.back_emf:g} V s/rad\n  friction of '
            f'{with_deviation(friction.coulomb, friction.coulomb_deviation)} N and '
            f'{with_deviation(friction.viscous, friction.viscous_deviation)} N s/m, if '
            f'{parts.efficiency:g} of the force arrive'
        )

    def _friction(self, parts, emf_deviation, scale):
        """Fit friction to the currents of the free runs, with the data-sheet efficiency."""
        free = [row for row in self.rows if not row['is_held']]
        speeds = [row['rate'] / scale for row in free]
        forces = [dc_force(parts, row['current'], speed) for row, speed in zip(free, speeds)]
        slide_joint = self.context.arm.description.joint(self.context.arm.joint_names[SLIDE])
        step = abs(dc_force(parts, CURRENT_STEP, 1.0)) / math.sqrt(12)
        found = fit_friction(forces, speeds, slide_joint.friction.viscous_friction, step)
        # forces are proportional to the torque constant
        share = emf_deviation / parts.back_emf
        return replace(
            found, coulomb_deviation=math.hypot(found.coulomb_deviation, share * found.coulomb)
        )


def travel(
    context: CalibrationContext, name: str, now: float, reach: float, margin: float
) -> tuple[float, float]:
    """
    Return the counts between which a joint may move: the travel that was measured by hand.

    :param now: present count; reach: motion to both sides; margin: beyond that [m, rad].
    """
    unit, size, _ = UNITS[name]
    encoder = context.results[name]
    positions = [0.0] + [row['position'] for row in context.readings[name]]
    lower, upper, position = min(positions), max(positions), encoder.position(now)
    room = reach + margin
    if upper - lower < 2 * room:
        raise CalibrationError(
            f'the {name} needs {2 * room / size:.0f} {unit} of travel, and '
            f'{(upper - lower) / size:.0f} {unit} were measured by hand. Go back and measure '
            'places further apart'
        )
    if not lower + room <= position <= upper - room:
        raise CalibrationError(
            f'the {name} stands at {position / size:.0f} {unit}. Put it between '
            f'{(lower + room) / size:.0f} and {(upper - room) / size:.0f} {unit}, where it has '
            'room to both sides within the travel that was measured by hand'
        )
    ends = sorted(encoder.zero + encoder.scale * place for place in (lower, upper))
    return tuple(ends)


def _voltage(supply):
    """Largest mean voltage of the DC motor [V]."""
    return min(MAX_VOLTAGE, MAX_DUTY * supply)


def _slope(x, y):
    """Slope of the straight line through (x, y)."""
    x = x - x.mean()
    return float(x @ y / (x @ x))
