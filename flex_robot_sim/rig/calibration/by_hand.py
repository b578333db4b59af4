"""The steps in which a person does the work: places of both joints, and pulls at the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.rig.calibration.fits import (
    UNITS,
    cantilever_curvature,
    fit_encoder,
    fit_sensor,
    refuse_wrong_signs,
)
from flex_robot_sim.rig.calibration.step import Desk, Step, known
from flex_robot_sim.util.exceptions import CalibrationError

if TYPE_CHECKING:
    from flex_robot_sim.rig.calibration.calibration import EncoderCalibration, SensorCalibration

LEAST_PLACES = 3            # of an encoder, besides the zero pose
LARGEST_BEND = 0.2          # of the end over the length; beyond, a beam is no line any more


class EncoderStep(Step):
    """Places measured by hand against counts."""

    columns = ('position', 'counts')

    def __init__(self, desk: Desk, name: str, joint: int, units: Mapping[str, float], ruler: float,
                 expected: float) -> None:
        """Prepare for `joint`; units: {name: size in SI}; expected: scale by the data sheet."""
        self.name, self._joint, self._units, self._ruler = name, joint, units, ruler
        self._expected = expected
        super().__init__(desk)

    @property
    def about(self) -> str:
        """What the person shall do."""
        return (f'Bring the {("slide", "arm")[self._joint]} by hand to three or more places far '
                'apart, and measure each from the zero pose. The motors are off.')

    def measure(self) -> None:
        """Take readings until Enter."""
        unit = UNITS[self.name][0]
        while True:
            value = self.number(
                f'it stands at [{unit}], or Enter if that is all: ', self._units)
            if value is None:
                return
            seen = self.desk.bench.average()
            self.add(position=value, counts=(seen.slide, seen.turn)[self._joint])

    def line(self, position: float, counts: float) -> str:
        """A row for people."""
        unit, size, _ = UNITS[self.name]
        return f'{position / size:g} {unit}, {counts:.1f} counts'

    def fit(self) -> tuple[EncoderCalibration, str]:
        """Return the EncoderCalibration and a line about it."""
        if len(self.rows) < LEAST_PLACES:
            raise CalibrationError(f'{self.name}: needs {LEAST_PLACES} places besides the zero '
                                   'pose')
        zero = self.desk.readings['zero'][self._joint]
        found = fit_encoder(self.name, [zero, *self.column('counts')],
                            [0.0, *self.column('position')], zero, self._expected, self._ruler)
        scale, base = abs(found.scale), UNITS[self.name][2]
        return found, (f'{known(scale, found.scale_deviation)} counts per {base}'
                       f'{", the other way round" if found.scale < 0 else ""}; the data sheets '
                       f'say {self._expected:.6g}')


class SensorStep(Step):
    """Known forces at the end of the arm against the readings of both flex sensors."""

    name, columns = 'sensors', ('force', 'root', 'tip', 'turn_counts', 'hold')

    @property
    def about(self) -> str:
        """What the person shall do."""
        return ('The stepper will hold the arm. Pull at its very end, straight across, with known '
                'forces to both sides (a weight on a thread over a pulley), at least two to each '
                'side, and once with none.')

    def measure(self) -> None:
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

    def line(self, force: float, root: float, tip: float, turn_counts: float, hold: int) -> str:
        """A row for people."""
        return f'{force:.4g} N, root {root:.3%} and tip {tip:.3%} of the range'

    def fit(self) -> tuple[dict[str, SensorCalibration], str]:
        """Return {name: SensorCalibration} and a line about each."""
        desk, parts, beam = self.desk, self.desk.parts, self._beam()
        forces = self.column('force')
        found, lines = {}, []
        for k, (name, column) in enumerate(zip(flex_sensors(desk.arm).names, ('root', 'tip'))):
            curvatures = [cantilever_curvature(beam, beam.sensors[k], force) for force in forces]
            found[name] = sensor = fit_sensor(name, self.column(column), curvatures,
                                              parts.divider_resistance, desk.bench.noise)
            lines.append(f'{name}: {sensor.flat_resistance:.0f} ohm flat, gain '
                         f'{known(sensor.gain, sensor.gain_deviation)} m, one reading is good '
                         f'for {sensor.deviation:.2g} 1/m')
        turn = desk.found['turn']
        refuse_wrong_signs(forces, [turn.position(counts)
                                    for counts in self.column('turn_counts')],
                           self.column('hold'), 1 / abs(turn.scale))
        return found, '\n  '.join(lines)

    def _beam(self):
        link = flex_sensors(self.desk.arm).names[0].split('/')[0]
        return self.desk.arm.description.beam(link)
