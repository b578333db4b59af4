"""
Dual projection matrices of an arm: twists of the links by speed, to first order in the bending.

From base to tip, each link has a dual pose in G2 and the columns of its projecting matrix. These
are the columns of the parent, mapped to the link by the dual screw transformation (66), and the
dual line of its joint. If the link is attached to a bending one, the dual screws of the modes at
the attachment come first (89). The Jacobian form (92) and its rate (76) follow from the projecting
form (93).

Equation numbers: Cibicik & Egeland (2021), see dual_numbers.py.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.formulations.dual_groups import g1, g2, rotation
from flex_robot_sim.formulations.dual_lines import (
    jacobian_form,
    joint_line,
    mode_screws,
    screw_matrix,
    screw_rates,
    shift_screws,
)
from flex_robot_sim.formulations.dual_numbers import cross, dual_vector, hat
from flex_robot_sim.model.arm_model import ArmModel


class Projection(NamedTuple):
    """Projection matrices at Points, with a column for every speed."""

    projecting: np.ndarray  # (g, 12, n)  projecting form (93)
    jacobian: np.ndarray  # (g, 12, n)  Jacobian form (92)
    jacobian_rate: np.ndarray  # (g, 12, n)  rate of the Jacobian form (76), (79)
    screw_link_twists: np.ndarray  # (g, 12, n)  twist of the link to which a column is fixed
    point_twist: np.ndarray  # (g, 12)     angular velocity of the link, velocity of the point
    section_twist: np.ndarray  # (g, 12)     the same with the rotation of the section in the link


class ProjectedLink(NamedTuple):
    """Pose of a link of the arm, and its columns about its origin."""

    pose: np.ndarray  # (7, 7)   in the base, element of G2
    projecting: np.ndarray  # (12, n)  projecting form
    mode_rates: np.ndarray  # (12, n)  rates of mode screws in the axes of their own links


class Points(NamedTuple):
    """Points of links, processed in one call: centres of mass and sections of beams."""

    link: np.ndarray  # (g,)       row of the link
    position: np.ndarray  # (g, 3)     in the frame of the link, undeformed       [m]
    Phi: np.ndarray  # (g, 3, n)  displacement by coordinate; zero if rigid
    Theta: np.ndarray  # (g, 3, n)  rotation of the section; zero if rigid
    H: np.ndarray  # (g, n, n)  shortening -1/2 q^T H q; zero without this coupling


class Projections:
    """The projection matrices of an ArmModel."""

    def __init__(self, arm: ArmModel, exact_end_rotation: bool = True) -> None:
        """Include the second-order rotation of the ends of links if `exact_end_rotation`."""
        self.arm, self.exact_end_rotation = arm, exact_end_rotation
        self.arrays, self.size = arm.arrays, arm.size
        self.elastic = np.zeros(arm.size, bool)
        self.has_shortening = arm.coupling == 'shortening'
        self.attachments = {}
        for i in range(self.arrays.parent.size):
            self.elastic[self.arm.elastic_coordinates(i)] = True
            if self.arrays.station[i] >= 0:
                self.attachments[i] = self.beam_points(
                    self.arrays.parent[i],
                    np.array([self.arrays.station_x[self.arrays.station[i]]]),
                )
        self.upstream_speeds = self._upstream_speeds()

    def rigid_points(self, links: Sequence[int], places: ArrayLike) -> Points:
        """Return Points (g,) fixed to links, at `places` (g, 3) [m] in the frames of the links."""
        g, n = len(links), self.size
        return Points(
            np.array(links, int),
            np.reshape(places, (g, 3)).astype(float),
            np.zeros((g, 3, n)),
            np.zeros((g, 3, n)),
            np.zeros((g, n, n)),
        )

    def beam_points(self, i: int, x: np.ndarray) -> Points:
        """Return Points at the sections x (g,) [m] of the beam of body i."""
        beam, modes = self.arm.beams[i], self.arm.elastic_coordinates(i)
        points = self.rigid_points([i] * len(x), np.outer(x, [1.0, 0.0, 0.0]))
        points.Phi[:, :, modes], points.Theta[:, :, modes] = beam.shape(x), beam.turn(x)
        points.H[:, modes, modes] = beam.shortening(x) * self.has_shortening
        return points

    def _upstream_speeds(self):
        """Mask (n, n), 1 where the speed (row) moves the link to which a column is fixed."""
        arrays, out = self.arrays, np.zeros((self.size, self.size))
        upstream: list[np.ndarray] = []
        for i, (parent, j) in enumerate(zip(arrays.parent, arrays.joint)):
            chain = np.zeros(self.size) if parent < 0 else upstream[parent].copy()
            if arrays.station[i] >= 0:
                chain[self.arm.elastic_coordinates(parent)] = 1.0
            if j >= 0:
                chain[j] = 1.0
                out[:, j] = chain
            upstream.append(chain)
            out[:, self.arm.elastic_coordinates(i)] = chain[:, None]
        return out

    def links(self, q: np.ndarray, u: np.ndarray | None = None) -> list[ProjectedLink]:
        """Return the links at coordinates q and speeds u (n,), base to tip; at rest by default."""
        arrays, u = self.arrays, np.zeros(self.size) if u is None else u
        links: list[ProjectedLink] = []
        for i, (parent, j) in enumerate(zip(arrays.parent, arrays.joint)):
            if parent < 0:
                base, P, mode_rates = np.eye(7), *np.zeros((2, 12, self.size))
            else:
                base, P, mode_rates = links[parent]
            if arrays.station[i] >= 0:
                base, P, mode_rates = self._attachment_frame(i, q, u, base, P, mode_rates)
            # rigid motion in the joint, (48)
            R, p = _joint_pose(
                arrays.home_R[i], arrays.home_p[i], arrays.screw[i], q[j] if j >= 0 else 0.0
            )
            Y = g2(g1(R, np.zeros(3)), dual_vector(p, np.zeros(3)))
            V = screw_matrix(Y)
            P = V @ P  # (65), (73)
            if j >= 0:
                P[:, j] = joint_line(arrays.screw[i])  # (58)
            links.append(ProjectedLink(base @ Y, P, V @ mode_rates))
        return links

    def _attachment_frame(self, i, q, u, base, P, mode_rates):
        """Dual pose, columns and mode rates of the section to which body i is attached."""
        attachment = self.attachments[i]
        theta, d = attachment.Theta[0] @ q, attachment.Phi[0] @ q
        origin = dual_vector(attachment.position[0], d)
        P = shift_screws(P, -origin)  # (59), (60)
        P += mode_screws(np.vstack([attachment.Theta[0], attachment.Phi[0]]))[1]  # (89), (95)
        P[9] -= attachment.H[0] @ q
        if self.exact_end_rotation:
            # the velocity of exp(theta) is that of theta plus half of theta x dtheta/dt
            P[3:6] += 0.5 * hat(theta) @ attachment.Theta[0]
        mode_rates = shift_screws(mode_rates, -origin) + _mode_screw_rates(attachment, u)[0]
        if self.exact_end_rotation:
            mode_rates[3:6] += 0.5 * hat(attachment.Theta[0] @ u) @ attachment.Theta[0]
        Y = g2(g1(np.eye(3), theta), origin)  # (45)
        R = screw_matrix(g2(g1(np.eye(3), theta), np.zeros(6)))  # (62)
        return base @ Y, R @ P, R @ mode_rates

    def poses_by_order(self, q: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Rotations (3, 3, 3) and origins (3, 3) of links in the base; first axis: order in e."""
        arrays = self.arrays
        poses: list[tuple[np.ndarray, np.ndarray]] = []
        for i, (parent, j) in enumerate(zip(arrays.parent, arrays.joint)):
            R, o = np.zeros((3, 3, 3)), np.zeros((3, 3))
            R[0] = np.eye(3)
            if parent >= 0:
                R, o = poses[parent]
            if arrays.station[i] >= 0:
                attachment = self.attachments[i]
                theta = hat(attachment.Theta[0] @ q)
                o = position_by_order((R, o), attachment, 0, q)
                R = np.array(
                    [
                        R[0],
                        R[1] + R[0] @ theta,
                        R[2] + R[1] @ theta + 0.5 * self.exact_end_rotation * R[0] @ theta @ theta,
                    ]
                )
            joint_R, p = _joint_pose(
                arrays.home_R[i], arrays.home_p[i], arrays.screw[i], q[j] if j >= 0 else 0.0
            )
            poses.append((R @ joint_R, o + R @ p))
        return poses

    def project_points(
        self, links: Sequence[ProjectedLink], points: Points, q: np.ndarray, u: np.ndarray
    ) -> Projection:
        """Return the Projection of Points of ProjectedLinks, with a column for every speed."""
        P = self._projecting_form_at(links, points, q)
        jacobian = jacobian_form(P, self.elastic)  # (92)
        section_twist = jacobian @ u  # (91)
        angular_columns = jacobian_form(
            np.array([link.projecting[:6] for link in links]), self.elastic
        )
        point_twist = np.concatenate(
            [(angular_columns @ u)[points.link], section_twist[:, 6:]], axis=1
        )
        link_twists = jacobian @ (u[:, None] * self.upstream_speeds)
        return Projection(
            P,
            jacobian,
            screw_rates(link_twists, point_twist, jacobian),
            link_twists,
            point_twist,
            section_twist,
        )

    def projecting_rate(
        self,
        projection: Projection,
        links: Sequence[ProjectedLink],
        points: Points,
        q: np.ndarray,
        u: np.ndarray,
    ) -> np.ndarray:
        """Rate (g, 12, n) of the projecting form, to first order in elastic states and rates."""
        origins = np.concatenate([points.position, points.Phi @ q], axis=1)
        mode_rates = shift_screws(
            np.array([link.mode_rates for link in links])[points.link], -origins
        )
        return (
            screw_rates(
                projection.screw_link_twists, projection.point_twist, projection.projecting
            )
            + mode_rates
            + _mode_screw_rates(points, u)
        )

    def _projecting_form_at(self, links, points, q):
        """Projecting form (g, 12, n) at the points, including the modes of their link."""
        origins = np.concatenate([points.position, points.Phi @ q], axis=1)
        P = shift_screws(
            np.array([link.projecting for link in links])[points.link], -origins
        )  # (88)
        P[:, 0:3] += points.Theta  # (75), (95)
        P[:, 6:9] += points.Phi
        P[:, 9] -= points.H @ q
        return P


