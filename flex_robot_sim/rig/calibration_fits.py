"""
Constants of the bench from measurements, or the reason why these do not support them.

A constant is accepted if its standard deviation, from the scatter of the data or from what the
ruler is good for, whichever is larger, is small against it.
"""

import math

import numpy as np

from flex_robot_sim.exceptions import CalibrationError
from flex_robot_sim.rig.calibration import EncoderCalibration, SensorCalibration

SCALE_TOLERANCE = 0.005     # standard deviation of a scale over the scale
GAIN_TOLERANCE = 0.02       # likewise of a flex sensor's gain
LINE_TOLERANCE = 0.05       # scatter about the curve of a flex sensor, over the range of the data
NOISE_MARGIN = 20           # range of the readings over their noise


def fit_encoder(name, counts, positions, zero_count, expected, ruler):
    """
    Return the EncoderCalibration of a joint.

    :param counts: read at the positions, (k,); positions: measured by hand, (k,) [m, rad].
    :param zero_count: in the zero pose; expected: scale by the data sheet [counts per unit].
    :param ruler: standard deviation of one position measured by hand [m, rad].
    """
    counts, positions = _columns(name, counts, positions, 2)
    span = np.ptp(positions)
    if not span > 0:
        raise CalibrationError(f'{name}: all positions are the same. Move the joint between them.')
    if not np.ptp(counts) > 0:
        raise CalibrationError(f'{name}: the encoder has not counted from {positions.min():.4g} '
                               f'to {positions.max():.4g}. Check its wires, supply and coupling.')
    (slope, offset), left = _line(positions, counts)
    deviation = max(_scatter(left, 2), ruler * abs(slope)) / (positions.std()
                                                              * math.sqrt(len(positions)))
    ratio = abs(slope) / expected
    if not 0.9 < ratio < 1.1:
        raise CalibrationError(
            f'{name}: {abs(slope):.6g} counts per unit are {ratio:.3g} times the '
            f'{expected:.6g} of the data sheets. {_advice(ratio)}')
    reached = np.abs(left).max() / abs(slope)
    if reached > 5 * ruler + 2 / expected:
        raise CalibrationError(
            f'{name}: position {positions[np.abs(left).argmax()]:.4g} is {reached:.2g} off the '
            'line of the others. Measure it again; if it stays, the encoder slips or miscounts.')
    if deviation > SCALE_TOLERANCE * abs(slope):
        raise CalibrationError(
            f'{name}: the scale is only known to {deviation / abs(slope):.1%}, and '
            f'{SCALE_TOLERANCE:.1%} is needed. Take positions further apart than {span:.3g}, more '
            'of them, or a better ruler.')
    return EncoderCalibration(float(slope), float(zero_count), float(ruler))


def fit_steps(steps, positions, expected):
    """
    Return the microsteps of a radian, negative where the joint turns the other way.

    :param steps: sent, (k,); positions: by the calibrated encoder, (k,) [rad].
    """
    steps, positions = _columns('stepper', steps, positions, 2)
    if not np.ptp(steps) > 0:
        raise CalibrationError('stepper: no steps were sent between the readings.')
    if np.ptp(positions) < 0.05:
        raise CalibrationError('stepper: the joint turned by less than 0.05 rad. Enable the '
                               'driver, check its wires, or send more steps.')
    (slope, _), left = _line(positions, steps)
    ratio = abs(slope) / expected
    if not 0.98 < ratio < 1.02:
        raise CalibrationError(
            f'stepper: {abs(slope):.5g} microsteps per radian are {ratio:.3g} times the '
            f'{expected:.5g} expected. Check the microsteps set on the driver, or the steps were '
            'lost: take a slower rate.')
    if np.abs(left).max() > 32:
        raise CalibrationError(f'stepper: {np.abs(left).max():.0f} microsteps off the line: steps '
                               'were lost. Take a slower rate or a stronger current.')
    return float(slope)


