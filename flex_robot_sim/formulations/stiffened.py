"""
The stiffened arm: n flexible links and n flexible joints in 4 x 4 matrices.

The paper of 2013 follows Book's recursive Lagrangian dynamics. A point of link i is W_i h_i, where
h_i holds its place in the link, W_i = W_(i-1) E_(i-1) A_i is a product of homogeneous matrices, A
turns the joint and E goes from the base frame of a link to its distal frame. The kinetic energy
is a trace of squares, (16), so that Lagrange's equations need derivatives of W only. To stretch,
two bendings and torsion it adds the axial shortening by bending, which is of second order and
gives a turning beam its stiffness: `shortening`. Without it, `zero_order`, a beam that turns
faster than its first frequency diverges, and that is wrong. A flexible joint has a link side and
a motor side with inertia J n^2 and a spring between them. Masses sit at both ends of a link.

The paper's E is of first order in the elastic states, and so is that of Book: `exact_turns=False`.
It leaves out how far a body sinks that the end of the link turns, so its forces differ in first
order from those of the others; the default turns the section as a rotation does. The equations of
this paper are missing from the text that we have: numbers (1) to (6) below are ours. Slender links
have no rotary inertia in the paper but for torsion; here sections keep theirs, as in the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flex_robot_sim.formulations.positive_definite import solve_positive_definite
from flex_robot_sim.formulations.sections import carried_sections, displaced, sample
from flex_robot_sim.formulations.turning import rotation, skew, turn

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmModel

COVERS = 'trees of rigid and flexible links, rigid and flexible joints'
PAPER_OPTIONS = {'exact_turns': False}


class Chain(NamedTuple):
    """A homogeneous matrix W of an arm with n coordinates, and its derivatives."""

    W: np.ndarray           # (4, 4)
    by: np.ndarray          # (n, 4, 4)  derivative by each coordinate
    rest: np.ndarray        # (4, 4)     second rate when no rate changes


def make(arm: ArmModel, exact_turns: bool = True) -> Stiffened:
    """
    Return the formulation of an ArmModel.

    :param exact_turns: False: matrices of the ends of links are of first order, as in the paper.
    """
    return Stiffened(arm, exact_turns)


class Stiffened:
    """Lagrange's equations of an arm in homogeneous matrices."""

    def __init__(self, arm: ArmModel, exact_turns: bool = True) -> None:
        """Sample the beams of `arm` (ArmModel) where their masses sit."""
        self.arm, self.exact_turns = arm, exact_turns
        self._points = {i: sample(beam, beam.stations, arm.coupling)
                        for i, beam in arm.beams.items()}
        self._carried = carried_sections(arm)
        self._mass = [_pseudo_inertia(I, arm.beams.get(i))
                      for i, I in enumerate(arm.arrays.inertia)]

    def accelerations(self, q: np.ndarray, qd: np.ndarray, force: np.ndarray) -> np.ndarray:
        """
        Accelerations of all coordinates (n,).

        :param q: coordinates, (n,) [rad, m]; qd are their rates.
        :param force: on the coordinates, all that is neither inertia nor gravity (n,) [N m, N].
        """
        M, h = self.mass_matrix_and_bias(q, qd)
        return solve_positive_definite(M, force - h)

    def mass_matrix_and_bias(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mass matrix (n, n), and velocity terms with gravity (n,), of Lagrange's equations."""
        arrays, n = self.arm.arrays, self.arm.size
        M, h = np.zeros((n, n)), np.zeros(n)
        for i, at in enumerate(self._chains(q, qd)):
            self._add_rigid(i, at, M, h)
            if i in self._points:
                self._add_link(i, at, q, qd, M, h)
        # rotors carry no more than their own inertia, T = J n^2 dq^2 / 2                      (6)
        for j, m in enumerate(arrays.motor):
            k = j if m < 0 else m
            M[k, k] += arrays.rotor[j]
        return M, h

    def energies(self, q: np.ndarray, qd: np.ndarray) -> tuple[float, float]:
        """Kinetic energy and energy of height [J]."""
        arrays, up, height = self.arm.arrays, self.arm.arrays.base_acceleration[3:], 0.0
        for i, at in enumerate(self._chains(q, qd)):
            if self._mass[i] is not None:
                height += up @ at.W[:3] @ self._mass[i][:, 3]
            if i in self._points:
                beam, part = self.arm.beams[i], slice(arrays.first[i],
                                                      arrays.first[i] + arrays.modes[i])
                d, _, _ = displaced(self._points[i], q[part], qd[part])
                mass = beam.section.mass_per_length * beam.weights
                height += up @ (mass.sum() * at.W[:3, 3] + at.W[:3, :3] @ (mass @ d))
        return 0.5 * qd @ self.mass_matrix_and_bias(q, qd)[0] @ qd, height

    def _chains(self, q: np.ndarray, qd: np.ndarray) -> list[Chain]:
        """Chains of all bodies, gravity as a base that rises."""
        arrays, n = self.arm.arrays, self.arm.size
        chains: list[Chain] = []
        base = Chain(np.eye(4), np.zeros((n, 4, 4)),
                     _of(np.zeros((3, 3)), arrays.base_acceleration[3:], 0))
        for i, parent in enumerate(arrays.parent):
            at = base if parent < 0 else chains[parent]
            if i in self._carried:
                at = self._distal(i, at, q, qd)
            chains.append(self._jointed(i, at, q, qd))
        return chains

    def _jointed(self, i, at, q, qd):
        """W_i = W E A_i, with the fixed place of the joint in A_i (1)."""
        arrays, j, S = self.arm.arrays, self.arm.arrays.joint[i], self.arm.arrays.screw[i]
        home = _of(arrays.home_R[i], arrays.home_p[i], 1)
        if j < 0:
            return Chain(at.W @ home, at.by @ home, at.rest @ home)
        if S[:3].any():
            turned = _of(rotation(S[:3], q[j]), np.zeros(3), 1)
            spin = _of(skew(S[:3]), np.zeros(3))
        else:
            turned = _of(np.eye(3), S[3:] * q[j], 1)
            spin = _of(np.zeros((3, 3)), S[3:])
        A = home @ turned
        dA = A @ spin
        rate = np.tensordot(qd, at.by, 1)
        by = at.by @ A
        by[j] += at.W @ dA
        rest = at.rest @ A + 2 * qd[j] * rate @ dA + qd[j]**2 * at.W @ dA @ spin
        return Chain(at.W @ A, by, rest)

    def _distal(self, i, at, q, qd):
        """W E, with E from the base frame of the link to the frame that its end carries (2)."""
        arrays, section = self.arm.arrays, self._carried[i]
        parent = arrays.parent[i]
        first, m = arrays.first[parent], arrays.modes[parent]
        e, de = q[first:first + m], qd[first:first + m]
        d, D, rest = displaced(section, e, de)
        Theta = section.Theta[0]
        dE = np.zeros((m, 4, 4))
        dE[:, :3, 3] = D[0].T
        if self.exact_turns:
            R, J, dJ = turn(Theta @ e, Theta @ de)
            spin = skew(J @ Theta @ de)
            for k in range(m):
                dE[k, :3, :3] = skew(J @ Theta[:, k]) @ R
            second = (skew(dJ @ Theta @ de) + spin @ spin) @ R
        else:
            R, second = np.eye(3) + skew(Theta @ e), np.zeros((3, 3))
            for k in range(m):
                dE[k, :3, :3] = skew(Theta[:, k])
        E, rate = _of(R, d[0], 1), np.tensordot(qd, at.by, 1)
        by = at.by @ E
        by[first:first + m] += at.W @ dE
        moved = np.tensordot(de, dE, 1)
        return Chain(at.W @ E, by, at.rest @ E + 2 * rate @ moved + at.W @ _of(second, rest[0]))

    def _add_rigid(self, i, at, M, h):
        """Add what is rigid in body i, and masses at its ends, by M_jk = Tr(W_j P W_k^T) (3)."""
        P = self._mass[i]
        if P is None:
            return
        n = len(h)
        by = at.by[:, :3] @ P
        flat = at.by[:, :3].reshape(n, -1)
        M += by.reshape(n, -1) @ flat.T
        h += by.reshape(n, -1) @ at.rest[:3].ravel()

    def _add_link(self, i, at, q, qd, M, h):
        """Add the beam of body i: its points, (4), and the turning of its sections, (5)."""
        arrays, beam, points = self.arm.arrays, self.arm.beams[i], self._points[i]
        first, m = arrays.first[i], arrays.modes[i]
        part = slice(first, first + m)
        e, de = q[part], qd[part]
        d, D, rest = displaced(points, e, de)
        mass = beam.section.mass_per_length * beam.weights
        ones = np.ones((len(d), 1))
        places = np.hstack([d, ones])
        R, rate = at.W[:3, :3], np.tensordot(qd, at.by, 1)[:3, :3]
        # J = dW h + W dh, and second rates W.. h + 2 W. h. + W h..                            (4)
        J = np.einsum('kab,gb->gak', at.by[:, :3], places)
        J[:, :, part] += R @ D
        a = places @ at.rest[:3].T + 2 * (D @ de) @ rate.T + rest @ R.T
        weighted = (mass[:, None, None] * J).reshape(-1, len(h))
        M += weighted.T @ J.reshape(-1, len(h))
        h += weighted.T @ a.ravel()
        # a section turns with omega + Theta de; R^T dR of a coordinate is its turn            (5)
        inertia, Theta = beam.section.inertia, points.Theta
        turns = np.einsum('ba,kbc->kac', R, at.by[:, :3, :3])
        G = 0.5 * np.stack([turns[:, 2, 1] - turns[:, 1, 2], turns[:, 0, 2] - turns[:, 2, 0],
                            turns[:, 1, 0] - turns[:, 0, 1]])
        spin = R.T @ rate
        omega = 0.5 * np.array([spin[2, 1] - spin[1, 2], spin[0, 2] - spin[2, 0],
                                spin[1, 0] - spin[0, 1]])
        second = R.T @ at.rest[:3, :3]
        alpha = 0.5 * np.array([second[2, 1] - second[1, 2], second[0, 2] - second[2, 0],
                                second[1, 0] - second[0, 1]])
        whole = np.tensordot(beam.weights, Theta, 1)
        own = np.zeros((3, len(h)))
        own[:, part] = whole / beam.length
        J_G = inertia[:, None] * beam.length * G
        M += G.T @ J_G + J_G.T @ own + own.T @ J_G
        M[part, part] += np.einsum('g,a,gai,gaj->ij', beam.weights, inertia, Theta, Theta)
        momentum = inertia * (beam.length * omega + whole @ de)
        h += G.T @ np.cross(omega, momentum) + (J_G.T + (inertia[:, None] * beam.length * own).T
                                                ) @ alpha


def _of(R, p, corner=0.0):
    """Return the matrix (4, 4) of R and p; `corner` is 1 for a place, 0 for a rate."""
    matrix = np.zeros((4, 4))
    matrix[:3, :3], matrix[:3, 3], matrix[3, 3] = R, p, corner
    return matrix


def _pseudo_inertia(I, beam):
    """Return Book's inertia (4, 4) of a rigid body, without the sections of its beam; or None."""
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
