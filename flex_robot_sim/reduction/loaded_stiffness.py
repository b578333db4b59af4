"""
Elastic forces of second order from stiffness matrices of the link under loads.

The stiffness of a link that is deformed by u_l, under a small load on one of its interfaces, is

    K_l = K + 2 f2(u_l, .)                                                                   (1)

with f2 of second_order.py. The best approximation of a shape by the u_l, in strain energy, is
s_i, and what it leaves r_i. With the part of f2(r_i, r_j) that the loads measure,

    f2(phi_i, phi_j) = f2(s_i, phi_j) + f2(r_i, s_j) + K sum_l c_l u_l                       (2)
    sum_m (u_l . K u_m) c_m = u_l . f2(r_i, r_j) = 1/2 r_i . (K_l - K) r_j                   (3)

so that the motion of second order of an interface is exact along its loads, for all shapes. One
axial load gives the shortening by bending, and six loads all terms.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from flex_robot_sim.reduction.stations import Station
from flex_robot_sim.reduction.supports import ReductionError, Support

MAX_DEFLECTION = 0.02  # under a load, over the size of the link
MIN_CHANGE, MAX_CHANGE = 1e-9, 0.1  # of the stiffness by a load, over its largest entry


class LinkLoad(NamedTuple):
    """Wrench on a child joint, at its origin, in the axes of the link."""

    joint: str
    wrench: tuple[float, ...]  # (6,)  force, then moment [N, N m]


class LoadedStiffness(NamedTuple):
    """Stiffness of the link under a load."""

    name: str  # of its file
    load: LinkLoad
    stiffness: sparse.csr_matrix  # (d, d)


def loaded_forces(
    loaded: Sequence[LoadedStiffness],
    support: Support,
    stations: Sequence[Station],
    phi: np.ndarray,
    pairs: list[tuple[int, int]],
) -> np.ndarray:
    """Return the forces (2) of pairs of shapes phi (d, n): (d, pairs)."""
    deformed = support.solve(np.stack([_forces(one, support, stations) for one in loaded], axis=1))
    K, size = support.stiffness, np.ptp(support.freedoms.points, axis=0).max()
    changes = [one.stiffness - K for one in loaded]
    for one, change, field in zip(loaded, changes, support.freedoms.displacements(deformed).T):
        if np.abs(field).max() > MAX_DEFLECTION * size:
            raise ReductionError(
                f'{one.name}: its load bends the link by more than {MAX_DEFLECTION:g} of its '
                'size. Choose a smaller one'
            )
        ratio = np.abs(change.data).max(initial=0.0) / np.abs(K.data).max()
        if not MIN_CHANGE <= ratio <= MAX_CHANGE:
            raise ReductionError(
                f'{one.name}: its load changes the stiffness by {ratio:.1g} of its largest entry, '
                f'which must be {MIN_CHANGE:g} to {MAX_CHANGE:g}. Export the tangent of a '
                'nonlinear step of the same model'
            )
    energy = deformed.T @ (K @ deformed)
    inverse = np.linalg.pinv(energy, rcond=1e-10, hermitian=True)
    shares = inverse @ (deformed.T @ (K @ phi))
    left = phi - deformed @ shares
    along, of_left = ([change @ values for change in changes] for values in (phi, left))

    def product(i, j):
        measured = [left[:, i] @ forces[:, j] for forces in of_left]
        total = K @ (deformed @ (inverse @ measured))
        for share, of_shape, rest in zip(shares, along, of_left):
            total += share[i] * of_shape[:, j] + share[j] * rest[:, i]
        return total

    # (2) is symmetric up to the effect of finite loads
    return np.stack([(product(i, j) + product(j, i)) / 4 for i, j in pairs], axis=1)


def _forces(one, support, stations):
    """Forces (d,) of the wrench of a load."""
    joint, wrench = one.load.joint, np.array(one.load.wrench)
    found = [station for station in stations if station.name == joint]
    if not found or found[0].interface is None:
        known = ', '.join(station.name for station in stations if station.interface) or 'none'
        raise ReductionError(
            f'{one.name}: no child joint "{joint}" takes its load. Joints that do: {known}'
        )
    interface = found[0].interface
    moment = wrench[3:] + np.cross(found[0].origin - interface.origin, wrench[:3])
    return support.loads(interface) @ np.concatenate([moment, wrench[:3]])
