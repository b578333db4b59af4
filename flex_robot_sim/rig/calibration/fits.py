"""
Fits of the bench constants to measurements, with checks of their accuracy.

A constant is accepted if its relative standard deviation is small. The deviation is that from the
scatter of the data or that from the accuracy of the ruler, whichever is larger.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from flex_robot_sim.description.links import ElasticBeam
from flex_robot_sim.description.sensors import FlexSensor
from flex_robot_sim.rig.calibration.calibration import (
    EncoderCalibration,
    SensorCalibration,
    SlideFriction,
)
from flex_robot_sim.util.exceptions import CalibrationError

Readings: TypeAlias = Sequence[float] | np.ndarray  # (k,)

SCALE_TOLERANCE = 0.005  # relative standard deviation of a scale
GAIN_TOLERANCE = 0.02  # relative standard deviation of a flex sensor's gain
LINE_TOLERANCE = 0.05  # scatter about the curve of a flex sensor, over the range of the data
MOTOR_TOLERANCE = 0.05  # relative standard deviation of resistance and back-EMF
FRICTION_TOLERANCE = 0.25  # the same of viscous friction; above it the description's value is used
NOISE_MARGIN = 20  # least ratio of the range of the readings to their noise
CURRENT_STEP = 1e-3  # resolution of the current in telemetry                [A]
MIN_RUNNING_SPEED = 1e-3  # speed at which the slide counts as running            [m/s]
# unit of measurement, its size in SI, and unit of the fit
UNITS = {'slide': ('mm', 1e-3, 'metre'), 'turn': ('degrees', math.pi / 180, 'radian')}


class DcMotor(NamedTuple):
    """The DC motor together with its gearbox and screw."""

    resistance: float  # armature and bridge                               [ohm]
    back_emf: float  # voltage over the speed of the slide               [V s/m]
    resistance_deviation: float  # standard deviations, in the same units
    back_emf_deviation: float


def fit_encoder(
    name: str,
    counts: Readings,
    positions: Readings,
    zero_count: float,
    expected: float,
    ruler: float,
) -> EncoderCalibration:
    """
    Return the EncoderCalibration of a joint.

    :param counts: read at the positions, (k,); positions: measured by hand, (k,) [m, rad].
    :param zero_count: in the zero pose; expected: scale by the data sheet [counts per unit].
    :param name: slide or turn; ruler: standard deviation of one position by hand [m, rad].
    """
    unit, size, base = UNITS[name]
    counts, positions = _columns(name, counts, positions, 2)
    span = np.ptp(positions)
    if not span > 0:
        raise CalibrationError(f'{name}: all positions are the same. Move the joint between them.')
    if not np.ptp(counts) > 0:
        raise CalibrationError(
            f'{name}: the encoder has not counted from {positions.min() / size:.4g} to '
            f'{positions.max() / size:.4g} {unit}. Check its wires, supply and coupling.'
        )
    (slope, offset), residuals = _line(positions, counts)
    deviation = max(_residual_deviation(residuals, 2), ruler * abs(slope)) / (
        positions.std() * math.sqrt(len(positions))
    )
    ratio = abs(slope) / expected
    if not 0.9 < ratio < 1.1:
        raise CalibrationError(
            f'{name}: {abs(slope):.6g} counts per {base} are {ratio:.3g} times the '
            f'{expected:.6g} of the data sheets. {_scale_advice(ratio)}'
        )
    largest_residual = np.abs(residuals).max() / abs(slope)
    if largest_residual > 5 * ruler + 2 / expected:
        raise CalibrationError(
            f'{name}: position {positions[np.abs(residuals).argmax()] / size:.4g} {unit} is '
            f'{largest_residual / size:.2g} {unit} off the line of the others. Measure it again; '
            'if it stays, the encoder slips or miscounts.'
        )
    if deviation > SCALE_TOLERANCE * abs(slope):
        raise CalibrationError(
            f'{name}: the scale is only known to {deviation / abs(slope):.1%}, and '
            f'{SCALE_TOLERANCE:.1%} is needed. Take positions further apart than '
            f'{span / size:.3g} {unit}, or more of them.'
        )
    return EncoderCalibration(float(slope), float(zero_count), float(ruler), float(deviation))


def fit_steps(
    steps: Readings, positions: Readings, expected: float, count: float = 0.0
) -> tuple[float, float]:
    """
    Return the microsteps per radian, negative for reversed rotation, and their deviation.

    :param steps: sent, (k,); positions: by the calibrated encoder, (k,) [rad].
    :param count: angle of one count of that encoder [rad].
    """
    steps, positions = _columns('stepper', steps, positions, 2)
    if not np.ptp(steps) > 0:
        raise CalibrationError('stepper: no steps were sent between the readings.')
    if np.ptp(positions) < 0.05:
        raise CalibrationError(
            'stepper: the joint turned by less than 0.05 rad. Enable the '
            'driver, check its wires, or send more steps.'
        )
    (slope, _), residuals = _line(positions, steps)
    ratio = abs(slope) / expected
    if not 0.98 < ratio < 1.02:
        raise CalibrationError(
            f'stepper: {abs(slope):.5g} microsteps per radian are {ratio:.3g} times the '
            f'{expected:.5g} expected. Check the microsteps set on the driver, or the steps were '
            'lost: take a slower rate.'
        )
    if np.abs(residuals).max() > 32:
        raise CalibrationError(
            f'stepper: {np.abs(residuals).max():.0f} microsteps off the line: '
            'steps were lost. Take a slower rate or a stronger current.'
        )
    scatter = max(_residual_deviation(residuals, 2), abs(slope) * count / math.sqrt(12))
    return float(slope), float(scatter / (positions.std() * math.sqrt(len(positions))))


def fit_sensor(
    name: str, shares: Readings, curvatures: Readings, divider_resistance: float, noise: float
) -> SensorCalibration:
    """
    Return the SensorCalibration of a flex sensor.

    :param shares: of the converter's range, (k,); curvatures: due to the loads, (k,) [1/m].
    :param noise: standard deviation of one share.
    """
    shares, curvatures = _columns(name, shares, curvatures, 0)
    places = np.unique(np.round(curvatures, 9))
    if places.size < 4 or places[0] >= 0 or places[-1] <= 0 or np.abs(places).min() > 1e-9:
        raise CalibrationError(
            f'{name}: needs a reading without load and readings under at least '
            'three different loads, of both signs.'
        )
    if (shares <= 0.005).any() or (shares >= 0.995).any():
        rail = 'open' if shares.max() >= 0.995 else 'shorted'
        raise CalibrationError(
            f'{name}: the converter reads {shares.min():.3f} to {shares.max():.3f} of its range: '
            f'the sensor is {rail}. Check its wires.'
        )
    if np.ptp(shares) < NOISE_MARGIN * noise:
        raise CalibrationError(
            f'{name}: the loads change the reading by {np.ptp(shares):.2g} of the range, and the '
            f'noise is {noise:.2g}. Take loads {NOISE_MARGIN * noise / np.ptp(shares):.1f} times '
            'as large, or check that the sensor is glued all along.'
        )
    resistance = divider_resistance * shares / (1 - shares)
    powers = curvatures[:, None] ** np.arange(3)
    factors, *_ = np.linalg.lstsq(powers, resistance, rcond=None)
    flat, gain, curve = factors[0], factors[1] / factors[0], factors[2] / factors[0]
    residuals = resistance - powers @ factors
    scatter = max(
        _residual_deviation(residuals, 3), noise * divider_resistance / (1 - shares.mean()) ** 2
    )
    slopes = gain + 2 * curve * np.array([places[0], 0.0, places[-1]])
    if flat <= 0 or slopes.min() * slopes.max() <= 0:
        raise CalibrationError(
            f'{name}: the resistance does not rise or fall all along from {places[0]:.3g} to '
            f'{places[-1]:.3g} 1/m. Measure again; a sensor that answers to one direction only '
            'must be bent before it is glued.'
        )
    if scatter > LINE_TOLERANCE * np.ptp(resistance):
        raise CalibrationError(
            f'{name}: readings are {scatter / np.ptp(resistance):.1%} of their range off a smooth '
            'curve. The sensor creeps or slips, or a load is not what it was said to be.'
        )
    deviations = scatter * math.sqrt(np.linalg.inv(powers.T @ powers)[1, 1])
    if deviations > GAIN_TOLERANCE * abs(factors[1]):
        raise CalibrationError(
            f'{name}: the gain is only known to {deviations / abs(factors[1]):.1%}, and '
            f'{GAIN_TOLERANCE:.0%} is needed. Take larger loads, or more of them.'
        )
    deviation = math.hypot(
        noise * divider_resistance / (1 - shares.mean()) ** 2, _residual_deviation(residuals, 3)
    ) / abs(factors[1])
    return SensorCalibration(
        float(flat),
        float(gain),
        float(curve),
        float(divider_resistance),
        float(places[0]),
        float(places[-1]),
        float(deviation),
        float(deviations / abs(flat)),
    )


def refuse_wrong_signs(forces: Readings, angles: Readings, holds: Readings, count: float) -> None:
    """
    Raise CalibrationError if the arm, held by the stepper's stiffness, moved against the forces.

    A sensor cannot detect a wrong sign: glued to the other face, it has the opposite sign.

    :param forces: entered, towards the left, (k,) [N]; angles: of the turn, (k,) [rad].
    :param holds: index of the hold of each reading, (k,); holds may be at different angles.
    :param count: angle of one count of its encoder [rad].
    """
    forces, angles = _columns('sensors', forces, angles, 0)
    is_same = np.equal.outer(holds, holds)
    forces, angles = (
        values - is_same @ values / is_same.sum(axis=1) for values in (forces, angles)
    )
    if np.ptp(forces) > 0:
        slope = forces @ angles / (forces @ forces)
        if slope * np.ptp(forces) < -1.5 * count:
            raise CalibrationError(
                'sensors: the arm gave way to the right where the force was '
                'said to pull to the left. Type forces to the left as '
                'positive, as turn counts, and take all of them again.'
            )


def fit_dc_motor(voltages: Readings, currents: Readings, speeds: Readings) -> DcMotor:
    """
    Return the DcMotor, from V = resistance i + back_emf v at steady speeds and at stall.

    :param voltages: mean voltages of the bridge, (k,) [V]; currents: (k,) [A]; speeds: (k,) [m/s].
    """
    voltages, currents = _columns('motor', voltages, currents, 3)
    speeds = np.asarray(speeds, float)
    if not (np.abs(speeds) > MIN_RUNNING_SPEED).any():
        raise CalibrationError(
            'motor: the slide has not run. Check the motor supply, the wires '
            'of the motor, and what blocks the slide.'
        )
    if not (np.abs(currents) > 10 * CURRENT_STEP).any():
        raise CalibrationError(
            'motor: no current was measured while the slide ran. Check the '
            'current monitor of the bridge, or skip the motor.'
        )
    columns = np.column_stack([currents, speeds])
    factors, *_ = np.linalg.lstsq(columns, voltages, rcond=None)
    residuals = voltages - columns @ factors
    sizes = np.linalg.svd(columns / np.abs(columns).max(axis=0), compute_uv=False)
    if sizes[-1] < 0.05 * sizes[0]:
        raise CalibrationError(
            'motor: current and speed rise together in all runs. Take some '
            'with the slide held fast, some running free, in both directions.'
        )
    if (factors <= 0).any():
        raise CalibrationError(
            'motor: resistance and back-EMF must come out > 0. Check the '
            'signs of duty, current and encoder.'
        )
    scatter = max(_residual_deviation(residuals, 2), factors[0] * CURRENT_STEP / math.sqrt(12))
    deviations = scatter * np.sqrt(np.diag(np.linalg.inv(columns.T @ columns)))
    for k, name in enumerate(('resistance', 'back-EMF')):
        if deviations[k] > MOTOR_TOLERANCE * factors[k]:
            raise CalibrationError(
                f'motor: the {name} is only known to {deviations[k] / factors[k]:.0%}, and '
                f'{MOTOR_TOLERANCE:.0%} is needed. The screw runs unevenly, the clamp gave way, '
                'or the current monitor is wrong. Measure again.'
            )
    return DcMotor(
        float(factors[0]), float(factors[1]), float(deviations[0]), float(deviations[1])
    )


def fit_friction(
    forces: Readings, speeds: Readings, viscous: float, scatter: float
) -> SlideFriction:
    """
    Return the SlideFriction from steady speeds, at which it balances the motor force.

    :param forces: of the motor on the slide, (k,) [N]; speeds: (k,) [m/s].
    :param viscous: used if the speeds are too similar to determine it [N s/m].
    :param scatter: least standard deviation of a force [N].
    """
    forces, speeds = _columns('motor', forces, speeds, 2)
    columns = np.column_stack([np.sign(speeds), speeds])
    for is_viscous_fixed in (False, True):
        regressors = columns[:, :1] if is_viscous_fixed else columns
        targets = forces - is_viscous_fixed * viscous * speeds
        factors, *_ = np.linalg.lstsq(regressors, targets, rcond=None)
        deviation = max(
            _residual_deviation(targets - regressors @ factors, regressors.shape[1]), scatter
        )
        # currents are quantised, so both directions of a speed have the same error
        deviations = deviation * np.sqrt(2.0 * np.diag(np.linalg.pinv(regressors.T @ regressors)))
        if (
            not is_viscous_fixed
            and factors[1] > 0
            and deviations[1] < FRICTION_TOLERANCE * factors[1]
        ):
            break
    if not factors[0] > 0:
        raise CalibrationError(
            'motor: the slide runs without friction. Check the signs of duty, current and encoder.'
        )
    viscous_result = (
        (viscous, 0.0) if is_viscous_fixed else (float(factors[1]), float(deviations[1]))
    )
    return SlideFriction(
        float(factors[0]), viscous_result[0], float(deviations[0]), viscous_result[1]
    )


def cantilever_curvature(
    beam: ElasticBeam,
    sensor: FlexSensor,
    force: float | None = None,
    displacement: float | None = None,
) -> float:
    """
    Mean curvature [1/m] of a sensor under a transverse load at the end of the link.

    :param beam: ElasticBeam; sensor: FlexSensor; force: [N], or displacement: of the end [m],
        towards the +y axis of the beam for a sensor in the plane xy, +z in xz.
    """
    middle = (sensor.start + sensor.end) / 2
    if force is None:
        assert displacement is not None
        return 3.0 * displacement * (beam.length - middle) / beam.length**3
    return (
        force
        * (beam.length - middle)
        / beam.stiffness('bending_y' if sensor.plane == 'xy' else 'bending_z')
    )


def _columns(
    name: str, first: Readings, second: Readings, least: int
) -> tuple[np.ndarray, np.ndarray]:
    first, second = np.asarray(first, float), np.asarray(second, float)
    if first.shape != second.shape or first.ndim != 1 or len(first) < least:
        raise CalibrationError(f'{name}: needs at least {least} pairs of readings.')
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise CalibrationError(f'{name}: a reading is not a number.')
    return first, second


def _line(x, y):
    columns = np.column_stack([x, np.ones_like(x)])
    factors, *_ = np.linalg.lstsq(columns, y, rcond=None)
    return factors, y - columns @ factors


def _residual_deviation(residuals, unknowns):
    """Standard deviation of the residuals of a fit; 0 without degrees of freedom."""
    free = len(residuals) - unknowns
    return math.sqrt((residuals @ residuals) / free) if free > 0 else 0.0


def _scale_advice(ratio):
    for factor, reason in (
        (4.0, 'it counts four edges of a pulse, and one was expected'),
        (0.25, 'it counts one edge of a pulse, and four were expected'),
        (2.0, 'check the lead of the screw, or the edges that are counted'),
        (0.5, 'check the lead of the screw, or the edges that are counted'),
        (1000.0, 'positions are in metres, not millimetres'),
        (0.001, 'positions are in metres, not millimetres'),
        (math.pi / 180, 'angles are in radians, not degrees'),
    ):
        if abs(ratio / factor - 1) < 0.1:
            return f'Perhaps {reason}.'
    return 'Check the lead, the gear, and the positions that were typed.'
