"""What a batch can be made of, and what it can be given: or one line that says why not."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.dynamics.mass_matrix import refuse_massless
from flex_robot_sim.dynamics.parallel_warmup import start_parallel_warmup
from flex_robot_sim.model.arguments import expect_arm, whole
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.exceptions import SettingError

LISTS = (Sequence, np.ndarray)       # which have an order
LEAST_BYTES = 4000      # of memory that an arm of a batch takes
UNITS = {'target': 'rad, m', 'target_rate': 'rad/s, m/s', 'rate': 'rad/s, m/s',
         'rotor': 'kg m2, kg', **dict.fromkeys(('effort', 'coulomb'), 'N m, N'),
         **dict.fromkeys(('stiffness', 'servo_stiffness', 'gear_stiffness'), 'N m/rad, N/m'),
         **dict.fromkeys(('damping', 'servo_damping', 'gear_damping', 'viscous'),
                         'N m s/rad, N s/m')}
SIGNED = ('effort', 'target', 'target_rate', 'rate')        # all others are at least 0
GEARED = ('gear_stiffness', 'gear_damping', 'rotor')        # what only a drive that gives has
ABOVE_0 = ('gear_stiffness', 'rotor')


def checked_arms(arms: ArmModel | Sequence[ArmModel], count: int | None) -> list[ArmModel]:
    """Return a list of ArmModels that differ in numbers only."""
    if isinstance(arms, ArmModel):
        if whole('count', count) * LEAST_BYTES > os.sysconf('SC_PAGE_SIZE') * os.sysconf(
                'SC_PHYS_PAGES'):
            raise SettingError(f'count = {count!r} arms are more than the memory of this machine '
                               'holds: make several batches')
        arms = [arms] * whole('count', count)
    elif isinstance(arms, str) or not isinstance(arms, LISTS):
        expect_arm(arms)
    elif count is not None and whole('count', count) != len(arms):
        raise SettingError(f'count = {count!r} for {len(arms)} arms: leave one of them away')
    if not len(arms):
        raise SettingError('a batch needs an arm at least')
    first = arms[0]
    expect_arm(first)
    if first.size == 0:
        raise SettingError('the arm has no coordinates: it has nothing to simulate')
    start_parallel_warmup()
    expect_alike(arms, range(len(arms)), first)
    return list(arms)


def other_arms(arms: ArmModel | Sequence[ArmModel], rows: np.ndarray,
               first: ArmModel) -> list[ArmModel]:
    """Return a list of ArmModels, one for each of some rows of a batch, like its `first` one."""
    if isinstance(arms, ArmModel):
        arms = [arms] * len(rows)
    elif isinstance(arms, str) or not isinstance(arms, LISTS):
        expect_arm(arms)
    elif len(arms) != len(rows):
        raise SettingError(f'{len(arms)} arms for {len(rows)} members: give one for all, or one '
                           'for each')
    expect_alike(arms, rows, first)
    return list(arms)


def expect_alike(arms: Iterable[ArmModel], rows: Iterable[int], first: ArmModel) -> None:
    """Refuse arms, of members in some rows, that are not like a first one but for numbers."""
    looked_at = set()
    for k, arm in zip(rows, arms):
        if id(arm) in looked_at:
            continue
        expect_arm(arm)
        refuse_massless(arm)
        if not is_like(arm, first):
            raise SettingError(f'the arm of member {k} is not like the first: their links, joints '
                               'and elastic coordinates must be the same, and only numbers may '
                               'differ')
        looked_at.add(id(arm))


def is_like(arm: ArmModel, first: ArmModel) -> bool:
    """Whether two arms differ in nothing but numbers."""
    return arm is first or (
        arm.coordinate_names == first.coordinate_names
        and {link: frame.body for link, frame in arm.frames.items()} == {
            link: frame.body for link, frame in first.frames.items()}
        and not (arm.arrays.motor != first.arrays.motor).any()
        and all(a.shape == b.shape for name, a, b in zip(
            arm.arrays._fields, arm.arrays, first.arrays)
            if not name.startswith('point_') or name == 'point_start'))


def checked_rows(name: str, values: ArrayLike, shape: tuple[int, ...],
                 rows: np.ndarray) -> np.ndarray:
    """Array of finite numbers that fits a shape, one row for each of some members."""
    try:
        array = np.broadcast_to(np.array(values, float), shape)   # a copy, to be kept
    except (TypeError, ValueError) as error:
        every = (f'{" x ".join(map(str, shape[1:]))} of them for all, or '
                 f'{" x ".join(map(str, shape))}' if shape[1:] else
                 f'or {shape[0]} of them, one for each member')
        raise SettingError(f'{name} must be one number, {every}') from error
    if not np.isfinite(array).all():
        k = np.argwhere(~np.isfinite(array))[0]
        raise SettingError(f'{name} of member {rows[k[0]]} must be finite')
    return array


def expect_joint_numbers(name: str, table: np.ndarray, joints: Sequence[str],
                         rows: Sequence[int] | np.ndarray | None = None) -> None:
    """
    Refuse a table (r, joints) with a number that is not finite, or below 0 where none may be.

    :param rows: of the members; default: all.
    """
    good = np.isfinite(table)
    must = 'finite'
    if good.all() and name not in SIGNED:
        good, must = table >= 0.0, '>= 0'
    if not good.all():
        k, j = np.argwhere(~good)[0]
        raise SettingError(f'{name} of "{joints[j]}" of member {k if rows is None else rows[k]} '
                           f'must be {must} [{UNITS[name]}]')


def expect_live(name: str, table: np.ndarray, before: np.ndarray, arm: ArmModel) -> None:
    """Refuse live numbers (count, joints) of arms that cannot be, given those before."""
    expect_joint_numbers(name, table, arm.joint_names)
    is_geared = arm.arrays.motor >= 0
    if name in GEARED and (table != before)[:, ~is_geared].any():
        k, j = np.argwhere((table != before) & ~is_geared)[0]
        raise SettingError(f'{name} of "{arm.joint_names[j]}" of member {k} cannot change: its '
                           'drive is rigid. Give the member another arm by set_arms')
    if name in ABOVE_0 and not (table[:, is_geared] > 0.0).all():
        k, j = np.argwhere((table <= 0.0) & is_geared)[0]
        raise SettingError(f'{name} of "{arm.joint_names[j]}" of member {k} must be > 0 '
                           f'[{UNITS[name]}]')
