"""
Dual projection matrices of an arm: its links' twists by all speeds, linear in all that bends.

Base to tip, every link gets its dual pose in G2 and the columns of its projecting matrix: those of
the link before, brought to its frame by the dual screw transformation (66), and its own dual line.
A link that rides on a bending one first gets the dual screws of the modes, at the place where it
rides (89). The Jacobian form (92) and its rate (76) follow from the projecting form (93).

Equation numbers: Cibicik & Egeland (2021), see dual_numbers.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flex_robot_sim.formulations.dual_groups import g1, g2, rotation
from flex_robot_sim.formulations.dual_lines import (
    jacobian_form,
    joint_line,
    mode_screws,
    moved,
    screw_matrix,
    screw_rates,
)
from flex_robot_sim.formulations.dual_numbers import cross, dual_vector, hat

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmModel


class Projection(NamedTuple):
    """What the speeds do to Points, a column for every speed."""

    projecting: np.ndarray      # (g, 12, n)  projecting form (93)
    jacobian: np.ndarray        # (g, 12, n)  Jacobian form (92)
    rate: np.ndarray            # (g, 12, n)  of the Jacobian form (76), (79)
    carriers: np.ndarray        # (g, 12, n)  twist of the link that carries the screw of a column
    point: np.ndarray           # (g, 12)     turning of the link, velocity of the point
    section: np.ndarray         # (g, 12)     twist of the section, which also turns in the link


class Link(NamedTuple):
    """A link of the arm: where it is, and its columns about its own origin."""

    pose: np.ndarray            # (7, 7)   in the base, element of G2
    projecting: np.ndarray      # (12, n)
    drift: np.ndarray           # (12, n)  rates of modes in the axes of their own links


class Points(NamedTuple):
    """Points of links that are looked at together: centres of mass, and sections of beams."""

    link: np.ndarray            # (g,)       row of the link
    place: np.ndarray           # (g, 3)     in the frame of the link, undeformed       [m]
    Phi: np.ndarray             # (g, 3, n)  displacement there by coordinate; zero where rigid
    Theta: np.ndarray           # (g, 3, n)  turn of the section, likewise
    H: np.ndarray               # (g, n, n)  shortening -1/2 q^T H q; zero if it is left out


class Projections:
    """The projection matrices of an ArmModel."""

    def __init__(self, arm: ArmModel, turning_ends: bool = True) -> None:
        """Leave out how the end of a link turns at second order unless `turning_ends`."""
        self.arm, self.turning_ends = arm, turning_ends
        self.arrays, self.size = arm.arrays, arm.size
        self.elastic = np.zeros(arm.size, bool)
        self.shortens = arm.coupling == 'shortening'
        self.seats = {}
        for i in range(self.arrays.parent.size):
            self.elastic[self.modes_of(i)] = True
            if self.arrays.station[i] >= 0:
                self.seats[i] = self.sections(self.arrays.parent[i], np.array(
                    [self.arrays.station_x[self.arrays.station[i]]]))
        self.before = self._columns_before()

    def modes_of(self, i: int) -> slice:
        """Slice of the coordinates of the modes of body i."""
        return slice(self.arrays.first[i], self.arrays.first[i] + self.arrays.modes[i])

    def centres(self, links: Sequence[int], places: np.ndarray) -> Points:
        """Points (g,) that are fixed to links, at `places` (g, 3) [m] of their frames."""
        g, n = len(links), self.size
        return Points(np.array(links, int), np.reshape(places, (g, 3)).astype(float),
                      np.zeros((g, 3, n)), np.zeros((g, 3, n)), np.zeros((g, n, n)))

    def sections(self, i: int, x: np.ndarray) -> Points:
        """Points at the sections x (g,) [m] of the beam of body i."""
        beam, part = self.arm.beams[i], self.modes_of(i)
        points = self.centres([i] * len(x), np.outer(x, [1.0, 0.0, 0.0]))
        points.Phi[:, :, part], points.Theta[:, :, part] = beam.shape(x), beam.turn(x)
        points.H[:, part, part] = beam.shortening(x) * self.shortens
        return points

    def _columns_before(self):
        """Matrix (n, n): which speeds (rows) move the link that carries the screw of a column."""
        arrays, moving, out = self.arrays, [], np.zeros((self.size, self.size))
        for i, (parent, j) in enumerate(zip(arrays.parent, arrays.joint)):
            chain = np.zeros(self.size) if parent < 0 else moving[parent].copy()
            if arrays.station[i] >= 0:
                chain[self.modes_of(parent)] = 1.0
            if j >= 0:
                chain[j] = 1.0
                out[:, j] = chain
            moving.append(chain)
            out[:, self.modes_of(i)] = chain[:, None]
        return out

    def links(self, q: np.ndarray, u: np.ndarray | None = None) -> list[Link]:
        """Links at the coordinates q and speeds u (n,), base to tip; default: they stand still."""
        arrays, u = self.arrays, np.zeros(self.size) if u is None else u
        links: list[Link] = []
        for i, (parent, j) in enumerate(zip(arrays.parent, arrays.joint)):
            if parent < 0:
                base, P, drift = np.eye(7), *np.zeros((2, 12, self.size))
            else:
                base, P, drift = links[parent]
            if arrays.station[i] >= 0:
                base, P, drift = self._ridden(i, q, u, base, P, drift)
            # rigid motion in the joint, (48)
            R, p = _joint_pose(arrays.home_R[i], arrays.home_p[i], arrays.screw[i],
                               q[j] if j >= 0 else 0.0)
            Y = g2(g1(R, np.zeros(3)), dual_vector(p, np.zeros(3)))
            V = screw_matrix(Y)
            P = V @ P                                                               # (65), (73)
            if j >= 0:
                P[:, j] = joint_line(arrays.screw[i])                               # (58)
            links.append(Link(base @ Y, P, V @ drift))
        return links

    def _ridden(self, i, q, u, base, P, drift):
        """Dual pose, columns and drift of the section that body i rides on."""
        seat = self.seats[i]
        theta, d = seat.Theta[0] @ q, seat.Phi[0] @ q
        origin = dual_vector(seat.place[0], d)
        P = moved(P, -origin)                                                       # (59), (60)
        P += mode_screws(np.vstack([seat.Theta[0], seat.Phi[0]]))[1]                # (89), (95)
        P[9] -= seat.H[0] @ q
        if self.turning_ends:
            # the velocity of exp(theta) is that of theta plus half of theta x dtheta/dt
            P[3:6] += 0.5 * hat(theta) @ seat.Theta[0]
        drift = moved(drift, -origin) + _drift(seat, u)[0]
        if self.turning_ends:
            drift[3:6] += 0.5 * hat(seat.Theta[0] @ u) @ seat.Theta[0]
        Y = g2(g1(np.eye(3), theta), origin)                                        # (45)
        R = screw_matrix(g2(g1(np.eye(3), theta), np.zeros(6)))                     # (62)
        return base @ Y, R @ P, R @ drift

    def poses_by_order(self, q: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Rotations (3, 3, 3) and origins (3, 3) of the links in the base, by order in e."""
        arrays = self.arrays
        poses: list[tuple[np.ndarray, np.ndarray]] = []
        for i, (parent, j) in enumerate(zip(arrays.parent, arrays.joint)):
            R, o = np.zeros((3, 3, 3)), np.zeros((3, 3))
            R[0] = np.eye(3)
            if parent >= 0:
                R, o = poses[parent]
            if arrays.station[i] >= 0:
                seat = self.seats[i]
                theta = hat(seat.Theta[0] @ q)
                o = place_by_order((R, o), seat, 0, q)
                R = np.array([R[0], R[1] + R[0] @ theta, R[2] + R[1] @ theta
                              + 0.5 * self.turning_ends * R[0] @ theta @ theta])
            turn, p = _joint_pose(arrays.home_R[i], arrays.home_p[i], arrays.screw[i],
                                  q[j] if j >= 0 else 0.0)
            poses.append((R @ turn, o + R @ p))
        return poses

    def by_speed(self, links: Sequence[Link], points: Points, q: np.ndarray, u: np.ndarray
                 ) -> Projection:
        """Projection of Points of Links, with a column for every speed."""
        P = self._at(links, points, q)
        jacobian = jacobian_form(P, self.elastic)                                   # (92)
        twist = jacobian @ u                                                        # (91)
        turning = jacobian_form(np.array([link.projecting[:6] for link in links]), self.elastic)
        point = np.concatenate([(turning @ u)[points.link], twist[:, 6:]], axis=1)
        carriers = jacobian @ (u[:, None] * self.before)
        return Projection(P, jacobian, screw_rates(carriers, point, jacobian), carriers, point,
                          twist)

    def projecting_rate(self, part: Projection, links: Sequence[Link], points: Points,
                        q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Rate (g, 12, n) of the projecting form, to first order in elastic states and rates."""
        origins = np.concatenate([points.place, points.Phi @ q], axis=1)
        drift = moved(np.array([link.drift for link in links])[points.link], -origins)
        return screw_rates(part.carriers, part.point, part.projecting) + drift + _drift(points, u)

    def _at(self, links, points, q):
        """Projecting form (g, 12, n) at the points, the modes of their own link included."""
        origins = np.concatenate([points.place, points.Phi @ q], axis=1)
        P = moved(np.array([link.projecting for link in links])[points.link], -origins)  # (88)
        P[:, 0:3] += points.Theta                                                   # (75), (95)
        P[:, 6:9] += points.Phi
        P[:, 9] -= points.H @ q
        return P


def place_by_order(pose: tuple[np.ndarray, np.ndarray], points: Points, g: int, q: np.ndarray
                   ) -> np.ndarray:
    """Place (3, 3) of point g in the base from the pose of its link, both by order in e."""
    R, o = pose
    d, shortened = points.Phi[g] @ q, np.array([-0.5 * q @ points.H[g] @ q, 0.0, 0.0])
    out = o + R @ points.place[g]
    out[1:] += R[:2] @ d
    out[2] += R[0] @ shortened
    return out


def _drift(points, u):
    """
    Rates (g, 12, n) of the modes of links at Points of theirs, in the axes of these links.

    They shorten, and their lines do not move with the points, as the geometric rule takes them to.
    """
    drift = np.zeros((len(points.link), 12, len(u)))
    drift[:, 9] = -(points.H @ u)
    drift[:, 9:] -= cross(points.Theta, (points.Phi @ u)[..., None])
    return drift


def _joint_pose(home_R, home_p, screw, value):
    """Rotation and origin of a child that moves along a screw of its own frame from home."""
    omega, v = screw[:3], screw[3:]
    if not omega.any():
        return home_R, home_p + home_R @ v * value
    once = hat(omega) @ v
    twice = hat(omega) @ once
    moved_by = value * v + (1 - np.cos(value)) * once + (value - np.sin(value)) * twice
    return home_R @ rotation(omega * value), home_p + home_R @ moved_by
