"""
Equations of motion as the papers state them: four independent checks of the recursion.

Each formulation is a module of the same name. It provides

    COVERS          supported arms, in a few words
    make(arm)       an object for an ArmModel; SettingError, one line, if the arm is not covered
    PAPER_OPTIONS   options of `make` for the equations of the paper, where ours differ

and the object has

    accelerations(q, qd, force) -> qdd
    energies(q, qd) -> kinetic and gravitational potential energy [J] that its equations conserve

with coordinates q and rates qd (n,) in the order of arm.coordinate_names [rad, m], and `force`
(n,), the generalised forces [N m, N] of springs, dampers, motors, friction and stops. The arm
defines gravity. The formulations import nothing of the dynamics; only `recursion` wraps the code
under test.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.settings import FORMULATIONS

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmModel


__all__ = [
    'Formulation',
    'covers',
    'element_sum',
    'make',
    'paper_options',
    'screw_kinematics',
    'stiffened',
    'wrench_dae',
    'wrench_motion',
]


class Formulation(Protocol):
    """Equations of motion of one arm."""

    def accelerations(self, q: np.ndarray, qd: np.ndarray, force: np.ndarray) -> np.ndarray:
        """Accelerations (n,) of all coordinates."""

    def energies(self, q: np.ndarray, qd: np.ndarray) -> tuple[float, float]:
        """Kinetic energy and gravitational potential energy [J]."""


def make(name: str, arm: ArmModel, **options: Any) -> Formulation:
    """
    Return the formulation `name` of an ArmModel.

    :param options: keyword arguments of `make` in its module.
    :raises SettingError: if there is no such formulation or it does not support the arm.
    """
    from flex_robot_sim.model.arguments import refuse_closed_loops  # slow to import
    from flex_robot_sim.model.body_kinds import has_spatial_bodies

    module = _module(name)
    refuse_closed_loops(arm)
    for link in arm.segments:
        beam = arm.description.beam(link)
        if beam.guide and name != 'recursion':
            raise SettingError(
                f'formulation {name!r} has no sliding links, and link "{link}" slides: '
                'use Simulation'
            )
        if beam.axis is not None:
            kind = 'spatial beam' if beam.reduced is None else 'reduced link'
            raise SettingError(
                f'formulation {name!r} has straight beams without twist, and link "{link}" is a '
                f'{kind}: use Simulation'
            )
        if has_spatial_bodies(arm, link):
            raise SettingError(
                f'formulation {name!r} does not couple bending with twist, as link "{link}" does: '
                'use Simulation, or give the link twist_coupling="off"'
            )
        if beam.profile is not None or beam.can_shear:
            raise SettingError(
                f'formulation {name!r} has uniform beams that do not shear, and the section of '
                f'link "{link}" {"shears" if beam.profile is None else "varies"}: use Simulation'
            )
    return module.make(arm, **options)


def paper_options(name: str) -> dict[str, Any]:
    """Options of `make` for exactly the equations of the paper of formulation `name`."""
    return dict(getattr(_module(name), 'PAPER_OPTIONS', {}))


def covers(name: str) -> str:
    """Return the arms that the formulation `name` supports, in a few words."""
    return _module(name).COVERS


def _module(name: str) -> ModuleType:
    if not isinstance(name, str) or name not in FORMULATIONS:
        raise SettingError(f'formulation = {name!r} must be one of {", ".join(FORMULATIONS)}')
    return import_module(f'{__name__}.{name}')
