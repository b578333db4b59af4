"""
Efforts that carry the straight arm, from a table.

The height of every mass point is linear in 1, cos q and sin q of each revolute joint, and in 1 and
q of each prismatic one, because every joint moves the point once. So is the energy, and so are its
slopes with q, the efforts: a table of 3^n numbers by effort holds them exactly. Summing it up
takes a third of the time that inverse dynamics needs when it is called from Python.
"""

from itertools import product
from math import cos, pi, sin

import numpy as np

from flex_robot_sim.control.gains import carrying_efforts
from flex_robot_sim.model.arm_model import ArmModel

MOST_JOINTS = 7         # beyond that a table costs more than it saves


class GravityTable:
    """Efforts of an arm with few joints that carry it at any position."""

    def __init__(self, arm: ArmModel) -> None:
        """Fill the table with 2 or 3 poses per joint."""
        names = arm.joint_names
        self.effort = np.zeros(len(names))      # [N m, N]
        self._turns = [unit == 'rad' for unit in arm.units]
        places = [(0.0, 2 * pi / 3, 4 * pi / 3) if turns else (0.0, 1.0) for turns in self._turns]
        table = np.array([carrying_efforts(arm, pose) for pose in product(*places)])
        table = table.reshape(*map(len, places), len(names))
        for j, (turns, samples) in enumerate(zip(self._turns, places)):
            terms = np.linalg.inv([_terms(turns, q) for q in samples])
            table = np.moveaxis(np.tensordot(terms, table, (1, j)), 0, j)
        # each product with the terms of a joint leaves a table with one axis less
        self._terms = [np.ones(len(samples)) for samples in places]
        self._tables, left = [np.ascontiguousarray(table).reshape(len(places[0]), -1)], []
        for samples in places[1:]:
            left.append(np.zeros(self._tables[-1].shape[1]))
            self._tables.append(left[-1].reshape(len(samples), -1))
        self._left = [*left, self.effort]

    def update(self, position: np.ndarray) -> None:
        """Renew `effort` for joints at `position` (n,) [rad, m]."""
        for q, turns, terms, table, left in zip(
                position.tolist(), self._turns, self._terms, self._tables, self._left):
            if turns:
                terms[1], terms[2] = cos(q), sin(q)
            else:
                terms[1] = q
            np.dot(terms, table, out=left)


def _terms(turns, q):
    return (1.0, cos(q), sin(q)) if turns else (1.0, q)
