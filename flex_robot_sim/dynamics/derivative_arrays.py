"""Arrays of the derivatives of the dynamics: the order of their columns, and temporary data."""

from typing import Annotated, NamedTuple

import numpy as np

from flex_robot_sim.jit.array_table import Matrices3, Vectors3, Vectors6, pass_by_pointer, zeros
from flex_robot_sim.model.arm_arrays import ArmArrays
from flex_robot_sim.model.body_kinds import direction_slices

# wrenches of `SubtreeColumns.wrench`: per acceleration, per coordinate, per rate
BY_ACCELERATION, BY_COORDINATE, BY_RATE = range(3)


@pass_by_pointer
class ColumnOrder(NamedTuple):
    """
    Order of the columns: those of the coordinates that move a subtree are next to each other.

    Each body has the column of its joint, if it has one, then those of its elastic coordinates,
    then those of its children. Motors behind gears have none: they move no body.
    """

    coordinate: np.ndarray  # (c,)  of each column
    start: np.ndarray  # (i,)  first column of body i, and of its joint
    elastic: np.ndarray  # (i,)  first column of its elastic coordinates
    end: np.ndarray  # (i,)  end of the columns of its subtree
    axis: np.ndarray  # (i, n)  about which an elastic coordinate turns a section, and
    turn: np.ndarray  # (s, n)  by which angle at a station                       [rad/m]


def column_order(arm: ArmArrays) -> ColumnOrder:
    """Return the ColumnOrder of ArmArrays."""
    columns: list[int] = []
    start, elastic, end = np.zeros((3, arm.parent.size), int)
    pending = [*np.flatnonzero(arm.parent < 0)]
    while pending:  # depth first
        i = pending.pop()
        start[i] = len(columns)
        columns += [arm.joint[i]] * int(arm.joint[i] >= 0)
        elastic[i] = len(columns)
        columns += range(arm.first[i], arm.first[i] + arm.modes[i])
        end[i] = len(columns)
        pending += [*np.flatnonzero(arm.parent == i)]
    for i in range(arm.parent.size - 1, -1, -1):
        if arm.parent[i] >= 0:
            end[arm.parent[i]] = max(end[arm.parent[i]], end[i])
    return ColumnOrder(np.array(columns, int), start, elastic, end, *_section_turns(arm))


def _section_turns(arm):
    """Tables `axis` and `turn` of a ColumnOrder."""
    axis, turn = np.zeros(arm.modal_mass.shape[:2], int), np.zeros(arm.station_slope.shape)
    for i in range(arm.parent.size):
        y, z, *_ = direction_slices(arm, i)
        axis[i, y], axis[i, z] = 2, 1
    for s, i in zip(arm.station, arm.parent):
        if s >= 0:
            y, z, torsion, _ = direction_slices(arm, i)
            turn[s, y], turn[s, z] = arm.station_slope[s, y], -arm.station_slope[s, z]
            turn[s, torsion] = arm.station_shape[s, torsion]
    return axis, turn


@pass_by_pointer
class DerivativeArrays(NamedTuple):
    """Work arrays of one thread; all vectors in the axes of the base, at the origin of a body."""

    V: Vectors6  # (i, 6)     twist
    A: Vectors6  # (i, 6)     rate of the twist, with that of gravity
    offset: Vectors3  # (i, 3)     origin of body i from that of its parent
    screw: Vectors6  # (c, 6)     axis of the joint of a column, and its first and
    screw_rate: Vectors6  # (c, 6)     second rates, the latter with gravity (T60)
    screw_second: Vectors6
    base_screw: Vectors6  # (6, 6)     the same of a free base, by its coordinates; the first
    base_rate: Vectors6  # rate is that of its rates, and half of it (T113)
    base_second: Vectors6
    K: Vectors6  # (s, n, 6)  the same for elastic coordinates, by station
    K_rate: Vectors6
    K_second: Vectors6
    composite: Annotated[np.ndarray, 40]  # (i, 40)  of the subtree, see composite_bodies.py
    shifted: Annotated[np.ndarray, 40]  # (1, 40)  the same at the origin of the parent
    wrench: Annotated[np.ndarray, 3, 6]  # (c, 3, 6)  of the subtree, by coordinate (T62)
    row: Annotated[np.ndarray, 2, 3]  # (c, 2, 3)  of its coordinates, by rotations (T62)
    total: Vectors6  # (3, 6)     temporaries of single functions
    N: Vectors3  # (n, 3)
    N_second: Vectors3
    N_rate: Vectors3
    turn_rate: Vectors3  # (n, 3)     rates of the angular part of K, in the body
    turn_second: Vectors3
    h: Vectors3  # (n, 3)     gradient of the shortening and its rates
    G: Matrices3  # (3, 3, 3)


def make_derivative_arrays(arm: ArmArrays, columns: int) -> DerivativeArrays:
    """Return DerivativeArrays for ArmArrays with this number of columns."""
    i, n, s = arm.modes.size, arm.stiffness.shape[1], arm.station_x.size
    shapes = {
        'total': (3, 6),
        'offset': (i, 3),
        'composite': (i, 40),
        'shifted': (1, 40),
        'wrench': (columns, 3, 6),
        'row': (columns, 2, 3),
        'N': (n, 3),
        'N_second': (n, 3),
        'N_rate': (n, 3),
        'turn_rate': (n, 3),
        'turn_second': (n, 3),
        'h': (n, 3),
        'G': (3, 3, 3),
        **dict.fromkeys(('base_screw', 'base_rate', 'base_second'), (6, 6)),
        **dict.fromkeys(('screw', 'screw_rate', 'screw_second'), (columns, 6)),
        **dict.fromkeys(('K', 'K_rate', 'K_second'), (s, n, 6)),
    }
    return zeros(
        DerivativeArrays, tuple(shapes.get(name, (i, 6)) for name in DerivativeArrays._fields)
    )
