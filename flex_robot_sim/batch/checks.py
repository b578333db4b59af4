"""What a batch can be made of, and what it can be given: or one line that says why not."""

from __future__ import annotations

import os
from collections.abc import Sequence, Sized

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.core.arguments import expect_arm, whole
from flex_robot_sim.core.compile_ahead import start_compiling_ahead
from flex_robot_sim.core.mass import refuse_massless
from flex_robot_sim.core.model import ArmModel
from flex_robot_sim.exceptions import SettingError

LEAST_BYTES = 4000      # of memory that an arm of a batch takes


def checked_arms(arms: ArmModel | Sequence[ArmModel], count: int | None) -> list[ArmModel]:
    """Return a list of ArmModels that differ in numbers only."""
    if isinstance(arms, ArmModel):
        if whole('count', count) * LEAST_BYTES > os.sysconf('SC_PAGE_SIZE') * os.sysconf(
                'SC_PHYS_PAGES'):
            raise SettingError(f'count = {count!r} arms are more than the memory of this machine '
                               'holds: make several batches')
        arms = [arms] * whole('count', count)
    elif isinstance(arms, str) or not isinstance(arms, Sized):
        expect_arm(arms)
    elif count not in (None, len(arms)):
        raise SettingError(f'count = {count!r} for {len(arms)} arms: leave one of them away')
    if not len(arms):
        raise SettingError('a batch needs an arm at least')
    first = arms[0]
    expect_arm(first)
    if first.size == 0:
        raise SettingError('the arm has no coordinates: it has nothing to simulate')
    start_compiling_ahead()
    refused = set()
    for k, arm in enumerate(arms):
        if arm is first and k:
            continue
        expect_arm(arm)
        if id(arm) not in refused:
            refuse_massless(arm)
            refused.add(id(arm))
        if (arm.coordinate_names != first.coordinate_names
                or list(arm.frames) != list(first.frames)
                or (arm.arrays.motor != first.arrays.motor).any()
                or any(a.shape != b.shape for name, a, b in zip(
                    arm.arrays._fields, arm.arrays, first.arrays)
                       if not name.startswith('point_') or name == 'point_start')):
            raise SettingError(f'member {k} is not like member 0: their links, joints and elastic '
                               'coordinates must be the same, and only numbers may differ')
    return list(arms)


def checked_rows(name: str, values: ArrayLike, shape: tuple[int, ...]) -> np.ndarray:
    """Array of finite numbers that fits a shape, one row for each member."""
    try:
        array = np.broadcast_to(np.asarray(values, float), shape)
    except (TypeError, ValueError) as error:
        every = (f'{" x ".join(map(str, shape[1:]))} of them for all, or '
                 f'{" x ".join(map(str, shape))}' if shape[1:] else
                 f'or {shape[0]} of them, one for each member')
        raise SettingError(f'{name} must be one number, {every}') from error
    if not np.isfinite(array).all():
        k = np.argwhere(~np.isfinite(array))[0]
        raise SettingError(f'{name} of member {k[0]} must be finite')
    return array


def expect_finite(name: str, table: np.ndarray, joints: Sequence[str], unit: str) -> None:
    """Refuse a live table (count, joints) that somebody has put another number into."""
    if not np.isfinite(table).all():
        k, j = np.argwhere(~np.isfinite(table))[0]
        raise SettingError(f'{name} of "{joints[j]}" of member {k} must be finite [{unit}]')
