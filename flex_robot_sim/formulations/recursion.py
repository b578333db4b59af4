"""
The recursion of `dynamics/` behind the interface of the formulations, for comparisons.

It solves M qdd = force - h with the mass matrix M and the bias h of the inverse dynamics, so it
accepts any generalised force. A Simulation calls the recursion directly, which is faster.
"""

from __future__ import annotations

import numpy as np

from flex_robot_sim.dynamics.energy import set_energies
from flex_robot_sim.dynamics.forward_dynamics import inverse_dynamics
from flex_robot_sim.dynamics.mass_matrix import mass_matrix
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.workspace import make_workspace

COVERS = 'every arm'


def make(arm: ArmModel) -> Recursion:
    """Return the recursion for an ArmModel."""
    return Recursion(arm)


class Recursion:
    """Accelerations from the mass matrix and the bias of the recursion."""

    def __init__(self, arm: ArmModel) -> None:
        self._arrays, self._work = arm.arrays, make_workspace(arm.arrays)

    def accelerations(self, q: np.ndarray, qd: np.ndarray, force: np.ndarray) -> np.ndarray:
        """Accelerations (n,) of all coordinates; parameters as in the docstring of the package."""
        bias = np.zeros(q.size)
        inverse_dynamics(self._arrays, q, qd, np.zeros(q.size), self._work, bias)
        return np.linalg.solve(mass_matrix(self._arrays, q, self._work), force - bias)

    def energies(self, q: np.ndarray, qd: np.ndarray) -> tuple[float, float]:
        """Kinetic energy and gravitational potential energy [J]."""
        energies = np.zeros(3)
        set_energies(self._arrays, q, qd, self._work, energies)
        return float(energies[0]), float(energies[2])
