"""
The wrench-DAE formulation: one linear system of all links, with joint wrenches as unknowns.

Yaqubi, Kitzinger, Mueller, Gattringer and Mattila, Screw-Theoretic PDE-Based Synthesis for Unified
Representation of Multibody Flexible Manipulator Dynamics (2026). Each link has an equation of
motion in its body-fixed twist V, (29), and the projected beam equation of its modes, (61). Its
joint constrains its twist relative to the parent, (33). The wrench W of the joint is an unknown.
Stacked link by link, (42) to (44), these equations are one linear system with blocks on and near
the diagonal. A further link appends rows, also in a tree.

Differences from the paper: sections rotate and twist the attached body. With `sections_turn=False`
they only displace it, as in (23), and torsion has no effect. The rows of P_i in (33) do not define
the drive torque, so the equation of the drive is written along the joint axis. Constraints are
written in body frames instead of the base frame, which improves the conditioning. Gravity is an
upward acceleration of the base. Equation numbers are the paper's; screws are (angular, linear).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import splu

from flex_robot_sim.formulations.sampled_sections import (
    Sections,
    displace_attachment,
    displace_sections,
    sample,
    sample_attachments,
)
from flex_robot_sim.formulations.turning import cross, rotation, skew
from flex_robot_sim.model.arm_model import ArmModel

COVERS = 'trees of rigid and flexible links, revolute and prismatic joints'
PAPER_OPTIONS = {'sections_turn': False}
IDENTITY, ZERO, LINEAR = np.eye(6), np.zeros((6, 6)), np.arange(3, 6)


class LinkEquations(NamedTuple):
    """Equations of one link: M V' + B e'' + h = wrenches, B^T V' + E e'' + b = forces on modes."""

    M: np.ndarray  # (6, 6)  (10) with the deflection
    B: np.ndarray  # (6, n)  (11), (64)
    E: np.ndarray  # (n, n)  (65)
    h: np.ndarray  # (6,)    (12)
    b: np.ndarray  # (n,)    (66), without the springs


class BeamSamples(NamedTuple):
    """Constant data of a beam with k sections, independent of its deformation."""

    sections: Sections
    mass: np.ndarray  # (k,)    mass represented by each section                  [kg]
    total_mass: float  # their sum                                                 [kg]
    # by the rotary inertia of the sections, which the paper omits:
    angular_coupling: np.ndarray  # (3, n)  angular momentum by rate of e
    rotary_inertia: np.ndarray  # (n, n)  mass matrix of e


class Attachment(NamedTuple):
    """Kinematics of a link on its parent: V = X (T V_parent + N de) + S dq."""

    X: np.ndarray  # (6, 6)  from the section, or the frame, of the parent
    T: np.ndarray  # (6, 6)  from the frame of the parent to its section
    N: np.ndarray  # (6, n)  by the modes of the parent; n = 0 if it is rigid
    V: np.ndarray  # (6,)    twist of the section, in the axes of the section
    bias_acceleration: np.ndarray  # (6,)  rate of V at constant V_parent and de
    R: np.ndarray  # (3, 3)  rotation of the link in the parent
    p: np.ndarray  # (3,)    origin of the link in the parent                  [m]


class Solution(NamedTuple):
    """Solution of the stacked system."""

    qdd: np.ndarray  # (n,)     accelerations of all coordinates
    wrenches: np.ndarray  # (i, 6)   joint wrench on each body, in the frame of the body
    twist_rates: np.ndarray  # (i, 6)  of the bodies, with gravity as a base acceleration
    matrix: csc_matrix  # the stacked matrix


def make(arm: ArmModel, sections_turn: bool = True) -> WrenchDae:
    """
    Return the formulation of an ArmModel.

    :param sections_turn: False: the end of a link displaces the next one and does not rotate it.
    """
    return WrenchDae(arm, sections_turn)


class WrenchDae:
    """The stacked system of an arm, chain or tree."""

    def __init__(self, arm: ArmModel, sections_turn: bool = True) -> None:
        """Sample the beams of `arm` (ArmModel) at their Gauss stations."""
        self.arm, self.sections_turn = arm, sections_turn
        self._beam_samples = {i: _sample_beam(beam, arm.coupling) for i, beam in arm.beams.items()}
        self._attachment_sections = sample_attachments(arm)
        sizes = 12 + arm.arrays.modes
        # each link has contiguous rows: joint, motion, modes; and columns W, V', e''          (43)
        self.row_start = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
        self._order: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    def accelerations(self, q: np.ndarray, qd: np.ndarray, force: np.ndarray) -> np.ndarray:
        """
        Accelerations of all coordinates (n,).

        :param q: coordinates, (n,) [rad, m]; qd are their rates.
        :param force: forces on the coordinates except inertia and gravity, (n,) [N m, N].
        """
        return self.solve(q, qd, force).qdd

    def solve(
        self, q: np.ndarray, qd: np.ndarray, force: np.ndarray, loads: np.ndarray | None = None
    ) -> Solution:
        """
        Return the Solution for q, qd and force, which are those of `accelerations`.

        :param loads: external wrenches on the bodies, in their frames, (bodies, 6) [N m, N].
        """
        attachments, twists = self._attachments(q, qd)
        return self.solve_stacked(attachments, twists, q, qd, force, loads)

    def energies(self, q: np.ndarray, qd: np.ndarray) -> tuple[float, float]:
        """Kinetic and gravitational potential energy, summed over the links [J]."""
        arrays, (attachments, twists) = self.arm.arrays, self._attachments(q, qd)
        rates = [qd[j if motor < 0 else motor] for j, motor in enumerate(arrays.motor)]
        kinetic, potential = 0.5 * arrays.rotor @ np.square(rates), 0.0
        poses: list[tuple[np.ndarray, np.ndarray]] = []
        for i, (parent, attachment, V) in enumerate(zip(arrays.parent, attachments, twists)):
            R, p = poses[parent] if parent >= 0 else (np.eye(3), np.zeros(3))
            poses.append((R @ attachment.R, p + R @ attachment.p))
            R, p = poses[i]
            link = self.link(i, V, q, qd)
            de = qd[self.arm.elastic_coordinates(i)]
            kinetic += V @ (0.5 * link.M @ V + link.B @ de) + 0.5 * de @ link.E @ de
            # mass times centre
            first_moment = np.array([link.M[2, 4], link.M[0, 5], link.M[1, 3]])
            potential += arrays.base_acceleration[3:] @ (link.M[3, 3] * p + R @ first_moment)
        return float(kinetic), float(potential)

    def _attachments(self, q: np.ndarray, qd: np.ndarray) -> tuple[list[Attachment], np.ndarray]:
        """Attachments of all bodies, and their twists (bodies, 6)."""
        arrays = self.arm.arrays
        attachments: list[Attachment] = []
        twists = np.zeros((arrays.parent.size, 6))
        for i in range(arrays.parent.size):
            j = arrays.joint[i]
            joint_position, rate = (q[j], qd[j]) if j >= 0 else (0.0, 0.0)
            parent = arrays.parent[i]
            parent_twist = twists[parent] if parent >= 0 else np.zeros(6)
            attachments.append(self.attachment(i, parent_twist, q, qd, joint_position))
            twists[i] = attachments[i].X @ attachments[i].V + arrays.screw[i] * rate
        return attachments, twists

    def solve_stacked(
        self,
        attachments: Sequence[Attachment],
        twists: np.ndarray,
        q: np.ndarray,
        qd: np.ndarray,
        force: np.ndarray,
        loads: np.ndarray | None = None,
    ) -> Solution:
        """
        Return the Solution for the twists (bodies, 6) of the links, even if they violate joints.

        :param attachments: an Attachment for each body.
        :param q: coordinates (n,); only the modes of q and qd are used.
        """
        arrays, row_start = self.arm.arrays, self.row_start
        blocks: list[tuple[int, int, np.ndarray]] = []
        rhs = np.zeros(row_start[-1])

        def add_block(row, column, block):
            blocks.append((row, column, block))

        links = [self.link(i, twists[i], q, qd) for i in range(arrays.parent.size)]
        biases, drive_forces = [], np.zeros(arrays.parent.size)
        for i, (link, attachment) in enumerate(zip(links, attachments)):
            row, parent, j, n = row_start[i], arrays.parent[i], arrays.joint[i], arrays.modes[i]
            S = arrays.screw[i]
            # V' - X (T V'_parent + N e''_parent) = S q'' + c                          (30) to (34)
            c = attachment.X @ attachment.bias_acceleration + _bracket(
                twists[i], twists[i] - attachment.X @ attachment.V
            )
            biases.append(c)
            P, wrench = IDENTITY, ZERO
            if j >= 0:
                # along the axis: S^T W + rotor q'' = torque of the drive, instead of (26)
                rotor = arrays.rotor[j] if arrays.motor[j] < 0 else 0.0
                squared = S @ S  # above 1 for a screw joint
                axis_projector = np.outer(S, S) / squared
                P = P + (rotor / squared - 1.0) * axis_projector
                wrench = axis_projector
                drive_forces[i] = force[j] / squared
            rhs[row : row + 6] = P @ c + S * drive_forces[i]
            add_block(row, row, wrench)
            add_block(row, row + 6, P)
            if parent < 0:
                rhs[row : row + 6] += P @ attachment.X @ arrays.base_acceleration
            else:
                parent_row, XT = row_start[parent], attachment.X @ attachment.T
                add_block(row, parent_row + 6, -P @ XT)
                # the reaction of the wrench acts on the parent                               (28)
                add_block(parent_row + 6, row, -XT.T)
                if i in self._attachment_sections:
                    XN = attachment.X @ attachment.N
                    add_block(row, parent_row + 12, -P @ XN)
                    add_block(parent_row + 12, row, -XN.T)
            # motion of the link                                                              (29)
            add_block(row + 6, row, IDENTITY)
            add_block(row + 6, row + 6, -link.M)
            load = np.zeros(6) if loads is None else loads[i]
            rhs[row + 6 : row + 12] = link.h - load
            # motion of its modes                                                             (61)
            if n:
                add_block(row + 6, row + 12, -link.B)
                add_block(row + 12, row + 6, -link.B.T)
                add_block(row + 12, row + 12, -link.E)
                rhs[row + 12 : row + 12 + n] = link.b - force[self.arm.elastic_coordinates(i)]
        matrix = self._matrix(blocks)
        # one iterative refinement, because wrenches and accelerations differ in scale
        factors = splu(matrix)
        solution = factors.solve(rhs)
        solution = solution + factors.solve(rhs - matrix @ solution)
        return self._unpack(solution, attachments, biases, force, matrix)

    def _matrix(self, blocks):
        """Return the sparse matrix of blocks (row, column, entries); its pattern is constant."""
        size = self.row_start[-1]
        if self._order is None:
            entries = [_entry_indices(*block.shape) for _, _, block in blocks]
            rows, columns = (
                np.concatenate([block[k] + entry[k] for block, entry in zip(blocks, entries)])
                for k in (0, 1)
            )
            order = np.lexsort((rows, columns))
            self._order = (
                order,
                rows[order].astype(np.int32),
                np.searchsorted(columns[order], np.arange(size + 1)).astype(np.int32),
            )
        order, rows, columns = self._order
        values = np.concatenate([block.ravel() for _, _, block in blocks])
        return csc_matrix((values[order], rows, columns), shape=(size, size))

    def _unpack(self, solution, attachments, biases, force, matrix):
        """Extract accelerations and wrenches from the stacked unknowns."""
        arm, arrays, row_start = self.arm, self.arm.arrays, self.row_start
        bodies = arrays.parent.size
        wrenches = np.array([solution[row_start[i] : row_start[i] + 6] for i in range(bodies)])
        twist_rates = np.array(
            [solution[row_start[i] + 6 : row_start[i] + 12] for i in range(bodies)]
        )
        qdd = np.zeros(arm.size)
        for i in range(bodies):
            parent, j = arrays.parent[i], arrays.joint[i]
            qdd[arm.elastic_coordinates(i)] = solution[row_start[i] + 12 : row_start[i + 1]]
            if j >= 0:
                dV_parent = arrays.base_acceleration
                if parent >= 0:
                    dV_parent = attachments[i].T @ twist_rates[parent]
                    if i in self._attachment_sections:
                        dV_parent = (
                            dV_parent
                            + attachments[i].N
                            @ solution[row_start[parent] + 12 : row_start[parent + 1]]
                        )
                S = arrays.screw[i]
                relative = twist_rates[i] - attachments[i].X @ dV_parent - biases[i]
                qdd[j] = S @ relative / (S @ S)
                m = arrays.motor[j]
                if m >= 0:
                    qdd[m] = force[m] / arrays.rotor[j]
        return Solution(qdd, wrenches, twist_rates, matrix)

    def attachment(
        self,
        i: int,
        parent_twist: np.ndarray,
        q: np.ndarray,
        qd: np.ndarray,
        joint_position: float,
    ) -> Attachment:
        """
        Return the Attachment of body i on a parent with the twist `parent_twist` (6,).

        (23) with the rotation of the section, and (24).
        """
        arrays = self.arm.arrays
        T, N, V, bias = np.eye(6), np.zeros((6, 0)), parent_twist, np.zeros(6)
        R, p = np.eye(3), np.zeros(3)
        if i in self._attachment_sections:
            parent = arrays.parent[i]
            modes = self.arm.elastic_coordinates(parent)
            section = displace_attachment(
                self._attachment_sections[i], q[modes], qd[modes], self.sections_turn
            )
            R, p = section.R, section.d
            T = _adjoint_inverse(R, p)
            N = np.vstack([R.T @ section.T, R.T @ section.D])
            omega, v = parent_twist[:3], parent_twist[3:]
            angular = omega + section.angular_velocity
            linear = v + cross(omega, p) + section.velocity
            V = np.concatenate([R.T @ angular, R.T @ linear])
            # rates of components in axes that rotate with the section
            bias = np.concatenate(
                [
                    R.T @ (section.angular_bias - cross(section.angular_velocity, angular)),
                    R.T
                    @ (
                        cross(omega, section.velocity)
                        + section.bias_acceleration
                        - cross(section.angular_velocity, linear)
                    ),
                ]
            )
        S = arrays.screw[i]
        joint_R = rotation(S[:3], joint_position) if S[:3].any() else np.eye(3)
        home_R = arrays.home_R[i] @ joint_R
        home_p = arrays.home_p[i] + arrays.home_R[i] @ S[3:] * joint_position
        return Attachment(
            _adjoint_inverse(home_R, home_p), T, N, V, bias, R @ home_R, p + R @ home_p
        )

    def link(self, i: int, V: np.ndarray, q: np.ndarray, qd: np.ndarray) -> LinkEquations:
        """Return the equations of body i with the twist V (6,): (9) after the projection (49)."""
        arrays = self.arm.arrays
        M, omega, v = arrays.inertia[i].copy(), V[:3], V[3:]
        momentum = M @ V
        h = np.concatenate(
            [cross(omega, momentum[:3]) + cross(v, momentum[3:]), cross(omega, momentum[3:])]
        )
        n = arrays.modes[i]
        B, E, b = np.zeros((6, n)), np.zeros((n, n)), np.zeros(n)
        if n == 0:
            return LinkEquations(M, B, E, h, b)
        sections, m, total_mass, angular_coupling, rotary_inertia = self._beam_samples[i]
        modes = self.arm.elastic_coordinates(i)
        e, de = q[modes], qd[modes]
        r, A, bias = displace_sections(sections, e, de)  # (49)
        W = skew(omega)
        # acceleration of a point at zero V' and e''                                     (58), (59)
        a = (W @ v) + r @ (W @ W).T + 2.0 * (A @ de) @ W.T + bias
        weighted = m[:, None] * r
        first_moment, rr = weighted.sum(axis=0), weighted.T @ r
        M[:3, :3] += (rr[0, 0] + rr[1, 1] + rr[2, 2]) * IDENTITY[:3, :3] - rr  # (14)
        M[:3, 3:] += skew(first_moment)
        M[3:, :3] -= skew(first_moment)
        M[LINEAR, LINEAR] += total_mass
        # products of r and gradients by component; cross products are their antisymmetric parts
        flat = A.reshape(len(m), 3 * n)
        rA = (weighted.T @ flat).reshape(3, 3, n)
        B[:3], B[3:] = angular_coupling + _cross_sum(rA), (m @ flat).reshape(3, n)
        weighted_A, flat = (m[:, None] * flat).reshape(-1, n), flat.reshape(-1, n)
        E += rotary_inertia + weighted_A.T @ flat
        b += weighted_A.T @ a.ravel()
        h[3:] += m @ a
        # moments of the points, and gyroscopic moment of the sections
        h[:3] += _cross_sum(weighted.T @ a) + cross(omega, angular_coupling @ de)
        return LinkEquations(M, B, E, h, b)


def _sample_beam(beam, coupling):
    sections = sample(beam, beam.stations, coupling)
    mass, J = beam.section.mass_per_length * beam.weights, beam.section.inertia
    angular_coupling = J[:, None] * np.einsum('g,gai->ai', beam.weights, sections.Theta)
    rotary_inertia = np.einsum('g,a,gai,gaj->ij', beam.weights, J, sections.Theta, sections.Theta)
    return BeamSamples(sections, mass, mass.sum(), angular_coupling, rotary_inertia)


def _cross_sum(products):
    """Sum of cross products, from the sums of products of components (3, 3, ...)."""
    return np.array(
        [
            products[1, 2] - products[2, 1],
            products[2, 0] - products[0, 2],
            products[0, 1] - products[1, 0],
        ]
    )


@cache
def _entry_indices(rows, columns):
    """Row and column indices of all entries of a block."""
    return np.repeat(np.arange(rows), columns), np.tile(np.arange(columns), rows)


def _adjoint_inverse(R, p):
    """Matrix (6, 6) that maps a twist to a frame with the pose R, p, from (4)."""
    X = np.zeros((6, 6))
    X[:3, :3] = X[3:, 3:] = R.T
    X[3:, :3] = -R.T @ skew(p)
    return X


def _bracket(V, U):
    """Lie bracket of twists, ad_V of (101), (6,)."""
    return np.concatenate([cross(V[:3], U[:3]), cross(V[:3], U[3:]) + cross(V[3:], U[:3])])
