"""Deflection of the tip of a flexible link from its undeformed position."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.arguments import checked_states
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.spatial.exponential import set_rotation, set_rotation_vector
from flex_robot_sim.util.exceptions import SettingError


def deflection(arm: ArmModel, q: ArrayLike) -> dict[str, np.ndarray]:
    """
    Translation and rotation vector [m, rad] of the tip of each flexible link, by name.

    Both are relative to the undeformed tip frame, whose x axis is along the undeformed beam.

    :param arm: ArmModel.
    :param q: all coordinates, (nq,) [rad, m], or a state per row, (k, nq).
    :returns: (6,) by link, or (k, 6).

    Example::

        arm = frs.load('two_link')
        rest = frs.equilibrium(arm, [0.0, 0.5, -0.8])
        tip = frs.deflection(arm, rest.q)['forearm']
        assert tip.shape == (6,) and tip[2] < 0.0
    """
    states = checked_states(arm, 'q', q)
    rows = np.atleast_2d(states)
    return {
        link: _deflections(arm, link, rows).reshape(*states.shape[:-1], 6) for link in arm.tips
    }


def tip_deflection(arm: ArmModel, link: str, q: np.ndarray) -> np.ndarray:
    """Translation [m] and rotation vector [rad] (6,) of a tip from its undeformed frame."""
    return _deflections(arm, link, q[None])[0]


def tip_translations(arm: ArmModel, link: str, q: np.ndarray) -> np.ndarray:
    """Translations of `tip_deflection` at many states at once, (k, 3) from (k, n) [m]."""
    return _tips(arm, link, q, has_turn=False)[0]


def _deflections(arm, link, q):
    """Return translations and rotation vectors (k, 6) at states (k, n)."""
    translations, rotations = _tips(arm, link, q, has_turn=True)
    deflections = np.empty((len(q), 6))
    deflections[:, :3] = translations
    _set_rotation_vectors(rotations, deflections[:, 3:])
    return deflections


def _tips(arm, link, q, has_turn):
    """Return translations (k, 3) and, with `has_turn`, rotations (k, 3, 3) at states (k, n)."""
    if link not in arm.tips:
        raise SettingError(f'no flexible link "{link}". Known: {", ".join(arm.tips)}')
    R, rotations = np.tile(np.eye(3), (len(q), 1, 1)), np.empty((len(q), 3, 3))
    p, length, beams = np.zeros((len(q), 3)), 0.0, arm.beams_of(link)
    for number, (beam, columns) in enumerate(beams, 1):
        e, end = q[:, columns], beam.at_end
        tip = e @ end.shape.T
        if arm.coupling == 'shortening':
            tip[:, 0] -= 0.5 * ((e @ end.shortening) * e).sum(axis=1)
        if arm.coupling == 'shortening' and beam.is_segment:
            slopes = np.array([e[:, part] @ end.setback[:, part].T for part in beam.bending])
            tip[:, 1:] -= (slopes * (slopes**2).sum(axis=0)).sum(axis=2).T
        p = p + (R @ (tip + [beam.length, 0.0, 0.0])[..., None])[..., 0]
        length += beam.length
        if has_turn or number < len(beams):
            _set_rotations(np.ascontiguousarray(e @ end.turn.T), rotations)
            R = R @ rotations
    return p - [length, 0.0, 0.0], R


@compiled
def _set_rotations(vectors, rotations):
    """Rotation matrices (k, 3, 3) of rotation vectors (k, 3)."""
    for k in range(len(vectors)):
        set_rotation(vectors[k], rotations[k])


@compiled
def _set_rotation_vectors(rotations, vectors):
    """Rotation vectors (k, 3) of rotation matrices (k, 3, 3)."""
    for k in range(len(vectors)):
        set_rotation_vector(rotations[k], vectors[k])


class Deflections(Mapping):
    """Tip deflections by flexible link, computed on access."""

    def __init__(self, arm: ArmModel, q: np.ndarray) -> None:
        """Store an ArmModel and its coordinates, (n,)."""
        self._arm, self._q = arm, q

    def __iter__(self):
        return iter(self._arm.tips)

    def __len__(self):
        return len(self._arm.tips)

    def __contains__(self, link):
        return link in self._arm.tips

    def __getitem__(self, link):
        return tip_deflection(self._arm, link, self._q)
