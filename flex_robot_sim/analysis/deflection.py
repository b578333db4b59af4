"""Where the tip of a flexible link is, against where it would be if the link were straight."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from flex_robot_sim.core.exponential import set_rotation, set_rotation_vector
from flex_robot_sim.exceptions import SettingError

if TYPE_CHECKING:
    from flex_robot_sim.core.model import ArmModel


def tip_deflection(arm: ArmModel, link: str, q: np.ndarray) -> np.ndarray:
    """
    Tip of a flexible link against its undeformed tip frame, x along the beam.

    :returns: translation [m] and rotation vector [rad], (6,).
    """
    if link not in arm.tips:
        raise SettingError(f'no flexible link "{link}". Known: {", ".join(arm.tips)}')
    R, p, turn = np.eye(3), np.zeros(3), np.empty((3, 3))
    length = 0.0
    for body in arm.segments[link]:
        beam, first = arm.beams[body], arm.arrays.first[body]
        e = q[first:first + beam.size]
        tip = beam.shape(beam.length) @ e
        if arm.coupling == 'shortening':
            tip[0] -= 0.5 * e @ beam.shortening(beam.length) @ e
        if arm.coupling == 'shortening' and beam.is_segment:
            rows = beam.setback(beam.length)
            slopes = np.array([rows[:, part] @ e[part] for part in beam.bending])
            tip[1:] -= slopes @ (slopes**2).sum(axis=0)
        set_rotation(beam.turn(beam.length) @ e, turn)
        p = p + R @ (tip + [beam.length, 0.0, 0.0])
        R = R @ turn
        length += beam.length
    out = np.empty(6)
    out[:3] = p - [length, 0.0, 0.0]
    set_rotation_vector(R, out[3:])
    return out


class Deflections(Mapping):
    """Tip deflections by flexible link, computed when they are asked for."""

    def __init__(self, arm: ArmModel, q: np.ndarray) -> None:
        """Take an ArmModel and its coordinates, (n,)."""
        self._arm, self._q = arm, q

    def __iter__(self):
        return iter(self._arm.tips)

    def __len__(self):
        return len(self._arm.tips)

    def __contains__(self, link):
        return link in self._arm.tips

    def __getitem__(self, link):
        return tip_deflection(self._arm, link, self._q)
