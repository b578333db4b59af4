"""
The papers' own equations of motion, judges of the recursion: four ways to the same accelerations.

Each formulation is a module with the name it has here. It offers

    COVERS          which arms it can compute, as a few words
    make(arm)       an object for an ArmModel; SettingError, one line, if the arm is not covered
    PAPER_OPTIONS   options of `make` for the paper's own equations, where ours differ

and the object has

    accelerations(q, qd, force) -> qdd
    energies(q, qd) -> kinetic energy and energy of height [J], those that its equations keep

with coordinates q and rates qd (n,) in the order of arm.coordinate_names [rad, m], and `force`
(n,), the generalised forces [N m, N] that are neither inertia nor gravity: springs, dampers,
motors, friction and stops. Gravity is that of the arm. The judges import nothing of the dynamics:
`recursion` alone wraps what they judge.
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


class Formulation(Protocol):
    """Equations of motion of one arm."""

    def accelerations(self, q: np.ndarray, qd: np.ndarray, force: np.ndarray) -> np.ndarray:
        """Accelerations (n,) of all coordinates."""

    def energies(self, q: np.ndarray, qd: np.ndarray) -> tuple[float, float]:
        """Kinetic energy and energy of height [J]."""


def make(name: str, arm: ArmModel, **options: Any) -> Formulation:
    """
    Return the formulation `name` of an ArmModel.

    :param options: of the `make` of its module.
    :raises SettingError: if there is no such formulation, or it does not cover the arm.
    """
    return _module(name).make(arm, **options)


def paper_options(name: str) -> dict[str, Any]:
    """Options of `make` with which the formulation `name` is the paper's own, word by word."""
    return dict(getattr(_module(name), 'PAPER_OPTIONS', {}))


def covers(name: str) -> str:
    """Which arms the formulation `name` can compute, as a few words."""
    return _module(name).COVERS


def _module(name: str) -> ModuleType:
    if name not in FORMULATIONS:
        raise SettingError(f'formulation = {name!r} must be one of {", ".join(FORMULATIONS)}')
    return import_module(f'{__name__}.{name}')
