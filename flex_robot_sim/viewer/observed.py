"""Observed state of an arm in another process, as received in its messages."""

from functools import partial
from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis.deflection import tip_deflection
from flex_robot_sim.analysis.differences import difference
from flex_robot_sim.model.arm_model import ArmModel

DIFFERENCE_STEP = 1e-3  # of finite differences of the coordinates
BENDING_AXES = 'yz'  # transverse axes of a beam


class Status(NamedTuple):
    """Latest diagnostics of a node."""

    level: str  # 'ok', 'warning', 'error' or 'stale'
    message: str
    figures: dict[str, str]
    received_at: float  # by the steady clock                                           [s]


class Tips:
    """Transverse tip deflections as linear functions of the coordinates."""

    def __init__(self, arm: ArmModel) -> None:
        """Leave out components that are always zero."""
        rows, names, links = [], [], []
        for index, link in enumerate(arm.tips):
            deflection = partial(tip_deflection, arm, link)
            slopes = np.column_stack(
                [
                    difference(deflection, np.zeros(arm.size), step)[1:3] / DIFFERENCE_STEP
                    for step in DIFFERENCE_STEP * np.eye(arm.size)
                ]
            )
            for axis, row in zip(BENDING_AXES, slopes):
                if np.abs(row).max(initial=0.0) > 1e-9:
                    rows.append(row)
                    names.append(f'{link} {axis}')
                    links.append(index)
        self.names = tuple(names)  # (k,) LINK AXIS
        self.links = np.array(links, int)  # (k,) index of the link in arm.tips
        self.matrix = np.array(rows).reshape(len(rows), arm.size)  # (k, n)               [m]


class ObservedArm:
    """
    Latest observation of every quantity, updated by the subscriber.

    Times `..._received_at` are from the steady clock; stamps are from the messages.
    """

    def __init__(self, arm: ArmModel) -> None:
        joints = len(arm.joint_names)
        self.coordinates, self.effort = np.zeros(arm.size), np.zeros(joints)
        self.target = np.full(joints, np.nan)  # [rad, m]; nan: no target
        self.base_pose: np.ndarray | None = None  # (7,) of a moved base
        self.stamp, self.received_at, self.flex_received_at = -np.inf, -np.inf, -np.inf  # [s]
        self.target_received_at = -np.inf  # [s]
        self.is_prescribed, self.problem = True, ''  # why states are unusable
        # coordinates with elastic states received since the last clear: (stamp, (n,))
        self.flex_samples: list[tuple[float, np.ndarray]] = []
        self.pushes: dict[str, np.ndarray] = {}  # by link: force (3,) in its frame  [N]
        # by contact: moment and force on its link, (6,) in the frame of this link  [N m, N]
        self.contact_wrenches: dict[str, np.ndarray] = {}
        self.twin: np.ndarray | None = None  # joints of the twin (joints,)  [rad, m]
        self.twin_received_at = -np.inf  # [s]
        self.status: dict[str, Status] = {}  # by node: dynamics, controller, bridge
        self.notes: list[str] = []  # lines about the drawing
