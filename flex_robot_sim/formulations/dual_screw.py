"""
Paper `dual_screw`: equations of motion to first order in the elastic states, from dual screws.

An arm bends little, so products of elastic states are neglected. Other methods derive the full
dynamics and linearise it afterwards. Here every quantity is dual: its real part is that of the
rigid arm, its dual part the first-order effect of bending, and eps^2 = 0 drops all other terms.
Links are poses in G2. Joints are dual lines and modes dual screws; mapped to a link, they are the
columns of its projection matrix P. In its Jacobian form P gives the dual twist of the link,
t = P u (91). In its projecting form it projects wrenches on the directions of the speeds, as the
partial velocities of Kane do (93). With the rates of the screws (76), the inertias D (102), (107)
and the gyroscopic matrices W (103), (108), the sums (112) over links and sections give

    M du/dt + C u + K q = tau                                                             (111)

The paper lacks some terms of first order, and (112) does not conserve energy. By default, partial
velocities are truncated after first order, and their products are not truncated:

    M = sum m P^T P,   h = sum m P^T (dP/dt u + omega x P u),   energy = u^T M u / 2

`PAPER` is exactly (112); docs/papers/dual_screw.md explains the differences.
Equation numbers: Cibicik & Egeland (2021), dual_numbers.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from flex_robot_sim.formulations.dual_compiled import DualSampledArm, mass_matrix_and_bias
from flex_robot_sim.formulations.dual_groups import g1_inverse
from flex_robot_sim.formulations.dual_numbers import dual_hat
from flex_robot_sim.formulations.dual_projection import Points, Projections, position_by_order
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.serialization import writable

COVERS = 'every arm; neglects second-order terms of its elastic states'


INERTIA_ROUNDING = 1e-14  # smaller entries of a difference of inertias are zero          [SI]
SWAPPED_HALVES = [3, 4, 5, 0, 1, 2, 9, 10, 11, 6, 7, 8]  # swaps real and dual parts (70)


class Variant(NamedTuple):
    """Terms that differ from the paper."""

    exact_end_rotation: bool = True  # ends of links rotate by exp(theta), not by 1 + [theta] (27)
    omits_section_gyroscopics: bool = True  # no such moments on the rotation of sections (T22)
    keeps_energy: bool = True  # keep all products of first-order partial velocities


PAPER = Variant(exact_end_rotation=False, omits_section_gyroscopics=False, keeps_energy=False)


PAPER_OPTIONS = {'variant': PAPER}


def make(arm: ArmModel, variant: Variant | None = None) -> DualScrew:
    """Return the formulation for an ArmModel; `PAPER` is the variant of the paper."""
    return DualScrew(arm, variant)


class System(NamedTuple):
    """Matrices of (111) for n coordinates."""

    M: np.ndarray  # (n, n)  mass matrix
    C: np.ndarray  # (n, n)  centrifugal and Coriolis matrix
    K: np.ndarray  # (n, n)  stiffness of the links
    tau: np.ndarray  # (n,)    generalised forces of gravity             [N m, N]


class DualScrew:
    """Linearised equations of motion of an ArmModel."""

    def __init__(self, arm: ArmModel, variant: Variant | None = None) -> None:
        self.arm, self.variant = arm, variant or Variant()
        self.projections = Projections(arm, self.variant.exact_end_rotation)
        self.gravity = np.concatenate([-arm.arrays.base_acceleration[3:], np.zeros(3)])
        self.points, self.masses, self.D = self._elements()
        self.K = self._stiffness()
        self.rotors = np.zeros(arm.size)
        for j, motor in enumerate(arm.arrays.motor):
            self.rotors[j if motor < 0 else motor] = arm.arrays.rotor[j]
        self._sampled_arm = self._sample_arm()

    def accelerations(self, q: np.ndarray, qd: np.ndarray, force: np.ndarray) -> np.ndarray:
        """Accelerations (n,) by (111); `force` includes all springs, so K is not added."""
        M, h = self.mass_matrix_and_bias(q, qd)
        return np.linalg.solve(M, force - h)

    def mass_matrix_and_bias(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """M (n, n) and C u minus gravity (n,), as in `system`, by compiled code."""
        return self._evaluate(q, qd)[:2]

    def energies(self, q: np.ndarray, qd: np.ndarray) -> tuple[float, float]:
        """Kinetic and gravitational energy, to second order in the elastic states [J]."""
        M, _, potential = self._evaluate(q, qd)
        return 0.5 * qd @ M @ qd, potential

    def _evaluate(self, q, qd):
        return mass_matrix_and_bias(
            self._sampled_arm, *self.variant, np.asarray(q, float), np.asarray(qd, float)
        )

    def system(self, q: np.ndarray, qd: np.ndarray) -> System:
        """Return the System (112) at coordinates q and rates qd (n,)."""
        links = self.projections.links(q, qd)
        projection = self.projections.project_points(links, self.points, q, qd)
        P = projection.projecting
        D = self.D
        J = projection.jacobian
        J_rate = projection.jacobian_rate
        point_twist, section_twist = projection.point_twist, projection.section_twist
        # gravity in the coordinates of each link                                   (123)
        link_gravity = np.array([g1_inverse(link.pose[:6, :6]) @ self.gravity for link in links])
        point_weights = self.masses[:, None] * force_for_projection(link_gravity)[self.points.link]
        tau = project_on_speeds(P[:, 6:], point_weights[..., None])[:, 0]  # (109)
        if self.variant.keeps_energy:
            link_rates = np.array([link.projecting[:6] for link in links]) @ qd
            P = J = merge_halves(P)
            J_rate = merge_halves(
                self.projections.projecting_rate(projection, links, self.points, q, qd)
            )
            section_twist = J @ qd
            point_twist = np.concatenate(
                [
                    merge_halves(link_rates[..., None])[self.points.link, :, 0],
                    section_twist[:, 6:],
                ],
                axis=1,
            )
            tau = tau + self._second_order_gravity(q)
        momentum = D @ J
        M = np.diag(self.rotors) + project_on_speeds(P, D @ P)  # (112)
        C = project_on_speeds(P, D @ J_rate)  # (112)
        gyroscopic = gyroscopic_product(point_twist, momentum)  # (103)
        if self.variant.omits_section_gyroscopics:
            # gyroscopic moments of a section act on its link, not on its elastic rotation
            P = P.copy()
            P[:, :3] -= self.points.Theta
        else:
            # D W1 P + W2 D P: W1 has the rate of the link, W2 that of the section  (108)
            W1_J = dual_hat(point_twist[:, :6]) @ J[:, :6]
            W1_J *= self.points.Theta.any(axis=(1, 2))[:, None, None]
            gyroscopic[:, :6] = (
                D[:, :6, :6] @ W1_J + gyroscopic_product(section_twist, momentum)[:, :6]
            )
        return System(M, C + project_on_speeds(P, gyroscopic), self.K, tau)

    def _second_order_gravity(self, q):
        """
        Generalised forces (n,) of gravity on rigid speeds, of second order in the elastic states.

        Joint axes and the positions of masses beyond a joint are polynomials of order 2 in the
        elastic states. These forces are the products whose orders sum to two.
        """
        arrays, gravity, count = self.arm.arrays, self.gravity[:3], self.arm.arrays.parent.size
        poses = self.projections.poses_by_order(q)
        mass, first_moment, tau = np.zeros(count), np.zeros((count, 3, 3)), np.zeros(self.arm.size)
        for g, i in enumerate(self.points.link):
            mass[i] += self.masses[g]
            first_moment[i] += self.masses[g] * position_by_order(poses[i], self.points, g, q)
        for i in reversed(range(count)):
            if arrays.parent[i] >= 0:
                mass[arrays.parent[i]] += mass[i]
                first_moment[arrays.parent[i]] += first_moment[i]
            if arrays.joint[i] >= 0:
                R, o = poses[i]
                joint_moment = first_moment[i] - mass[i] * o
                moment_slope = mass[i] * R[2] @ arrays.screw[i, 3:] + sum(
                    np.cross(R[k] @ arrays.screw[i, :3], joint_moment[2 - k]) for k in range(3)
                )
                tau[arrays.joint[i]] = gravity @ moment_slope
        return tau

    def _elements(self):
        """Points, masses (g,) and D (g, 12, 12) of the rigid parts of bodies, and of sections."""
        points, D = [], []
        masses: list[np.ndarray] = []
        for i, (mass, centre, inertia) in _rigid_parts(self.arm):
            points.append(self.projections.rigid_points([i], [centre]))
            masses.append(np.array([mass]))
            D.append([inertia_matrix(mass, inertia)])  # (102)
        for i, beam in self.arm.beams.items():
            points.append(self.projections.beam_points(i, beam.stations))
            masses.append(beam.section.mass_per_length * beam.weights)
            D.append(
                [
                    inertia_matrix(mass, np.diag(J))
                    for mass, J in zip(masses[-1], beam.weights[:, None] * beam.section.inertia)
                ]
            )  # (107)
        return (
            Points(*map(np.concatenate, zip(*points))),
            np.concatenate(masses),
            np.concatenate(D),
        )

    def _sample_arm(self):
        """Return the arm of the compiled sums; attachment points of links come first."""
        arrays, attachments = self.arm.arrays, self.projections.attachments
        attachment_points = np.full(arrays.parent.size, -1)
        attachment_points[list(attachments)] = range(len(attachments))
        points = [np.concatenate(column) for column in zip(*attachments.values(), self.points)]
        link, max_modes = points[0], max(arrays.modes.max(), 1)
        shapes = np.zeros((3, link.size, 3, max_modes))
        Phi, Theta, H = shapes[0], shapes[1], np.zeros((link.size, max_modes, max_modes))
        for g, i in enumerate(link):
            modes, count = self.arm.elastic_coordinates(i), arrays.modes[i]
            Phi[g, :, :count], Theta[g, :, :count] = points[2][g][:, modes], points[3][g][:, modes]
            H[g, :count, :count] = points[4][g][modes, modes]
        attachment_masses = np.zeros(len(attachments))
        inertia = np.concatenate([np.zeros((len(attachments), 3, 3)), self.D[:, 3:6, :3]])
        return DualSampledArm(
            *(
                writable(column)
                for column in (  # read-only ones would be compiled again
                    arrays.parent,
                    arrays.joint,
                    arrays.first,
                    arrays.modes,
                    arrays.home_R,
                    arrays.home_p,
                    arrays.screw,
                    attachment_points,
                    self.rotors,
                    link,
                    points[1],
                    Phi,
                    Theta,
                    H,
                    np.concatenate([attachment_masses, self.masses]),
                    inertia,
                    self.gravity[:3],
                )
            )
        )

    def _stiffness(self):
        """Stiffness (n, n) of the links (112), as an integral of their strains."""
        K = np.zeros((self.arm.size, self.arm.size))
        for i, beam in self.arm.beams.items():
            modes, section = self.arm.elastic_coordinates(i), beam.section
            strain = beam.strain(beam.stations)
            stiffnesses = np.array([section.EA, section.GJ, section.EIy, section.EIz])
            K[modes, modes] = np.einsum(
                'g,a,gai,gaj->ij', beam.weights, stiffnesses, strain, strain, optimize=True
            )
        return K


def inertia_matrix(mass: float, inertia: np.ndarray) -> np.ndarray:
    """Inertia D (12, 12) of a rigid link or a section: [M, M; M, 0] by halves (99), (102)."""
    D = np.zeros((12, 12))
    for half, block in ((0, inertia), (6, mass * np.eye(3))):
        D[half : half + 3, half : half + 3] = D[half : half + 3, half + 3 : half + 6] = block
        D[half + 3 : half + 6, half : half + 3] = block
    return D


def merge_halves(screws: np.ndarray) -> np.ndarray:
    """Add the dual parts of screws (..., 12, n) to their real parts; dual parts become zero."""
    out = np.zeros_like(screws)
    for half in (0, 6):
        out[..., half : half + 3, :] = (
            screws[..., half : half + 3, :] + screws[..., half + 3 : half + 6, :]
        )
    return out


def force_for_projection(force: np.ndarray) -> np.ndarray:
    """Forces [f + df; f] (k, 6) for the projecting matrix: I of (99) times [f; df]."""
    return np.concatenate([force[:, :3] + force[:, 3:], force[:, :3]], axis=1)


def gyroscopic_product(point_twist: np.ndarray, momentum: np.ndarray) -> np.ndarray:
    """Product of W = [w, dw; 0, w] (103), by halves, with columns D t (..., 12, n)."""
    # equal to [w]^ of a dual vector with its halves swapped before and after
    swapped = momentum[..., SWAPPED_HALVES, :]
    w = dual_hat(point_twist[..., :6])
    out = np.empty_like(momentum)
    out[..., SWAPPED_HALVES[:6], :] = w @ swapped[..., :6, :]
    out[..., SWAPPED_HALVES[6:], :] = w @ swapped[..., 6:, :]
    return out


def project_on_speeds(P: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Product of P^T (..., n, 12) and columns (..., 12, k), summed over the sections."""
    return P.reshape(-1, P.shape[-1]).T @ columns.reshape(-1, columns.shape[-1])


def _rigid_parts(arm):
    """Yield body and (mass, centre, inertia about it) of rigid parts, without beam sections."""
    for i, inertia in enumerate(arm.arrays.inertia):
        inertia = inertia.copy()
        if i in arm.beams:
            beam = arm.beams[i]
            inertia[range(3), range(3)] -= beam.section.inertia * beam.length
        if np.abs(inertia).max() < INERTIA_ROUNDING:
            continue
        # upper right block: mass times [centre]
        mass, block = inertia[3, 3], inertia[:3, 3:]
        centre = np.array([block[2, 1], block[0, 2], block[1, 0]]) / (mass or 1.0)
        parallel_axis = mass * (centre @ centre * np.eye(3) - np.outer(centre, centre))
        yield i, (mass, centre, inertia[:3, :3] - parallel_axis)
