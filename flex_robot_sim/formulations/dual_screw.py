"""
Paper `dual_screw`: equations of motion to first order in what bends, from dual screws.

An arm bends little, so that products of elastic states may go. Instead of deriving the whole
dynamics and linearising it afterwards, every quantity is a dual one: what the stiff arm has is
its real part, what bending adds to first order its dual part, and eps^2 = 0 drops the rest while
the equations are written. Links are poses in G2; joints are dual lines and modes dual screws,
brought to each link as the columns of its projection matrix P. In its Jacobian form P gives the
dual twist of the link, t = P u (91); in its projecting form it projects wrenches on the directions
of the speeds, as the partial velocities of Kane do (93). With the rates of the screws (76), the
inertias D (102), (107) and the turning W (103), (108), the sums (112) over links and sections give

    M du/dt + C u + K q = tau                                                             (111)

Some terms of first order are not in the paper, and (112) does not conserve energy. By default
partial velocities are of first order, and products of them are kept:

    M = sum m P^T P,   h = sum m P^T (dP/dt u + omega x P u),   energy = u^T M u / 2

`PAPER` is (112) word by word; docs/papers/dual_screw.md says why.
Equation numbers: Cibicik & Egeland (2021), dual_numbers.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flex_robot_sim.formulations.dual_compiled import Sampled, mass_matrix_and_bias
from flex_robot_sim.formulations.dual_groups import g1_inverse
from flex_robot_sim.formulations.dual_numbers import dual_hat
from flex_robot_sim.formulations.dual_projection import Points, Projections, place_by_order

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmModel

COVERS = 'every arm; what is of second order in its elastic states is left out'


SPECK = 1e-14               # what is left of an inertia when all of it was subtracted
SWAPPED = [3, 4, 5, 0, 1, 2, 9, 10, 11, 6, 7, 8]     # real and dual halves (70)


class Variant(NamedTuple):
    """What the equations hold beside the paper's, or in its place."""

    turning_ends: bool = True   # the end of a link turns by exp(theta), not by 1 + [theta] (27)
    held_sections: bool = True  # sections feel no turning moment of their own, as in (T22)
    keeps_energy: bool = True   # partial velocities are of first order, products of them are kept


PAPER = Variant(turning_ends=False, held_sections=False, keeps_energy=False)


PAPER_OPTIONS = {'variant': PAPER}


def make(arm: ArmModel, variant: Variant | None = None) -> DualScrew:
    """Return the formulation for an ArmModel; `PAPER` is the variant of the paper."""
    return DualScrew(arm, variant)


class System(NamedTuple):
    """Matrices of (111) for n coordinates."""

    M: np.ndarray               # (n, n)  mass matrix
    C: np.ndarray               # (n, n)  centrifugal and Coriolis matrix
    K: np.ndarray               # (n, n)  stiffness of the links
    tau: np.ndarray             # (n,)    generalised forces of gravity             [N m, N]


