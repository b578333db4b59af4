"""Overload check: joints whose motors cannot carry the weight of the arm at its target."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmModel


class Overload:
    """Reports joints that sink, once per set of joints."""

    def __init__(self) -> None:
        """Begin without overloaded joints."""
        self._joints: tuple[int, ...] = ()

    def check(self, arm: ArmModel, weight: np.ndarray, limits: np.ndarray) -> str:
        """
        Return a line about the worst joint, or '' if nothing has changed.

        :param weight: efforts that hold the arm (joints,) [N m, N]; limits: effort limits,
            (joints,) [N m, N].
        """
        joints, previous = tuple(np.flatnonzero(np.abs(weight) > limits).tolist()), self._joints
        self._joints = joints
        if not joints or joints == previous:
            return ''
        worst = max(joints, key=lambda j: abs(weight[j]) / limits[j])
        return (f'the weight of the arm asks {abs(weight[worst]):.3g} {arm.effort_units[worst]} '
                f'of "{arm.joint_names[worst]}", whose motor has {limits[worst]:.3g}: it sinks. '
                'Take another pose or stronger motors, or an arm for orbit without gravity')
