"""YAML file of a bench calibration, with the raw readings that it was computed from."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from flex_robot_sim.rig.bench.parts import BenchParts
from flex_robot_sim.rig.calibration.calibration import (
    Calibration,
    ConstantDeviations,
    EncoderCalibration,
    SensorCalibration,
    SlideFriction,
)
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.settings import read_yaml, settings_from, write_yaml

HEADINGS = (
    'slide',
    'turn',
    'steps_per_radian',
    'sensors',
    'parts',
    'constant_deviations',
    'friction',
    'readings',
)


def read_calibration(path: str | Path) -> Calibration:
    """Return the Calibration in a file."""
    return calibration_of_tree(read_yaml(path), path)


def calibration_of_tree(tree: Mapping[str, Any], where: str | Path) -> Calibration:
    """
    Return the Calibration of a mapping from a file or a log.

    :param where: file, for error messages.
    """
    if not isinstance(tree, dict):
        raise SettingError(f'{where}: a calibration must be names with values')
    for name in tree:
        if name not in HEADINGS:
            raise SettingError(f'{where}: no heading "{name}". Known: {", ".join(HEADINGS)}')
    for name in HEADINGS[:4]:
        if name not in tree:
            raise SettingError(f'{where}: "{name}" is missing. Run flexsim rig calibrate')
    sensors = tree['sensors']
    if not isinstance(sensors, dict) or not sensors:
        raise SettingError(f'{where}: sensors must hold the flex sensors by name')
    slide, turn = (
        settings_from(EncoderCalibration, tree[joint], f'{where}: {joint}')
        for joint in ('slide', 'turn')
    )
    sensors = {
        str(name): settings_from(SensorCalibration, values, f'{where}: sensors: {name}')
        for name, values in sensors.items()
    }
    deviations = settings_from(
        ConstantDeviations, tree.get('constant_deviations', {}), f'{where}: constant_deviations'
    )
    friction = settings_from(SlideFriction, tree.get('friction', {}), f'{where}: friction')
    parts = _parts_of(tree, where)
    try:
        return Calibration(
            slide, turn, tree['steps_per_radian'], sensors, parts, deviations, friction
        )
    except SettingError as error:
        raise SettingError(f'{where}: {error}') from error


def read_parts(path: str | Path) -> BenchParts:
    """Return the BenchParts of a YAML file with the heading `parts`, such as a calibration."""
    tree = read_yaml(path)
    if 'parts' not in tree:
        raise SettingError(f'{path}: "parts" is missing')
    return _parts_of(tree, path)


def write_calibration(
    path: str | Path, calibration: Calibration, readings: Mapping[str, Any] | None = None
) -> None:
    """
    Write a Calibration to a file; parts with default values are left out.

    :param readings: raw readings of the calibration, plain lists and numbers by name.
    """
    defaults = BenchParts()
    tree = {
        'slide': asdict(calibration.slide),
        'turn': asdict(calibration.turn),
        'steps_per_radian': calibration.steps_per_radian,
        'sensors': {name: asdict(sensor) for name, sensor in calibration.sensors.items()},
        'parts': {
            item.name: getattr(calibration.parts, item.name)
            for item in fields(BenchParts)
            if getattr(calibration.parts, item.name) != getattr(defaults, item.name)
        },
        'constant_deviations': asdict(calibration.constant_deviations),
        'friction': asdict(calibration.friction),
        'readings': readings or {},
    }
    write_yaml(
        path,
        tree,
        [
            'Calibration of a bench, written by flexsim rig calibrate.',
            'Counts per metre and radian; ohm; V s/rad; N; curvatures in 1/m; deviations are '
            'standard',
            'deviations. readings: raw counts, to repeat the fits, in m, rad, V, A, N, counts/s '
            'and',
            'shares of the range of the converter.',
        ],
    )


def _parts_of(tree, path):
    return settings_from(BenchParts, tree.get('parts', {}), f'{path}: parts')
