"""
The element-sum formulation: the mass matrix as a sum over small rigid elements.

Chu and others, A novel mathematical approach for finite element formulation of flexible robot
dynamics. Each link is divided into small elements. The rigid and the flexible motion of an element
have a Jacobian each; their sums J_T and J_R are those of a small rigid body. So the mass matrix of
a flexible robot has the form of a rigid one, (25), without symbolic integrals of shape functions:
an element has a mass, a moment of inertia and a position.

The accuracy depends on the size of the elements. The deflection is evaluated at the middle of an
element, and the slope enters by its moment of inertia. The error falls with the square of the
number of elements. The paper is planar and takes C and K from earlier work. Here the arm is
spatial, and the velocity terms come from the same Jacobians. Equation numbers are the paper's; as
in the paper, poses of elements are expressed in the base frame.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from flex_robot_sim.formulations.positive_definite import solve_positive_definite
from flex_robot_sim.formulations.sampled_sections import (
    displace_attachment,
    displace_sections,
    sample,
    sample_attachments,
)
from flex_robot_sim.formulations.turning import cross, rotation, skew
from flex_robot_sim.model.arm_model import ArmModel

COVERS = 'trees of rigid and flexible links, revolute and fixed prismatic joints'
DEFAULT_ELEMENTS = 64  # per beam


class FrameMotion(NamedTuple):
    """A frame in the base frame, its Jacobians, and its accelerations at constant rates."""

    R: np.ndarray  # (3, 3)  rotation
    p: np.ndarray  # (3,)    origin                                [m]
    J_T: np.ndarray  # (3, n)  translational Jacobian of the origin
    J_R: np.ndarray  # (3, n)  rotational Jacobian
    omega: np.ndarray  # (3,)    angular velocity                      [rad/s]
    a: np.ndarray  # (3,)    acceleration of the origin minus gravity  [m/s2]
    alpha: np.ndarray  # (3,)    angular acceleration                  [rad/s2]


class Elements(NamedTuple):
    """The elements of one beam."""

    sections: object  # Sections at the middles of the elements
    mass: np.ndarray  # (k,)                                          [kg]
    inertia: np.ndarray  # (k, 3)  about their middles                   [kg m2]


def make(arm: ArmModel, elements: int = DEFAULT_ELEMENTS) -> ElementSum:
    """
    Return the formulation of an ArmModel.

    :param elements: minimum number per beam; all smooth pieces of a beam get the same number.
    """
    return ElementSum(arm, elements)


class ElementSum:
    """Dynamics of an arm, rigid, flexible or mixed, as a sum over elements."""

    def __init__(self, arm: ArmModel, elements: int = DEFAULT_ELEMENTS) -> None:
        """Divide the beams of `arm` (ArmModel) into elements."""
        self.arm = arm
        self.elements = {
            i: _cut_beam(beam, elements, arm.coupling) for i, beam in arm.beams.items()
        }
        self._attachment_sections = sample_attachments(arm)

    def accelerations(self, q: np.ndarray, qd: np.ndarray, force: np.ndarray) -> np.ndarray:
        """
        Accelerations of all coordinates (n,).

        :param q: coordinates, (n,) [rad, m]; qd are their rates.
        :param force: forces on the coordinates except inertia and gravity, (n,) [N m, N].
        """
        M, h = self.mass_matrix_and_bias(q, qd)
        return solve_positive_definite(M, force - h)  # (7)

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Mass matrix M (n, n) at q (n,), see (25)."""
        return self.mass_matrix_and_bias(q, np.zeros_like(q))[0]

    def mass_matrix_and_bias(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mass matrix (n, n), and C qd + G of (7), (n,)."""
        arrays, n = self.arm.arrays, self.arm.size
        M, h = np.zeros((n, n)), np.zeros(n)
        for i, motion in enumerate(self._motions(q, qd)):
            self._add_rigid(i, motion, M, h)
            if i in self.elements:
                modes = self.arm.elastic_coordinates(i)
                self._add_elements(self.elements[i], motion, modes, q[modes], qd[modes], M, h)
        for j, m in enumerate(arrays.motor):
            k = j if m < 0 else m
            M[k, k] += arrays.rotor[j]
        return M, h

    def energies(self, q: np.ndarray, qd: np.ndarray) -> tuple[float, float]:
        """Kinetic energy and gravitational potential energy of all elements [J]."""
        arrays, a_base = self.arm.arrays, self.arm.arrays.base_acceleration[3:]
        potential = 0.0
        for i, motion in enumerate(self._motions(q, qd)):
            I = arrays.inertia[i]
            potential += a_base @ (
                I[3, 3] * motion.p + motion.R @ np.array([I[2, 4], I[0, 5], I[1, 3]])
            )
            if i in self.elements:
                elements = self.elements[i]
                modes = self.arm.elastic_coordinates(i)
                d, _, _ = displace_sections(elements.sections, q[modes], qd[modes])
                potential += a_base @ (
                    elements.mass.sum() * motion.p + motion.R @ (elements.mass @ d)
                )
        return 0.5 * qd @ self.mass_matrix(q) @ qd, potential

    def _motions(self, q: np.ndarray, qd: np.ndarray) -> list[FrameMotion]:
        """Return the FrameMotions of all bodies."""
        motions: list[FrameMotion] = []
        for i in range(self.arm.arrays.parent.size):
            motions.append(self._motion(i, motions, q, qd))
        return motions

    def _motion(self, i, motions, q, qd):
        """Motion of the frame of body i, by the transformations (3) and (4)."""
        arrays, n = self.arm.arrays, self.arm.size
        parent = arrays.parent[i]
        if parent < 0:
            zero = np.zeros(3)
            motion = FrameMotion(
                np.eye(3),
                zero,
                np.zeros((3, n)),
                np.zeros((3, n)),
                zero,
                arrays.base_acceleration[3:],
                zero,
            )
        else:
            motion = motions[parent]
        if i in self._attachment_sections:
            modes = self.arm.elastic_coordinates(parent)
            motion = _section_motion(
                motion,
                displace_attachment(self._attachment_sections[i], q[modes], qd[modes]),
                modes,
            )
        motion = _shift_origin(motion, motion.R @ arrays.home_p[i])
        R, j, axis = motion.R @ arrays.home_R[i], arrays.joint[i], arrays.screw[i]
        motion = motion._replace(R=R)
        if j < 0:
            return motion
        if axis[3:].any():  # a fixed prismatic joint, or a screw, moves the link as a whole
            z = R @ axis[3:]
            motion = _shift_origin(motion, z * q[j])
            J_T = motion.J_T.copy()
            J_T[:, j] += z
            motion = motion._replace(J_T=J_T, a=motion.a + 2 * cross(motion.omega, z) * qd[j])
        if axis[:3].any():
            z, J_R = R @ axis[:3], motion.J_R.copy()
            J_R[:, j] += z
            motion = motion._replace(
                R=R @ rotation(axis[:3], q[j]),
                J_R=J_R,
                omega=motion.omega + z * qd[j],
                alpha=motion.alpha + cross(motion.omega, z) * qd[j],
            )
        return motion

    def _add_rigid(self, i, motion, M, h):
        """Add a rigid body, the last column of table 1."""
        I = self.arm.arrays.inertia[i].copy()
        beam = self.arm.beams.get(i)
        if beam is not None:  # _add_elements adds the sections
            I[range(3), range(3)] -= beam.section.inertia * beam.length
        mass = I[3, 3]
        if not I.any():
            return
        J = np.vstack([motion.R.T @ motion.J_R, motion.R.T @ motion.J_T])
        bias = np.concatenate([motion.R.T @ motion.alpha, motion.R.T @ motion.a])
        omega = motion.R.T @ motion.omega
        first_moment = np.array([I[2, 4], I[0, 5], I[1, 3]])  # mass times centre
        gyroscopic = np.concatenate(
            [
                cross(omega, I[:3, :3] @ omega),
                cross(omega, cross(omega, first_moment)) if mass else np.zeros(3),
            ]
        )
        M += J.T @ I @ J
        h += J.T @ (I @ bias + gyroscopic)

    @staticmethod
    def _add_elements(elements, motion, modes, e, de, M, h):
        """Add all elements of one beam, (23) to (25), vectorised."""
        R, k = motion.R, elements.mass.size
        d, D, bias = displace_sections(elements.sections, e, de)
        r = d @ R.T  # (6), from the root to the middles
        # J_T = J_T^r - u~ J_R^r + A J^f                                     (10), (12) and (20)
        J = np.empty((k, 3, motion.J_T.shape[1]))
        J[:, 0] = motion.J_T[0] + r[:, 2:3] * motion.J_R[1] - r[:, 1:2] * motion.J_R[2]
        J[:, 1] = motion.J_T[1] - r[:, 2:3] * motion.J_R[0] + r[:, 0:1] * motion.J_R[2]
        J[:, 2] = motion.J_T[2] + r[:, 1:2] * motion.J_R[0] - r[:, 0:1] * motion.J_R[1]
        J[:, :, modes] += R @ D
        # bias accelerations
        W = skew(motion.omega)
        a = motion.a + r @ (skew(motion.alpha) + W @ W).T + 2 * (D @ de) @ (W @ R).T + bias @ R.T
        sqrt_weights = np.sqrt(elements.mass)[:, None]
        J = (sqrt_weights[:, :, None] * J).reshape(3 * k, -1)
        M += J.T @ J  # (25)
        h += J.T @ (sqrt_weights * a).ravel()
        # J_R = J_R^r + J_R^f in the axes of the link                               (16) and (21)
        G = np.repeat((R.T @ motion.J_R)[None], k, axis=0)
        omega = R.T @ motion.omega
        bias = np.repeat((R.T @ motion.alpha)[None], k, axis=0)
        angular_momentum = np.tensordot(elements.inertia, np.ones(k), (0, 0)) * omega
        angular_momentum += (elements.inertia * (elements.sections.Theta @ de)).sum(axis=0)
        h += (R.T @ motion.J_R).T @ cross(omega, angular_momentum)
        G[:, :, modes] += elements.sections.Theta
        sqrt_weights = np.sqrt(elements.inertia)
        G = (sqrt_weights[:, :, None] * G).reshape(3 * k, -1)
        M += G.T @ G  # (25)
        h += G.T @ (sqrt_weights * bias).ravel()


def _cut_beam(beam, elements, coupling):
    """Divide a Beam into Elements of equal length, the same number in each smooth piece."""
    breaks = max(
        (shapes.breaks for shapes in beam.shapes.values()),
        key=len,
        default=np.array([0.0, beam.length]),
    )
    pieces = len(breaks) - 1
    count = pieces * -(-elements // pieces)
    size = beam.length / count
    mass = beam.section.mass_per_length * size
    inertia = beam.section.inertia * size + mass * size**2 / 12 * np.array([0.0, 1.0, 1.0])
    return Elements(
        sample(beam, size * (np.arange(count) + 0.5), coupling),
        np.full(count, mass),
        np.tile(inertia, (count, 1)),
    )


def _shift_origin(motion, r):
    """Motion of the frame with its origin shifted by r (3,), in the axes of the base."""
    velocity = cross(motion.omega, r)
    return motion._replace(
        p=motion.p + r,
        J_T=motion.J_T - skew(r) @ motion.J_R,
        a=motion.a + cross(motion.alpha, r) + cross(motion.omega, velocity),
    )


def _section_motion(motion, section, modes):
    """Motion of a cross-section of an elastic link with the motion `motion`."""
    R = motion.R
    velocity, omega = R @ section.velocity, R @ section.angular_velocity
    shifted = _shift_origin(motion, R @ section.d)
    J_T, J_R = shifted.J_T, shifted.J_R.copy()
    J_T[:, modes] += R @ section.D
    J_R[:, modes] += R @ section.T
    return FrameMotion(
        R @ section.R,
        shifted.p,
        J_T,
        J_R,
        motion.omega + omega,
        shifted.a + 2 * cross(motion.omega, velocity) + R @ section.bias_acceleration,
        motion.alpha + cross(motion.omega, omega) + R @ section.angular_bias,
    )
