"""An arm that moves elsewhere, as far as others tell of it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flex_robot_sim.analysis.deflection import tip_deflection
from flex_robot_sim.analysis.tangent import difference

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmModel

STEP = 1e-3             # of differences
AXES = 'yz'             # of a beam, across it


class Status(NamedTuple):
    """What a program has said of itself last."""

    level: str              # 'ok', 'warning', 'error' or 'stale'
    message: str
    figures: dict[str, str]
    heard: float            # when, by the steady clock                                     [s]


class Tips:
    """Deflections of tips across their links, as sums over the coordinates."""

    def __init__(self, arm: ArmModel) -> None:
        """Take `arm` (ArmModel); what is zero whatever the arm does is left out."""
        rows, names, links = [], [], []
        for number, link in enumerate(arm.tips):
            deflection = partial(tip_deflection, arm, link)
            slopes = np.column_stack([
                difference(deflection, np.zeros(arm.size), step)[1:3] / STEP
                for step in STEP * np.eye(arm.size)])
            for axis, row in zip(AXES, slopes):
                if np.abs(row).max(initial=0.0) > 1e-9:
                    rows.append(row)
                    names.append(f'{link} {axis}')
                    links.append(number)
        self.names = tuple(names)                       # LINK AXIS, k of them
        self.links = np.array(links, int)               # (k,) which of arm.tips
        self.matrix = np.array(rows).reshape(len(rows), arm.size)     # (k, n)               [m]


class Observed:
    """
    The newest of everything; who listens fills it in.

    Times `heard` are those of the steady clock, stamps those of the messages.
    """

    def __init__(self, arm: ArmModel) -> None:
        """Begin with an arm of which nothing is known."""
        joints = len(arm.joint_names)
        self.coordinates, self.effort = np.zeros(arm.size), np.zeros(joints)
        self.target = np.full(joints, np.nan)           # [rad, m]; nan: nobody has one
        self.stamp, self.heard, self.flex_heard = -np.inf, -np.inf, -np.inf     # [s]
        self.target_heard = -np.inf                     # [s]
        self.is_prescribed, self.problem = True, ''            # why the states are of no use
        # elastic coordinates that have come since they were taken last: (stamp, (n,))
        self.bent: list[tuple[float, np.ndarray]] = []
        self.pushes: dict[str, np.ndarray] = {}         # by link: force (3,) in its frame  [N]
        self.twin: np.ndarray | None = None             # joints of the twin (joints,)  [rad, m]
        self.twin_heard = -np.inf                       # [s]
        self.status: dict[str, Status] = {}             # by program: dynamics, controller, bridge
