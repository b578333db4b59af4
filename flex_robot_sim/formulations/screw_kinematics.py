"""
Paper `screw_kinematics`: poses and velocities of rigid arms from the screws of their joints.

A joint motion is a screw motion, so the pose of an arm is a product of exponentials. A screw can
be written in any frame, so there are three ways to the same poses, each with less data:

    joint frames    C_i = C_k S_k exp(Z q) S_i^-1       frames on both sides of each joint     (3)
    body frames     C_i = C_k B exp(X q)                reference pose B and screw X in body i (8)
    base frame      C_i = exp(Y_1 q_1) ... exp(Y_i q_i) A_i     all data in one frame         (10)

where k is the parent of i, X = Ad Z and Y = Ad X. The twist of a body is the sum of the screws of
the joints between base and body, times their rates. It has four forms, which differ in the point
of reference and in the axes. Each form has a recursion from body to body; so have the Jacobians.
For all bodies at once the recursion is (1 - D) V = X dq/dt. So the Jacobian of the system has two
factors, and the inverse of the first is known. All this holds for trees and chains.

Equation numbers: Mueller (2018), see frames.py.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.formulations.rigid_motions import (
    adjoint,
    exponential,
    frame,
    inverse,
    rotation_adjoint,
    translation_adjoint,
)
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.exceptions import SettingError

FORMS = ('body', 'spatial', 'hybrid', 'mixed')


class Body(NamedTuple):
    """A body and the joint that moves it."""

    name: str  # of the link
    parent: int  # row of the parent body, -1: the base
    joint: int  # coordinate of its joint, -1: fixed
    joint_in_parent: np.ndarray  # (4, 4)  S_k, joint frame in the parent body
    joint_in_body: np.ndarray  # (4, 4)  S_i, joint frame in the body
    Z: np.ndarray  # (6,)    screw in the joint frame (1)
    B: np.ndarray  # (4, 4)  reference pose in the parent body (4)
    X: np.ndarray  # (6,)    screw in the body (5)
    A: np.ndarray  # (4, 4)  reference pose in the base (11)
    Y: np.ndarray  # (6,)    screw in the base, in the reference pose (12)


def bodies(
    arm: ArmModel,
    body_frames: Mapping[str, np.ndarray] | None = None,
    ignores_bending: bool = False,
) -> list[Body]:
    """
    Bodies of a rigid ArmModel, one per link with a parent joint, base to tip.

    :param body_frames: {link: frame (4, 4) of the body in the link}; the default is the frame of
        the link. The joint frames do not depend on it.
    :param ignores_bending: whether flexible links count as straight, instead of an error.
    """
    if arm.beams and not ignores_bending:
        raise SettingError(
            'screw kinematics is for rigid arms, and link '
            f'"{next(iter(arm.segments))}" bends. Leave its <flexibility> out'
        )
    rows: list[Body] = []
    index: dict[str, int] = {}
    body_frames = body_frames or {}
    for joint in arm.description.joints:
        parent = index.get(joint.parent, -1)
        Z = joint.screw  # (2)
        locked_pose = np.eye(4) if joint.held_at is None else exponential(Z, joint.held_at)
        joint_in_parent = (
            _link_in_body(body_frames, joint.parent)
            @ frame(joint.rotation, joint.position)
            @ locked_pose
        )
        joint_in_body = _link_in_body(body_frames, joint.child)
        if not joint.moves:
            Z = np.zeros(6)
        B = joint_in_parent @ inverse(joint_in_body)  # (4)
        X = adjoint(joint_in_body) @ Z  # (5)
        A = B if parent < 0 else rows[parent].A @ B  # (11)
        coordinate = arm.joint_names.index(joint.name) if joint.moves else -1
        index[joint.child] = len(rows)
        rows.append(
            Body(
                joint.child,
                parent,
                coordinate,
                joint_in_parent,
                joint_in_body,
                Z,
                B,
                X,
                A,
                adjoint(A) @ X,
            )
        )  # (12)
    return rows


def _link_in_body(frames, link):
    """Frame of the link in its body."""
    return inverse(frames[link]) if link in frames else np.eye(4)


def poses_by_joint_frames(rows: Sequence[Body], q: ArrayLike) -> np.ndarray:
    """Poses (i, 4, 4) of all bodies in the base, by (3)."""
    return _compose_poses(
        rows,
        lambda body, value: (
            body.joint_in_parent @ exponential(body.Z, value) @ inverse(body.joint_in_body)
        ),
        q,
    )


def poses_by_body_frames(rows: Sequence[Body], q: ArrayLike) -> np.ndarray:
    """Poses (i, 4, 4) of all bodies in the base, by (8)."""
    return _compose_poses(rows, lambda body, value: body.B @ exponential(body.X, value), q)


def poses_by_base_frame(rows: Sequence[Body], q: ArrayLike) -> np.ndarray:
    """Poses (i, 4, 4) of all bodies in the base, by (10)."""
    products = _compose_poses(rows, lambda body, value: exponential(body.Y, value), q)
    return np.array([product @ body.A for product, body in zip(products, rows)])


def _compose_poses(rows, relative_pose, q):
    poses: list[np.ndarray] = []
    for body in rows:
        C = relative_pose(body, q[body.joint] if body.joint >= 0 else 0.0)
        poses.append(C if body.parent < 0 else poses[body.parent] @ C)
    return np.array(poses)


def joint_screws(rows: Sequence[Body], poses: np.ndarray, form: str) -> np.ndarray:
    """
    Screw (i, 6) that each joint adds to the twist of its body, in the current pose.

    :param form: 'body': X (5); 'spatial': Ad_C X (29); 'hybrid': Ad_R X (54); 'mixed': its angular
        part from the first and its linear part from the last of these (66).
    """
    _check_form(form)
    if form == 'body':
        return np.array([body.X for body in rows])
    if form == 'spatial':
        return np.array([adjoint(C) @ body.X for body, C in zip(rows, poses)])
    screws = np.array([rotation_adjoint(C[:3, :3]) @ body.X for body, C in zip(rows, poses)])
    if form == 'mixed':
        screws[:, :3] = [body.X[:3] for body in rows]
    return screws


def transfer_matrix(pose: np.ndarray, parent_pose: np.ndarray, form: str) -> np.ndarray:
    """
    Matrix (6, 6) that maps the twist of a parent body to its child if their joint does not move.

    :param pose: of the child, (4, 4).
    :param parent_pose: of the parent, (4, 4).
    """
    _check_form(form)
    if form == 'spatial':
        return np.eye(6)  # (31)
    if form == 'body':
        return adjoint(inverse(pose) @ parent_pose)  # (15)
    translation = translation_adjoint(parent_pose[:3, 3] - pose[:3, 3])
    if form == 'hybrid':
        return translation  # (58)
    # mixed: the angular part in the axes of each body, the linear one in those of the base  (68)
    out = np.eye(6)
    out[:3, :3] = pose[:3, :3].T @ parent_pose[:3, :3]
    out[3:, :3] = translation[3:, :3] @ parent_pose[:3, :3]
    return out


def twists(rows: Sequence[Body], q: np.ndarray, qd: np.ndarray, form: str) -> np.ndarray:
    """Twists (i, 6) of all bodies [rad/s, m/s], by the recursions (15), (31), (58), (68)."""
    poses = poses_by_body_frames(rows, q)
    screws, out = joint_screws(rows, poses, form), np.zeros((len(rows), 6))
    for i, body in enumerate(rows):
        if body.parent >= 0:
            out[i] = transfer_matrix(poses[i], poses[body.parent], form) @ out[body.parent]
        if body.joint >= 0:
            out[i] += screws[i] * qd[body.joint]
    return out


def jacobians(rows: Sequence[Body], q: np.ndarray, form: str) -> np.ndarray:
    """Jacobians (i, 6, n) of all bodies, by the recursions (20), (29), (57), (67)."""
    poses = poses_by_body_frames(rows, q)
    screws, out = joint_screws(rows, poses, form), np.zeros((len(rows), 6, len(q)))
    for i, body in enumerate(rows):
        if body.parent >= 0:
            out[i] = transfer_matrix(poses[i], poses[body.parent], form) @ out[body.parent]
        if body.joint >= 0:
            out[i][:, body.joint] = screws[i]
    return out


class SystemJacobian(NamedTuple):
    """Two factors of the Jacobian of all bodies, V = A X dq/dt with V (6 i,) (24), (33)."""

    inverse_A: np.ndarray  # (6 i, 6 i)  1 - D, twist of a body relative to its parent
    X: np.ndarray  # (6 i, n)    screws of the joints, one block each

    @property
    def A(self) -> np.ndarray:
        """Factor A (6 i, 6 i) as the finite series 1 + D + D^2 ... (26)."""
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
        Joint rates (n,) with the best fit to the twists V (6 i,) of all bodies (27).

        Each rate is the twist of the body relative to its parent, projected on the joint screw. It
        is exact if the twists satisfy the joints.
        """
        return self.X.T @ (self.inverse_A @ V) / np.einsum('ik,ik->k', self.X, self.X)


