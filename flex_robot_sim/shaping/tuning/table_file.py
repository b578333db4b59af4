"""Measured modes as a file: `flexsim tune` writes and reads it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from flex_robot_sim.analysis.resonance import Resonance
from flex_robot_sim.shaping.tuning.measured_table import MeasuredTable, measured_table
from flex_robot_sim.shaping.tuning.pose_log import PoseLog
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.files import checksum, open_atomic, read_bytes

KIND = 'flex_robot_sim mode table 1'
MAX_FILE_BYTES = 2**20
REMEDY = 'Write it again by flexsim tune'


def write_table(path: str | Path, table: MeasuredTable) -> None:
    """Write the modes of all logs of a MeasuredTable to a JSON file."""
    tree = {
        'kind': KIND,
        'joints': list(table.joints),
        'logs': [
            {
                'source': log.source,
                'pose': log.pose.tolist(),
                'modes': [mode._asdict() for mode in log.modes],
                'shapes': log.shapes.tolist(),
                'notes': list(log.notes),
            }
            for log in table.logs
        ],
    }
    try:
        with open_atomic(path, 'w', encoding='utf-8') as file:
            json.dump({**tree, 'crc32': checksum(tree)}, file, indent=1)
    except OSError as error:
        raise UsageError(f'{path}: cannot be written: {error.strerror}.') from error


def is_table(path: str | Path) -> bool:
    """Whether a file has the words of `write_table` at its begin; it may be damaged."""
    try:
        with open(path, 'rb') as file:
            return KIND.encode() in file.read(len(KIND) + 32)
    except OSError:
        return False


def read_table(path: str | Path) -> MeasuredTable:
    """Return the MeasuredTable in a file of `write_table`; UsageError if it is damaged."""
    try:
        tree = json.loads(read_bytes(path, MAX_FILE_BYTES))
        if not isinstance(tree, dict) or tree.get('kind') != KIND:
            raise UsageError(f'{path}: is no table of modes. {REMEDY}.')
        if tree.pop('crc32', None) not in (None, checksum(tree)):
            raise ValueError
        logs = [_log(item, len(tree['joints'])) for item in tree['logs']]
        return measured_table([str(name) for name in tree['joints']], logs)
    except OSError as error:
        raise UsageError(f'{path}: cannot be read: {error.strerror}.') from error
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise UsageError(f'{path}: is damaged. {REMEDY}.') from error


def _log(tree, joints):
    """Return the PoseLog of a tree; ValueError if a number is impossible."""
    modes = tuple(Resonance(**mode) for mode in tree['modes'])
    numbers = np.array([mode[:5] for mode in modes], float)
    pose, shapes = np.array(tree['pose'], float), np.array(tree['shapes'], float)
    if (
        shapes.ndim != 2
        or len(shapes) != len(modes)
        or not np.isfinite(shapes).all()
        or pose.shape != (joints,)
        or not modes
        or not np.isfinite(pose).all()
        or not np.isfinite(numbers).all()
        or numbers.min() < 0.0
        or numbers[:, 0].min() <= 0.0
    ):
        raise ValueError
    return PoseLog(str(tree['source']), pose, modes, shapes, tuple(map(str, tree['notes'])))
