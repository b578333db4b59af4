"""
Motion of a rigid arm on a free base, from Pinocchio's tree and the null space of its constraints.

It takes only the mass matrix, the forces and the motion of frames from Pinocchio. Rows of loops,
mimic joints and prescribed joints, and their elimination, are written out here.
"""

import numpy as np
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

BASE_ORDER = {'floating': (3, 4, 5, 0, 1, 2), 'planar': (1, 2, 0)}  # Pinocchio's, among ours


class NullSpaceArm:
    """A rigid arm with a free base, in Pinocchio's coordinates; rates are ours[order]."""

    def __init__(self, pin, arm, gravity, prescribed=None):
        """
        Build the tree.

        :param prescribed: accelerations as functions of time, by joint.
        """
        self.pin, self.arm = pin, arm
        self.model = pin.buildModelFromXML(arm.description.text)
        self.model.gravity.linear = np.array(gravity)
        self.data = self.model.createData()
        self.joints = [self.model.joints[self.model.getJointId(name)] for name in arm.joint_names]
        self.base = self.model.joints[self.model.getJointId('anchor')]
        self.columns = [joint.idx_v for joint in self.joints]
        self.order = np.zeros(arm.nv, int)
        kind = arm.description.free_joint.kind
        rows = self.base.idx_v + np.arange(self.base.nv)
        self.order[rows] = arm.base_q.start + np.array(BASE_ORDER[kind])
        for k, joint in enumerate(self.joints):
            self.order[joint.idx_v] = k
        self.rows_of_joints = []  # rows whose product with the rates is constant
        names = list(arm.joint_names)
        for one in arm.description.joints:
            if one.mimics:
                row = np.zeros(arm.nv)
                row[self.joints[names.index(one.name)].idx_v] = 1.0
                row[self.joints[names.index(one.mimics)].idx_v] = -one.mimic_ratio
                self.rows_of_joints.append((row, one.mimic_offset, lambda _: 0.0))
        for name, acceleration in (prescribed or {}).items():
            row = np.zeros(arm.nv)
            row[self.joints[names.index(name)].idx_v] = 1.0
            self.rows_of_joints.append((row, None, acceleration))
        self.sides = [
            self._sides(loop.constraint)
            for loop in arm.closed_loops.values()
            if loop.constraint.kind != 'mimic'
        ]

    def _sides(self, one):
        """Return the constraint, and the joint and the pose in it of the frame on each side."""
        sides = []
        for link, R, p in (
            (one.parent, one.parent_rotation, one.parent_position),
            (one.child, one.child_rotation, one.child_position),
        ):
            frame = self.model.frames[self.model.getFrameId(link, self.pin.FrameType.BODY)]
            sides.append((frame.parentJoint, frame.placement * self.pin.SE3(R, p)))
        return one, sides

    def configuration(self, base_pose, position):
        """Return Pinocchio's configuration of a pose (7,) of the base and joint positions."""
        q = self.pin.neutral(self.model)
        values = base_pose
        if self.base.nv == 3:
            turn = 2 * np.arctan2(base_pose[5], base_pose[6])
            values = [*base_pose[:2], np.cos(turn), np.sin(turn)]
        q[self.base.idx_q : self.base.idx_q + self.base.nq] = values
        for joint, x in zip(self.joints, position):
            q[joint.idx_q : joint.idx_q + joint.nq] = (
                [x] if joint.nq == 1 else [np.cos(x), np.sin(x)]
            )
        return q

    def split(self, q):
        """Return the pose (7,) of the base and the joint positions of a configuration."""
        pose = q[self.base.idx_q : self.base.idx_q + self.base.nq]
        if self.base.nv == 3:
            turn = np.arctan2(pose[3], pose[2]) / 2
            pose = np.array([*pose[:2], 0, 0, 0, np.sin(turn), np.cos(turn)])
        at = [(j.idx_q, j.nq) for j in self.joints]
        return pose, np.array([q[k] if n == 1 else np.arctan2(q[k + 1], q[k]) for k, n in at])

    def rows(self, q, v, time=0.0):
        """Return gaps of all rows (m,), their Jacobian J (m, n), and dJ/dt v (m,)."""
        pin, model, data = self.pin, self.model, self.data
        pin.computeJointJacobians(model, data, q)
        pin.forwardKinematics(model, data, q, v, np.zeros(model.nv))
        gaps, jacobians, rests = [], [], []
        for one, sides in self.sides:
            frames = [self._motion(*side) for side in sides]
            for gap, J, rest in loop_rows(one, *frames):
                gaps.append(gap)
                jacobians.append(J)
                rests.append(rest)
        for row, offset, acceleration in self.rows_of_joints:
            place = 0.0 if offset is None else row[self.columns] @ self.split(q)[1] - offset
            gaps.append(place)
            jacobians.append(row)
            rests.append(-acceleration(time))
        n = len(gaps)
        return np.array(gaps), np.array(jacobians).reshape(n, model.nv), np.array(rests)

    def _motion(self, joint, placement):
        """Rotation and position of a frame, its Jacobians, velocities and accelerations."""
        pin, model, data = self.pin, self.model, self.data
        axes, T = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED, data.oMi[joint] * placement
        J = pin.getFrameJacobian(model, data, joint, placement, axes)
        V = pin.getFrameVelocity(model, data, joint, placement, axes)
        A = pin.getFrameClassicalAcceleration(model, data, joint, placement, axes)
        return T.rotation, T.translation, J[3:], J[:3], V.angular, V.linear, A.angular, A.linear

    def accelerations(self, q, v, effort, time=0.0):
        """Return the accelerations; effort: generalised forces in Pinocchio's order."""
        pin = self.pin
        M = pin.crba(self.model, self.data, q)
        M = np.triu(M) + np.triu(M, 1).T
        force = effort - pin.nonLinearEffects(self.model, self.data, q, v)
        _, J, rest = self.rows(q, v, time)
        if not len(J):
            return np.linalg.solve(M, force)
        _, sizes, basis = np.linalg.svd(J)
        N = basis[(sizes > 1e-9 * sizes[0]).sum() :].T
        a = -np.linalg.pinv(J, rcond=1e-9) @ rest
        return a + N @ np.linalg.solve(N.T @ M @ N, N.T @ (force - M @ a))

    def _rates(self, q, v):
        """Return the time derivatives of a configuration, with quaternion, cosines and sines."""
        rates = np.zeros(q.size)
        for joint in self.joints:
            k, u = joint.idx_q, v[joint.idx_v]
            rates[k : k + joint.nq] = [u] if joint.nq == 1 else [-q[k + 1] * u, q[k] * u]
        k, u = self.base.idx_q, v[self.base.idx_v : self.base.idx_v + self.base.nv]
        if self.base.nv == 3:
            c, s = q[k + 2 : k + 4]
            rates[k : k + 4] = c * u[0] - s * u[1], s * u[0] + c * u[1], -s * u[2], c * u[2]
        else:
            turn, w = Rotation.from_quat(q[k + 3 : k + 7]), q[k + 3 : k + 7]
            rates[k : k + 3] = turn.apply(u[:3])
            rates[k + 3 : k + 7] = [
                *(w[3] * u[3:] + np.cross(w[:3], u[3:])) / 2,
                -w[:3] @ u[3:] / 2,
            ]
        return rates

    def motion(self, q, v, effort, times, tolerance=1e-11):
        """Integrate by DOP853; return the configurations and rates at times."""
        n = self.model.nq

        def slope(t, y):
            a = self.accelerations(y[:n], y[n:], effort, t)
            return np.concatenate([self._rates(y[:n], y[n:]), a])

        start = np.concatenate([q, v])
        out = solve_ivp(
            slope, (0.0, times[-1]), start, 'DOP853', times, rtol=tolerance, atol=tolerance
        )
        return out.y[:n].T, out.y[n:].T


