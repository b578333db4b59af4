"""
A sliding prismatic joint: a flexible link that is pushed out of its guide, after the element sum.

In the paper on the element sum a fixed prismatic joint carries a link as it is; through a sliding
one the link itself moves, so that its free length s changes. ArmModel has no such joint, so the
link lives here by itself: planar, on a guide that may turn about its mouth by theta. Elements are
cut into the material, not into the free length, and slide with it: one that is still inside the
guide is straight, one outside is bent by shapes phi of xi = x/s,

    r = (x, sum_k phi_k(xi) e_k),   x = X - (L - s),   dr/ds = (1, sum_k phi_k' e_k (1 - xi)/s)

at the distance X from the rear end of a link of length L. The mass matrix is again the sum (25).
Bending stiffness falls with s^3, and as it does so it pushes: the strain energy V(s, e) is a
potential of s as well. So energy is kept while it slides, and at standstill it is a cantilever.

Damping of the material follows Kelvin and Voigt, with a bending moment EI (kappa + tau dkappa/dt)
of the curvature kappa = sum_k phi_k''(xi) e_k / s^2 of an element, which changes as it slides.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.elastic.discretise import make_beam
from flex_robot_sim.elastic.quadrature import gauss_stations
from flex_robot_sim.elastic.section import Section
from flex_robot_sim.util.exceptions import SettingError

SHORTEST = 1e-3         # free length over the whole: a shorter one has no shapes


class SlidingLink:
    """Coordinates: theta of the guide [rad], free length s [m], then elastic ones [m]."""

    def __init__(self, length: float, mass_per_length: float, EI: float, count: int = 3,
                 elements: int = 200, guide: float = 0.0, tip: float = 0.0,
                 gravity: ArrayLike = (0.0, 0.0), damping: float = 0.0,
                 joint_damping: ArrayLike = (0.0, 0.0)) -> None:
        """
        Cut a uniform link.

        :param length: of the whole link [m]; mass_per_length: [kg/m]; EI: [N m2].
        :param count: of elastic coordinates; elements: into which the whole link is cut.
        :param guide: inertia of the guide about its mouth [kg m2]; tip: a mass at the end [kg].
        :param gravity: along the link at theta = 0, and across it, (2,) [m/s2].
        :param damping: time constant tau of the material [s].
        :param joint_damping: of the turning guide [N m s/rad] and of the slide [N s/m], (2,).
        """
        for name, value in (('length', length), ('mass_per_length', mass_per_length), ('EI', EI)):
            if not (np.isfinite(value) and value > 0.0):
                raise SettingError(f'{name} = {value!r} must be > 0')
        self.length, self.size, self.tip, self.guide = length, 2 + count, tip, guide
        self.gravity, self._joint_damping = np.array(gravity, float), np.array(joint_damping)
        self._damping = EI * damping
        beam = make_beam(1.0, Section(1.0, np.zeros(3), 1.0, 1.0, 0.0, 0.0), {'bending_y': count},
                         boundary='free')
        self._shapes = beam.shapes['bending_y']
        xi, weights = gauss_stations(np.array([0.0, 1.0]), 40)
        bent = self._shapes.at(xi, 2)
        self._xi, self._weights, self._bent = xi, weights, bent
        self._bent_on = self._shapes.at(xi, 3)
        self._stiffness = EI * bent.T @ (weights[:, None] * bent)       # of a free length of 1 m
        size = length / elements
        self._X = np.append(size * (np.arange(elements) + 0.5), length)
        self._mass = np.append(np.full(elements, mass_per_length * size), tip)
        self._inertia = np.append(np.full(elements, mass_per_length * size**3 / 12), 0.0)

    def accelerations(self, q: np.ndarray, qd: np.ndarray, force: np.ndarray) -> np.ndarray:
        """
        Accelerations (n,).

        :param q: theta, s and elastic coordinates (n,); qd: their rates.
        :param force: on them, besides inertia and what the bent link does, (n,).
        """
        M, h = self.mass_matrix_and_bias(q, qd)
        return np.linalg.solve(M, force - h - self.strain_slope(q) - self.damping_matrix(q) @ qd)

    def mass_matrix_and_bias(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mass matrix (25) (n, n), and velocity terms less gravity (n,)."""
        r, J, rest, slope, slope_rest = self._elements(q, qd)
        # in axes that turn with the guide
        omega = qd[0]
        rate = J[:, :, 1:] @ qd[1:]
        J[:, 0, 0], J[:, 1, 0] = -r[:, 1], r[:, 0]
        a = rest - omega**2 * r + 2 * omega * np.stack([-rate[:, 1], rate[:, 0]], axis=1)
        a = a - self.gravity @ _turned(q[0])
        slope[:, 0] += 1.0
        root = np.sqrt(self._mass)[:, None]
        flat = (root[:, :, None] * J).reshape(-1, self.size)
        M = flat.T @ flat + slope.T @ (self._inertia[:, None] * slope)
        h = flat.T @ (root * a).ravel() + slope.T @ (self._inertia * slope_rest)
        M[0, 0] += self.guide
        return M, h

    def energy(self, q: np.ndarray, qd: np.ndarray) -> tuple[float, float, float]:
        """Kinetic energy, strain energy and energy of height [J]."""
        M, _ = self.mass_matrix_and_bias(q, qd)
        first = self._mass @ self._elements(q, qd)[0]
        return (0.5 * qd @ M @ qd, 0.5 * q[2:] @ self._stiffness @ q[2:] / q[1]**3,
                float(-self.gravity @ _turned(q[0]) @ first))

    def damping_matrix(self, q: np.ndarray) -> np.ndarray:
        """Matrix (n, n) of damping forces by rates: of the joints, and of the material."""
        D, s, e = np.zeros((self.size, self.size)), self._free_length(q), q[2:]
        if self._damping:
            slope = np.zeros((self._xi.size, self.size))        # of the curvature
            slope[:, 1] = ((1.0 - self._xi) * (self._bent_on @ e) - 2.0 * self._bent @ e) / s**3
            slope[:, 2:] = self._bent / s**2
            D += self._damping * s * slope.T @ (self._weights[:, None] * slope)
        D[[0, 1], [0, 1]] += self._joint_damping
        return D

    def strain_slope(self, q: np.ndarray) -> np.ndarray:
        """Gradient of the strain energy (n,)."""
        s, e = self._free_length(q), q[2:]
        pull = self._stiffness @ e / s**3
        return np.concatenate([[0.0, -1.5 * e @ pull / s], pull])

    def frequencies(self, free_length: float) -> np.ndarray:
        """Natural frequencies [Hz] of the free length at standstill, guide and slide held."""
        q = np.concatenate([[0.0, free_length], np.zeros(self.size - 2)])
        M, _ = self.mass_matrix_and_bias(q, np.zeros(self.size))
        squares = np.linalg.eigvals(np.linalg.solve(M[2:, 2:], self._stiffness / free_length**3))
        return np.sqrt(np.sort(squares.real)) / (2 * np.pi)

    def _free_length(self, q):
        """Free length s [m], if the link has one there."""
        if not SHORTEST * self.length <= q[1] <= self.length:
            raise SettingError(f'free length = {q[1]:g} m must be between '
                               f'{SHORTEST * self.length:g} and {self.length:g} m, the length of '
                               'the link')
        return q[1]

    def _elements(self, q, qd):
        """Places (k, 2) of the elements, Jacobians, rests; slopes' Jacobians (k, n) and rests."""
        s, ds, e, de = self._free_length(q), qd[1], q[2:], qd[2:]
        x = self._X - (self.length - s)
        outside = x > 0.0
        xi = np.where(outside, x / s, 0.0)
        phi, d1, d2, d3 = (self._shapes.at(xi, order) for order in range(4))
        # xi_s and xi_ss; inside the guide all shapes and slopes are zero, and d2 must be too
        one = np.where(outside, (1.0 - xi) / s, 0.0)
        two = np.where(outside, -2.0 * (1.0 - xi) / s**2, 0.0)
        d2[~outside] = d3[~outside] = 0.0
        k = x.size
        J, rest = np.zeros((k, 2, self.size)), np.zeros((k, 2))
        J[:, 0, 1] = 1.0
        J[:, 1, 1] = (d1 @ e) * one
        J[:, 1, 2:] = phi
        rest[:, 1] = (d2 @ e * one**2 + d1 @ e * two) * ds**2 + 2 * (d1 @ de) * one * ds
        # slope w' = phi' e / s
        slope, slope_rest = np.zeros((k, self.size)), np.zeros(k)
        slope[:, 1] = (d2 @ e) * one / s - (d1 @ e) / s**2
        slope[:, 2:] = d1 / s
        slope_rest = ((d3 @ e * one**2 + d2 @ e * two) / s - 2 * (d2 @ e) * one / s**2
                      + 2 * (d1 @ e) / s**3) * ds**2 + 2 * ((d2 @ de) * one / s
                                                           - (d1 @ de) / s**2) * ds
        return np.stack([x, phi @ e], axis=1), J, rest, slope, slope_rest


def _turned(theta):
    """Rotation (2, 2) of the guide, by rows of the base."""
    c, s = np.cos(theta), np.sin(theta)
    return np.array([[c, -s], [s, c]])
