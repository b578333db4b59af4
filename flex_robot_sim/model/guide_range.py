"""Range of the joint of a sliding link within which its guide holds the link."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flex_robot_sim.model.slide_columns import LENGTH, OFFSET
from flex_robot_sim.util.exceptions import SettingError

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmModel

# free length over that of the link: the limits of the joint keep it within 0.05 and 1, and
# a pressed stop passes them
MIN_FREE_RATIO, MAX_FREE_RATIO = 0.01, 1.05


def outside_guide(arm: ArmModel, q: np.ndarray) -> str:
    """Return the phrase about the first link outside its guide at coordinates (n,), or ''."""
    for link, bodies in arm.segments.items():
        joint = arm.arrays.slide[bodies[0]]
        if joint < 0:
            continue
        data = arm.arrays.slide_data[bodies[0]]
        ratio = (q[joint] + data[OFFSET]) / data[LENGTH]
        if ratio < MIN_FREE_RATIO or ratio > MAX_FREE_RATIO:
            low, high = (
                limit * data[LENGTH] - data[OFFSET] for limit in (MIN_FREE_RATIO, MAX_FREE_RATIO)
            )
            return (
                f'link "{link}" is outside its guide with joint "{arm.joint_names[joint]}" at '
                f'{q[joint]:.4g} m: it is inside from {low:.4g} to {high:.4g} m'
            )
    return ''


def refuse_outside_guides(arm: ArmModel, name: str, states: np.ndarray) -> None:
    """Raise SettingError for a link outside its guide; states: (n,) or (k, n)."""
    if not arm.arrays.slide_data.size:
        return
    for q in states.reshape(-1, arm.size):
        phrase = outside_guide(arm, q)
        if phrase:
            raise SettingError(f'{name}: {phrase}')
