"""Tables of a shaper in generated code: the constants of an OnlineShaper, and its names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from flex_robot_sim.shaping.shaper_specification import ShaperSpecification
from flex_robot_sim.util.exceptions import SettingError

NO_LIMIT = 1e100  # instead of infinity, which structured text does not have
JUMP_FACTOR = 2.0  # largest change of a set point, over that at the velocity limit
MAX_JUMP = 0.1  # largest change of a joint without a velocity limit                  [rad, m]
MAX_SET_POINT = 1e9  # larger set points are refused                                  [rad, m]
REST_VELOCITY = 1e-3  # above it a joint moves, and a reset is refused            [rad/s, m/s]
MAX_NAME = 40  # characters of the name of the code
# words of C, C++ and structured text that are no names
RESERVED = """
and array at auto bool break by case char class const do double else end enum exit false float for
if int long mod new not of or program repeat return short step struct then this to true type until
var void while with xor
"""


class Field(NamedTuple):
    """A row of FIELDS."""

    name: str
    kind: str  # 'int' or 'real'
    size: tuple[str, ...]  # names of the dimensions; (): one number
    meaning: str
    unit: str = ''


# sizes of the tables; each is a constant of the generated code
SIZES = {
    'joints': 'of a set point',
    'samples': 'of the ring buffers of delays',
    'taps': 'of the FIR filter',
    'stages': 'with delays that follow the pose',
    'impulses': 'of a stage',
    'axes': 'of the table of poses',
    'rows': 'of this table',
    'limiter_samples': 'of the memory of the velocity limiter; 0: no velocity limits',
}
FIELDS = (
    Field('period', 'real', (), 'of the set points', 's'),
    Field('duration', 'real', (), 'that shaping adds, at most', 's'),
    Field('max_change', 'real', ('joints',), 'of a set point; beyond it is a jump', 'rad, m'),
    Field('delay', 'int', ('taps',), 'of the FIR coefficients', 'samples'),
    Field('weight', 'real', ('taps',), 'FIR coefficients'),
    Field('cycles', 'real', ('stages', 'impulses'), 'delays of the impulses', 'cycles'),
    Field('amplitude', 'real', ('stages', 'impulses'), '0: no impulse'),
    Field('axis_joint', 'int', ('axes',), 'joint of each axis of poses'),
    Field('axis_origin', 'real', ('axes',), 'first position', 'rad, m'),
    Field('axis_unit', 'real', ('axes',), 'from one position to the next', 'rad, m'),
    Field('axis_size', 'int', ('axes',), 'number of positions'),
    Field('axis_stride', 'int', ('axes',), 'rows from one position to the next'),
    Field('frequency', 'real', ('rows', 'stages'), 'of the mode of each stage', 'Hz'),
    Field('max_travel', 'real', ('joints',), 'in a sample, by the velocity limit', 'rad, m'),
    Field('catch_up', 'real', (), 'share of the delay regained in a sample'),
)


class ShaperTables(NamedTuple):
    """Constants of a shaper for generated code."""

    name: str  # of the functions and constants in the code
    shaper: str  # name of the design
    robot: str
    joints: tuple[str, ...]
    sizes: dict[str, int]  # as of SIZES
    values: dict[str, Any]  # as of FIELDS

    @property
    def has_stages(self) -> bool:
        """Whether delays follow the pose."""
        return self.sizes['stages'] > 0

    @property
    def has_limits(self) -> bool:
        """Whether velocity limits delay the set points."""
        return self.sizes['limiter_samples'] > 0


def shaper_tables(
    specification: ShaperSpecification,
    joints: Sequence[str],
    period: float,
    name: str = 'shaper',
    robot: str = '',
) -> ShaperTables:
    """
    Return the ShaperTables of a ShaperSpecification.

    :param joints: names, in the order of the set points; period: of the set points [s].
    :param name: of the functions and constants in the code; robot: its name.
    """
    online = specification.online(len(joints), period)
    arrays, poses, limiter = online.tables
    has_stages = arrays.cycles.shape[0] > 0
    sizes = {
        'joints': len(joints),
        'samples': online.samples,
        'taps': arrays.delay.size,
        'stages': arrays.cycles.shape[0],
        'impulses': arrays.cycles.shape[1] if has_stages else 0,
        'axes': poses.joint.size if has_stages else 0,
        'rows': poses.values.shape[0] if has_stages else 0,
        'limiter_samples': 0 if limiter is None else limiter.ring.shape[0],
    }
    values: dict[str, Any] = {
        'period': float(period),
        'duration': float(online.duration),
        'max_change': _max_changes(specification.velocity_limits, len(joints), period),
        'delay': arrays.delay,
        'weight': arrays.weight,
        'cycles': arrays.cycles,
        'amplitude': arrays.amplitude,
        'axis_joint': poses.joint,
        'axis_origin': poses.origin,
        'axis_unit': poses.unit,
        'axis_size': poses.size,
        'axis_stride': poses.stride,
        'frequency': poses.values,
        'max_travel': np.full(len(joints), NO_LIMIT),
        'catch_up': 0.0,
    }
    if limiter is not None:
        values['max_travel'] = np.minimum(limiter.max_step, NO_LIMIT)
        values['catch_up'] = float(limiter.catch_up[0])
    return ShaperTables(name, specification.name, robot, tuple(joints), sizes, values)


def _max_changes(limits, joints, period):
    """Largest change (joints,) of a set point in a sample."""
    if limits is None:
        return np.full(joints, MAX_JUMP)
    return np.where(np.isfinite(limits), JUMP_FACTOR * period * limits, MAX_JUMP)


def code_name(path: str) -> str:
    """Return the name of functions for a file: that of the file, without its ending."""
    name = Path(path).stem.lower().replace('-', '_').replace(' ', '_')
    if (
        not re.fullmatch(r'[a-z][a-z0-9_]*', name)
        or '__' in name
        or name in RESERVED.split()
        or len(name) > MAX_NAME
    ):
        raise SettingError(
            f'{path}: the functions are named after the file, but "{name}" is no name. Use at '
            f'most {MAX_NAME} letters, digits and underscores, beginning with a letter'
        )
    return name


def comment_text(text: str) -> str:
    """Return a text for comments of generated code: one line of ASCII that ends no comment."""
    plain = ''.join(one if ' ' <= one <= '~' else '_' for one in text)
    return plain.replace('*/', '* /').replace('*)', '* )').replace('(*', '( *')