def system_jacobian(rows: Sequence[Body], q: np.ndarray, form: str) -> SystemJacobian:
    """SystemJacobian of the bodies in a form, by (23), (25), (33) and their analogues."""
    poses = poses_by_body_frames(rows, q)
    screws = joint_screws(rows, poses, form)
    inverse_A, X = np.eye(6 * len(rows)), np.zeros((6 * len(rows), len(q)))
    for i, body in enumerate(rows):
        part = slice(6 * i, 6 * i + 6)
        if body.parent >= 0:
            inverse_A[part, 6 * body.parent : 6 * body.parent + 6] = -transfer_matrix(
                poses[i], poses[body.parent], form
            )
        if body.joint >= 0:
            X[part, body.joint] = screws[i]
    return SystemJacobian(inverse_A, X)


def meeting_point(screws: Sequence[np.ndarray]) -> tuple[np.ndarray, float]:
    """
    Point (3,) closest to the axes of revolute screws (k, 6) in one frame, and its distance [m].

    At zero distance the axes intersect there, as at a remote centre of motion (section 2.5).
    """
    axes = np.array([screw[:3] / np.linalg.norm(screw[:3]) for screw in screws])
    feet = np.array([np.cross(screw[:3], screw[3:]) / (screw[:3] @ screw[:3]) for screw in screws])
    normal_projectors = np.eye(3) - axes[:, :, None] * axes[:, None, :]
    point = np.linalg.lstsq(
        normal_projectors.sum(axis=0), np.einsum('kij,kj->i', normal_projectors, feet), rcond=None
    )[0]
    offsets = np.einsum('kij,kj->ki', normal_projectors, point - feet)
    return point, float(np.linalg.norm(offsets, axis=1).max())


def _check_form(form):
    if form not in FORMS:
        raise SettingError(f'form = {form!r} must be one of {", ".join(FORMS)}')
