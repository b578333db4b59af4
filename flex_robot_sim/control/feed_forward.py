"""
Efforts that hold an arm in a pose, renewed at every step of a control loop.

Elastic links come to rest where K e + g(q, e) = 0, with the forces g that carry the weight at the
joint positions q. Every call takes one correction e -= w K^-1 (K e + g) from where the one before
ended: while the target moves e follows it closely, and when it stands e converges within a few
calls. The share w is 1 where weight is small against stiffness, and less where a correction was
larger than the one before. If e grows beyond any use, because the arm buckles or the weight
is large against its stiffness, the arm is taken as straight from then on.
"""

import math

import numpy as np

from flex_robot_sim.analysis.tangent import scales
from flex_robot_sim.control.gravity_table import MOST_JOINTS, GravityTable
from flex_robot_sim.dynamics.forward_dynamics import inverse_dynamics
from flex_robot_sim.model.arm_model import ArmModel, make_workspace

SETTLED = 1e-10         # turn of the sections by a correction after which none is needed   [rad]
LONGEST_TURN = 0.1      # of one correction                                                 [rad]
SMALLEST_SHARE = 1 / 64
MOST_BENT = 1.0         # turn of the sections beyond which no rest is expected any more    [rad]


class FeedForward:
    """What holds an arm, without its elastic parts ('gravity') or with them ('sag')."""

    def __init__(self, arm: ArmModel, kind: str) -> None:
        """Make room; `kind` is a word of FEED_FORWARDS but not 'none'."""
        arrays, n = arm.arrays, len(arm.joint_names)
        self.effort = np.zeros(n)       # of the motors                                 [N m, N]
        self.lead = np.zeros(n)         # of the motor side before the link side        [rad, m]
        self.is_settled = self.gave_up = False
        self._arrays, self._work = arrays, make_workspace(arrays)
        self._q, self._rest, self._force = np.zeros((3, arm.size))
        self._position, self._needed = self._q[:n], self._force[:n]     # views
        self._key = b''
        self._is_bent = kind == 'sag'
        self._table = None
        if not self._is_bent and n <= MOST_JOINTS:
            self._table = GravityTable(arm)
            self.effort = self._table.effort
        elastic = slice(n + int((arrays.motor >= 0).sum()), arm.size)
        self._e, self._pull = self._q[elastic], self._force[elastic]    # views
        self._compliance = np.linalg.inv(_stiffness(arrays)[elastic, elastic])
        self._turns = 1 / scales(arm)[elastic]      # of a section, by coordinate       [rad]
        self._step, self._turn = np.zeros((2, self._e.size))
        self._gives = np.where(arrays.motor >= 0, 1 / np.where(
            arrays.motor >= 0, arrays.gear_stiffness, 1.0), 0.0) * self._is_bent
        self._share, self._size = 1.0, np.inf

    def update(self, target: np.ndarray) -> None:
        """Renew `effort` and `lead` for joints, link side, at `target` (n,) [rad, m]."""
        key = target.tobytes()
        if key == self._key:
            if self.is_settled:
                return
        else:
            self._key, self.is_settled = key, False
            self._share, self._size = 1.0, np.inf
        if self._table is not None:
            self._table.update(target)
            self.is_settled = True
            return
        self._position[:] = target
        self._set_efforts()
        self.is_settled = not self._is_bent or not self._e.size or self._bend()

    def _set_efforts(self):
        inverse_dynamics(self._arrays, self._q, self._rest, self._rest, self._work, self._force)
        self.effort[:] = self._needed
        np.multiply(self._needed, self._gives, out=self.lead)

    def _bend(self):
        """Correct the elastic coordinates; say whether it made no difference any more."""
        e, step, turn = self._e, self._step, self._turn
        np.dot(self._compliance, self._pull, out=step)
        step += e                                           # K^-1 (K e + g)
        np.multiply(step, self._turns, out=turn)
        size = math.sqrt(turn.dot(turn))
        if size > self._size and self._share > SMALLEST_SHARE:
            self._share /= 2
        self._size = size
        step *= min(self._share, LONGEST_TURN / size) if size else 0.0
        e -= step
        np.multiply(e, self._turns, out=turn)
        if not turn.dot(turn) < MOST_BENT**2:               # nan is not less either
            self.gave_up, self._is_bent = True, False
            e[:] = 0.0
            self._set_efforts()
            return True
        return size <= SETTLED


def _stiffness(arrays):
    """Stiffness (n, n) of the elastic coordinates, zero elsewhere."""
    size = int(arrays.motor.size + (arrays.motor >= 0).sum() + arrays.modes.sum())
    K = np.zeros((size, size))
    for i, n in enumerate(arrays.modes):
        part = slice(arrays.first[i], arrays.first[i] + n)
        K[part, part] = arrays.stiffness[i, :n, :n]
    return K
