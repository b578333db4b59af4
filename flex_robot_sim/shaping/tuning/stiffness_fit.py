"""
Joint stiffnesses of a rigid arm, from measured frequencies in several poses.

With locked motors the links vibrate on the springs of the joints:

    M(q) x'' + (K + G(q)) x = 0,   K = diag(k_j),   G = derivative of the gravity forces

Logarithms of k_j minimise the squared relative errors of the frequencies, and weakly their
distance from a guess. First, the measured frequencies are the slowest ones; then, each is compared
with the nearest one, as logs may miss a mode. A joint whose stiffness the frequencies do not
determine keeps a value that fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import least_squares, linear_sum_assignment

from flex_robot_sim.analysis.equations import gravity_forces, mass_matrix
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.shaping.tuning.pose_log import PoseLog
from flex_robot_sim.util.exceptions import UsageError

MIN_DEVIATION = 5e-3  # of a frequency, relative: inertias of the description are not exact
PRIOR = 2.0  # standard deviation of the logarithm of a stiffness, about its guess
GUESS = 1.5  # logarithm of the guess, above that with which a joint alone is as slow
STARTS = 5
MAX_DEVIATION = 0.25  # of the logarithm of a stiffness that counts as determined
MAX_ERROR = 0.5  # of the logarithm of a frequency; larger errors count as much
GRAVITY_STEP = 1e-4  # [rad, m]
MAX_RELATIVE_ERROR = 0.1  # of frequencies, root mean square, of a fit that is accepted


class JointStiffness(NamedTuple):
    """Stiffness of one joint."""

    joint: str
    stiffness: float  # [N m/rad, N/m]
    deviation: float  # standard deviation, relative
    damping: float  # [N m s/rad, N s/m]

    @property
    def is_determined(self) -> bool:
        """Whether the frequencies determine it."""
        return self.deviation <= MAX_DEVIATION


class StiffnessFit(NamedTuple):
    """Stiffnesses of all joints."""

    joints: tuple[JointStiffness, ...]
    error: float  # of the frequencies, relative, root mean square


def fit_stiffness(arm: ArmModel, logs: Sequence[PoseLog]) -> StiffnessFit:
    """Return the StiffnessFit of a rigid arm; UsageError if it does not explain the logs."""
    if arm.size != len(arm.joint_names):
        raise UsageError(
            f'{arm.description.source}: has flexible parts already. Give a rigid URDF to fit '
            'stiffnesses.'
        )
    model = _Model(arm, logs)
    logarithms, deviations = model.fitted()
    error = model.error(logarithms)
    if not error < MAX_RELATIVE_ERROR or not (deviations <= MAX_DEVIATION).any():
        raise UsageError(
            f'joint stiffnesses do not explain the frequencies: they differ by {error:.0%}. Check '
            'masses, tool and names of the joints in the URDF, or leave --robot out.'
        )
    ratio = float(np.median([log.modes[0].ratio for log in logs]))
    frequency = float(np.median([log.modes[0].frequency for log in logs]))
    joints = tuple(
        JointStiffness(
            name,
            float(np.exp(value)),
            float(deviation),
            float(np.exp(value)) * ratio / (np.pi * frequency),
        )
        for name, value, deviation in zip(arm.joint_names, logarithms, deviations)
    )
    return StiffnessFit(joints, error)


class _Model:
    """Frequencies of the poses of logs as functions of the stiffnesses."""

    def __init__(self, arm, logs):
        poses = [np.asarray(log.pose, float) for log in logs]
        self._masses = [mass_matrix(arm, pose) for pose in poses]
        self._gravity = [_gravity_slope(arm, pose) for pose in poses]
        self._measured = [np.log([mode.frequency for mode in log.modes]) for log in logs]
        self._deviations = [
            np.array(
                [
                    max(mode.frequency_deviation / mode.frequency, MIN_DEVIATION)
                    for mode in log.modes
                ]
            )
            for log in logs
        ]

    def fitted(self):
        """Return the best logarithms (n,) and their standard deviations."""
        random, centre = np.random.default_rng(0), self._guess()
        starts = [centre, *(centre + random.normal(0.0, 1.0, (STARTS, centre.size)))]
        found = [
            least_squares(self._residuals, start, args=(centre, True), loss='soft_l1', max_nfev=40)
            for start in starts
        ]
        first = min(found, key=lambda one: one.cost)
        best = least_squares(self._residuals, first.x, args=(centre, False), max_nfev=40)
        errors = best.fun[: best.fun.size - centre.size]
        scale = max(1.0, np.sqrt((errors**2).sum() / max(errors.size - centre.size, 1)))
        return best.x, scale * np.sqrt(np.diag(np.linalg.pinv(best.jac.T @ best.jac)))

    def error(self, logarithms):
        """Root mean square of the relative errors of the frequencies."""
        return float(np.sqrt(np.mean(np.square(np.concatenate(self._errors(logarithms))))))

    def _guess(self):
        """Logarithms of stiffnesses with which each joint alone is faster than the arm."""
        rates = [2 * np.pi * np.exp(measured.min()) for measured in self._measured]
        diagonals = [rate**2 * np.diag(mass) for rate, mass in zip(rates, self._masses)]
        return np.log(np.maximum(np.median(diagonals, axis=0), 1e-9)) + GUESS

    def _residuals(self, logarithms, centre, are_slowest):
        errors = self._errors(logarithms, are_slowest)
        weighted = [error / deviation for error, deviation in zip(errors, self._deviations)]
        return np.concatenate([*weighted, (logarithms - centre) / PRIOR])

    def _errors(self, logarithms, are_slowest=False):
        """Return the errors of the logarithms of the measured frequencies, by pose."""
        stiffness = np.diag(np.exp(logarithms))
        errors = []
        for mass, gravity, measured in zip(self._masses, self._gravity, self._measured):
            squares = eigh(stiffness + gravity, mass, eigvals_only=True)
            computed = 0.5 * np.log(np.maximum(squares, 1e-12)) - np.log(2 * np.pi)
            if are_slowest:
                errors.append(np.sort(measured)[: computed.size] - computed[: measured.size])
                continue
            distances = np.minimum(np.abs(measured[:, None] - computed), 10.0)
            chosen, partners = linear_sum_assignment(distances)
            error = np.full(measured.size, MAX_ERROR)
            error[chosen] = np.clip(measured[chosen] - computed[partners], -MAX_ERROR, MAX_ERROR)
            errors.append(error)
        return errors


def _gravity_slope(arm, pose):
    """Return the symmetric part of the derivative of the gravity forces by the joints (n, n)."""
    n = pose.size
    columns = [
        gravity_forces(arm, pose + step) - gravity_forces(arm, pose - step)
        for step in GRAVITY_STEP * np.eye(n)
    ]
    slope = np.column_stack(columns) / (2 * GRAVITY_STEP)
    return (slope + slope.T) / 2
