"""Fits find the true constants, and reject data that do not determine them."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

import flex_robot_sim as frs
from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.dynamics.loads import Push
from flex_robot_sim.rig.bench.bench import Bench, Drive
from flex_robot_sim.rig.bench.motors import divider_counts, flex_resistance
from flex_robot_sim.rig.bench.parts import BenchParts
from flex_robot_sim.rig.calibration.calibration import (
    ConstantDeviations,
    SensorCalibration,
    nominal,
)
from flex_robot_sim.rig.calibration.file import read_calibration, write_calibration
from flex_robot_sim.rig.calibration.fits import (
    cantilever_curvature,
    fit_dc_motor,
    fit_encoder,
    fit_sensor,
    fit_steps,
    refuse_wrong_signs,
)
from flex_robot_sim.rig.calibration.readings import read_readings, write_readings
from flex_robot_sim.util.exceptions import CalibrationError, SettingError

PARTS = BenchParts()
PLACES = np.array([0.02, 0.1, 0.2, 0.28])
LOADS = np.array([-0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3])  # curvatures [1/m]
NOISE = 4e-4  # of a ratio, one conversion


def shares(curvatures, length=0.09525, parts=PARTS):
    return np.array(
        [divider_counts(parts, flex_resistance(parts, k * length)) / 4095 for k in curvatures]
    )


@pytest.fixture(scope='module')
def arm():
    return frs.load('rig')


def test_encoder_line_gives_scale_sign_and_zero():
    found = fit_encoder('slide', 500 - 300e3 * PLACES, PLACES, 500.0, 300e3, 1e-4)
    assert found.scale == pytest.approx(-300e3, rel=1e-12)  # rounding
    assert found.position(500 - 300e3 * 0.123) == pytest.approx(0.123, rel=1e-12)


def test_scale_of_an_encoder_is_as_accurate_as_the_ruler():
    rng, errors = np.random.default_rng(0), []
    for _ in range(300):
        read = PLACES + rng.normal(0, 3e-4, 4)
        errors.append(fit_encoder('slide', 300e3 * PLACES, read, 0.0, 300e3, 3e-4).scale - 300e3)
    # standard deviation of a slope: sigma / (sqrt(n) spread of the positions)
    expected = 300e3 * 3e-4 / (PLACES.std() * 2)
    assert np.std(errors) == pytest.approx(expected, rel=0.15)  # 300 values: 4 %
    found = fit_encoder('slide', 300e3 * PLACES, PLACES, 0.0, 300e3, 3e-4)
    assert found.scale_deviation == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    'counts, positions, message',
    [
        (300e3 * PLACES, 0 * PLACES, 'slide: all positions are the same'),
        (0 * PLACES, PLACES, 'slide: the encoder has not counted from 20 to 280 mm'),
        ([0, 300], [0.0, 0.001], 'slide: the scale is only known to'),
        (75e3 * PLACES, PLACES, 'Perhaps it counts one edge of a pulse, and four were expected'),
        (300e3 * PLACES, 1000 * PLACES, 'Perhaps positions are in metres, not millimetres'),
        (
            300e3 * np.array([0.02, 0.106, 0.2, 0.28]),
            PLACES,
            # 6 mm minus its effect on the line: 1/4 + 50^2 / (2 130^2 + 2 50^2)
            'slide: position 100 mm is 4.1 mm off the line of the others. Measure it again',
        ),
        ([1.0], [2.0], 'slide: needs at least 2 pairs of readings'),
        ([np.nan, 1.0], [0.0, 1.0], 'slide: a reading is not a number'),
    ],
)
def test_insufficient_encoder_data_are_rejected(counts, positions, message):
    with pytest.raises(CalibrationError, match=message):
        fit_encoder('slide', counts, positions, 0.0, 300e3, 3e-4)


def test_steps_per_radian_have_the_sign_of_the_wiring():
    angles = np.array([-0.5, 0.0, 0.7])
    expected = 3200 / (2 * math.pi)
    assert fit_steps(-expected * angles, angles, expected)[0] == pytest.approx(-expected)


def test_steps_per_radian_are_as_accurate_as_the_encoder_counts():
    rng, count, expected = np.random.default_rng(3), 2 * math.pi / 2400, 3200 / (2 * math.pi)
    angles, found = np.array([0.0, 0.35, 0.0, -0.35, 0.0]), []
    for _ in range(400):
        true = angles + rng.uniform(-0.01, 0.01, 5)
        found.append(fit_steps(expected * true, np.round(true / count) * count, expected, count))
    slopes, deviations = np.array(found).T
    # effect of uniform rounding of counts on the slope of a line (Gauss)
    exact = expected * count / math.sqrt(12) / np.sqrt(np.sum((angles - angles.mean()) ** 2))
    assert np.std(slopes) == pytest.approx(exact, rel=0.11)  # 400 values: 3.5 %
    # no reported value is lower, and half are hardly higher; the angles are off by 3 %
    assert deviations.min() > 0.95 * exact
    assert np.median(deviations) == pytest.approx(exact, rel=0.1)


@pytest.mark.parametrize(
    'steps, angles, message',
    [
        ([0, 0, 0], [0.0, 0.1, 0.2], 'no steps were sent'),
        ([0, 300, 600], [0.0, 0.0, 0.001], 'turned by less than 0.05 rad'),
        ([0, 300, 600], [0.0, 1.18, 2.36], 'Check the microsteps'),
        ([0, 300, 600, 900, 1200], [0.0, 0.589, 1.178, 1.68, 2.36], 'steps were lost'),
    ],
)
def test_insufficient_stepper_data_are_rejected(steps, angles, message):
    with pytest.raises(CalibrationError, match=message):
        fit_steps(steps, angles, 3200 / (2 * math.pi))


@pytest.mark.parametrize('flat, gain, curve', [(7e3, 2.0, 0.5), (13e3, 2.8, -0.4), (10e3, -3, 0)])
def test_curvature_follows_from_the_reading(flat, gain, curve):
    sensor = SensorCalibration(flat, gain, curve, 10e3)
    for k in LOADS:
        R = flat * (1 + gain * k + curve * k * k)
        assert sensor.curvature(R / (R + 10e3)) == pytest.approx(k, abs=1e-12)  # rounding


@pytest.mark.parametrize('share', [0.0, 1.0, -0.1, 1.2, math.nan])
def test_a_reading_at_a_rail_has_no_curvature(share):
    assert math.isnan(SensorCalibration().curvature(share))


def test_a_reading_beyond_the_turning_point_has_no_curvature():
    sensor = SensorCalibration(10e3, 1.0, -1.0)  # maximum at 1.25 times the flat value
    assert math.isnan(sensor.curvature(0.6))


@pytest.mark.parametrize('divider', [10e3, 12e3])
def test_known_loads_determine_the_sensor_curve(divider):
    rng = np.random.default_rng(1)
    read = shares(LOADS) + rng.normal(0, NOISE / 10, LOADS.size)  # mean of 100 readings
    found = fit_sensor('root', read, LOADS, divider, NOISE / 10)
    for k in np.linspace(-0.3, 0.3, 13):
        # 4e-5 of noise over a slope of 0.089 m: 4.5e-4 1/m for one reading
        assert found.curvature(shares([k])[0]) == pytest.approx(k, abs=1.5e-3)
    assert (found.lowest, found.highest) == (-0.3, 0.3)
    assert found.covers(0.35)
    assert not found.covers(0.5)


@pytest.mark.parametrize(
    'curvatures, read, message',
    [
        (LOADS[:3], shares(LOADS[:3]), 'at least three different loads'),
        (LOADS[3:], shares(LOADS[3:]), 'of both signs'),
        (LOADS, np.ones(7), 'the sensor is open'),
        (LOADS, np.zeros(7), 'the sensor is shorted'),
        (LOADS / 100, shares(LOADS / 100), 'Take loads .* times as large'),
        (LOADS, shares(np.abs(LOADS)), 'does not rise or fall all along'),
        (LOADS, shares(LOADS) + [0, 0.006, 0, -0.006, 0, 0.006, 0], 'off a smooth curve'),
    ],
)
def test_insufficient_sensor_data_are_rejected(curvatures, read, message):
    with pytest.raises(CalibrationError, match=message):
        fit_sensor('root', read, curvatures, 10e3, NOISE)


@pytest.mark.parametrize('how', ['force', 'displacement'])
def test_curvature_of_a_known_load_is_that_of_the_static_arm(arm, how):
    rest = frs.equilibrium(arm, pushes=[Push('tool', force=(0.0, 0.02, 0.0))]).q
    sim = frs.Simulation(arm)
    sim.set_state(q=rest)
    known = {'force': 0.02} if how == 'force' else {'displacement': sim.deflection['strip'][1]}
    beam = arm.description.link('strip').beam
    for sensor, seen in zip(beam.sensors, flex_sensors(arm).matrix @ rest):
        # the shortening moves the line of action, some (d / L)^2 = 1e-5
        assert cantilever_curvature(beam, sensor, **known) == pytest.approx(seen, rel=1e-4)


def test_runs_and_stalls_determine_the_motor_data():
    R, emf = 5.73, 150.0
    currents, speeds = np.array([0.3, -0.4, 1.0, -1.2, 0.35]), np.array([0.04, -0.05, 0, 0, 0.07])
    found = fit_dc_motor(R * currents + emf * speeds, currents, speeds)
    assert found[:2] == pytest.approx((R, emf), rel=1e-9)  # rounding


def test_motor_deviations_agree_with_many_measurements():
    rng, R, emf = np.random.default_rng(5), 5.73, 150.0
    currents = np.array([0.16, -0.16, 0.21, -0.21, 0.36, -0.36, 0.59, -0.59])
    speeds = np.array([0.01, -0.01, 0.02, -0.02, 0, 0, 0, 0])
    found = np.array(
        [
            fit_dc_motor(R * currents + emf * speeds + rng.normal(0, 0.03, 8), currents, speeds)
            for _ in range(400)
        ]
    )
    for k in (0, 1):
        # 400 values: 4 %; the root of a mean square of six is 4 % below that of the mean
        assert np.sqrt(np.mean(found[:, k + 2] ** 2)) == pytest.approx(found[:, k].std(), rel=0.15)


def test_a_motor_with_large_deviations_is_rejected():
    currents, speeds = np.array([0.2, -0.2, 0.2, 0.6]), np.array([0.01, -0.02, 0.03, 0.0])
    voltages = 5.73 * currents + 150 * speeds + [0.5, -0.4, -0.6, 0.3]
    with pytest.raises(CalibrationError, match='motor: the .* is only known to .*%, and 5% is'):
        fit_dc_motor(voltages, currents, speeds)


@pytest.mark.parametrize('holds', [(1, 1, 1, 1, 1), (1, 1, 1, 2, 2)])
def test_wrong_force_signs_are_detected_by_the_deflection_of_the_arm(holds):
    forces, count = np.array([0.0, 0.2, 0.4, -0.2, -0.4]), 2 * math.pi / 2400
    elsewhere = 0.3 * np.array(holds)  # position of the arm in each hold
    refuse_wrong_signs(forces, 0.02 * forces + elsewhere, holds, count)
    refuse_wrong_signs(forces, -0.002 * forces + elsewhere, holds, count)  # less than a count
    with pytest.raises(CalibrationError, match='the arm gave way to the right'):
        refuse_wrong_signs(forces, -0.02 * forces + elsewhere, holds, count)


@pytest.mark.parametrize(
    'currents, speeds, message',
    [
        ([0.3, 0.6, 0.9], [0.0, 0.0, 0.0], 'the slide has not run'),
        ([0.0, 0.0, 0.0], [0.02, 0.04, 0.06], 'no current was measured'),
        ([0.3, 0.6, 0.9], [0.02, 0.04, 0.06], 'rise together in all runs'),
        ([0.3, -0.6, 0.9], [-0.02, 0.04, 0.01], 'Check the signs'),
    ],
)
def test_insufficient_motor_data_are_rejected(currents, speeds, message):
    speeds, currents = np.array(speeds), np.array(currents)
    voltages = 5.73 * currents + 150 * speeds * (-1 if 'signs' in message else 1)
    with pytest.raises(CalibrationError, match=message):
        fit_dc_motor(voltages, currents, speeds)


@pytest.mark.slow
def test_calibration_by_weights_on_the_bench_finds_the_tip(arm):
    """Test all steps: weights at the tip, readings, fit, and then an unknown load."""
    parts = replace(PARTS, flat_resistance=8.2e3, bend_gain=2.6, bend_curve=0.5)
    bench = Bench(arm, parts, seed=4)
    names, beam = flex_sensors(arm).names, arm.description.link('strip').beam

    def readings(force):
        bench.simulation.push('tool', force=(0.0, force, 0.0), follows=True)
        for _ in range(4000):
            bench.advance(Drive(stepper=True))
        return np.mean([bench.read().adc for _ in range(200)], axis=0) / 16 / 4095

    loads = [-0.4, -0.2, 0.0, 0.2, 0.4]
    table = np.array([readings(force) for force in loads])
    found = [
        fit_sensor(
            name,
            table[:, k],
            [cantilever_curvature(beam, beam.sensors[k], force) for force in loads],
            10e3,
            NOISE / 4 / math.sqrt(200),
        )
        for k, name in enumerate(names)
    ]
    seen = [sensor.curvature(share) for sensor, share in zip(found, readings(0.3))]
    # 1 % damping leaves a vibration that 200 readings of one instant do not average out
    assert seen == pytest.approx(bench.curvatures, rel=0.02)


def test_a_written_file_is_read_back(arm, tmp_path):
    sensors = dict.fromkeys(flex_sensors(arm).names, 0.09525)
    calibration = nominal(replace(PARTS, resistance=6.1), sensors)
    calibration = replace(
        calibration,
        turn=replace(calibration.turn, scale=-381.97, zero=12.0),
        constant_deviations=ConstantDeviations(1.0, 0.02, 1e-4),
    )
    write_calibration(tmp_path / 'bench.yaml', calibration, {'slide': [[1, 0.5]]})
    assert read_calibration(tmp_path / 'bench.yaml') == calibration


@pytest.mark.parametrize(
    'old, new, message',
    [
        (
            'slide:',
            'slides:',
            '{path}: no heading "slides". Known: slide, turn, steps_per_radian, '
            'sensors, parts, constant_deviations, friction, readings',
        ),
        ('steps_per_radian: ', 'steps_per_radian: x', "{path}: steps_per_radian = 'x509.29"),
        ('zero: 0.0', 'zero: [', '{path}:9: is no YAML'),
        ('zero: 0.0', 'zero: much', "{path}: slide: zero = 'much' must be a number"),
        ('gain: ', 'gains: ', '{path}: sensors: strip/root: no setting "gains". Known: flat_res'),
    ],
)
def test_a_wrong_file_is_rejected_in_one_line(arm, tmp_path, old, new, message):
    path = tmp_path / 'bench.yaml'
    write_calibration(path, nominal(PARTS, dict.fromkeys(flex_sensors(arm).names, 0.09525)))
    text = path.read_text(encoding='utf-8')
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding='utf-8')
    with pytest.raises(SettingError) as caught:
        read_calibration(path)
    assert str(caught.value).startswith(message.format(path=path))
    assert '\n' not in str(caught.value)


def test_number_formats_outside_yaml_are_accepted(arm, tmp_path):
    path = tmp_path / 'bench.yaml'
    write_calibration(path, nominal(PARTS, dict.fromkeys(flex_sensors(arm).names, 0.09525)))
    text = path.read_text(encoding='utf-8')
    path.write_text(text.replace('zero: 0.0', 'zero: 1e3', 1), encoding='utf-8')
    assert read_calibration(path).slide.zero == 1000.0


def test_a_missing_file_is_one_line(tmp_path):
    with pytest.raises(SettingError, match='cannot be read: No such file or directory'):
        read_calibration(tmp_path / 'none.yaml')


READINGS = {'zero': [1.0, 2.0], 'slide': [{'position': 0.06, 'counts': 18000.0}], 'stepper': []}


def test_saved_readings_are_restored(tmp_path):
    path = tmp_path / 'bench.yaml.part'
    write_readings(path, '00ff', READINGS)
    assert read_readings(path, '00ff') == READINGS
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(
    'board, old, new, message',
    [
        ('00fe', '', '', 'was begun with the board 00ff, and this is 00fe. Delete it'),
        ('00ff', '18000.0', '18001.0', 'is damaged. Delete it'),
        ('00ff', 'counts', 'count', 'these are no readings of a calibration. Delete it'),
        ('00ff', '18000.0', 'many', 'these are no readings'),
        ('00ff', '- 2.0', '', 'these are no readings'),
        ('00ff', 'slide', 'slid', 'these are no readings'),
    ],
)
def test_inconsistent_readings_are_rejected_in_one_line(tmp_path, board, old, new, message):
    path = tmp_path / 'bench.yaml.part'
    write_readings(path, '00ff', READINGS)
    text = path.read_text(encoding='utf-8').replace(old, new, 1)
    if 'damaged' not in message:  # as written by an earlier version
        text = re.sub('crc32: .*', '', text)
    path.write_text(text, encoding='utf-8')
    with pytest.raises(SettingError, match=message):
        read_readings(path, board)
