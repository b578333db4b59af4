"""A designed shaper as one file: what `flexsim shape --output` writes and the node reads."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from flex_robot_sim.analysis.mode_table import ModeTable
from flex_robot_sim.shaping.impulses import merged_impulses
from flex_robot_sim.shaping.shaper_specification import CoveredBand, ShaperSpecification
from flex_robot_sim.shaping.shaper_stages import ShaperStage
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.files import checksum, open_atomic, read_bytes

KIND = 'flex_robot_sim shaper 1'
MAX_FILE_BYTES = 16 * 2**20  # size limit of a file                                         [bytes]


def write_shaper(
    path: str | Path,
    specification: ShaperSpecification,
    robot: str = '',
    joints: Sequence[str] = (),
) -> None:
    """Write the ShaperSpecification of a robot with these joints to a JSON file."""
    table, shaper = specification.table, specification.shaper
    tree: dict[str, Any] = {
        'kind': KIND,
        'robot': robot,
        'joints': list(joints),
        'name': specification.name,
        'shaper': {
            'times': shaper.times.tolist(),
            'amplitudes': shaper.amplitudes.tolist(),
            'modes': [list(mode) for mode in shaper.modes],
        },
        'stages': [
            {name: value.tolist() for name, value in stage._asdict().items()}
            for stage in specification.stages
        ],
    }
    if table is not None:
        tree['table'] = {
            'joints': list(table.joints),
            'axes': [axis.tolist() for axis in table.axes],
            'frequencies': table.frequencies.tolist(),
            'ratios': table.ratios.tolist(),
        }
    if specification.bands:
        tree['bands'] = [list(band) for band in specification.bands]
    if specification.velocity_limits is not None:
        # JSON has no infinity
        tree['velocity_limits'] = [
            limit if math.isfinite(limit) else None
            for limit in specification.velocity_limits.tolist()
        ]
    try:
        with open_atomic(path, 'w', encoding='utf-8') as file:
            json.dump({**tree, 'crc32': checksum(tree)}, file)
    except OSError as error:
        raise SettingError(f'{path}: cannot be written: {error.strerror}') from error


def read_shaper(path: str | Path, joints: Sequence[str] | None = None) -> ShaperSpecification:
    """Read a file of `write_shaper`, for joints or None; SettingError names the error."""
    tree, specification = _read(path)
    is_for_joints = specification.stages or specification.velocity_limits is not None
    if is_for_joints and joints is not None and list(joints) != tree['joints']:
        raise SettingError(
            f'{path}: is for {tree["robot"]} with the joints '
            f'{", ".join(map(str, tree["joints"]))}, not for '
            f'{", ".join(joints)}. Write one for this robot'
        )
    return specification


def read_shaper_source(path: str | Path) -> tuple[str, tuple[str, ...]]:
    """Return the robot and the joints in a file of `write_shaper`; no joints: of a recording."""
    tree, _ = _read(path)
    return str(tree['robot']), tuple(map(str, tree['joints']))


def _read(path):
    """Return the tree of a file and its ShaperSpecification; SettingError names the error."""
    try:
        tree = json.loads(read_bytes(path, MAX_FILE_BYTES))
    except OSError as error:
        raise SettingError(f'{path}: cannot be read: {error.strerror}') from error
    except (ValueError, RecursionError) as error:
        raise SettingError(f'{path}: is no shaper. Write one by flexsim shape --output') from error
    if not isinstance(tree, dict) or tree.get('kind') != KIND:
        raise SettingError(f'{path}: is no shaper. Write one by flexsim shape --output')
    try:
        if tree.pop('crc32', None) not in (None, checksum(tree)):  # optional
            raise ValueError
        return tree, _specification(tree)
    except (
        KeyError,
        TypeError,
        ValueError,
        IndexError,
        AttributeError,
        OverflowError,
    ) as error:  # the last of a number of 400 digits
        raise SettingError(
            f'{path}: is damaged. Write it again by flexsim shape --output'
        ) from error


def _specification(tree):
    impulses = tree['shaper']
    shaper = merged_impulses(
        str(tree['name']),
        _numbers(impulses['times']),
        _numbers(impulses['amplitudes']),
        [(float(f), float(ratio)) for f, ratio in impulses['modes']],
    )
    stages = tuple(
        ShaperStage(*(_numbers(stage[name]) for name in ShaperStage._fields))
        for stage in tree['stages']
    )
    table = None
    if stages:
        table_tree = tree['table']
        joints = tuple(int(joint) for joint in table_tree['joints'])
        table = ModeTable(
            joints,
            tuple(_numbers(axis) for axis in table_tree['axes']),
            _numbers(table_tree['frequencies']),
            _numbers(table_tree['ratios']),
        )
        rows = int(np.prod([axis.size for axis in table.axes]))
        sizes = {len(table.frequencies), *(stage.frequencies.size for stage in stages)}
        if (
            sizes != {rows}
            or len(joints) != len(table.axes)
            or min(stage.frequencies.min() for stage in stages) <= 0.0
            or not all(0 <= joint < len(tree['joints']) for joint in joints)
            or not all(stage.cycles.size == stage.amplitudes.size for stage in stages)
        ):
            raise ValueError
    if min([*shaper.amplitudes, *(a for stage in stages for a in stage.amplitudes)]) <= 0.0:
        raise ValueError
    limits = tree.get('velocity_limits')
    if limits is not None:
        limits = np.array([np.inf if limit is None else float(limit) for limit in limits])
        if limits.shape != (len(tree['joints']),) or not (limits > 0.0).all():
            raise ValueError
    bands = tuple(CoveredBand(*_numbers(band).tolist()) for band in tree.get('bands', ()))
    return ShaperSpecification(
        str(tree['name']), shaper, table, stages, velocity_limits=limits, bands=bands
    )


def _numbers(values):
    array = np.array(values, float)
    if not array.size or not np.isfinite(array).all():
        raise ValueError
    return array
