"""YAML file with the raw readings of an unfinished calibration."""

import math
from pathlib import Path
from typing import Any

from flex_robot_sim.rig.calibration.sequence import COLUMNS
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.files import checksum
from flex_robot_sim.util.settings import read_yaml, write_yaml


def write_readings(path: str | Path, board: str, readings: dict[str, Any]) -> None:
    """
    Write the readings of an unfinished calibration; replaces an older file atomically.

    :param board: unique number of the board, text.
    """
    tree = {'board': board, 'readings': readings}
    write_yaml(
        path,
        {**tree, 'crc32': checksum(tree)},
        ['An unfinished calibration: flexsim rig calibrate resumes it.'],
    )


def read_readings(path: str | Path, board: str) -> dict[str, Any]:
    """Return the readings of an unfinished calibration; SettingError if of another board."""
    tree = read_yaml(path)
    remedy = 'Delete it, or give another --output'
    if tree.pop('crc32', None) not in (None, checksum(tree)):  # earlier versions stored none
        raise SettingError(f'{path}: is damaged. {remedy}')
    if tree.get('board') != board:
        raise SettingError(
            f'{path}: was begun with the board {tree.get("board")}, and this is {board}. {remedy}'
        )
    readings = tree.get('readings')
    if not isinstance(readings, dict) or not all(
        values == [] or _are_numbers(values, 2)
        if name == 'zero'
        else name in COLUMNS
        and isinstance(values, list)
        and all(
            isinstance(row, dict)
            and tuple(row) == COLUMNS[name]
            and _are_numbers(list(row.values()), len(row))
            for row in values
        )
        for name, values in readings.items()
    ):
        raise SettingError(f'{path}: these are no readings of a calibration. {remedy}')
    return readings


def _are_numbers(values, count):
    return (
        isinstance(values, list)
        and len(values) == count
        and all(isinstance(value, (int, float)) and abs(value) < math.inf for value in values)
    )
