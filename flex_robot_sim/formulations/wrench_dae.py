"""
The wrench-DAE formulation: links stacked with the wrenches between them as unknowns.

Yaqubi, Kitzinger, Mueller, Gattringer and Mattila, Screw-Theoretic PDE-Based Synthesis for Unified
Representation of Multibody Flexible Manipulator Dynamics (2026). Every link obeys its own equation
of motion in its body-fixed twist V, (29), its modes obey the projected beam equation, (61), and
the joint before it says how its twist may differ from that of what carries it, (33). The wrench W
that a joint passes on stays an unknown. Stacked link by link, (42) to (44), that is one linear
system with blocks beside its diagonal only; another link appends rows, wherever it hangs.

What differs from the paper, and why. Sections turn and twist what they carry; with
`sections_turn=False` they only shift it, as in (23), and torsion moves nothing. The rows of
P_i in (33) leave the drive torque open: along the axis of the joint we write what the drive does.
Constraints are written in body frames instead of the base frame, which is better conditioned.
Gravity is a base that rises. Equation numbers are the paper's; screws are (angular, linear).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import splu

from flex_robot_sim.formulations.sections import (
    Sections,
    carried_sections,
    carrying,
    displaced,
    sample,
)
from flex_robot_sim.formulations.turning import cross, rotation, skew

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmModel

COVERS = 'trees of rigid and flexible links, revolute and prismatic joints'
PAPER_OPTIONS = {'sections_turn': False}
ONE, NONE, PLACES = np.eye(6), np.zeros((6, 6)), np.arange(3, 6)


class Link(NamedTuple):
    """One link by itself: M V' + B e'' + h = wrenches, B^T V' + E e'' + b = forces on modes."""

    M: np.ndarray           # (6, 6)  (10) with what is deflected
    B: np.ndarray           # (6, n)  (11), (64)
    E: np.ndarray           # (n, n)  (65)
    h: np.ndarray           # (6,)    (12)
    b: np.ndarray           # (n,)    (66), without what the springs do


class Spread(NamedTuple):
    """What is the same of a beam however it bends, at k sections."""

    points: Sections
    mass: np.ndarray        # (k,)    that each section stands for                      [kg]
    total: float            # of these
    spin: np.ndarray        # (3, n)  turning momentum by rate of e, and
    turning: np.ndarray     # (n, n)  mass of e, by the rotary inertia of the sections, which the
    #                                 paper leaves out


class Seat(NamedTuple):
    """How a link rides on the one before: V = X (T V_parent + N de) + S dq."""

    X: np.ndarray           # (6, 6)  from the section, or the frame, of the parent
    T: np.ndarray           # (6, 6)  from the frame of the parent to its section
    N: np.ndarray           # (6, n)  by the modes of the parent; n = 0 where it is stiff
    V: np.ndarray           # (6,)    twist of the section, in its own axes
    rest: np.ndarray        # (6,)    its rate when neither V_parent nor de change
    R: np.ndarray           # (3, 3)  pose of the link in the parent
    p: np.ndarray           # (3,)


class Solution(NamedTuple):
    """What one solution of the stacked system gives."""

    qdd: np.ndarray         # (n,)     accelerations of all coordinates
    wrenches: np.ndarray    # (i, 6)   that each body gets from the one before, in its own frame
    twist_rates: np.ndarray  # (i, 6)  of the bodies, with gravity as a base that rises
    matrix: object          # the stacked matrix, sparse


def make(arm: ArmModel, sections_turn: bool = True) -> WrenchDae:
    """
    Return the formulation of an ArmModel.

    :param sections_turn: False: the end of a link shifts the next one and does not turn it.
    """
    return WrenchDae(arm, sections_turn)


class WrenchDae:
    """The stacked system of an arm, chain or tree."""

    def __init__(self, arm: ArmModel, sections_turn: bool = True) -> None:
        """Sample the beams of `arm` (ArmModel) where their masses sit."""
        self.arm, self.sections_turn = arm, sections_turn
        self._spreads = {i: _spread(beam, arm.coupling) for i, beam in arm.beams.items()}
        self._carried = carried_sections(arm)
        sizes = 12 + arm.arrays.modes
        # a link has its rows in one place: joint, motion, modes; and columns W, V', e''       (43)
        self.start = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
        self._order: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    def accelerations(self, q: np.ndarray, qd: np.ndarray, force: np.ndarray) -> np.ndarray:
        """
        Accelerations of all coordinates (n,).

        :param q: coordinates, (n,) [rad, m]; qd are their rates.
        :param force: on the coordinates, all that is neither inertia nor gravity (n,) [N m, N].
        """
        return self.solve(q, qd, force).qdd

    def solve(self, q: np.ndarray, qd: np.ndarray, force: np.ndarray,
              loads: np.ndarray | None = None) -> Solution:
        """
        Return the Solution for q, qd and force, as `accelerations` has them.

        :param loads: wrenches from outside on the bodies, in their frames, (bodies, 6) [N m, N].
        """
        seats, twists = self._seats(q, qd)
        return self.solve_stacked(seats, twists, q, qd, force, loads)

    def energies(self, q: np.ndarray, qd: np.ndarray) -> tuple[float, float]:
        """Kinetic energy and energy of height, link by link [J]."""
        arrays, (seats, twists) = self.arm.arrays, self._seats(q, qd)
        rates = [qd[j if motor < 0 else motor] for j, motor in enumerate(arrays.motor)]
        kinetic, height = 0.5 * arrays.rotor @ np.square(rates), 0.0
        poses: list[tuple[np.ndarray, np.ndarray]] = []
        for i, (parent, seat, V) in enumerate(zip(arrays.parent, seats, twists)):
            R, p = poses[parent] if parent >= 0 else (np.eye(3), np.zeros(3))
            poses.append((R @ seat.R, p + R @ seat.p))
            R, p = poses[i]
            link = self.link(i, V, q, qd)
            de = qd[arrays.first[i]:arrays.first[i] + arrays.modes[i]]
            kinetic += V @ (0.5 * link.M @ V + link.B @ de) + 0.5 * de @ link.E @ de
            first = np.array([link.M[2, 4], link.M[0, 5], link.M[1, 3]])    # mass times centre
            height += arrays.base_acceleration[3:] @ (link.M[3, 3] * p + R @ first)
        return float(kinetic), float(height)

    def _seats(self, q: np.ndarray, qd: np.ndarray) -> tuple[list[Seat], np.ndarray]:
        """Seats of all bodies, and their twists (bodies, 6)."""
        arrays = self.arm.arrays
        seats: list[Seat] = []
        twists = np.zeros((arrays.parent.size, 6))
        for i in range(arrays.parent.size):
            j = arrays.joint[i]
            at, rate = (q[j], qd[j]) if j >= 0 else (0.0, 0.0)
            seats.append(self.seat(i, self._before(i, twists), q, qd, at))
            twists[i] = seats[i].X @ seats[i].V + arrays.screw[i] * rate
        return seats, twists

    def solve_stacked(self, seats: Sequence[Seat], twists: np.ndarray, q: np.ndarray,
                      qd: np.ndarray, force: np.ndarray, loads: np.ndarray | None = None
                      ) -> Solution:
        """
        Return the Solution for links with the twists (bodies, 6), whatever joints say of them.

        :param seats: a Seat for each body; q and qd (n,) are read for the modes.
        """
        arrays, start = self.arm.arrays, self.start
        blocks: list[tuple[int, int, np.ndarray]] = []
        right = np.zeros(start[-1])

        def put(row, column, block):
            blocks.append((row, column, block))

        links = [self.link(i, twists[i], q, qd) for i in range(arrays.parent.size)]
        relative, drive = [], np.zeros(arrays.parent.size)
        for i, (link, seat) in enumerate(zip(links, seats)):
            row, parent, j, n = start[i], arrays.parent[i], arrays.joint[i], arrays.modes[i]
            S = arrays.screw[i]
            # V' - X (T V'_parent + N e''_parent) = S q'' + c                          (30) to (34)
            c = seat.X @ seat.rest + _bracket(twists[i], twists[i] - seat.X @ seat.V)
            relative.append(c)
            P, wrench = ONE, NONE
            if j >= 0:
                # along the axis: S^T W + rotor q'' = torque of the drive, in the place of (26)
                rotor = arrays.rotor[j] if arrays.motor[j] < 0 else 0.0
                along = np.outer(S, S)
                P = P + (rotor - 1.0) * along
                wrench = along
                drive[i] = force[j]
            right[row:row + 6] = P @ c + S * drive[i]
            put(row, row, wrench)
            put(row, row + 6, P)
            if parent < 0:
                right[row:row + 6] += P @ seat.X @ arrays.base_acceleration
            else:
                before, XT = start[parent], seat.X @ seat.T
                put(row, before + 6, -P @ XT)
                # the link before feels the opposite of the wrench                            (28)
                put(before + 6, row, -XT.T)
                if i in self._carried:
                    XN = seat.X @ seat.N
                    put(row, before + 12, -P @ XN)
                    put(before + 12, row, -XN.T)
            # motion of the link                                                              (29)
            put(row + 6, row, ONE)
            put(row + 6, row + 6, -link.M)
            load = np.zeros(6) if loads is None else loads[i]
            right[row + 6:row + 12] = link.h - load
            # and of its modes                                                                (61)
            if n:
                put(row + 6, row + 12, -link.B)
                put(row + 12, row + 6, -link.B.T)
                put(row + 12, row + 12, -link.E)
                first = arrays.first[i]
                right[row + 12:row + 12 + n] = link.b - force[first:first + n]
        matrix = self._matrix(blocks)
        found = _solved(matrix, right)
        return self._read(found, seats, relative, force, matrix)

    def _matrix(self, blocks):
        """Return the sparse matrix of blocks, (row, column, entries); these are always there."""
        size = self.start[-1]
        if self._order is None:
            places = [_places(*block.shape) for _, _, block in blocks]
            rows, columns = (np.concatenate([block[k] + place[k] for block, place in
                                             zip(blocks, places)]) for k in (0, 1))
            order = np.lexsort((rows, columns))
            self._order = (order, rows[order].astype(np.int32),
                           np.searchsorted(columns[order], np.arange(size + 1)).astype(np.int32))
        order, rows, columns = self._order
        values = np.concatenate([block.ravel() for _, _, block in blocks])
        return csc_matrix((values[order], rows, columns), shape=(size, size))

    def _read(self, found, seats, relative, force, matrix):
        """Accelerations of joints, motors and modes, and wrenches, from the stacked unknowns."""
        arm, arrays, start = self.arm, self.arm.arrays, self.start
        bodies = arrays.parent.size
        wrenches = np.array([found[start[i]:start[i] + 6] for i in range(bodies)])
        rates = np.array([found[start[i] + 6:start[i] + 12] for i in range(bodies)])
        qdd = np.zeros(arm.size)
        for i in range(bodies):
            parent, j, first, n = (arrays.parent[i], arrays.joint[i], arrays.first[i],
                                   arrays.modes[i])
            qdd[first:first + n] = found[start[i] + 12:start[i + 1]]
            if j >= 0:
                carried = arrays.base_acceleration
                if parent >= 0:
                    carried = seats[i].T @ rates[parent]
                    if i in self._carried:
                        carried = carried + seats[i].N @ found[start[parent] + 12:
                                                               start[parent + 1]]
                qdd[j] = arrays.screw[i] @ (rates[i] - seats[i].X @ carried - relative[i])
                m = arrays.motor[j]
                if m >= 0:
                    qdd[m] = force[m] / arrays.rotor[j]
        return Solution(qdd, wrenches, rates, matrix)

    def _before(self, i, twists):
        parent = self.arm.arrays.parent[i]
        return twists[parent] if parent >= 0 else np.zeros(6)

    def seat(self, i: int, before: np.ndarray, q: np.ndarray, qd: np.ndarray, at: float) -> Seat:
        """
        Return the Seat of body i, whose joint is at `at`, on a parent with the twist `before`.

        (23) with the turn of the section, and (24).
        """
        arrays = self.arm.arrays
        T, N, V, rest = np.eye(6), np.zeros((6, 0)), before, np.zeros(6)
        R, p = np.eye(3), np.zeros(3)
        if i in self._carried:
            parent = arrays.parent[i]
            part = slice(arrays.first[parent], arrays.first[parent] + arrays.modes[parent])
            section = carrying(self._carried[i], q[part], qd[part], self.sections_turn)
            R, p = section.R, section.d
            T = _adjoint_inverse(R, p)
            N = np.vstack([R.T @ section.T, R.T @ section.D])
            omega, v = before[:3], before[3:]
            turned = omega + section.turning
            moved = v + cross(omega, p) + section.rate
            V = np.concatenate([R.T @ turned, R.T @ moved])
            # rates of components in axes that turn with the section
            rest = np.concatenate([
                R.T @ (section.turning_rest - cross(section.turning, turned)),
                R.T @ (cross(omega, section.rate) + section.rest - cross(section.turning, moved))])
        S = arrays.screw[i]
        turn = rotation(S[:3], at) if S[:3].any() else np.eye(3)
        home_R, home_p = arrays.home_R[i] @ turn, arrays.home_p[i] + arrays.home_R[i] @ S[3:] * at
        return Seat(_adjoint_inverse(home_R, home_p), T, N, V, rest, R @ home_R, p + R @ home_p)

    def link(self, i: int, V: np.ndarray, q: np.ndarray, qd: np.ndarray) -> Link:
        """Return the Link of body i with the twist V (6,): (9) after the projection (49)."""
        arrays = self.arm.arrays
        M, omega, v = arrays.inertia[i].copy(), V[:3], V[3:]
        momentum = M @ V
        h = np.concatenate([cross(omega, momentum[:3]) + cross(v, momentum[3:]),
                            cross(omega, momentum[3:])])
        n = arrays.modes[i]
        B, E, b = np.zeros((6, n)), np.zeros((n, n)), np.zeros(n)
        if n == 0:
            return Link(M, B, E, h, b)
        points, m, total, spin, turning = self._spreads[i]
        part = slice(arrays.first[i], arrays.first[i] + n)
        e, de = q[part], qd[part]
        r, A, rest = displaced(points, e, de)                                               # (49)
        W = skew(omega)
        # acceleration of a point when V' and e'' are zero                               (58), (59)
        a = (W @ v) + r @ (W @ W).T + 2.0 * (A @ de) @ W.T + rest
        weighted = m[:, None] * r
        moment, rr = weighted.sum(axis=0), weighted.T @ r
        M[:3, :3] += (rr[0, 0] + rr[1, 1] + rr[2, 2]) * ONE[:3, :3] - rr                    # (14)
        M[:3, 3:] += skew(moment)
        M[3:, :3] -= skew(moment)
        M[PLACES, PLACES] += total
        # of r and the gradients, product by product; the vector product is what they differ by
        flat = A.reshape(len(m), 3 * n)
        rA = (weighted.T @ flat).reshape(3, 3, n)
        B[:3], B[3:] = spin + _crossed(rA), (m @ flat).reshape(3, n)
        heavy, flat = (m[:, None] * flat).reshape(-1, n), flat.reshape(-1, n)
        E += turning + heavy.T @ flat
        b += heavy.T @ a.ravel()
        h[3:] += m @ a
        # and that of the sections when they turn
        h[:3] += _crossed(weighted.T @ a) + cross(omega, spin @ de)
        return Link(M, B, E, h, b)


def _spread(beam, coupling):
    points = sample(beam, beam.stations, coupling)
    mass, J = beam.section.mass_per_length * beam.weights, beam.section.inertia
    spin = J[:, None] * np.einsum('g,gai->ai', beam.weights, points.Theta)
    turning = np.einsum('g,a,gai,gaj->ij', beam.weights, J, points.Theta, points.Theta)
    return Spread(points, mass, mass.sum(), spin, turning)


def _crossed(products):
    """Sum of vector products, from that of all products of components (3, 3, ...)."""
    return np.array([products[1, 2] - products[2, 1], products[2, 0] - products[0, 2],
                     products[0, 1] - products[1, 0]])


@cache
def _places(rows, columns):
    """Row and column of every entry of a block."""
    return np.repeat(np.arange(rows), columns), np.tile(np.arange(columns), rows)


def _solved(matrix, right):
    """Solve, and refine once: wrenches and accelerations differ in size by the mass."""
    factor = splu(matrix)
    found = factor.solve(right)
    return found + factor.solve(right - matrix @ found)


def _adjoint_inverse(R, p):
    """Matrix (6, 6) that brings a twist into a frame with the pose R, p, from (4)."""
    X = np.zeros((6, 6))
    X[:3, :3] = X[3:, 3:] = R.T
    X[3:, :3] = -R.T @ skew(p)
    return X


def _bracket(V, other):
    """Lie bracket of twists, ad_V of (101), (6,)."""
    return np.concatenate([cross(V[:3], other[:3]),
                           cross(V[:3], other[3:]) + cross(V[3:], other[:3])])
