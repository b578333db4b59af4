"""
Monitor that checks whether a standing arm is held: near its target, and at rest.

It samples the arm occasionally and evaluates the samples of the last second. After a motion the
arm has a settling time first.
"""

from collections import deque

import numpy as np

from flex_robot_sim.control.gains import Servo
from flex_robot_sim.control.steady_state_error import hold_tolerance, steady_state_error
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.friction import static_frictions

REST_SPEED = 0.3  # below it a joint is at rest   [rad/s, m/s]
WINDOW_S = 1.0  # time span of the evaluated samples     [s]
SETTLE_TIME_S, SETTLE_PERIODS = 2.0, 3.0  # settling time; in periods of a joint   [s]

MOVING, SETTLING, HOLDING, NOT_HOLDING = 'moving', 'settling', 'holding', 'not holding'


class HoldMonitor:
    """State of an arm since its target stopped moving: settling, held, or not held."""

    def __init__(self, arm: ArmModel) -> None:
        """Begin without samples of an ArmModel."""
        self._arm, self._names = arm, arm.joint_names
        self._units = arm.units
        self._tolerance = hold_tolerance(arm)
        self._rest_speed = np.where(arm.actuated, REST_SPEED, np.inf)
        self._friction = static_frictions(arm.arrays.friction)
        # (when, errors, speeds, positions on the link side and as measured)
        self._samples: deque[tuple[float, np.ndarray, np.ndarray, np.ndarray]] = deque()
        self._target: np.ndarray | None = None
        self._since = 0.0
        self.state, self.line = SETTLING, ''
        self.note = ''  # steady-state error of an arm that is held

    def update(
        self,
        now: float,
        is_moving: bool,
        target: np.ndarray,
        position: np.ndarray,
        velocity: np.ndarray,
        frequency: float,
        servo: Servo | None = None,
        link_position: np.ndarray | None = None,
    ) -> None:
        """
        Take a sample; update `state`, `note`, and `line`, which names the joint that is not held.

        :param now: [s]; is_moving: whether the target moves.
        :param target: of the joints, (joints,) [rad, m]; position, velocity of the
            joints, (joints,) [rad, m; rad/s, m/s].
        :param frequency: of the slowest closed joint [Hz].
        :param servo: gains, from which the remedy against dry friction follows.
        :param link_position: of the joints where `position` is that of the motors, (joints,).
        """
        self.line = self.note = ''
        if is_moving or self._target is None or (target != self._target).any():
            self._target, self._since = target.copy(), now
            self._samples.clear()
            self.state = MOVING if is_moving else SETTLING
            return
        self._samples.append(
            (
                now,
                np.abs(position - target),
                np.abs(velocity),
                np.array([position if link_position is None else link_position, position]),
            )
        )
        while self._samples[0][0] < now - WINDOW_S:
            self._samples.popleft()
        if now - self._since < WINDOW_S:
            self.state = SETTLING
            return
        error = np.max([sample[1] for sample in self._samples], axis=0)
        speed = np.max([sample[2] for sample in self._samples], axis=0)
        if (error <= self._tolerance).all() and (speed <= self._rest_speed).all():
            self.state = HOLDING
            if servo is not None:  # links swing about the position in which they will rest
                link, motor = np.mean([sample[3] for sample in self._samples], axis=0)
                self.note = steady_state_error(self._arm, servo, target, link, motor, velocity)
            return
        timeout = max(
            SETTLE_TIME_S, SETTLE_PERIODS / frequency if frequency > 0.0 else SETTLE_TIME_S
        )
        self.state = SETTLING if now - self._since < timeout else NOT_HOLDING
        if self.state == NOT_HOLDING:
            worst = int(np.argmax(np.maximum(error / self._tolerance, speed / self._rest_speed)))
            unit = self._units[worst]
            self.line = (
                f'"{self._names[worst]}" is not held: {error[worst]:.2g} {unit} from its '
                f'target, at {speed[worst]:.2g} {unit}/s'
                f'{self._friction_remedy(worst, error[worst], servo)}'
            )

    def _friction_remedy(self, joint, error, servo):
        """Remedy if dry friction keeps a joint off its target; else ''."""
        if servo is None or not servo.stiffness[joint] * error < self._friction[joint]:
            return ''
        friction, stiffness = self._friction[joint], servo.stiffness[joint]
        unit, effort = self._units[joint], self._arm.effort_units[joint]
        if servo.integral is not None and servo.integral[joint] > 0.0:
            return (
                f'. Its dry friction of {friction:.2g} {effort} holds it until integral '
                'action overcomes it: wait, or raise position_gain'
            )
        return (
            f'. Its dry friction of {friction:.2g} {effort} is more than its stiffness of '
            f'{stiffness:.2g} {effort}/{unit} overcomes: set integral_action to 0.2, or '
            f'position_gain to {friction / self._tolerance[joint]:.2g}'
        )


class Overload:
    """Reports joints that sink, once per set of joints."""

    def __init__(self) -> None:
        """Begin without overloaded joints."""
        self._joints: tuple[int, ...] = ()

    def check(self, arm: ArmModel, weight: np.ndarray, limits: np.ndarray) -> str:
        """Line about the worst joint whose weight exceeds its limit [N m, N]; '' if unchanged."""
        joints, previous = tuple(np.flatnonzero(np.abs(weight) > limits).tolist()), self._joints
        self._joints = joints
        if not joints or joints == previous:
            return ''
        worst = max(joints, key=lambda j: abs(weight[j]) / limits[j])
        return (
            f'the weight of the arm asks {abs(weight[worst]):.3g} {arm.effort_units[worst]} '
            f'of "{arm.joint_names[worst]}", whose motor has {limits[worst]:.3g}: it sinks. '
            'Take another pose or stronger motors, or an arm for orbit without gravity'
        )
