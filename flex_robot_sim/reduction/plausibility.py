"""Checks of a mesh against the robot: units, mass, memory."""

import os
from collections.abc import Sequence

import numpy as np

from flex_robot_sim.reduction.supports import ReductionError

UNITS = {'m': 1.0, 'mm': 1e-3, 'inch': 0.0254}
MAX_RATIO = 50.0  # of sizes of the mesh and of the link in the URDF
SOLID = 1.3  # mass of a mesh over that of <inertial>: a skin that was filled
SAME_MASS = 0.01  # relative difference
# memory of a reduction in GB: measured with blocks; thin walls need half of it
MEMORY_GB, MEMORY_NODES, MEMORY_POWER = 2.5, 50_000, 1.3


def check_size(nodes: np.ndarray, places: Sequence[np.ndarray], gyration: float) -> None:
    """
    Refuse a mesh in other units than the robot.

    :param places: of the joints in the frame of the link, (3,) [m].
    :param gyration: radius of gyration of <inertial> [m]; 0: unknown.
    """
    size = float(np.linalg.norm(np.ptp(nodes, axis=0)))
    reach = max([gyration, *(float(np.linalg.norm(place)) for place in places)], default=0.0)
    if reach <= 0.0 or 1 / MAX_RATIO < size / reach < MAX_RATIO:
        return
    unit = min(UNITS, key=lambda name: abs(np.log(size * UNITS[name] / reach / 3)))
    if unit == 'm':
        unit = 'm, mm or inch'
    raise ReductionError(
        f'the mesh measures {size:.4g} m, and the joints and <inertial> of the link '
        f'{reach:.3g} m. Choose --unit {unit}'
    )


def density_factor(mass: float, inertial: float, is_scaled: bool) -> tuple[float, str]:
    """
    Return the factor of the density, and a note or ''; ReductionError if the mesh is a skin.

    :param mass: of the mesh [kg]; inertial: of <inertial> [kg], 0: unknown.
    :param is_scaled: whether the density is scaled to the mass of <inertial>.
    """
    if inertial <= 0.0:
        return 1.0, ''
    if is_scaled:
        return inertial / mass, ''
    if mass > SOLID * inertial:
        raise ReductionError(
            f'the solid mass {mass:.4g} kg is {mass / inertial:.3g} times that of <inertial>, '
            f'{inertial:.4g} kg: the file is a skin without wall thickness, or the density is '
            'wrong. Export the solid with its walls, or scale the density by --mass inertial'
        )
    if abs(mass - inertial) > SAME_MASS * inertial:
        return 1.0, (
            f'the mass of the mesh is {mass:.4g} kg, that of <inertial> {inertial:.4g} kg; '
            '--mass inertial scales the density'
        )
    return 1.0, ''


def check_memory(count: int) -> None:
    """Refuse a mesh of `count` nodes whose factors would not fit into the free memory."""
    needed = MEMORY_GB * (count / MEMORY_NODES) ** MEMORY_POWER
    available = os.sysconf('SC_AVPHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 1e9
    with open('/proc/meminfo', encoding='ascii') as file:
        for line in file:
            if line.startswith('MemAvailable'):
                available = int(line.split()[1]) * 1024 / 1e9
    if needed > available:
        raise ReductionError(
            f'the mesh has {count} nodes, which need about {needed:.0f} GB, and '
            f'{available:.1f} GB are free. Choose a larger --mesh'
        )
