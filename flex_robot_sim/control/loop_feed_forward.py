"""
Gravity feed-forward of arms with passive joints: motors and constraint forces carry the weight.

While the drives are at their targets, the other coordinates x (passive joints, and elastic ones
for the sag) and the forces lambda of the constraint rows obey

    K x + g(q) - W^T lambda = 0,    gap(q) = 0

with the stiffness K of springs and the forces g that carry the weight. (The strain of a sliding
link also pushes it along its guide, and K is that of its present free length.) Every call makes
one Newton correction without the slopes of g and W^T, and more until the loops are closed. In a
tree, gravity alone places the parts that hang on passive joints. The slopes of g with these joints
then enter two corrections, and the first target starts from the stable equilibrium.
"""

import numpy as np

from flex_robot_sim.analysis.constraint_terms import gaps_and_jacobian
from flex_robot_sim.analysis.differences import scales
from flex_robot_sim.analysis.loop_poses import hanging_pose
from flex_robot_sim.control.joint_springs import spring_efforts
from flex_robot_sim.control.motor_offset import MotorOffset
from flex_robot_sim.dynamics.constraints.closing import MIN_SINGULAR_VALUE
from flex_robot_sim.dynamics.forward_dynamics import inverse_dynamics
from flex_robot_sim.dynamics.sliding_strain import set_sliding_springs
from flex_robot_sim.dynamics.stability import spring_matrices
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.body_kinds import SLIDING
from flex_robot_sim.model.workspace import make_workspace

MAX_CORRECTIONS = 20  # of a call
CLOSED_GAP = 1e-6  # after which a call makes no further correction                   [m, -]
SETTLED_STEP = 1e-10  # of a correction after which nothing changes                 [rad, m]
MAX_STEP = 0.3  # of a correction                                                   [rad, m]
MAX_AWAY = 0.2  # of passive joints from their targets: above it they are elsewhere [rad, m]
SLOPE_STEP = 1e-4  # of a passive joint, for the slopes of gravity                   [rad, m]
MIN_HANGING_STIFFNESS = 1e-6  # over the largest; below it nothing holds a spin
MAX_TURN = 1.0  # section rotation above which the iteration has diverged              [rad]