def loop_rows(one, parent, child):
    """Return the rows of a constraint: gap, Jacobian, and J' v, with axes fixed to the parent."""
    R, p, Jw, Jv, w, v, alpha, a = parent
    S, r, Kw, Kv, u, z, beta, b = child
    d, rate, slip, turn = r - p, z - v, b - a, u - w
    i, j = perpendicular(R @ one.parent_axis)
    point = [(d[k], (Kv - Jv)[k], slip[k]) for k in range(3)]
    turned = (S.T @ R - R.T @ S) / 2  # to first order
    turns = R @ [turned[1, 2], turned[2, 0], turned[0, 1]]
    rotation = [(turns[k], (Kw - Jw)[k], (beta - alpha)[k]) for k in range(3)]
    if one.kind == 'spherical':
        return point
    if one.kind == 'fixed':
        return point + rotation
    if one.kind == 'distance':
        size = np.linalg.norm(d)
        n = d / size
        rest = n @ slip + (rate @ rate - (n @ rate) ** 2) / size
        return [(size - one.length, n @ (Kv - Jv), rest)]
    if one.kind == 'revolute':
        axis = S @ one.child_axis
        return point + [
            (
                t @ np.cross(R @ one.parent_axis, axis),
                t @ (Kw - Jw),
                t @ (beta - alpha) + np.cross(w, t) @ turn,
            )
            for t in (i, j)
        ]
    if one.kind == 'universal':
        x, y = R @ one.parent_axis, S @ one.child_axis
        n = np.cross(x, y)
        changed = np.cross(np.cross(w, x), y) + np.cross(x, np.cross(u, y))
        return [*point, (x @ y, n @ (Jw - Kw), n @ (alpha - beta) - changed @ turn)]
    assert one.kind == 'prismatic'
    return rotation + [
        (
            t @ d,
            t @ (Kv - Jv) + np.cross(t, d) @ Jw,
            t @ slip
            + 2 * np.cross(w, t) @ rate
            + (np.cross(alpha, t) + np.cross(w, np.cross(w, t))) @ d,
        )
        for t in (i, j)
    ]


def perpendicular(axis):
    """Return two unit vectors across an axis."""
    i = np.cross(axis, np.eye(3)[np.argmin(abs(axis))])
    i /= np.linalg.norm(i)
    return i, np.cross(axis, i)
