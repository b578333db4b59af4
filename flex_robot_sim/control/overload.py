"""Joints whose motors cannot carry the weight of the arm where it is to be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmModel


class Overload:
    """Tells once of each pose which joints sink."""

    def __init__(self) -> None:
        """Begin without any."""
        self._joints: tuple[int, ...] = ()

    def look(self, arm: ArmModel, weight: np.ndarray, limits: np.ndarray) -> str:
        """
        Return a line about the worst joint, or '' where nothing is new.

        :param weight: efforts that hold the arm (joints,), and limits likewise [N m, N].
        """
        joints, before = tuple(np.flatnonzero(np.abs(weight) > limits).tolist()), self._joints
        self._joints = joints
        if not joints or joints == before:
            return ''
        worst = max(joints, key=lambda j: abs(weight[j]) / limits[j])
        return (f'the weight of the arm asks {abs(weight[worst]):.3g} {arm.effort_units[worst]} '
                f'of "{arm.joint_names[worst]}", whose motor has {limits[worst]:.3g}: it sinks. '
                'Take another pose or stronger motors, or an arm for orbit without gravity')
