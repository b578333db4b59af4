"""
Paper `screw_kinematics`: poses and velocities of rigid arms from the screws of their joints.

What a joint does is a screw motion, so an arm is a product of exponentials. A screw does not care
for the frame in which it is written, hence three ways to the same poses, with less data each:

    joint frames    C_i = C_k S_k exp(Z q) S_i^-1       frames on both sides of each joint     (3)
    body frames     C_i = C_k B exp(X q)                reference pose B and screw X in body i (8)
    base frame      C_i = exp(Y_1 q_1) ... exp(Y_i q_i) A_i     all data in one frame         (10)

where k carries i, X = Ad Z and Y = Ad X. The velocity of a body is the sum of the screws of the
joints before it. It has four forms, which differ in the point whose velocity is meant and in the
axes that show it; each has a recursion from body to body, and so have the Jacobians. Written for
all bodies at once the recursion is (1 - D) V = X dq/dt, so that the Jacobian of the system has two
factors, and its inverse costs nothing. All this holds for trees as for chains.

Equation numbers: Mueller (2018), see frames.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.formulations.frames import (
    adjoint,
    exponential,
    frame,
    inverse,
    shift,
    turn,
)
from flex_robot_sim.util.exceptions import SettingError

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmModel

FORMS = ('body', 'spatial', 'hybrid', 'mixed')


class Body(NamedTuple):
    """A body and the joint that moves it."""

    name: str               # of the link
    parent: int             # row of the body that carries it, -1: the base
    joint: int              # coordinate of its joint, -1: it is fixed
    before: np.ndarray      # (4, 4)  S_k, joint frame in the body before it
    after: np.ndarray       # (4, 4)  S_i, joint frame in the body
    Z: np.ndarray           # (6,)    screw in the joint frame (1)
    B: np.ndarray           # (4, 4)  reference pose in the body before it (4)
    X: np.ndarray           # (6,)    screw in the body (5)
    A: np.ndarray           # (4, 4)  reference pose in the base (11)
    Y: np.ndarray           # (6,)    screw in the base, in the reference pose (12)


def bodies(arm: ArmModel, body_frames: Mapping[str, np.ndarray] | None = None) -> list[Body]:
    """
    Bodies of a rigid ArmModel, one per link that a joint carries, base to tip.

    :param body_frames: {link: frame (4, 4) of the body in the link}; where nothing is said, the
        body has the frame of its link. The joint frames stay where they are.
    """
    if arm.beams:
        raise SettingError('screw kinematics is for rigid arms, and link '
                           f'"{next(iter(arm.segments))}" bends. Leave its <flexibility> out')
    rows: list[Body] = []
    index: dict[str, int] = {}
    body_frames = body_frames or {}
    for joint in arm.description.joints:
        parent = index.get(joint.parent, -1)
        axis, nothing = joint.axis, np.zeros(3)
        Z = np.concatenate([nothing, axis] if joint.kind == 'prismatic'
                           else [axis, nothing])                                    # (2)
        held = np.eye(4) if joint.held_at is None else exponential(Z, joint.held_at)
        before = _of(body_frames, joint.parent) @ frame(joint.rotation, joint.position) @ held
        after = _of(body_frames, joint.child)
        if not joint.moves:
            Z = np.zeros(6)
        B = before @ inverse(after)                                                 # (4)
        X = adjoint(after) @ Z                                                      # (5)
        A = B if parent < 0 else rows[parent].A @ B                                 # (11)
        number = arm.joint_names.index(joint.name) if joint.moves else -1
        index[joint.child] = len(rows)
        rows.append(Body(joint.child, parent, number, before, after, Z, B, X, A,
                         adjoint(A) @ X))                                           # (12)
    return rows


def _of(frames, link):
    """Frame of the link in its body."""
    return inverse(frames[link]) if link in frames else np.eye(4)


def poses_by_joint_frames(rows: Sequence[Body], q: ArrayLike) -> np.ndarray:
    """Poses (i, 4, 4) of all bodies in the base, by (3)."""
    return _composed(rows, lambda body, value: (
        body.before @ exponential(body.Z, value) @ inverse(body.after)), q)


def poses_by_body_frames(rows: Sequence[Body], q: ArrayLike) -> np.ndarray:
    """Poses (i, 4, 4) of all bodies in the base, by (8)."""
    return _composed(rows, lambda body, value: body.B @ exponential(body.X, value), q)


def poses_by_base_frame(rows: Sequence[Body], q: ArrayLike) -> np.ndarray:
    """Poses (i, 4, 4) of all bodies in the base, by (10)."""
    products = _composed(rows, lambda body, value: exponential(body.Y, value), q)
    return np.array([product @ body.A for product, body in zip(products, rows)])


def _composed(rows, relative, q):
    poses = []
    for body in rows:
        C = relative(body, q[body.joint] if body.joint >= 0 else 0.0)
        poses.append(C if body.parent < 0 else poses[body.parent] @ C)
    return np.array(poses)


def joint_screws(rows: Sequence[Body], poses: np.ndarray, form: str) -> np.ndarray:
    """
    Screw (i, 6) that each joint adds to the twist of its body, in the present pose.

    :param form: 'body': X (5); 'spatial': Ad_C X (29); 'hybrid': Ad_R X (54); 'mixed': its angular
        part from the first and its linear part from the last of these (66).
    """
    _check(form)
    if form == 'body':
        return np.array([body.X for body in rows])
    if form == 'spatial':
        return np.array([adjoint(C) @ body.X for body, C in zip(rows, poses)])
    turned = np.array([turn(C[:3, :3]) @ body.X for body, C in zip(rows, poses)])
    if form == 'mixed':
        turned[:, :3] = [body.X[:3] for body in rows]
    return turned


def transfer(pose: np.ndarray, before: np.ndarray, form: str) -> np.ndarray:
    """
    Matrix (6, 6) that takes the twist of a body to the next one, where nothing moves between.

    :param pose: of the next body; before: of the one that carries it.
    """
    _check(form)
    if form == 'spatial':
        return np.eye(6)                                                            # (31)
    if form == 'body':
        return adjoint(inverse(pose) @ before)                                      # (15)
    step = shift(before[:3, 3] - pose[:3, 3])
    if form == 'hybrid':
        return step                                                                 # (58)
    # mixed: the angular part in the axes of each body, the linear one in those of the base  (68)
    out = np.eye(6)
    out[:3, :3] = pose[:3, :3].T @ before[:3, :3]
    out[3:, :3] = step[3:, :3] @ before[:3, :3]
    return out


def twists(rows: Sequence[Body], q: np.ndarray, qd: np.ndarray, form: str) -> np.ndarray:
    """Twists (i, 6) of all bodies [rad/s, m/s], by the recursions (15), (31), (58), (68)."""
    poses = poses_by_body_frames(rows, q)
    screws, out = joint_screws(rows, poses, form), np.zeros((len(rows), 6))
    for i, body in enumerate(rows):
        if body.parent >= 0:
            out[i] = transfer(poses[i], poses[body.parent], form) @ out[body.parent]
        if body.joint >= 0:
            out[i] += screws[i] * qd[body.joint]
    return out


def jacobians(rows: Sequence[Body], q: np.ndarray, form: str) -> np.ndarray:
    """Jacobians (i, 6, n) of all bodies, by the recursions (20), (29), (57), (67)."""
    poses = poses_by_body_frames(rows, q)
    screws, out = joint_screws(rows, poses, form), np.zeros((len(rows), 6, len(q)))
    for i, body in enumerate(rows):
        if body.parent >= 0:
            out[i] = transfer(poses[i], poses[body.parent], form) @ out[body.parent]
        if body.joint >= 0:
            out[i][:, body.joint] = screws[i]
    return out


class SystemJacobian(NamedTuple):
    """Two factors of the Jacobian of all bodies, V = A X dq/dt with V (6 i,) (24), (33)."""

    inverse_A: np.ndarray       # (6 i, 6 i)  1 - D, what a body has beyond the one before it
    X: np.ndarray               # (6 i, n)    screws of the joints, one block each

    @property
    def A(self) -> np.ndarray:
        """Factor A (6 i, 6 i) as the series 1 + D + D^2 ..., which ends (26)."""
        D = np.eye(len(self.inverse_A)) - self.inverse_A
        total = power = np.eye(len(D))
        while power.any():
            power = power @ D
            total = total + power
        return total

    @property
    def J(self) -> np.ndarray:
        """Jacobian (6 i, n) of the system (24)."""
        return self.A @ self.X

    def rates(self, V: np.ndarray) -> np.ndarray:
        """
        Rates (n,) of the joints that fit the twists V (6 i,) of all bodies best (27).

        Each joint by itself: what its body moves against the one before it, projected on its
        screw. Exact if the twists are possible.
        """
        return self.X.T @ (self.inverse_A @ V) / np.einsum('ik,ik->k', self.X, self.X)


def system_jacobian(rows: Sequence[Body], q: np.ndarray, form: str) -> SystemJacobian:
    """SystemJacobian of the bodies in a form, with (23), (25), (33) and their likes."""
    poses = poses_by_body_frames(rows, q)
    screws = joint_screws(rows, poses, form)
    inverse_A, X = np.eye(6 * len(rows)), np.zeros((6 * len(rows), len(q)))
    for i, body in enumerate(rows):
        part = slice(6 * i, 6 * i + 6)
        if body.parent >= 0:
            inverse_A[part, 6 * body.parent:6 * body.parent + 6] = -transfer(
                poses[i], poses[body.parent], form)
        if body.joint >= 0:
            X[part, body.joint] = screws[i]
    return SystemJacobian(inverse_A, X)


def meeting_point(screws: Sequence[np.ndarray]) -> tuple[np.ndarray, float]:
    """
    Point (3,) closest to the axes of turning screws (k, 6) in one frame, and its distance [m].

    Zero distance: the axes meet there, as those of a remote centre of motion do (section 2.5).
    """
    axes = np.array([screw[:3] / np.linalg.norm(screw[:3]) for screw in screws])
    feet = np.array([np.cross(screw[:3], screw[3:]) / (screw[:3] @ screw[:3])
                     for screw in screws])
    across = np.eye(3) - axes[:, :, None] * axes[:, None, :]
    point = np.linalg.lstsq(across.sum(axis=0), np.einsum('kij,kj->i', across, feet),
                            rcond=None)[0]
    aside = np.einsum('kij,kj->ki', across, point - feet)
    return point, float(np.linalg.norm(aside, axis=1).max())


def _check(form):
    if form not in FORMS:
        raise SettingError(f'form = {form!r} must be one of {", ".join(FORMS)}')
