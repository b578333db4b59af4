"""Joint sliders with units and limits."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.start_pose import start_position

if TYPE_CHECKING:
    from flex_robot_sim.viewer.browser import Page

FREE_HALF_RANGE = {'rad': np.pi, 'm': 1.0}  # of joints without stops, by their unit
SLIDER_STEPS = 400


def ranges(arm: ArmModel) -> np.ndarray:
    """Lower and upper limits (joints, 2) [rad, m]; joints without stops get default limits."""
    limits = []
    for name in arm.joint_names:
        joint = arm.description.joint(name)
        half = FREE_HALF_RANGE[joint.type.unit]
        lower = joint.lower if np.isfinite(joint.lower) else min(-half, joint.upper - 2 * half)
        upper = joint.upper if np.isfinite(joint.upper) else max(half, lower + 2 * half)
        limits.append((lower, upper))
    return np.array(limits).reshape(-1, 2)


class JointSliders:
    """One slider per joint."""

    def __init__(
        self, page: Page, arm: ArmModel, reaction: Callable[[np.ndarray, int], object]
    ) -> None:
        """Add the sliders; a change calls reaction(all positions [rad, m], changed joint)."""
        self.ranges = ranges(arm)
        self.values = start_position(arm)
        self._reaction, self.controls = reaction, []
        for k, name in enumerate(arm.joint_names):
            low, high = map(float, self.ranges[k])
            step = float(10.0 ** np.floor(np.log10(max(high - low, 1e-6) / SLIDER_STEPS)))
            self.controls.append(
                page.slider(
                    f'{name} [{arm.units[k]}]',
                    low,
                    high,
                    step,
                    float(self.values[k]),
                    partial(self._change, k),
                    f'{low:g} to {high:g}',
                )
            )

    def show(self, values: np.ndarray) -> None:
        """Set the shown positions (joints,) [rad, m]."""
        self.values = np.clip(values, *self.ranges.T)
        for control, value in zip(self.controls, self.values):
            control.show(float(value))

    def _change(self, k, value):
        self.values[k] = value
        self._reaction(self.values.copy(), k)
