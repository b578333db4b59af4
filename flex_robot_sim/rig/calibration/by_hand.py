"""Calibration steps by hand: positions of both joints, and known forces at the end of the arm."""

from collections.abc import Mapping

from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.rig.calibration.calibration import EncoderCalibration, SensorCalibration
from flex_robot_sim.rig.calibration.fits import (
    UNITS,
    cantilever_curvature,
    fit_encoder,
    fit_sensor,
    refuse_wrong_signs,
)
from flex_robot_sim.rig.calibration.step import CalibrationContext, Step, with_deviation
from flex_robot_sim.util.exceptions import CalibrationError

MIN_POSITIONS = 3  # positions of an encoder, in addition to the zero pose
MAX_DEFLECTION_RATIO = 0.2  # deflection of the end over the length; beyond it not linear


class EncoderStep(Step):
    """Positions measured by hand, and the counts of the encoder."""

    columns = ('position', 'counts')

    def __init__(
        self,
        context: CalibrationContext,
        name: str,
        joint: int,
        units: Mapping[str, float],
        ruler: float,
        expected: float,
    ) -> None:
        """Prepare for `joint`; units: {name: size in SI}; expected: scale by the data sheet."""
        self.name, self._joint, self._units, self._ruler = name, joint, units, ruler
        self._expected = expected
        super().__init__(context)

    @property
    def about(self) -> str:
        """Instructions for the user."""
        return (
            f'Bring the {("slide", "arm")[self._joint]} by hand to three or more places far '
            'apart, and measure each from the zero pose. The motors are off.'
        )

    def measure(self) -> None:
        """Take readings until Enter."""
        unit = UNITS[self.name][0]
        while True:
            value = self.number(f'it stands at [{unit}], or Enter if that is all: ', self._units)
            if value is None:
                return
            sample = self.context.bench.average()
            self.add(position=value, counts=(sample.slide, sample.turn)[self._joint])

    def line(self, position: float, counts: float) -> str:
        """Text of a row."""
        unit, size, _ = UNITS[self.name]
        return f'{position / size:g} {unit}, {counts:.1f} counts'

    def fit(self) -> tuple[EncoderCalibration, str]:
        """Return the EncoderCalibration and a line about it."""
        if len(self.rows) < MIN_POSITIONS:
            raise CalibrationError(
                f'{self.name}: needs {MIN_POSITIONS} places in addition to the zero pose'
            )
        zero = self.context.readings['zero'][self._joint]
        found = fit_encoder(
            self.name,
            [zero, *self.column('counts')],
            [0.0, *self.column('position')],
            zero,
            self._expected,
            self._ruler,
        )
        scale, base = abs(found.scale), UNITS[self.name][2]
        return found, (
            f'{with_deviation(scale, found.scale_deviation)} counts per {base}'
            f'{", the other way round" if found.scale < 0 else ""}; the data sheets '
            f'say {self._expected:.6g}'
        )


class SensorStep(Step):
    """Known forces at the end of the arm, and the readings of both flex sensors."""

    name, columns = 'sensors', ('force', 'root', 'tip', 'turn_counts', 'hold')

    @property
    def about(self) -> str:
        """Instructions for the user."""
        return (
            'The stepper will hold the arm. Pull at its very end, straight across, with known '
            'forces to both sides (a weight on a thread over a pulley), at least two to each '
            'side, and once with none.'
        )

    def measure(self) -> None:
        """Hold the arm and take readings until Enter."""
        context, bench = self.context, self.context.bench
        context.dialogue.enter('Enter to switch the motors on: ')
        hold = 1 + max(self.column('hold'), default=0)
        with bench.armed(is_watched=False):
            while True:
                force = self.number(
                    'force towards the left of the arm [N, or g], negative to the right, or '
                    'Enter if that is all: ',
                    {'N': 1.0, 'g': 9.80665e-3},
                )
                if force is None:
                    return
                if self._is_too_large(force):
                    continue
                bench.wait_until_still()
                sample = bench.average()
                self.add(
                    force=force,
                    root=sample.root,
                    tip=sample.tip,
                    turn_counts=sample.turn,
                    hold=hold,
                )

    def _is_too_large(self, force):
        beam = self._beam()
        bend = force * beam.length**3 / (3 * beam.stiffness('bending_y'))
        if abs(bend) <= MAX_DEFLECTION_RATIO * beam.length:
            return False
        most = force * MAX_DEFLECTION_RATIO * beam.length / bend
        self.context.dialogue.say(
            f'  {abs(force):.4g} N would bend the end by {abs(bend) * 1e3:.0f} mm. Take '
            f'{most:.2g} N ({most / 9.80665e-3:.0f} g) or less.'
        )
        return True

    def line(self, force: float, root: float, tip: float, **_: float) -> str:
        """Text of a row."""
        return f'{force:.4g} N, root {root:.3%} and tip {tip:.3%} of the range'

    def fit(self) -> tuple[dict[str, SensorCalibration], str]:
        """Return {name: SensorCalibration} and a line about each."""
        context, parts, beam = self.context, self.context.parts, self._beam()
        forces = self.column('force')
        found, lines = {}, []
        for k, (name, column) in enumerate(zip(flex_sensors(context.arm).names, ('root', 'tip'))):
            curvatures = [cantilever_curvature(beam, beam.sensors[k], force) for force in forces]
            found[name] = sensor = fit_sensor(
                name,
                self.column(column),
                curvatures,
                parts.divider_resistance,
                context.bench.noise,
            )
            lines.append(
                f'{name}: {sensor.flat_resistance:.0f} ohm flat, gain '
                f'{with_deviation(sensor.gain, sensor.gain_deviation)} m, one reading is '
                f'good for {sensor.deviation:.2g} 1/m'
            )
        turn = context.results['turn']
        refuse_wrong_signs(
            forces,
            [turn.position(counts) for counts in self.column('turn_counts')],
            self.column('hold'),
            1 / abs(turn.scale),
        )
        return found, '\n  '.join(lines)

    def _beam(self):
        link = flex_sensors(self.context.arm).names[0].split('/')[0]
        return self.context.arm.description.beam(link)
