"""
The stiffened arm: n flexible links and n flexible joints in 4 x 4 matrices.

The paper of 2013 follows Book's recursive Lagrangian dynamics. A point of link i is W_i h_i, where
h_i is its position in the link and W_i = W_(i-1) E_(i-1) A_i is a product of homogeneous matrices.
A is the motion of the joint; E maps the base frame of a link to its distal frame. The
kinetic energy is a trace of squares, (16), so Lagrange's equations need derivatives of W only. In
addition to stretch, two bendings and torsion, the paper includes the axial shortening by bending:
`shortening`. It is of second order and causes the centrifugal stiffening of a rotating beam.
Without it, `zero_order`, a beam that rotates faster than its first frequency diverges, which is
wrong. A flexible joint has a link side and a motor side with inertia J n^2, and a spring between
them. Both ends of a link can have masses.

The paper's E is of first order in the elastic states, as is Book's: `exact_turns=False`. It
neglects the second-order displacement of a body that the end of the link rotates. So its forces
differ in first order from those of the other formulations. The default uses an exact rotation. The
equations of this paper are missing from the text that we have: numbers (1) to (6) below are ours.
In the paper, slender links have rotary inertia for torsion only; here sections have all of it, as
in the other formulations.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from flex_robot_sim.formulations.positive_definite import solve_positive_definite
from flex_robot_sim.formulations.sampled_sections import (
    displace_sections,
    sample,
    sample_attachments,
)
from flex_robot_sim.formulations.turning import rotation, rotation_and_jacobian, skew
from flex_robot_sim.model.arm_model import ArmModel

COVERS = 'trees of rigid and flexible links, rigid and flexible joints'
PAPER_OPTIONS = {'exact_turns': False}


class TransformRates(NamedTuple):
    """A homogeneous matrix W of an arm with n coordinates, and its derivatives."""

    W: np.ndarray  # (4, 4)
    dW: np.ndarray  # (n, 4, 4)  derivative by each coordinate
    bias: np.ndarray  # (4, 4)     second rate at constant rates of the coordinates


def make(arm: ArmModel, exact_turns: bool = True) -> Stiffened:
    """
    Return the formulation of an ArmModel.

    :param exact_turns: False: rotations of the ends of links are of first order, as in the paper.
    """
    return Stiffened(arm, exact_turns)


class Stiffened:
    """Lagrange's equations of an arm in homogeneous matrices."""

    def __init__(self, arm: ArmModel, exact_turns: bool = True) -> None:
        """Sample the beams of `arm` (ArmModel) at their Gauss stations."""
        self.arm, self.exact_turns = arm, exact_turns
        self._points = {
            i: sample(beam, beam.stations, arm.coupling) for i, beam in arm.beams.items()
        }
        self._attachment_sections = sample_attachments(arm)
        self._mass = [
            _pseudo_inertia(I, arm.beams.get(i)) for i, I in enumerate(arm.arrays.inertia)
        ]

    def accelerations(self, q: np.ndarray, qd: np.ndarray, force: np.ndarray) -> np.ndarray:
        """
        Accelerations of all coordinates (n,).

        :param q: coordinates, (n,) [rad, m]; qd are their rates.
        :param force: forces on the coordinates except inertia and gravity, (n,) [N m, N].
        """
        M, h = self.mass_matrix_and_bias(q, qd)
        return solve_positive_definite(M, force - h)

    def mass_matrix_and_bias(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mass matrix (n, n), and velocity terms with gravity (n,), of Lagrange's equations."""
        arrays, n = self.arm.arrays, self.arm.size
        M, h = np.zeros((n, n)), np.zeros(n)
        for i, transform in enumerate(self._transforms(q, qd)):
            self._add_rigid(i, transform, M, h)
            if i in self._points:
                self._add_link(i, transform, q, qd, M, h)
        # rotors have only the inertia about their axis, T = J n^2 dq^2 / 2                    (6)
        for j, m in enumerate(arrays.motor):
            k = j if m < 0 else m
            M[k, k] += arrays.rotor[j]
        return M, h

    def energies(self, q: np.ndarray, qd: np.ndarray) -> tuple[float, float]:
        """Kinetic energy and gravitational potential energy [J]."""
        a_base, potential = self.arm.arrays.base_acceleration[3:], 0.0
        for i, transform in enumerate(self._transforms(q, qd)):
            if self._mass[i] is not None:
                potential += a_base @ transform.W[:3] @ self._mass[i][:, 3]
            if i in self._points:
                beam, modes = self.arm.beams[i], self.arm.elastic_coordinates(i)
                d, _, _ = displace_sections(self._points[i], q[modes], qd[modes])
                mass = beam.section.mass_per_length * beam.weights
                potential += a_base @ (
                    mass.sum() * transform.W[:3, 3] + transform.W[:3, :3] @ (mass @ d)
                )
        return 0.5 * qd @ self.mass_matrix_and_bias(q, qd)[0] @ qd, potential

    def _transforms(self, q: np.ndarray, qd: np.ndarray) -> list[TransformRates]:
        """TransformRates of all bodies; gravity is an upward acceleration of the base."""
        arrays, n = self.arm.arrays, self.arm.size
        transforms: list[TransformRates] = []
        base = TransformRates(
            np.eye(4),
            np.zeros((n, 4, 4)),
            _homogeneous(np.zeros((3, 3)), arrays.base_acceleration[3:], 0),
        )
        for i, parent in enumerate(arrays.parent):
            transform = base if parent < 0 else transforms[parent]
            if i in self._attachment_sections:
                transform = self._distal_transform(i, transform, q, qd)
            transforms.append(self._joint_transform(i, transform, q, qd))
        return transforms

    def _joint_transform(self, i, parent, q, qd):
        """W_i = W E A_i, where A_i includes the fixed pose of the joint (1)."""
        arrays, j, S = self.arm.arrays, self.arm.arrays.joint[i], self.arm.arrays.screw[i]
        home = _homogeneous(arrays.home_R[i], arrays.home_p[i], 1)
        if j < 0:
            return TransformRates(parent.W @ home, parent.dW @ home, parent.bias @ home)
        if S[:3].any():
            motion = _homogeneous(rotation(S[:3], q[j]), S[3:] * q[j], 1)  # a screw has S[3:]
            generator = _homogeneous(skew(S[:3]), S[3:])
        else:
            motion = _homogeneous(np.eye(3), S[3:] * q[j], 1)
            generator = _homogeneous(np.zeros((3, 3)), S[3:])
        A = home @ motion
        dA = A @ generator
        dW_dt = np.tensordot(qd, parent.dW, 1)
        dW = parent.dW @ A
        dW[j] += parent.W @ dA
        bias = parent.bias @ A + 2 * qd[j] * dW_dt @ dA + qd[j] ** 2 * parent.W @ dA @ generator
        return TransformRates(parent.W @ A, dW, bias)

    def _distal_transform(self, i, root, q, qd):
        """W E, with E from the base frame of the parent link to its distal frame (2)."""
        arrays, section = self.arm.arrays, self._attachment_sections[i]
        parent = arrays.parent[i]
        modes, m = self.arm.elastic_coordinates(parent), arrays.modes[parent]
        e, de = q[modes], qd[modes]
        d, D, bias = displace_sections(section, e, de)
        Theta = section.Theta[0]
        dE = np.zeros((m, 4, 4))
        dE[:, :3, 3] = D[0].T
        if self.exact_turns:
            R, J, dJ = rotation_and_jacobian(Theta @ e, Theta @ de)
            angular = skew(J @ Theta @ de)
            for k in range(m):
                dE[k, :3, :3] = skew(J @ Theta[:, k]) @ R
            R_bias = (skew(dJ @ Theta @ de) + angular @ angular) @ R
        else:
            R, R_bias = np.eye(3) + skew(Theta @ e), np.zeros((3, 3))
            for k in range(m):
                dE[k, :3, :3] = skew(Theta[:, k])
        E, dW_dt = _homogeneous(R, d[0], 1), np.tensordot(qd, root.dW, 1)
        dW = root.dW @ E
        dW[modes] += root.W @ dE
        dE_dt = np.tensordot(de, dE, 1)
        return TransformRates(
            root.W @ E,
            dW,
            root.bias @ E + 2 * dW_dt @ dE_dt + root.W @ _homogeneous(R_bias, bias[0]),
        )

    def _add_rigid(self, i, transform, M, h):
        """Add the rigid part of body i and masses at its ends, by M_jk = Tr(W_j P W_k^T) (3)."""
        P = self._mass[i]
        if P is None:
            return
        n = len(h)
        dW_P = transform.dW[:, :3] @ P
        dW = transform.dW[:, :3].reshape(n, -1)
        M += dW_P.reshape(n, -1) @ dW.T
        h += dW_P.reshape(n, -1) @ transform.bias[:3].ravel()

    def _add_link(self, i, transform, q, qd, M, h):
        """Add the beam of body i: its points, (4), and the rotation of its sections, (5)."""
        beam, points = self.arm.beams[i], self._points[i]
        modes = self.arm.elastic_coordinates(i)
        e, de = q[modes], qd[modes]
        d, D, bias = displace_sections(points, e, de)
        mass = beam.section.mass_per_length * beam.weights
        ones = np.ones((len(d), 1))
        positions = np.hstack([d, ones])
        R, dR_dt = transform.W[:3, :3], np.tensordot(qd, transform.dW, 1)[:3, :3]
        # J = dW h + W dh, and second rates W.. h + 2 W. h. + W h..                            (4)
        J = np.einsum('kab,gb->gak', transform.dW[:, :3], positions)
        J[:, :, modes] += R @ D
        a = positions @ transform.bias[:3].T + 2 * (D @ de) @ dR_dt.T + bias @ R.T
        weighted_J = (mass[:, None, None] * J).reshape(-1, len(h))
        M += weighted_J.T @ J.reshape(-1, len(h))
        h += weighted_J.T @ a.ravel()
        # angular velocity of a section: omega + Theta de; of a coordinate: R^T dR             (5)
        inertia, Theta = beam.section.inertia, points.Theta
        R_dR = np.einsum('ba,kbc->kac', R, transform.dW[:, :3, :3])
        G = 0.5 * np.stack(
            [
                R_dR[:, 2, 1] - R_dR[:, 1, 2],
                R_dR[:, 0, 2] - R_dR[:, 2, 0],
                R_dR[:, 1, 0] - R_dR[:, 0, 1],
            ]
        )
        omega_skew = R.T @ dR_dt
        omega = 0.5 * np.array(
            [
                omega_skew[2, 1] - omega_skew[1, 2],
                omega_skew[0, 2] - omega_skew[2, 0],
                omega_skew[1, 0] - omega_skew[0, 1],
            ]
        )
        alpha_skew = R.T @ transform.bias[:3, :3]
        alpha = 0.5 * np.array(
            [
                alpha_skew[2, 1] - alpha_skew[1, 2],
                alpha_skew[0, 2] - alpha_skew[2, 0],
                alpha_skew[1, 0] - alpha_skew[0, 1],
            ]
        )
        Theta_integral = np.tensordot(beam.weights, Theta, 1)
        Theta_mean = np.zeros((3, len(h)))
        Theta_mean[:, modes] = Theta_integral / beam.length
        J_G = inertia[:, None] * beam.length * G
        M += G.T @ J_G + J_G.T @ Theta_mean + Theta_mean.T @ J_G
        M[modes, modes] += np.einsum('g,a,gai,gaj->ij', beam.weights, inertia, Theta, Theta)
        momentum = inertia * (beam.length * omega + Theta_integral @ de)
        h += (
            G.T @ np.cross(omega, momentum)
            + (J_G.T + (inertia[:, None] * beam.length * Theta_mean).T) @ alpha
        )


def _homogeneous(R, p, corner=0.0):
    """Return the matrix (4, 4) of R and p; `corner` is 1 for a pose, 0 for a rate."""
    matrix = np.zeros((4, 4))
    matrix[:3, :3], matrix[:3, 3], matrix[3, 3] = R, p, corner
    return matrix


def _pseudo_inertia(I, beam):
    """Return Book's inertia (4, 4) of a body without the sections of its beam, or None if zero."""
    I = I.copy()
    if beam is not None:
        I[range(3), range(3)] -= beam.section.inertia * beam.length
    if abs(I).max() < 1e-15:
        return None
    P = np.zeros((4, 4))
    P[:3, :3] = 0.5 * np.trace(I[:3, :3]) * np.eye(3) - I[:3, :3]
    P[:3, 3] = P[3, :3] = [I[2, 4], I[0, 5], I[1, 3]]
    P[3, 3] = I[3, 3]
    return P
