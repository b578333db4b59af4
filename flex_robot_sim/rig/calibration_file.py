"""The calibration of a bench as a YAML file, together with the raw readings that it comes from."""

from dataclasses import asdict, fields

from flex_robot_sim.exceptions import SettingError
from flex_robot_sim.rig.calibration import (
    Calibration,
    ConstantDeviations,
    EncoderCalibration,
    SensorCalibration,
)
from flex_robot_sim.rig.parts import BenchParts
from flex_robot_sim.settings import read_yaml, settings_from, write_yaml

HEADINGS = ('slide', 'turn', 'steps_per_radian', 'sensors', 'parts', 'constant_deviations',
            'readings')


def read_calibration(path):
    """Return the Calibration in a file."""
    tree = read_yaml(path)
    for name in tree:
        if name not in HEADINGS:
            raise SettingError(f'{path}: no heading "{name}". Known: {", ".join(HEADINGS)}')
    for name in HEADINGS[:4]:
        if name not in tree:
            raise SettingError(f'{path}: "{name}" is missing. Run flexsim rig calibrate')
    steps = tree['steps_per_radian']
    if isinstance(steps, bool) or not isinstance(steps, (int, float)) or not 0 < abs(steps) < 1e9:
        raise SettingError(f'{path}: steps_per_radian = {steps!r} must be a number, and not 0')
    sensors = tree['sensors']
    if not isinstance(sensors, dict) or not sensors:
        raise SettingError(f'{path}: sensors must hold the flex sensors by name')
    encoders = {}
    for joint in ('slide', 'turn'):
        encoders[joint] = settings_from(EncoderCalibration, tree[joint], f'{path}: {joint}')
        if encoders[joint].scale == 0:
            raise SettingError(f'{path}: {joint}: scale must not be 0')
    return Calibration(
        encoders['slide'], encoders['turn'], float(steps),
        {str(name): settings_from(SensorCalibration, values, f'{path}: sensors: {name}')
         for name, values in sensors.items()},
        _parts_of(tree, path),
        settings_from(ConstantDeviations, tree.get('constant_deviations', {}),
                      f'{path}: constant_deviations'))


def read_parts(path):
    """BenchParts of a YAML file with the heading `parts`, a calibration for example."""
    tree = read_yaml(path)
    if 'parts' not in tree:
        raise SettingError(f'{path}: "parts" is missing')
    return _parts_of(tree, path)


def write_calibration(path, calibration, readings=None):
    """
    Write a Calibration to a file; of the parts, those values that are not the default.

    :param readings: raw readings that it comes from, plain lists and numbers by name.
    """
    usual = BenchParts()
    tree = {
        'slide': asdict(calibration.slide), 'turn': asdict(calibration.turn),
        'steps_per_radian': calibration.steps_per_radian,
        'sensors': {name: asdict(sensor) for name, sensor in calibration.sensors.items()},
        'parts': {item.name: getattr(calibration.parts, item.name) for item in fields(BenchParts)
                  if getattr(calibration.parts, item.name) != getattr(usual, item.name)},
        'constant_deviations': asdict(calibration.constant_deviations),
        'readings': readings or {}}
    write_yaml(path, tree, [
        'Calibration of a bench, written by flexsim rig calibrate.',
        'Counts per metre and radian; ohm; V s/rad; curvatures in 1/m; deviations are standard',
        'deviations. readings: raw counts, for whoever wants to do it again, in m, rad, V, A, N,',
        'counts/s and shares of the range of the converter.'])


def _parts_of(tree, path):
    return settings_from(BenchParts, tree.get('parts', {}), f'{path}: parts')
