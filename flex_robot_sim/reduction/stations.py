"""Frames of child joints, and their motion with the interfaces."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from flex_robot_sim.reduction.supports import Interface, Support, rigid_turns, turned_twice


class Station(NamedTuple):
    """Frame of a joint that moves with an interface."""

    name: str  # of the joint
    origin: np.ndarray  # (3,) in the frame of the link [m]
    interface: Interface | None  # None: the root, which does not move


def group_joints(found: Sequence[Interface]) -> tuple[Interface, list[Interface], list[Station]]:
    """
    Return the root, the interfaces that move, and the stations of all joints but the first.

    Joints that hold the same nodes share the interface of the first one of them.

    :param found: of the joint to the parent, then of those to the children.
    """
    root, *children = found
    moving: list[Interface] = []
    stations = []
    for interface in children:
        shared = [
            one for one in (root, *moving) if np.intersect1d(one.nodes, interface.nodes).size
        ]
        if not shared:
            moving.append(interface)
            shared = [interface]
        carrier = None if shared[0] is root else shared[0]
        stations.append(Station(interface.name, interface.origin, carrier))
    return root, moving, stations


def station_motion(
    support: Support, station: Station, shapes: np.ndarray, field: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return U (6, n) and Q (s, s, 6) of a station, (8) of `reduced_link`.

    :param shapes: values (d, n); field: of second order, (d, s, s).
    """
    count = field.shape[1]
    if station.interface is None:
        return np.zeros((6, shapes.shape[1])), np.zeros((count, count, 6))
    U = support.motion(station.interface, shapes)
    Q = support.motion(station.interface, _without_turns(support, station.interface, U, field))
    arm = station.origin - station.interface.origin
    U[3:] += np.cross(U[:3], arm, axis=0)
    Q[3:] += np.cross(Q[:3], arm, axis=0)
    Q[3:] += turned_twice(U[:3, :count], arm[None])[0]
    return U, Q.transpose(1, 2, 0)


def _without_turns(support, interface, motion, field):
    """Return the field of second order without that of the turn of an interface."""
    freedoms, turns = support.freedoms, motion[:3, : field.shape[1]]
    rows = freedoms.rows(interface.nodes)
    turned = rigid_turns(freedoms, rows, interface.origin, turns)
    without = np.zeros_like(field)
    without[rows] = field[rows] - turned
    return without
