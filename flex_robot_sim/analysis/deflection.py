"""Deflection of the tip of a flexible link from its undeformed position."""

from collections.abc import Mapping

import numpy as np

from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.spatial.exponential import set_rotation, set_rotation_vector
from flex_robot_sim.util.exceptions import SettingError


def tip_deflection(arm: ArmModel, link: str, q: np.ndarray) -> np.ndarray:
    """Translation [m] and rotation vector [rad] (6,) of a tip from its undeformed frame."""
    translation, R = _tips(arm, link, q[None], has_turn=True)
    deflection = np.empty(6)
    deflection[:3] = translation[0]
    set_rotation_vector(R[0], deflection[3:])
    return deflection


def tip_translations(arm: ArmModel, link: str, q: np.ndarray) -> np.ndarray:
    """Translations of `tip_deflection` at many states at once, (k, 3) from (k, n) [m]."""
    return _tips(arm, link, q, has_turn=False)[0]


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
            for vector, rotation in zip(e @ end.turn.T, rotations):
                set_rotation(vector, rotation)
            R = R @ rotations
    return p - [length, 0.0, 0.0], R


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
