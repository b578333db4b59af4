"""
Whether an arm that is to stand still does: near its target, and at rest.

It is looked at now and then, and judged by what was seen in the last second. An arm that was just
moved may take its time first.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from flex_robot_sim.model.arm_model import ArmModel

if TYPE_CHECKING:
    from flex_robot_sim.control.servo import Servo

AWAY_TURN, AWAY_SLIDE = 0.05, 0.01      # from its target, of a drive that is not there  [rad, m]
FAST = 0.3                              # of a joint that is not at rest         [rad/s, m/s]
WINDOW = 1.0                            # that is looked back upon                        [s]
PATIENCE, PERIODS = 2.0, 3.0            # time to come to rest, and periods of a joint    [s]

MOVING, SETTLING, HOLDING, LOOSE = 'moving', 'settling', 'holding', 'not holding'


def hold_tolerance(arm: ArmModel) -> np.ndarray:
    """Distances (joints,) from its target up to which a joint counts as held [rad, m]."""
    return np.array([AWAY_SLIDE if unit == 'm' else AWAY_TURN for unit in arm.units])


class HoldMonitor:
    """What was seen of the joints of an arm since its target stands."""

    def __init__(self, arm: ArmModel) -> None:
        """Know an ArmModel, of which nothing was seen yet."""
        self._names = arm.joint_names
        self._units = arm.units
        self._away = hold_tolerance(arm)
        self._friction = arm.arrays.coulomb + arm.arrays.stiction
        # (when, errors, speeds)
        self._seen: deque[tuple[float, np.ndarray, np.ndarray]] = deque()
        self._target: np.ndarray | None = None
        self._since = 0.0
        self.state, self.line = SETTLING, ''

    def look(self, now: float, is_moving: bool, target: np.ndarray, position: np.ndarray,
             velocity: np.ndarray, frequency: float, servo: Servo | None = None) -> None:
        """
        Look at the arm; renew `state`, and `line`, which says what is not held.

        :param now: [s]; is_moving: whether it is to move.
        :param target: of the joints, (joints,) [rad, m]; position, velocity likewise.
        :param frequency: of the slowest closed joint [Hz].
        :param servo: gains, from which the remedy against dry friction follows.
        """
        self.line = ''
        if is_moving or self._target is None or (target != self._target).any():
            self._target, self._since = target.copy(), now
            self._seen.clear()
            self.state = MOVING if is_moving else SETTLING
            return
        self._seen.append((now, np.abs(position - target), np.abs(velocity)))
        while self._seen[0][0] < now - WINDOW:
            self._seen.popleft()
        if now - self._since < WINDOW:
            self.state = SETTLING
            return
        away = np.max([seen[1] for seen in self._seen], axis=0)
        speed = np.max([seen[2] for seen in self._seen], axis=0)
        if (away <= self._away).all() and (speed <= FAST).all():
            self.state = HOLDING
            return
        patience = max(PATIENCE, PERIODS / frequency if frequency > 0.0 else PATIENCE)
        self.state = SETTLING if now - self._since < patience else LOOSE
        if self.state == LOOSE:
            worst = int(np.argmax(np.maximum(away / self._away, speed / FAST)))
            unit = self._units[worst]
            self.line = (f'"{self._names[worst]}" is not held: {away[worst]:.2g} {unit} from its '
                         f'target, at {speed[worst]:.2g} {unit}/s'
                         f'{self._friction_remedy(worst, away[worst], servo)}')

    def _friction_remedy(self, joint, away, servo):
        """Say what to do if dry friction is what keeps a joint away; else ''."""
        if servo is None or not servo.stiffness[joint] * away < self._friction[joint]:
            return ''
        friction, stiffness = self._friction[joint], servo.stiffness[joint]
        unit = self._units[joint]
        effort = 'N' if unit == 'm' else 'N m'
        if servo.integral is not None and servo.integral[joint] > 0.0:
            return (f'. Its dry friction of {friction:.2g} {effort} holds it until integral '
                    'action overcomes it: wait, or raise position_gain')
        return (f'. Its dry friction of {friction:.2g} {effort} is more than its stiffness of '
                f'{stiffness:.2g} {effort}/{unit} overcomes: set integral_action to 0.2, or '
                f'position_gain to {friction / self._away[joint]:.2g}')
