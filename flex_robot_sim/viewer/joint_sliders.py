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
    """One slider per joint with a motor; passive joints follow."""

    def __init__(
        self, page: Page, arm: ArmModel, reaction: Callable[[np.ndarray, int], object]
    ) -> None:
        """Add the sliders; a change calls reaction(all positions [rad, m], changed joint)."""
        self.ranges = ranges(arm)
        self.values = start_position(arm)
        self._reaction, self.controls = reaction, []
        self._steps: list[float] = []
        is_shown = arm.actuated if arm.actuated.any() else ~arm.actuated
        self._shown = np.flatnonzero(is_shown)
        for k in self._shown.tolist():
            name, (low, high) = arm.joint_names[k], map(float, self.ranges[k])
            step = float(10.0 ** np.floor(np.log10(max(high - low, 1e-6) / SLIDER_STEPS)))
            self._steps.append(step)
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
        for control, value, step in zip(self.controls, self.values[self._shown], self._steps):
            control.show(0.0 if abs(value) < 0.5 * step else float(value))  # not -0.000

    def _change(self, k, value):
        self.values[k] = value
        self._reaction(self.values.copy(), k)