def fit_sensor(name, shares, curvatures, divider_resistance, noise):
    """
    Return the SensorCalibration of a flex sensor.

    :param shares: of the converter's range, (k,); curvatures: that the loads make, (k,) [1/m].
    :param noise: standard deviation of one share.
    """
    shares, curvatures = _columns(name, shares, curvatures, 4)
    if (shares <= 0.005).any() or (shares >= 0.995).any():
        rail = 'open' if shares.max() >= 0.995 else 'shorted'
        raise CalibrationError(f'{name}: the converter reads {shares.min():.3f} to '
                               f'{shares.max():.3f} of its range: the sensor is {rail}. Check its '
                               'wires.')
    places = np.unique(np.round(curvatures, 9))
    if places.size < 4 or places[0] >= 0 or places[-1] <= 0 or np.abs(places).min() > 1e-9:
        raise CalibrationError(f'{name}: needs readings without load and under at least three '
                               'loads, of both signs.')
    if np.ptp(shares) < NOISE_MARGIN * noise:
        raise CalibrationError(
            f'{name}: the loads change the reading by {np.ptp(shares):.2g} of the range, and the '
            f'noise is {noise:.2g}. Take loads {NOISE_MARGIN * noise / np.ptp(shares):.1f} times '
            'as large, or check that the sensor is glued all along.')
    resistance = divider_resistance * shares / (1 - shares)
    powers = curvatures[:, None] ** np.arange(3)
    factors, *_ = np.linalg.lstsq(powers, resistance, rcond=None)
    flat, gain, curve = factors[0], factors[1] / factors[0], factors[2] / factors[0]
    left = resistance - powers @ factors
    scatter = max(_scatter(left, 3), noise * divider_resistance / (1 - shares.mean())**2)
    slopes = gain + 2 * curve * np.array([places[0], 0.0, places[-1]])
    if flat <= 0 or slopes.min() * slopes.max() <= 0:
        raise CalibrationError(f'{name}: the resistance does not rise or fall all along from '
                               f'{places[0]:.3g} to {places[-1]:.3g} 1/m. Measure again; a sensor '
                               'that answers to one direction only must be bent before it is '
                               'glued.')
    if scatter > LINE_TOLERANCE * np.ptp(resistance):
        raise CalibrationError(f'{name}: readings are {scatter / np.ptp(resistance):.1%} of '
                               'their range off a smooth curve. The sensor creeps or slips, or a '
                               'load is not what it was said to be.')
    spread = scatter * math.sqrt(np.linalg.inv(powers.T @ powers)[1, 1])
    if spread > GAIN_TOLERANCE * abs(factors[1]):
        raise CalibrationError(f'{name}: the gain is only known to '
                               f'{spread / abs(factors[1]):.1%}, and {GAIN_TOLERANCE:.0%} is '
                               'needed. Take larger loads, or more of them.')
    deviation = math.hypot(noise * divider_resistance / (1 - shares.mean())**2,
                           _scatter(left, 3)) / abs(factors[1])
    return SensorCalibration(float(flat), float(gain), float(curve), float(divider_resistance),
                             float(places[0]), float(places[-1]), float(deviation))


def fit_dc_motor(voltages, currents, speeds):
    """
    Return (resistance [ohm], back-EMF of the slide [V s/m]) of the DC motor with its screw.

    From V = resistance i + emf v at steady speeds and at stall.

    :param voltages: mean voltages of the bridge, (k,) [V]; currents: (k,) [A]; speeds: (k,) [m/s].
    """
    voltages, currents = _columns('DC motor', voltages, currents, 3)
    speeds = np.asarray(speeds, float)
    columns = np.column_stack([currents, speeds])
    factors, *_ = np.linalg.lstsq(columns, voltages, rcond=None)
    left = voltages - columns @ factors
    sizes = np.linalg.svd(columns / np.maximum(np.abs(columns).max(axis=0), 1e-12),
                          compute_uv=False)
    if sizes[-1] < 0.05 * sizes[0]:
        raise CalibrationError('DC motor: current and speed rise together in all runs. Take some '
                               'with the slide held fast, some running free, in both directions.')
    if (factors <= 0).any():
        raise CalibrationError('DC motor: resistance and back-EMF must come out > 0. Check the '
                               'signs of duty, current and encoder.')
    spread = _scatter(left, 2) * np.sqrt(np.diag(np.linalg.inv(columns.T @ columns)))
    worst = (spread / factors).max()
    if worst > 0.05:
        raise CalibrationError(f'DC motor: resistance and back-EMF are only known to {worst:.0%}, '
                               'and 5% is needed. Take more runs, and longer ones.')
    return float(factors[0]), float(factors[1])


def cantilever_curvature(beam, sensor, force=None, displacement=None):
    """
    Mean curvature [1/m] of a sensor while something pulls across the very end of the link.

    :param beam: ElasticBeam; sensor: FlexSensor; force: [N], or displacement: of the end [m],
        towards the +y axis of the beam for a sensor in the plane xy, +z in xz.
    """
    middle = (sensor.start + sensor.end) / 2
    if force is None:
        return 3.0 * displacement * (beam.length - middle) / beam.length**3
    return force * (beam.length - middle) / beam.stiffness(
        'bending_y' if sensor.plane == 'xy' else 'bending_z')


def _columns(name, first, second, least):
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


def _scatter(left, unknowns):
    """Standard deviation of what a fit leaves; 0 where it passes through all points."""
    free = len(left) - unknowns
    return math.sqrt((left @ left) / free) if free > 0 else 0.0


def _advice(ratio):
    for factor, reason in ((4.0, 'it counts four edges of a pulse, and one was expected'),
                           (0.25, 'it counts one edge of a pulse, and four were expected'),
                           (2.0, 'check the lead of the screw, or the edges that are counted'),
                           (0.5, 'check the lead of the screw, or the edges that are counted'),
                           (1000.0, 'positions are in metres, not millimetres'),
                           (0.001, 'positions are in metres, not millimetres'),
                           (math.pi / 180, 'angles are in radians, not degrees')):
        if abs(ratio / factor - 1) < 0.1:
            return f'Perhaps {reason}.'
    return 'Check the lead, the gear, and the positions that were typed.'
