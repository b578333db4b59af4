"""Checks of the arms and numbers that a batch accepts; errors are one line."""

import os
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.dynamics.mass_matrix import refuse_massless
from flex_robot_sim.dynamics.parallel_warmup import start_parallel_warmup
from flex_robot_sim.model.arguments import (
    array_or_nan,
    expect_arm,
    gains_of_motors,
    refuse_moved_base,
    whole,
)
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.exceptions import SettingError

SEQUENCE_TYPES = (Sequence, np.ndarray)  # ordered collections
MIN_BYTES_PER_ARM = 4000  # lower bound of the memory of one arm in a batch
UNITS = {
    'target': 'rad, m',
    'target_rate': 'rad/s, m/s',
    'rate': 'rad/s, m/s',
    'rotor': 'kg m2, kg',
    **dict.fromkeys(('effort', 'coulomb'), 'N m, N'),
    **dict.fromkeys(('stiffness', 'servo_stiffness', 'gear_stiffness'), 'N m/rad, N/m'),
    **dict.fromkeys(('damping', 'servo_damping', 'gear_damping', 'viscous'), 'N m s/rad, N s/m'),
}
SIGNED_FIELDS = ('effort', 'target', 'target_rate', 'rate')  # all others are >= 0
GEAR_FIELDS = ('gear_stiffness', 'gear_damping', 'rotor')  # of elastic gears only
POSITIVE_FIELDS = ('gear_stiffness', 'rotor')


def checked_arms(arms: ArmModel | Sequence[ArmModel], count: int | None) -> list[ArmModel]:
    """Return a list of ArmModels of equal structure, which differ only in numbers."""
    if isinstance(arms, ArmModel):
        if whole('count', count) * MIN_BYTES_PER_ARM > os.sysconf('SC_PAGE_SIZE') * os.sysconf(
            'SC_PHYS_PAGES'
        ):
            raise SettingError(
                f'count = {count!r} arms are more than the memory of this machine '
                'holds: make several batches'
            )
        arms = [arms] * whole('count', count)
    elif isinstance(arms, str) or not isinstance(arms, SEQUENCE_TYPES):
        expect_arm(arms, closed_loops=True, free_base=True)
    elif count is not None and whole('count', count) != len(arms):
        raise SettingError(f'count = {count!r} for {len(arms)} arms: leave one of them away')
    if not len(arms):
        raise SettingError('a batch needs an arm at least')
    first = arms[0]
    expect_arm(first, closed_loops=True, free_base=True)
    if first.size == 0:
        raise SettingError('the arm has no coordinates: it has nothing to simulate')
    start_parallel_warmup()
    expect_same_structure(arms, range(len(arms)), first)
    return list(arms)


def checked_replacements(
    arms: ArmModel | Sequence[ArmModel], rows: np.ndarray, first: ArmModel
) -> list[ArmModel]:
    """Return a list of ArmModels, one per row, of the same structure as `first`."""
    if isinstance(arms, ArmModel):
        arms = [arms] * len(rows)
    elif isinstance(arms, str) or not isinstance(arms, SEQUENCE_TYPES):
        expect_arm(arms, closed_loops=True, free_base=True)
    elif len(arms) != len(rows):
        raise SettingError(
            f'{len(arms)} arms for {len(rows)} members: give one for all, or one for each'
        )
    expect_same_structure(arms, rows, first)
    return list(arms)


def expect_same_structure(arms: Iterable[ArmModel], rows: Iterable[int], first: ArmModel) -> None:
    """Raise SettingError if the arms of some rows differ from `first` in more than numbers."""
    checked = set()
    for k, arm in zip(rows, arms):
        if id(arm) in checked:
            continue
        expect_arm(arm, closed_loops=True, free_base=True)
        refuse_moved_base(arm)
        refuse_massless(arm)
        if not has_same_structure(arm, first):
            raise SettingError(
                f'the arm of member {k} is not like the first: their links, joints and elastic '
                'coordinates must be the same, and only numbers may differ'
            )
        checked.add(id(arm))