def position_by_order(
    pose: tuple[np.ndarray, np.ndarray], points: Points, g: int, q: np.ndarray
) -> np.ndarray:
    """Position (3, 3) of point g in the base from the pose of its link, both by order in e."""
    R, o = pose
    d, shortening = points.Phi[g] @ q, np.array([-0.5 * q @ points.H[g] @ q, 0.0, 0.0])
    out = o + R @ points.position[g]
    out[1:] += R[:2] @ d
    out[2] += R[0] @ shortening
    return out


def _mode_screw_rates(points, u):
    """
    Rates (g, 12, n) of the mode screws of links at their Points, in the axes of these links.

    They contain the shortening, and a correction of the geometric rule: it assumes that the lines
    of the modes move with the points, but these lines are fixed to the link.
    """
    mode_rates = np.zeros((len(points.link), 12, len(u)))
    mode_rates[:, 9] = -(points.H @ u)
    mode_rates[:, 9:] -= cross(points.Theta, (points.Phi @ u)[..., None])
    return mode_rates


def _joint_pose(home_R, home_p, screw, value):
    """Rotation and origin of a child after a motion from home along a screw in its frame."""
    omega, v = screw[:3], screw[3:]
    if not omega.any():
        return home_R, home_p + home_R @ v * value
    omega_v = hat(omega) @ v
    omega_omega_v = hat(omega) @ omega_v
    translation = (
        value * v + (1 - np.cos(value)) * omega_v + (value - np.sin(value)) * omega_omega_v
    )
    return home_R @ rotation(omega * value), home_p + home_R @ translation