class DualScrew:
    """Linearised equations of motion of an ArmModel."""

    def __init__(self, arm: ArmModel, variant: Variant | None = None) -> None:
        self.arm, self.variant = arm, variant or Variant()
        self.projections = Projections(arm, self.variant.turning_ends)
        self.gravity = np.concatenate([-arm.arrays.base_acceleration[3:], np.zeros(3)])
        self.points, self.masses, self.D = self._elements()
        self.K = self._stiffness()
        self.rotors = np.zeros(arm.size)
        for j, motor in enumerate(arm.arrays.motor):
            self.rotors[j if motor < 0 else motor] = arm.arrays.rotor[j]
        self._sampled = self._as_sampled()

    def accelerations(self, q: np.ndarray, qd: np.ndarray, force: np.ndarray) -> np.ndarray:
        """Accelerations (n,) by (111); `force` holds the springs already, K included."""
        M, h = self.mass_matrix_and_bias(q, qd)
        return np.linalg.solve(M, force - h)

    def mass_matrix_and_bias(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """M (n, n) and C u less gravity (n,): those of `system`, as machine code."""
        return self._evaluated(q, qd)[:2]

    def energies(self, q: np.ndarray, qd: np.ndarray) -> tuple[float, float]:
        """Kinetic energy and energy of height, to second order in what bends [J]."""
        M, _, height = self._evaluated(q, qd)
        return 0.5 * qd @ M @ qd, height

    def _evaluated(self, q, qd):
        return mass_matrix_and_bias(self._sampled, *self.variant, np.asarray(q, float),
                                    np.asarray(qd, float))

    def system(self, q: np.ndarray, qd: np.ndarray) -> System:
        """Return the System (112) at coordinates q and rates qd (n,)."""
        links = self.projections.links(q, qd)
        part = self.projections.by_speed(links, self.points, q, qd)
        P, D, J, rate = part.projecting, self.D, part.jacobian, part.rate
        point, section = part.point, part.section
        # gravity in the coordinates of each link                                   (123)
        fall = np.array([g1_inverse(link.pose[:6, :6]) @ self.gravity for link in links])
        weight = self.masses[:, None] * doubled(fall)[self.points.link]
        tau = projected(P[:, 6:], weight[..., None])[:, 0]                          # (109)
        if self.variant.keeps_energy:
            turning = np.array([link.projecting[:6] for link in links]) @ qd
            P = J = joined(P)
            rate = joined(self.projections.projecting_rate(part, links, self.points, q, qd))
            section = J @ qd
            point = np.concatenate([joined(turning[..., None])[self.points.link, :, 0],
                                    section[:, 6:]], axis=1)
            tau = tau + self._weight_of_second_order(q)
        momentum = D @ J
        M = np.diag(self.rotors) + projected(P, D @ P)                              # (112)
        C = projected(P, D @ rate)                                                  # (112)
        turning = turned(point, momentum)                                           # (103)
        if self.variant.held_sections:
            # the inertia of a section stays with the root: its own turn does not feel the turning
            P = P.copy()
            P[:, :3] -= self.points.Theta
        else:
            # D W1 P + W2 D P: W1 turns with the link, W2 with the section          (108)
            inside = dual_hat(point[:, :6]) @ J[:, :6]
            inside *= self.points.Theta.any(axis=(1, 2))[:, None, None]
            turning[:, :6] = D[:, :6, :6] @ inside + turned(section, momentum)[:, :6]
        return System(M, C + projected(P, turning), self.K, tau)

    def _weight_of_second_order(self, q):
        """
        Generalised forces (n,) of gravity on rigid speeds, of second order in what bends.

        A pose is a polynomial of the elastic states. Its orders 0 to 2 are the axes of a joint and
        the places of all that it carries; here those products of them that make two.
        """
        arrays, gravity, count = self.arm.arrays, self.gravity[:3], self.arm.arrays.parent.size
        poses = self.projections.poses_by_order(q)
        mass, moment, tau = np.zeros(count), np.zeros((count, 3, 3)), np.zeros(self.arm.size)
        for g, i in enumerate(self.points.link):
            mass[i] += self.masses[g]
            moment[i] += self.masses[g] * place_by_order(poses[i], self.points, g, q)
        for i in reversed(range(count)):
            if arrays.parent[i] >= 0:
                mass[arrays.parent[i]] += mass[i]
                moment[arrays.parent[i]] += moment[i]
            if arrays.joint[i] >= 0:
                R, o = poses[i]
                away = moment[i] - mass[i] * o
                moved = mass[i] * R[2] @ arrays.screw[i, 3:] + sum(
                    np.cross(R[k] @ arrays.screw[i, :3], away[2 - k]) for k in range(3))
                tau[arrays.joint[i]] = gravity @ moved
        return tau

    def _elements(self):
        """Points, masses (g,) and D (g, 12, 12) of what is rigid in bodies, and of sections."""
        points, masses, D = [], [], []
        for i, (mass, centre, inertia) in _rigid_parts(self.arm):
            points.append(self.projections.centres([i], [centre]))
            masses.append([mass])
            D.append([inertia_matrix(mass, inertia)])                               # (102)
        for i, beam in self.arm.beams.items():
            points.append(self.projections.sections(i, beam.stations))
            masses.append(beam.section.mass_per_length * beam.weights)
            D.append([inertia_matrix(mass, np.diag(J)) for mass, J in zip(
                masses[-1], beam.weights[:, None] * beam.section.inertia)])         # (107)
        return (Points(*map(np.concatenate, zip(*points))), np.concatenate(masses),
                np.concatenate(D))

    def _as_sampled(self):
        """The arm as the compiled sums want it; points that carry links before all others."""
        arrays, seats = self.arm.arrays, self.projections.seats
        rides = np.full(arrays.parent.size, -1)
        rides[list(seats)] = range(len(seats))
        points = [np.concatenate(column) for column in zip(*seats.values(), self.points)]
        link, widest = points[0], max(arrays.modes.max(), 1)
        own = np.zeros((3, link.size, 3, widest))
        Phi, Theta, H = own[0], own[1], np.zeros((link.size, widest, widest))
        for g, i in enumerate(link):
            part, m = self.projections.modes_of(i), arrays.modes[i]
            Phi[g, :, :m], Theta[g, :, :m] = points[2][g][:, part], points[3][g][:, part]
            H[g, :m, :m] = points[4][g][part, part]
        carried = np.zeros(len(seats))
        inertia = np.concatenate([np.zeros((len(seats), 3, 3)), self.D[:, 3:6, :3]])
        return Sampled(
            *(np.ascontiguousarray(column) for column in (
                arrays.parent, arrays.joint, arrays.first, arrays.modes, arrays.home_R,
                arrays.home_p, arrays.screw, rides, self.rotors, link, points[1], Phi, Theta, H,
                np.concatenate([carried, self.masses]), inertia, self.gravity[:3])))

    def _stiffness(self):
        """Stiffness (n, n) of the links (112), as an integral of their strains."""
        K = np.zeros((self.arm.size, self.arm.size))
        for i, beam in self.arm.beams.items():
            part, section = self.projections.modes_of(i), beam.section
            strain = beam.strain(beam.stations)
            each = np.array([section.EA, section.GJ, section.EIy, section.EIz])
            K[part, part] = np.einsum('g,a,gai,gaj->ij', beam.weights, each, strain, strain,
                                      optimize=True)
        return K


def inertia_matrix(mass: float, inertia: np.ndarray) -> np.ndarray:
    """Inertia D (12, 12) of a rigid link or a section: [M, M; M, 0] by halves (99), (102)."""
    D = np.zeros((12, 12))
    for half, block in ((0, inertia), (6, mass * np.eye(3))):
        D[half:half + 3, half:half + 3] = D[half:half + 3, half + 3:half + 6] = block
        D[half + 3:half + 6, half:half + 3] = block
    return D


def joined(screws: np.ndarray) -> np.ndarray:
    """Dual screws (..., 12, n) as plain ones: both halves are the real part, the dual is zero."""
    out = np.zeros_like(screws)
    for half in (0, 6):
        out[..., half:half + 3, :] = (screws[..., half:half + 3, :]
                                      + screws[..., half + 3:half + 6, :])
    return out


def doubled(force: np.ndarray) -> np.ndarray:
    """Forces [f + df; f] (k, 6) as the projecting matrix takes them: I of (99) on [f; df]."""
    return np.concatenate([force[:, :3] + force[:, 3:], force[:, :3]], axis=1)


def turned(point: np.ndarray, momentum: np.ndarray) -> np.ndarray:
    """Product of W (103) with columns (..., 12, n) that D has made: [w, dw; 0, w] by halves."""
    # that is [w]^ of a dual vector whose halves are swapped, before and after
    swapped = momentum[..., SWAPPED, :]
    w = dual_hat(point[..., :6])
    out = np.empty_like(momentum)
    out[..., SWAPPED[:6], :] = w @ swapped[..., :6, :]
    out[..., SWAPPED[6:], :] = w @ swapped[..., 6:, :]
    return out


def projected(P: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Product of P^T (..., n, 12) and columns (..., 12, k), summed over the sections."""
    return P.reshape(-1, P.shape[-1]).T @ columns.reshape(-1, columns.shape[-1])


def _rigid_parts(arm):
    """Yield body and (mass, centre, inertia about it) of what is rigid there, sections aside."""
    for i, inertia in enumerate(arm.arrays.inertia):
        inertia = inertia.copy()
        if i in arm.beams:
            beam = arm.beams[i]
            inertia[range(3), range(3)] -= beam.section.inertia * beam.length
        if np.abs(inertia).max() < SPECK:
            continue
        # upper right block: mass times [centre]
        mass, block = inertia[3, 3], inertia[:3, 3:]
        centre = np.array([block[2, 1], block[0, 2], block[1, 0]]) / (mass or 1.0)
        away = mass * (centre @ centre * np.eye(3) - np.outer(centre, centre))
        yield i, (mass, centre, inertia[:3, :3] - away)
