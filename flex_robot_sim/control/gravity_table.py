"""
Gravity efforts of the straight arm, from a table.

Every joint moves a mass point once. So the height of the point is linear in 1, cos q and sin q of
each revolute joint, and in 1 and q of each prismatic one. The same applies to the energy and to
its slopes with q, the efforts. A table of 3^n numbers per effort contains them exactly. Evaluating
it takes a third of the time of inverse dynamics called from Python.
"""

from itertools import product
from math import cos, pi, sin

import numpy as np

from flex_robot_sim.control.gains import carrying_efforts
from flex_robot_sim.control.joint_springs import without_springs
from flex_robot_sim.model.arm_model import ArmModel

MAX_JOINTS = 7  # above it a table is slower than inverse dynamics


class GravityTable:
    """Gravity efforts of an arm with few joints, at any position."""

    def __init__(self, arm: ArmModel) -> None:
        """Fill the table with 2 or 3 poses per joint."""
        names, relaxed = arm.joint_names, without_springs(arm)
        self.effort = np.zeros(len(names))  # [N m, N]
        self._revolute = [unit == 'rad' for unit in arm.units]
        positions = [
            (0.0, 2 * pi / 3, 4 * pi / 3) if revolute else (0.0, 1.0)
            for revolute in self._revolute
        ]
        table = np.array([carrying_efforts(relaxed, pose) for pose in product(*positions)])
        table = table.reshape(*map(len, positions), len(names))
        for j, (revolute, samples) in enumerate(zip(self._revolute, positions)):
            terms = np.linalg.inv([_terms(revolute, q) for q in samples])
            table = np.moveaxis(np.tensordot(terms, table, (1, j)), 0, j)
        # each product with the terms of a joint leaves a table with one axis less
        self._terms = [np.ones(len(samples)) for samples in positions]
        self._tables, buffers = [np.ascontiguousarray(table).reshape(len(positions[0]), -1)], []
        for samples in positions[1:]:
            buffers.append(np.zeros(self._tables[-1].shape[1]))
            self._tables.append(buffers[-1].reshape(len(samples), -1))
        self._buffers = [*buffers, self.effort]

    def update(self, position: np.ndarray) -> None:
        """Update `effort` for joints at `position` (n,) [rad, m]."""
        for q, revolute, terms, table, buffer in zip(
            position.tolist(), self._revolute, self._terms, self._tables, self._buffers
        ):
            if revolute:
                terms[1], terms[2] = cos(q), sin(q)
            else:
                terms[1] = q
            np.dot(terms, table, out=buffer)


def _terms(revolute, q):
    return (1.0, cos(q), sin(q)) if revolute else (1.0, q)
