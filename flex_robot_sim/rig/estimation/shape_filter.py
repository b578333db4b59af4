"""
Kalman filter that fuses encoders and flex sensors with a linear model of the arm.

The model is linearised about the equilibrium x0, u0 of a pose. A drive may hold its position like
a spring, as a stepper does:

    x' = A (x - x0) + B (u - u0 + w),  x = (joints, elastic coordinates, and their rates)

with efforts u and white noise w for their unknown part, mostly friction. Coulomb friction has no
linear model and is therefore part of w.

A model with one mode more than there are sensors follows a vibrating arm within 2 %; with only the
two static shapes of a beam the error is 4 % (benchmarks/tip_estimate.py).
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.linear import linearise
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.friction import without_dry_friction
from flex_robot_sim.rig.estimation.shape_estimator import (
    EstimatedShape,
    checked_deviations,
    sensors_of,
    tip_map,
)
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.settings import Settings, setting


@dataclass(frozen=True)
class FilterSettings(Settings):
    """Noise assumptions of the Kalman filter."""

    slide_noise: float = setting(
        3.0, 'spectral density of the unknown force on a prismatic joint', 'N s^0.5', above=0.0
    )
    turn_noise: float = setting(
        1e-3, 'spectral density of the unknown moment on a revolute joint', 'N m s^0.5', above=0.0
    )
    start_deviation: float = setting(
        0.1,
        'initial standard deviation of positions [m, rad], elastic coordinates and their rates',
        above=0.0,
    )
    pose_change: float = setting(
        0.1, 'joint motion after which the model is linearised again', 'm, rad', above=0.0
    )


class ShapeFilter:
    """Kalman filter over encoders and flex sensors of an arm without flexible joints."""

    def __init__(
        self,
        arm: ArmModel,
        link: str,
        encoder_deviation: ArrayLike,
        deviation: ArrayLike,
        stiffness: ArrayLike = 0.0,
        damping: ArrayLike = 0.0,
        settings: FilterSettings | None = None,
    ) -> None:
        """
        Prepare the filter; the first encoder readings start it.

        :param arm: ArmModel; link: name of the flexible link.
        :param encoder_deviation: of the joints, (joints,) [m, rad].
        :param deviation: of the flex sensors of the link, (k,) [1/m].
        :param stiffness: of drives about their commanded position, one or (joints,)
            [N/m, N m/rad]; damping: one or (joints,) [N s/m, N m s/rad]. Zero: effort is known.
        """
        if arm.motor_names:
            raise SettingError(
                f'the filter knows no flexible joints; this arm has: {", ".join(arm.motor_names)}'
            )
        self.settings = settings or FilterSettings()
        self.sensors, self.columns, C = sensors_of(arm, link)
        joints = len(arm.joint_names)
        self._arm = replace(
            arm, arrays=arm.arrays._replace(friction=without_dry_friction(arm.arrays.friction))
        )
        self._gains = np.zeros((joints, 2 * arm.size))
        self._gains[:, :joints] = np.diag(np.broadcast_to(stiffness, joints))
        self._gains[:, arm.size : arm.size + joints] = np.diag(np.broadcast_to(damping, joints))
        self._H = np.zeros((joints + len(self.sensors), 2 * arm.size))
        self._H[:joints, :joints] = np.eye(joints)
        self._H[joints:, self.columns] = C
        self._R = (
            np.concatenate(
                [
                    checked_deviations(encoder_deviation, joints),
                    checked_deviations(deviation, len(self.sensors)),
                ]
            )
            ** 2
        )
        noise = {'rad': self.settings.turn_noise, 'm': self.settings.slide_noise}
        self._noise = np.array([noise[unit] for unit in arm.units]) ** 2
        self._tip = tip_map(arm, link)
        self._steps: dict[Any, Any] = {}
        self._pose = None
        self.state: Any = None  # all coordinates, then their rates, (2 n,); None: not yet
        self.covariance: Any = None  # (2 n, 2 n)
        self.normalized_innovation = 0.0  # squared; its mean is the number of readings used

    @property
    def position(self) -> np.ndarray:
        """Joint positions, (joints,) [m, rad]."""
        return self.state[: len(self._gains)].copy()

    @property
    def velocity(self) -> np.ndarray:
        """Joint velocities, (joints,) [m/s, rad/s]."""
        n = self._arm.size
        return self.state[n : n + len(self._gains)].copy()

    @property
    def shape(self) -> EstimatedShape:
        """Present estimate of the link."""
        n = self._arm.size
        elastic = self.state[:n][self.columns].copy()
        variance = np.einsum('ij,jk,ik->i', self._tip, self.covariance[:n, :n], self._tip)
        return EstimatedShape(
            elastic, self._tip @ self.state[:n], np.sqrt(np.maximum(variance, 0.0))
        )

    def predict(
        self,
        duration: float,
        effort: ArrayLike | None = None,
        target: ArrayLike | None = None,
        target_rate: ArrayLike | None = None,
    ) -> None:
        """
        Predict the state after a time step.

        :param duration: [s]; effort: of the motors meanwhile, (joints,) [N, N m].
        :param target: positions commanded to drives with a stiffness at its end, (joints,)
            [m, rad]; target_rate: their rates [m/s, rad/s].
        """
        if self.state is None:
            return
        self._follow_pose()
        A, B, drift, Q = self._step(duration)
        joints, n = len(self._gains), self._arm.size
        command = np.zeros(2 * n)
        if target is not None:
            command[:joints] = target
        if target_rate is not None:
            command[n : n + joints] = target_rate
        drive = self._gains @ command
        if effort is not None:
            drive = drive + np.asarray(effort)
        self.state = A @ self.state + B @ drive + drift
        self.covariance = A @ self.covariance @ A.T + Q

    def correct(self, encoders: ArrayLike, curvatures: ArrayLike) -> None:
        """
        Correct the state with readings; nan for a missing one.

        :param encoders: positions, (joints,) [m, rad]; curvatures: (k,) [1/m].
        """
        reading = np.concatenate([encoders, curvatures])
        if self.state is None:
            self._start(reading)
        is_valid = np.isfinite(reading)
        H, innovation = self._H[is_valid], reading[is_valid] - self._H[is_valid] @ self.state
        PH = self.covariance @ H.T
        S = H @ PH + np.diag(self._R[is_valid])
        gain = np.linalg.solve(S, PH.T).T
        self.normalized_innovation = float(innovation @ np.linalg.solve(S, innovation))
        self.state = self.state + gain @ innovation
        # the Joseph form stays symmetric and positive despite rounding
        I_KH = np.eye(len(self.state)) - gain @ H
        self.covariance = I_KH @ self.covariance @ I_KH.T + (gain * self._R[is_valid]) @ gain.T

    def _start(self, reading):
        joints = len(self._gains)
        if not np.isfinite(reading[:joints]).all():
            raise SettingError('the filter starts from all encoders, and one of them has no value')
        self.state = np.zeros(2 * self._arm.size)
        self.state[:joints] = reading[:joints]
        self.covariance = np.eye(2 * self._arm.size) * self.settings.start_deviation**2

    def _follow_pose(self):
        joints = len(self._gains)
        position = self.state[:joints]
        if self._pose is None or np.abs(position - self._pose).max() > self.settings.pose_change:
            self._pose = position.copy()
            linear = linearise(self._arm, self._pose)
            equilibrium = np.concatenate([linear.q, linear.v])
            self._A, self._B = linear.A - linear.B @ self._gains, linear.B
            self._drift = -linear.A @ equilibrium - linear.B @ linear.effort
            self._steps.clear()

    def _step(self, duration):
        """A, B, drift and Q over a duration [s], cached by microsecond."""
        key = round(duration * 1e6)
        if key not in self._steps:
            if len(self._steps) > 100:
                self._steps.clear()
            from scipy.linalg import expm  # late import: saves a fifth of the start-up time

            n, joints, h = len(self._A), len(self._gains), key * 1e-6
            inputs = np.column_stack([self._B, self._drift])
            transition = expm(
                np.block([[self._A, inputs], [np.zeros((joints + 1, n + joints + 1))]]) * h
            )
            self._steps[key] = (
                transition[:n, :n],
                transition[:n, n:-1],
                transition[:n, -1],
                integrated_covariance(self._A, self._B * self._noise @ self._B.T, h),
            )
        return self._steps[key]


def integrated_covariance(A: np.ndarray, density: np.ndarray, duration: float) -> np.ndarray:
    """
    Covariance (n, n) of x' = A x + w after `duration`, from zero.

    :param density: spectral density of the white noise w, (n, n); duration: [s].
    """
    from scipy.linalg import expm  # late import: saves a fifth of the start-up time

    doublings = max(0, int(np.ceil(np.log2(100 * np.abs(A).sum(axis=1).max() * duration + 1e-9))))
    h = duration / 2**doublings
    step, half = expm(A * h), expm(A * h / 2)
    # Simpson's rule over a step with |A| h <= 0.01, then repeated doubling of the step
    Q = h / 6 * (density + 4 * half @ density @ half.T + step @ density @ step.T)
    for _ in range(doublings):
        Q = Q + step @ Q @ step.T
        step = step @ step
    return (Q + Q.T) / 2