class LoopFeedForward:
    """
    Efforts that hold an arm with passive joints, as a rigid ('gravity') or elastic arm ('sag').

    Its interface is that of FeedForward.
    """

    def __init__(self, arm: ArmModel, kind: str) -> None:
        """Allocate; `kind` is one of FEED_FORWARDS except 'none'."""
        joints = len(arm.joint_names)
        self.effort = np.zeros(joints)  # of the motors                            [N m, N]
        self.motor_offset = np.zeros(joints)  # offset from link side to motor side        [rad, m]
        self.is_settled = self.has_diverged = False
        self._arm, self._work = arm, make_workspace(arm.arrays)
        self._actuated, self._scale = arm.actuated, scales(arm)
        self._q, self._zero, self._force = np.zeros((3, arm.size))
        self._hangs, self._no_rows = not arm.closed_loops, (np.zeros(0), np.zeros((0, arm.size)))
        self._stiffness = spring_matrices(arm.arrays)[0]
        self._slides = bool((arm.arrays.kind == SLIDING).any())
        self._ratio, self._push = np.ones(arm.size), np.zeros(arm.size)
        if self._slides:  # the springs are those at zero: take those at the full lengths
            set_sliding_springs(arm.arrays, self._zero, self._ratio, self._push)
            self._stiffness /= self._ratio
        self._motor_offset = MotorOffset(arm.arrays, kind == 'sag')
        self._follow(np.arange(arm.size)[arm.elastic_q] if kind == 'sag' else np.zeros(0, int))
        self._target: np.ndarray | None = None

    def update(self, target: np.ndarray) -> None:
        """
        Update `effort` and `motor_offset` for motors at `target` (joints,), link side [rad, m].

        Passive joints continue from their last positions, or from new targets far from these.
        A target at which a loop does not close leaves the last efforts.
        """
        last, q = self._target, self._q.copy()
        if last is not None and (target == last).all():
            if self.is_settled:
                return
        else:
            joints = q[self._arm.joint_q].copy()
            passive = ~self._actuated
            moved = self._actuated
            if last is None or (
                (target != last)[passive].any()
                and np.abs(target - joints)[passive].max() > MAX_AWAY
            ):
                moved = np.ones(joints.size, bool)
            self._target, joints[moved] = target.copy(), target[moved]
            if moved.all():
                joints = hanging_pose(self._arm, joints)
            self._arm.set_joints(q, joints)
        self.is_settled = False
        for count in range(MAX_CORRECTIONS):
            if self._slides:
                set_sliding_springs(self._arm.arrays, q, self._ratio, self._push)
                self._block = self._full_block * self._ratio[self._free]
            if self._hangs and not count:
                self._set_gravity_slopes(q)
            change, force, gap = self._correction(q)
            size = np.abs(change).max(initial=0.0)
            q[self._free] += change * min(1.0, MAX_STEP / size if size else 1.0)
            if gap < CLOSED_GAP and count >= self._hangs:  # the efforts are those before a change
                break
        else:
            self.is_settled = True
            return
        turns = q[self._elastic] / self._scale[self._elastic]
        if not np.linalg.norm(turns) < MAX_TURN:
            self.has_diverged = True
            q[self._elastic] = 0.0
            self._motor_offset.disable()
            self._follow(np.zeros(0, int))
        self.is_settled = bool(size <= SETTLED_STEP)
        self._q = q
        joints = self._arm.joint_q
        held = force[joints] + spring_efforts(self._arm, q[joints])
        self.effort[:] = np.where(self._actuated, held, 0.0)
        self._motor_offset.update(self.effort, q[joints], self.motor_offset)

    def _follow(self, elastic):
        """Take passive joints and these elastic coordinates as unknowns."""
        arm = self._arm
        passive = self._passive = np.flatnonzero(~self._actuated)
        self._elastic = elastic
        self._free = np.concatenate([passive, elastic])
        scale = self._scale[self._free]
        self._block = self._stiffness[np.ix_(self._free, self._free)] * np.outer(scale, scale)
        self._block[: passive.size] = self._block[:, : passive.size] = 0.0
        springs = arm.arrays.spring[passive] * scale[: passive.size]
        self._block[range(passive.size), range(passive.size)] = springs * scale[: passive.size]
        self._spring_offset = np.zeros(self._free.size)
        self._spring_offset[: passive.size] = springs * arm.arrays.spring_rest[passive]
        self._full_block: np.ndarray = self._block  # with sliding links at their full lengths
        self._unit = np.abs(self._block).max(initial=0.0) or 1.0
        rows = arm.arrays.constraint_kind.size
        self._matrix = np.zeros((self._free.size + rows,) * 2)
        self._matrix[: self._free.size, : self._free.size] = self._block / self._unit

    def _correction(self, q):
        """Change of the free coordinates, forces (n,) left to the motors, and largest gap."""
        arm, free, m = self._arm, self._free, self._free.size
        inverse_dynamics(arm.arrays, q, self._zero, self._zero, self._work, self._force)
        self._force -= self._push
        gap, W = self._no_rows if self._hangs else gaps_and_jacobian(arm, q)
        least = MIN_HANGING_STIFFNESS if self._hangs else MIN_SINGULAR_VALUE
        scale = self._scale[free]
        self._matrix[:m, m:], self._matrix[m:, :m] = -(W[:, free] * scale).T, W[:, free] * scale
        residual = (
            scale * self._force[free] + self._block @ (q[free] / scale) - self._spring_offset
        )
        right = -np.concatenate([residual / self._unit, gap])
        solution = np.linalg.lstsq(self._matrix, right, rcond=least)[0]
        force = self._force - W.T @ (self._unit * solution[m:])
        return scale * solution[:m], force, np.abs(gap).max(initial=0.0)

    def _set_gravity_slopes(self, q):
        """Add the slopes of gravity with the passive joints to the stiffness, symmetrically."""
        free, scale = self._free, self._scale[self._free]
        slopes, force = np.zeros((free.size,) * 2), np.zeros((2, q.size))
        for k, row in enumerate(self._passive):
            for sign, side in zip((1.0, -1.0), force):
                moved = q.copy()
                moved[row] += sign * SLOPE_STEP
                arrays, zero = self._arm.arrays, self._zero
                inverse_dynamics(arrays, moved, zero, zero, self._work, side)
            column = scale * (force[0] - force[1])[free] * scale[k] / (2.0 * SLOPE_STEP)
            slopes[k:, k] = slopes[k, k:] = column[k:]
        self._matrix[: free.size, : free.size] = (self._block + slopes) / self._unit


def hanging_efforts(arm: ArmModel, position: np.ndarray) -> np.ndarray:
    """Motor efforts (joints,) [N m, N] of a straight tree, whose passive joints hang at rest."""
    feed = LoopFeedForward(arm, 'gravity')
    for _ in range(MAX_CORRECTIONS):
        feed.update(position)
        if feed.is_settled:
            break
    return feed.effort