def has_same_structure(arm: ArmModel, first: ArmModel) -> bool:
    """Whether two arms have the same structure and differ only in numbers."""
    return arm is first or (
        arm.coordinate_names == first.coordinate_names
        and {link: frame.body for link, frame in arm.frames.items()}
        == {link: frame.body for link, frame in first.frames.items()}
        and not (arm.arrays.motor != first.arrays.motor).any()
        and [(name, loop.constraint.kind) for name, loop in arm.closed_loops.items()]
        == [(name, loop.constraint.kind) for name, loop in first.closed_loops.items()]
        and all(
            a.shape == b.shape
            for name, a, b in zip(arm.arrays._fields, arm.arrays, first.arrays)
            if not name.startswith('point_') or name == 'point_start'
        )
    )


def checked_rows(
    name: str, values: ArrayLike, shape: tuple[int, ...], rows: np.ndarray
) -> np.ndarray:
    """Return an array of finite numbers, broadcast to a shape with one row per member."""
    try:
        array = np.broadcast_to(np.array(values, float), shape)  # a copy
    except (TypeError, ValueError) as error:
        expected = (
            f'{" x ".join(map(str, shape[1:]))} of them for all, or {" x ".join(map(str, shape))}'
            if shape[1:]
            else f'or {shape[0]} of them, one for each member'
        )
        raise SettingError(f'{name} must be one number, {expected}') from error
    if not np.isfinite(array).all():
        k = np.argwhere(~np.isfinite(array))[0]
        raise SettingError(f'{name} of member {rows[k[0]]} must be finite')
    return array


def checked_states(arm: ArmModel, name: str, values: ArrayLike, rows: np.ndarray) -> np.ndarray:
    """Return coordinates or rates (rows, n) from one number per coordinate or per joint."""
    if array_or_nan(values).shape[-1:] == (arm.size,):
        return checked_rows(name, values, (len(rows), arm.size), rows)
    out = np.zeros((len(rows), arm.size))
    arm.set_joints(out, checked_rows(name, values, (len(rows), len(arm.joint_names)), rows))
    return out


def checked_gains(arm: ArmModel, name: str, values: ArrayLike, rows: np.ndarray) -> np.ndarray:
    """Return servo gains (rows, joints) >= 0; one number applies to all joints with a motor."""
    gains = checked_rows(name, values, (len(rows), len(arm.joint_names)), rows)
    expect_joint_numbers(name, gains, arm.joint_names, rows)
    return gains_of_motors(arm, name, values, gains)


def expect_joint_numbers(
    name: str,
    table: np.ndarray,
    joints: Sequence[str],
    rows: Sequence[int] | np.ndarray | None = None,
) -> None:
    """Refuse numbers (r, joints) of members `rows` that are not finite, or negative."""
    is_valid = np.isfinite(table)
    requirement = 'finite'
    if is_valid.all() and name not in SIGNED_FIELDS:
        is_valid, requirement = table >= 0.0, '>= 0'
    if not is_valid.all():
        k, j = np.argwhere(~is_valid)[0]
        raise SettingError(
            f'{name} of "{joints[j]}" of member {k if rows is None else rows[k]} '
            f'must be {requirement} [{UNITS[name]}]'
        )


def expect_live(name: str, table: np.ndarray, before: np.ndarray, arm: ArmModel) -> None:
    """Raise SettingError for invalid live numbers (count, joints); `before` has the old ones."""
    expect_joint_numbers(name, table, arm.joint_names)
    is_geared = arm.arrays.motor >= 0
    if name in GEAR_FIELDS and (table != before)[:, ~is_geared].any():
        k, j = np.argwhere((table != before) & ~is_geared)[0]
        raise SettingError(
            f'{name} of "{arm.joint_names[j]}" of member {k} cannot change: its '
            'drive is rigid. Give the member another arm by set_arms'
        )
    if name in POSITIVE_FIELDS and not (table[:, is_geared] > 0.0).all():
        k, j = np.argwhere((table <= 0.0) & is_geared)[0]
        raise SettingError(
            f'{name} of "{arm.joint_names[j]}" of member {k} must be > 0 [{UNITS[name]}]'
        )
