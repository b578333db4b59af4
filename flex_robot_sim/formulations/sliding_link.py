"""
A sliding prismatic joint: a flexible link that slides out of its guide, after the element sum.

In the paper on the element sum, a fixed prismatic joint moves a link as a whole. In a sliding one
the link slides through the joint, so its free length s changes. ArmModel has no such joint, so
this module models a single planar link. Its guide can rotate about its mouth by theta. Elements
divide the material, not the free length, and slide with it. An element inside the guide is
straight; one outside is bent by shapes phi of xi = x/s,

    r = (x, sum_k phi_k(xi) e_k),   x = X - (L - s),   dr/ds = (1, sum_k phi_k' e_k (1 - xi)/s)

at the distance X from the rear end of a link of length L. The mass matrix is again the sum (25).
Bending stiffness falls with s^3. The strain energy V(s, e) also depends on s, so a bent link
exerts a force along the slide. Energy is conserved while the link slides; at standstill the link
is a cantilever.

Material damping follows Kelvin and Voigt, with the bending moment EI (kappa + tau dkappa/dt). The
curvature kappa = sum_k phi_k''(xi) e_k / s^2 of an element changes as the element slides.
"""

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.elastic.discretise import make_beam
from flex_robot_sim.elastic.quadrature import gauss_stations
from flex_robot_sim.elastic.section import Section
from flex_robot_sim.util.exceptions import SettingError

MIN_FREE_LENGTH_RATIO = 1e-3  # smallest free length, relative to the length of the link   [-]


