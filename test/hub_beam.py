"""
The arm `single_link` as finite elements: a hub, a clamped beam of Hermite elements, a tip mass.

It shares no code with the package. State: coefficients of its first modes, then their rates.
"""

import numpy as np
from scipy.linalg import eigh, expm

LENGTH, RADIUS, HUB = 0.6, 0.04, 0.00032  # [m], [m], [kg m2]
EI, MASS_PER_LENGTH = 206e9 * 0.025 * 0.0015**3 / 12, 0.025 * 0.0015 * 7850
TIP_MASS, TIP_INERTIA, VISCOUS, RATIO = 0.1, 7.2e-6, 0.001, 0.005
GAUGES = ((0.02, 0.13), (0.45, 0.56))  # from, to [m]
ELEMENTS, MODES = 60, 16  # curvatures within 0.02 %


def element_matrices():
    """Return M and K of the hub turn and of deflections and slopes at all nodes (n, n)."""
    h = LENGTH / ELEMENTS
    size = 1 + 2 * (ELEMENTS + 1)
    M, K = np.zeros((2, size, size))
    x, w = np.polynomial.legendre.leggauss(4)
    for k in range(ELEMENTS):
        rows = [0, *range(1 + 2 * k, 5 + 2 * k)]
        for u, weight in zip((1 + x) / 2, w / 2):
            shape = np.array(
                [
                    1 - 3 * u**2 + 2 * u**3,
                    h * (u - 2 * u**2 + u**3),
                    3 * u**2 - 2 * u**3,
                    h * (u**3 - u**2),
                ]
            )
            bend = np.array([12 * u - 6, h * (6 * u - 4), 6 - 12 * u, h * (6 * u - 2)]) / h**2
            motion = np.array([RADIUS + h * (k + u), *shape])
            M[np.ix_(rows, rows)] += weight * h * MASS_PER_LENGTH * np.outer(motion, motion)
            K[np.ix_(rows[1:], rows[1:])] += weight * h * EI * np.outer(bend, bend)
    motion, turn = np.zeros((2, size))
    motion[[0, -2]] = RADIUS + LENGTH, 1.0
    turn[[0, -1]] = 1.0
    M += TIP_MASS * np.outer(motion, motion) + TIP_INERTIA * np.outer(turn, turn)
    M[0, 0] += HUB
    clamped = [0, *range(3, size)]
    return M[np.ix_(clamped, clamped)], K[np.ix_(clamped, clamped)]


def clamped_frequencies():
    """Return the natural frequencies with a fixed hub [Hz]."""
    M, K = element_matrices()
    return np.sqrt(eigh(K[1:, 1:], M[1:, 1:], eigvals_only=True)) / (2 * np.pi)


class HubBeam:
    """The arm, sampled: efforts of the motor are constant in between."""

    def __init__(self, period):
        M, K = element_matrices()
        first = 2 * np.pi * clamped_frequencies()[0]
        D = 2 * RATIO / first * K  # the first mode has the ratio, others more
        D[0, 0] += VISCOUS
        shapes = eigh(K, M)[1][:, :MODES]
        A = np.block(
            [
                [np.zeros((MODES, MODES)), np.eye(MODES)],
                [-shapes.T @ K @ shapes, -shapes.T @ D @ shapes],
            ]
        )
        force = np.zeros((len(M), 2))  # of the motor, and on the tip
        force[0], force[-2, 1] = (1.0, RADIUS + LENGTH), 1.0
        B = np.vstack([np.zeros((MODES, 2)), shapes.T @ force])
        step = expm(period * np.block([[A, B], [np.zeros((2, 2 * MODES + 2))]]))
        self._A, self._B = step[: 2 * MODES, : 2 * MODES], step[: 2 * MODES, 2 * MODES :]
        slope = {0.0: 0 * shapes[0]}
        slope.update(
            (round((k + 1) * LENGTH / ELEMENTS, 9), shapes[2 + 2 * k]) for k in range(ELEMENTS)
        )
        self._gauges = np.array(
            [(slope[end] - slope[start]) / (end - start) for start, end in GAUGES]
        )
        self._hub, self._tip = shapes[0], shapes[-2]
        self.state = np.zeros(2 * MODES)

    def step(self, effort, tip_force=0.0):
        """Advance by a period with an effort [N m] and a force on the tip [N]."""
        self.state = self._A @ self.state + self._B @ [effort, tip_force]

    @property
    def position(self):
        """Angle of the motor, (1,) [rad]."""
        return np.array([self._hub @ self.state[:MODES]])

    @property
    def velocity(self):
        """Rate of the motor, (1,) [rad/s]."""
        return np.array([self._hub @ self.state[MODES:]])

    @property
    def curvature(self):
        """Mean curvatures at both gauges, (2,) [1/m]."""
        return self._gauges @ self.state[:MODES]

    @property
    def bending(self):
        """Deflection of the tip [m]."""
        return self._tip @ self.state[:MODES]
