"""
Gravity feed-forward: efforts that hold an arm in a pose, updated at every control step.

Elastic links come to rest where K e + g(q, e) = 0, with the forces g that carry the weight at the
joint positions q. Every call makes one correction e -= w K^-1 (K e + g), starting from the last
e. While the target moves, e follows it closely; at a fixed target it converges within a few
calls. The stiffness of a sliding link is that of its present free length; its strain pushes it
along its guide. The share w is 1, and is halved if a correction is larger than the one before. If
e diverges (the arm buckles, or the weight is large against its stiffness), the arm counts as
straight from then on.
"""

import math

import numpy as np

from flex_robot_sim.analysis.differences import scales
from flex_robot_sim.control.free_base import actuated_arm
from flex_robot_sim.control.gravity_table import MAX_JOINTS, GravityTable
from flex_robot_sim.control.joint_springs import spring_efforts
from flex_robot_sim.control.loop_feed_forward import LoopFeedForward
from flex_robot_sim.control.motor_offset import MotorOffset
from flex_robot_sim.dynamics.forward_dynamics import inverse_dynamics
from flex_robot_sim.dynamics.sliding_strain import set_sliding_springs
from flex_robot_sim.dynamics.stability import spring_matrices
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.body_kinds import SLIDING
from flex_robot_sim.model.workspace import make_workspace

SETTLED_TURN = 1e-10  # section rotation of a correction at which e has converged   [rad]
MAX_TURN_STEP = 0.1  # section rotation of a correction, at most                   [rad]
MIN_STEP_SHARE = 1 / 64
MAX_TURN = 1.0  # section rotation above which the iteration has diverged     [rad]


class FeedForward:
    """Efforts that hold an arm, as a rigid ('gravity') or an elastic arm ('sag')."""

    def __init__(self, arm: ArmModel, kind: str) -> None:
        """Allocate; `kind` is one of FEED_FORWARDS except 'none'."""
        arrays, n = arm.arrays, len(arm.joint_names)
        self.effort = np.zeros(n)  # of the motors                                 [N m, N]
        self.motor_offset = np.zeros(n)  # offset from link side to motor side           [rad, m]
        self.is_settled = self.has_diverged = False
        self._arrays, self._work = arrays, make_workspace(arrays)
        self._sprung_arm = arm if arrays.spring.any() else None
        self._q, self._zero, self._force = np.zeros((3, arm.size))
        self._position, self._joint_force = self._q[:n], self._force[:n]  # views
        self._key = b''
        self._is_elastic = kind == 'sag'
        self._table = None
        if not self._is_elastic and n <= MAX_JOINTS:
            self._table = GravityTable(arm)
            self.effort = self._table.effort
        elastic = arm.elastic_q
        self._e, self._elastic_force = self._q[elastic], self._force[elastic]  # views
        self._compliance = np.linalg.inv(spring_matrices(arrays)[0][elastic, elastic])
        self._turn_per_coordinate = 1 / scales(arm)[elastic]  # of a section [rad]
        self._step, self._turn = np.zeros((2, self._e.size))
        self._slides = bool((arrays.kind == SLIDING).any())
        self._ratio, self._push = np.ones(arm.size), np.zeros(arm.size)
        self._elastic_ratio = self._ratio[elastic]  # a view
        if self._slides:  # the springs are those at zero: take those at the full lengths
            set_sliding_springs(arrays, self._zero, self._ratio, self._push)
            self._compliance *= self._elastic_ratio
        self._motor_offset = MotorOffset(arrays, self._is_elastic)
        self._share, self._size = 1.0, np.inf

    def update(self, target: np.ndarray) -> None:
        """Update `effort` and `motor_offset` for joints, link side, at `target` (n,) [rad, m]."""
        key = target.tobytes()
        if key == self._key:
            if self.is_settled:
                return
        else:
            self._key, self.is_settled = key, False
            self._share, self._size = 1.0, np.inf
        if self._table is not None:
            self._table.update(target)
            self._add_springs(target)
            self.is_settled = True
            return
        self._position[:] = target
        self._set_efforts()
        self.is_settled = not self._is_elastic or not self._e.size or self._correct_elastic_part()

    def _set_efforts(self):
        inverse_dynamics(self._arrays, self._q, self._zero, self._zero, self._work, self._force)
        if self._slides:
            set_sliding_springs(self._arrays, self._q, self._ratio, self._push)
            self._force -= self._push
            self._elastic_force /= self._elastic_ratio
        self.effort[:] = self._joint_force
        self._add_springs(self._position)
        self._motor_offset.update(self.effort, self._position, self.motor_offset)

    def _add_springs(self, position):
        if self._sprung_arm is not None:
            self.effort += spring_efforts(self._sprung_arm, position)

    def _correct_elastic_part(self):
        """Correct the elastic coordinates; return whether they have converged."""
        e, step, turn = self._e, self._step, self._turn
        np.dot(self._compliance, self._elastic_force, out=step)
        step += e  # K^-1 (K e + g)
        np.multiply(step, self._turn_per_coordinate, out=turn)
        size = math.sqrt(turn.dot(turn))
        if size > self._size and self._share > MIN_STEP_SHARE:
            self._share /= 2
        self._size = size
        step *= min(self._share, MAX_TURN_STEP / size) if size else 0.0
        e -= step
        np.multiply(e, self._turn_per_coordinate, out=turn)
        if not turn.dot(turn) < MAX_TURN**2:  # false for nan, too
            self.has_diverged, self._is_elastic = True, False
            e[:] = 0.0
            self._set_efforts()
            return True
        return size <= SETTLED_TURN


def make_feed_forward(arm: ArmModel, kind: str) -> FeedForward | LoopFeedForward:
    """Return the feed-forward of an arm with or without passive joints; kind: see FeedForward."""
    arm = actuated_arm(arm)
    if arm.closed_loops or not arm.actuated.all():
        return LoopFeedForward(arm, kind)
    return FeedForward(arm, kind)
