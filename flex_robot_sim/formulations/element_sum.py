"""
The element-sum formulation: the mass matrix as a sum over small rigid elements.

Chu and others, A novel mathematical approach for finite element formulation of flexible robot
dynamics. Every link is cut into small elements. The rigid motion of an element and the flexible
one on top of it each have a Jacobian, and their sums J_T and J_R are those of a small rigid body.
So the mass matrix of a flexible robot has the form of that of a rigid one, (25), and needs no
symbolic integral over shape functions: an element has a mass, a moment of inertia and a place.

The price is the size of the elements. Within one, the deflection counts at its middle and the
slope through its moment of inertia, which leaves an error that falls with the square of their
number. The paper is planar and takes C and K from earlier work; here the arm is spatial, and the
velocity terms come from the same Jacobians. Equation numbers are the paper's; a pose of an element
is seen in the base frame, as there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flex_robot_sim.formulations.positive_definite import solve_positive_definite
from flex_robot_sim.formulations.sections import carried_sections, carrying, displaced, sample
from flex_robot_sim.formulations.turning import cross, rotation, skew

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmModel

COVERS = 'trees of rigid and flexible links, revolute and fixed prismatic joints'
ELEMENTS = 64               # per beam, unless told otherwise


class Motion(NamedTuple):
    """A frame in the base frame, its Jacobians, and its accelerations when no rate changes."""

    R: np.ndarray           # (3, 3)
    p: np.ndarray           # (3,)    [m]
    J_T: np.ndarray         # (3, n)  of its origin
    J_R: np.ndarray         # (3, n)
    omega: np.ndarray       # (3,)    [rad/s]
    a: np.ndarray           # (3,)    of the origin, less gravity           [m/s2]
    alpha: np.ndarray       # (3,)    [rad/s2]


class Elements(NamedTuple):
    """The elements of one beam."""

    sections: object        # Sections at their middles
    mass: np.ndarray        # (k,)                                          [kg]
    inertia: np.ndarray     # (k, 3)  about their middles                   [kg m2]


def make(arm: ArmModel, elements: int = ELEMENTS) -> ElementSum:
    """
    Return the formulation of an ArmModel.

    :param elements: into which every beam is cut, at least; its smooth pieces get as many each.
    """
    return ElementSum(arm, elements)


class ElementSum:
    """Dynamics of an arm, rigid, flexible or mixed, as a sum over elements."""

    def __init__(self, arm: ArmModel, elements: int = ELEMENTS) -> None:
        """Cut the beams of `arm` (ArmModel)."""
        self.arm = arm
        self.elements = {i: _cut(beam, elements, arm.coupling) for i, beam in arm.beams.items()}
        self._carried = carried_sections(arm)

    def accelerations(self, q: np.ndarray, qd: np.ndarray, force: np.ndarray) -> np.ndarray:
        """
        Accelerations of all coordinates (n,).

        :param q: coordinates, (n,) [rad, m]; qd are their rates.
        :param force: on the coordinates, all that is neither inertia nor gravity (n,) [N m, N].
        """
        M, h = self.mass_matrix_and_bias(q, qd)
        return solve_positive_definite(M, force - h)                                        # (7)

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
                part = slice(arrays.first[i], arrays.first[i] + arrays.modes[i])
                self._add_elements(self.elements[i], motion, part, q[part], qd[part], M, h)
        for j, m in enumerate(arrays.motor):
            k = j if m < 0 else m
            M[k, k] += arrays.rotor[j]
        return M, h

    def energies(self, q: np.ndarray, qd: np.ndarray) -> tuple[float, float]:
        """Kinetic energy and energy of height of all elements [J]."""
        arrays, up = self.arm.arrays, self.arm.arrays.base_acceleration[3:]
        height = 0.0
        for i, at in enumerate(self._motions(q, qd)):
            I = arrays.inertia[i]
            height += up @ (I[3, 3] * at.p + at.R @ np.array([I[2, 4], I[0, 5], I[1, 3]]))
            if i in self.elements:
                elements = self.elements[i]
                part = slice(arrays.first[i], arrays.first[i] + arrays.modes[i])
                d, _, _ = displaced(elements.sections, q[part], qd[part])
                height += up @ (elements.mass.sum() * at.p + at.R @ (elements.mass @ d))
        return 0.5 * qd @ self.mass_matrix(q) @ qd, height

    def _motions(self, q: np.ndarray, qd: np.ndarray) -> list[Motion]:
        """Motions of all bodies."""
        motions: list[Motion] = []
        for i in range(self.arm.arrays.parent.size):
            motions.append(self._motion(i, motions, q, qd))
        return motions

    def _motion(self, i, motions, q, qd):
        """Motion of the frame of body i, as the transformations of (3) and (4) give it."""
        arrays, n = self.arm.arrays, self.arm.size
        parent = arrays.parent[i]
        if parent < 0:
            zero = np.zeros(3)
            at = Motion(np.eye(3), zero, np.zeros((3, n)), np.zeros((3, n)), zero,
                        arrays.base_acceleration[3:], zero)
        else:
            at = motions[parent]
        if i in self._carried:
            part = slice(arrays.first[parent], arrays.first[parent] + arrays.modes[parent])
            at = _on_section(at, carrying(self._carried[i], q[part], qd[part]), part)
        at = _shifted(at, at.R @ arrays.home_p[i])
        R, j, axis = at.R @ arrays.home_R[i], arrays.joint[i], arrays.screw[i]
        at = at._replace(R=R)
        if j < 0:
            return at
        if axis[:3].any():
            z, J_R = R @ axis[:3], at.J_R.copy()
            J_R[:, j] += z
            return at._replace(R=R @ rotation(axis[:3], q[j]), J_R=J_R,
                               omega=at.omega + z * qd[j],
                               alpha=at.alpha + cross(at.omega, z) * qd[j])
        z = R @ axis[3:]                    # a fixed prismatic joint: the link is pushed as it is
        at = _shifted(at, z * q[j])
        J_T = at.J_T.copy()
        J_T[:, j] += z
        return at._replace(J_T=J_T, a=at.a + 2 * cross(at.omega, z) * qd[j])

    def _add_rigid(self, i, at, M, h):
        """Add a rigid body, the last column of table 1."""
        I = self.arm.arrays.inertia[i].copy()
        beam = self.arm.beams.get(i)
        if beam is not None:                # the sections come with the elements
            I[range(3), range(3)] -= beam.section.inertia * beam.length
        mass = I[3, 3]
        if not I.any():
            return
        J = np.vstack([at.R.T @ at.J_R, at.R.T @ at.J_T])
        rest = np.concatenate([at.R.T @ at.alpha, at.R.T @ at.a])
        omega = at.R.T @ at.omega
        first = np.array([I[2, 4], I[0, 5], I[1, 3]])       # mass times centre
        turning = np.concatenate([cross(omega, I[:3, :3] @ omega),
                                  cross(omega, cross(omega, first)) if mass else np.zeros(3)])
        M += J.T @ I @ J
        h += J.T @ (I @ rest + turning)

    @staticmethod
    def _add_elements(elements, at, part, e, de, M, h):
        """Add the elements of one beam, (23) to (25), all of them at once."""
        R, k = at.R, elements.mass.size
        d, D, rest = displaced(elements.sections, e, de)
        r = d @ R.T                                     # (6), of the middles from the root
        # J_T = J_T^r - u~ J_R^r + A J^f                                     (10), (12) and (20)
        J = np.empty((k, 3, at.J_T.shape[1]))
        J[:, 0] = at.J_T[0] + r[:, 2:3] * at.J_R[1] - r[:, 1:2] * at.J_R[2]
        J[:, 1] = at.J_T[1] - r[:, 2:3] * at.J_R[0] + r[:, 0:1] * at.J_R[2]
        J[:, 2] = at.J_T[2] + r[:, 1:2] * at.J_R[0] - r[:, 0:1] * at.J_R[1]
        J[:, :, part] += R @ D
        # what is left of the accelerations
        W = skew(at.omega)
        a = (at.a + r @ (skew(at.alpha) + W @ W).T + 2 * (D @ de) @ (W @ R).T + rest @ R.T)
        root = np.sqrt(elements.mass)[:, None]
        J = (root[:, :, None] * J).reshape(3 * k, -1)
        M += J.T @ J                                                                        # (25)
        h += J.T @ (root * a).ravel()
        # J_R = J_R^r + J_R^f in the axes of the link                               (16) and (21)
        G = np.repeat((R.T @ at.J_R)[None], k, axis=0)
        turning = R.T @ at.omega
        rest = np.repeat((R.T @ at.alpha)[None], k, axis=0)
        rigid = np.tensordot(elements.inertia, np.ones(k), (0, 0)) * turning
        rigid += (elements.inertia * (elements.sections.Theta @ de)).sum(axis=0)
        h += (R.T @ at.J_R).T @ cross(turning, rigid)
        G[:, :, part] += elements.sections.Theta
        root = np.sqrt(elements.inertia)
        G = (root[:, :, None] * G).reshape(3 * k, -1)
        M += G.T @ G                                                                        # (25)
        h += G.T @ (root * rest).ravel()


def _cut(beam, elements, coupling):
    """Cut a Beam into Elements of equal length, as many in each of its smooth pieces."""
    breaks = max((shapes.breaks for shapes in beam.shapes.values()), key=len,
                 default=np.array([0.0, beam.length]))
    pieces = len(breaks) - 1
    count = pieces * -(-elements // pieces)
    size = beam.length / count
    mass = beam.section.mass_per_length * size
    inertia = beam.section.inertia * size + mass * size**2 / 12 * np.array([0.0, 1.0, 1.0])
    return Elements(sample(beam, size * (np.arange(count) + 0.5), coupling),
                    np.full(count, mass), np.tile(inertia, (count, 1)))


def _shifted(at, r):
    """Motion of a point of the same frame, r (3,) away in the axes of the base."""
    turned = cross(at.omega, r)
    return at._replace(p=at.p + r, J_T=at.J_T - skew(r) @ at.J_R,
                       a=at.a + cross(at.alpha, r) + cross(at.omega, turned))


def _on_section(at, section, part):
    """Motion of a cross-section of an elastic link with the motion `at`."""
    R = at.R
    rate, turning = R @ section.rate, R @ section.turning
    on = _shifted(at, R @ section.d)
    J_T, J_R = on.J_T, on.J_R.copy()
    J_T[:, part] += R @ section.D
    J_R[:, part] += R @ section.T
    return Motion(
        R @ section.R, on.p, J_T, J_R, at.omega + turning,
        on.a + 2 * cross(at.omega, rate) + R @ section.rest,
        at.alpha + cross(at.omega, turning) + R @ section.turning_rest)