class SlidingLink:
    """Coordinates: angle theta of the guide [rad], free length s [m], elastic coordinates [m]."""

    def __init__(
        self,
        length: float,
        mass_per_length: float,
        EI: float,
        count: int = 3,
        elements: int = 200,
        guide: float = 0.0,
        tip: float = 0.0,
        gravity: ArrayLike = (0.0, 0.0),
        damping: float = 0.0,
        joint_damping: ArrayLike = (0.0, 0.0),
    ) -> None:
        """
        Divide a uniform link into elements.

        :param length: of the whole link [m]; mass_per_length: [kg/m]; EI: [N m2].
        :param count: number of elastic coordinates; elements: number for the whole link.
        :param guide: inertia of the guide about its mouth [kg m2]; tip: mass at the end [kg].
        :param gravity: along the link at theta = 0 and perpendicular to it, (2,) [m/s2].
        :param damping: time constant tau of the material [s].
        :param joint_damping: of the rotating guide [N m s/rad] and of the slide [N s/m], (2,).
        """
        for name, value in (('length', length), ('mass_per_length', mass_per_length), ('EI', EI)):
            if not (np.isfinite(value) and value > 0.0):
                raise SettingError(f'{name} = {value!r} must be > 0')
        self.length, self.size, self.tip, self.guide = length, 2 + count, tip, guide
        self.gravity, self._joint_damping = np.array(gravity, float), np.array(joint_damping)
        self._damping = EI * damping
        beam = make_beam(
            1.0,
            Section(1.0, np.zeros(3), 1.0, 1.0, 0.0, 0.0),
            {'bending_y': count},
            boundary='free',
        )
        self._shapes = beam.shapes['bending_y']
        xi, weights = gauss_stations(np.array([0.0, 1.0]), 40)
        curvatures = self._shapes.at(xi, 2)
        self._xi, self._weights, self._curvatures = xi, weights, curvatures
        self._curvature_gradients = self._shapes.at(xi, 3)
        # of a free length of 1 m
        self._stiffness = EI * curvatures.T @ (weights[:, None] * curvatures)
        size = length / elements
        self._X = np.append(size * (np.arange(elements) + 0.5), length)
        self._mass = np.append(np.full(elements, mass_per_length * size), tip)
        self._inertia = np.append(np.full(elements, mass_per_length * size**3 / 12), 0.0)

    def accelerations(self, q: np.ndarray, qd: np.ndarray, force: np.ndarray) -> np.ndarray:
        """
        Accelerations (n,).

        :param q: theta, s and elastic coordinates (n,); qd: their rates.
        :param force: external forces on the coordinates, (n,); gravity, stiffness and damping of
            the link are included here.
        """
        M, h = self.mass_matrix_and_bias(q, qd)
        return np.linalg.solve(
            M, force - h - self.strain_energy_gradient(q) - self.damping_matrix(q) @ qd
        )

    def mass_matrix_and_bias(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mass matrix (25) (n, n), and velocity terms minus gravity (n,)."""
        r, J, bias, J_slope, slope_bias = self._elements(q, qd)
        # in axes that rotate with the guide
        omega = qd[0]
        rate = J[:, :, 1:] @ qd[1:]
        J[:, 0, 0], J[:, 1, 0] = -r[:, 1], r[:, 0]
        a = bias - omega**2 * r + 2 * omega * np.stack([-rate[:, 1], rate[:, 0]], axis=1)
        a = a - self.gravity @ _guide_rotation(q[0])
        J_slope[:, 0] += 1.0
        sqrt_mass = np.sqrt(self._mass)[:, None]
        weighted_J = (sqrt_mass[:, :, None] * J).reshape(-1, self.size)
        M = weighted_J.T @ weighted_J + J_slope.T @ (self._inertia[:, None] * J_slope)
        h = weighted_J.T @ (sqrt_mass * a).ravel() + J_slope.T @ (self._inertia * slope_bias)
        M[0, 0] += self.guide
        return M, h

    def energy(self, q: np.ndarray, qd: np.ndarray) -> tuple[float, float, float]:
        """Kinetic energy, strain energy and gravitational potential energy [J]."""
        M, _ = self.mass_matrix_and_bias(q, qd)
        first_moment = self._mass @ self._elements(q, qd)[0]
        return (
            0.5 * qd @ M @ qd,
            0.5 * q[2:] @ self._stiffness @ q[2:] / q[1] ** 3,
            float(-self.gravity @ _guide_rotation(q[0]) @ first_moment),
        )

    def damping_matrix(self, q: np.ndarray) -> np.ndarray:
        """Damping matrix (n, n) of the joints and of the material."""
        D, s, e = np.zeros((self.size, self.size)), self._free_length(q), q[2:]
        if self._damping:
            J_kappa = np.zeros((self._xi.size, self.size))  # of the curvature
            J_kappa[:, 1] = (
                (1.0 - self._xi) * (self._curvature_gradients @ e) - 2.0 * self._curvatures @ e
            ) / s**3
            J_kappa[:, 2:] = self._curvatures / s**2
            D += self._damping * s * J_kappa.T @ (self._weights[:, None] * J_kappa)
        D[[0, 1], [0, 1]] += self._joint_damping
        return D

    def strain_energy_gradient(self, q: np.ndarray) -> np.ndarray:
        """Gradient of the strain energy (n,)."""
        s, e = self._free_length(q), q[2:]
        modal_force = self._stiffness @ e / s**3
        return np.concatenate([[0.0, -1.5 * e @ modal_force / s], modal_force])

    def frequencies(self, free_length: float) -> np.ndarray:
        """Natural frequencies [Hz] of the free length at standstill; guide and slide locked."""
        q = np.concatenate([[0.0, free_length], np.zeros(self.size - 2)])
        M, _ = self.mass_matrix_and_bias(q, np.zeros(self.size))
        eigenvalues = np.linalg.eigvals(
            np.linalg.solve(M[2:, 2:], self._stiffness / free_length**3)
        )
        return np.sqrt(np.sort(eigenvalues.real)) / (2 * np.pi)

    def _free_length(self, q):
        """Return the free length s [m] if it is within the link, else raise SettingError."""
        if not MIN_FREE_LENGTH_RATIO * self.length <= q[1] <= self.length:
            raise SettingError(
                f'free length = {q[1]:g} m must be between '
                f'{MIN_FREE_LENGTH_RATIO * self.length:g} and {self.length:g} m, '
                'the length of the link'
            )
        return q[1]

    def _elements(self, q, qd):
        """Positions (k, 2), Jacobians, bias accelerations; slopes: Jacobians (k, n), biases."""
        s, ds, e, de = self._free_length(q), qd[1], q[2:], qd[2:]
        x = self._X - (self.length - s)
        is_outside = x > 0.0
        xi = np.where(is_outside, x / s, 0.0)
        phi, d1, d2, d3 = (self._shapes.at(xi, order) for order in range(4))
        # derivatives of xi by s; inside the guide all shapes are zero, so d2 and d3 must be zero
        xi_s = np.where(is_outside, (1.0 - xi) / s, 0.0)
        xi_ss = np.where(is_outside, -2.0 * (1.0 - xi) / s**2, 0.0)
        d2[~is_outside] = d3[~is_outside] = 0.0
        k = x.size
        J, bias = np.zeros((k, 2, self.size)), np.zeros((k, 2))
        J[:, 0, 1] = 1.0
        J[:, 1, 1] = (d1 @ e) * xi_s
        J[:, 1, 2:] = phi
        bias[:, 1] = (d2 @ e * xi_s**2 + d1 @ e * xi_ss) * ds**2 + 2 * (d1 @ de) * xi_s * ds
        # slope w' = phi' e / s
        J_slope, slope_bias = np.zeros((k, self.size)), np.zeros(k)
        J_slope[:, 1] = (d2 @ e) * xi_s / s - (d1 @ e) / s**2
        J_slope[:, 2:] = d1 / s
        slope_bias = (
            (d3 @ e * xi_s**2 + d2 @ e * xi_ss) / s
            - 2 * (d2 @ e) * xi_s / s**2
            + 2 * (d1 @ e) / s**3
        ) * ds**2 + 2 * ((d2 @ de) * xi_s / s - (d1 @ de) / s**2) * ds
        return np.stack([x, phi @ e], axis=1), J, bias, J_slope, slope_bias


def _guide_rotation(theta):
    """Rotation (2, 2) from the guide to the base."""
    c, s = np.cos(theta), np.sin(theta)
    return np.array([[c, -s], [s, c]])
