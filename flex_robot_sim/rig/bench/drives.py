"""
Conversion of joint efforts to motor commands: PWM duty and step rate.

The slide has a DC motor. The duty supplies the current for the force, plus the back-EMF at the
present speed. Where the supply voltage is too low, the duty is 1 and the force is smaller: zero at
the 0.08 m/s of the shipped parts.

The turn has a stepper, which follows its steps whatever the load. The effort therefore accelerates
a model of the joint, an admittance, and the stepper runs at the rate of the model,

    J v' = effort - b v - c sign(v),                                                        (1)

with the inertia J, the viscous friction b and the Coulomb friction c of the robot description.
Limits: the model does not include the root moment of the bent link, so the joint neither yields to
the link nor damps it. The ramp of the board limits the step rate. Beyond its pull-out torque the
stepper slips, and the board reports LOST_STEPS.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from flex_robot_sim.analysis.joint_space_inertia import joint_space_inertia
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.friction import COULOMB, VISCOUS
from flex_robot_sim.rig.bench.motors import dc_current, dc_duty, dc_force
from flex_robot_sim.rig.bench.parts import SLIDE, TURN
from flex_robot_sim.rig.wire.board_parameters import Parameter
from flex_robot_sim.util.settings import Settings, setting

MAX_SET_POINT_DURATION = 0.02  # upper limit of the time between set points                [s]


@dataclass(frozen=True)
class DriveSettings(Settings):
    """Conversion of efforts to set points of the motors."""

    duty_limit: float = setting(1.0, 'largest duty cycle of the DC motor', above=0.0)
    step_rate_limit: float = setting(6000.0, 'largest rate of the stepper', 'steps/s', above=0.0)
    step_acceleration: float = setting(
        32000.0,
        'largest acceleration of the stepper; a lower ramp of the board takes precedence',
        'steps/s2',
        above=0.0,
    )
    step_lead: float = setting(
        0.02, 'largest lead of the rate of the model over the pulses', 's', above=0.0
    )
    admittance_inertia: float = setting(
        0.0,
        'inertia of the admittance model of the turn; 0: from the robot description',
        'kg m2',
        at_least=0.0,
    )
    admittance_damping: float = setting(
        0.0,
        'damping of the admittance model of the turn, in addition to the friction '
        'in the description',
        'N m s/rad',
        at_least=0.0,
    )


class MotorSetPoint(NamedTuple):
    """Commands to both motors, and the efforts that result."""

    duty: float  # of the DC motor, -1 to 1
    step_rate: float  # [steps/s]
    effort: tuple[float, float]  # achieved, after limits [N, N m]


class Friction(NamedTuple):
    """A mass with friction along one coordinate; see (1)."""

    inertia: float  # [kg, kg m2]
    viscous: float  # [N s/m, N m s/rad]
    coulomb: float  # [N, N m]

    def velocity_after(self, velocity: float, effort: float, duration: float) -> float:
        """Velocity after `duration` [s] of a constant effort: one implicit step, with sticking."""
        share = duration / self.inertia
        frictionless = (velocity + share * effort) / (1.0 + share * self.viscous)
        friction_loss = share * self.coulomb / (1.0 + share * self.viscous)
        return math.copysign(max(0.0, abs(frictionless) - friction_loss), frictionless)

    def effort(self, before: float, after: float, duration: float) -> float:
        """Effort that changes the velocity from `before` to `after` within `duration` [s]."""
        return (
            self.inertia * (after - before) / duration
            + self.viscous * after
            + (math.copysign(self.coulomb, after) if after else 0.0)
        )


class Drives:
    """Effort interface of the two motors of the bench."""

    def __init__(
        self, arm: ArmModel, calibration: Any, settings: DriveSettings | None = None
    ) -> None:
        """Prepare for an ArmModel of the bench and its Calibration."""
        self.settings = settings or DriveSettings()
        self.parts = calibration.parts
        self.clipped = [0, 0]  # number of set points beyond a motor's limits
        self.limited = [False, False]  # whether the last set point was one of them
        self._duty_sign = math.copysign(1.0, calibration.slide.scale)
        self._steps = calibration.steps_per_radian
        self.slide, turn = (
            Friction(float(inertia), float(row[VISCOUS]), float(row[COULOMB]))
            for inertia, row in zip(joint_space_inertia(arm).largest, arm.arrays.friction[:2])
        )
        self.turn = turn._replace(
            inertia=self.settings.admittance_inertia or turn.inertia,
            viscous=turn.viscous + self.settings.admittance_damping,
        )
        self._velocity = 0.0  # of the model of the turn          [rad/s]
        self.set_board_limits(1.0, math.inf, math.inf)

    def set_board_limits(self, duty: float, step_rate: float, acceleration: float) -> None:
        """Set the limits of the board: duty, rate [steps/s], acceleration [steps/s2]."""
        settings = self.settings
        self.duty_limit = min(settings.duty_limit, duty)
        self.rate_limit = min(settings.step_rate_limit, step_rate) / abs(self._steps)
        self.acceleration = min(settings.step_acceleration, acceleration) / abs(self._steps)

    def reset(self) -> None:
        """Reset the model to rest: the motors are off, or the board moves them by itself."""
        self._velocity = 0.0
        self.limited = [False, False]

    def set_point(
        self,
        effort: Sequence[float] | np.ndarray,
        velocity: Sequence[float] | np.ndarray,
        step_rate: float,
        duration: float,
    ) -> MotorSetPoint:
        """
        Return the next set point.

        :param effort: commanded, (2,) [N, N m]; velocity: of the joints, (2,) [m/s, rad/s].
        :param step_rate: of the pulses at present [steps/s].
        :param duration: since the last set point [s].
        """
        duration = min(duration, MAX_SET_POINT_DURATION)
        duty, force = self.duty(effort[SLIDE], velocity[SLIDE], duration)
        self.count_limited(SLIDE, force != effort[SLIDE])
        rate, moment = self._rate(effort[TURN], step_rate, duration)
        return MotorSetPoint(duty, rate, (force, moment))

    def duty(self, force: float, speed: float, duration: float) -> tuple[float, float]:
        """
        Return the duty for a force [N] on the slide, and the force that results.

        :param speed: of the slide [m/s] at the start; the duty is constant for `duration` [s].
        """
        # use the speed at half the duration, reached with the available force
        middle = self.slide.velocity_after(
            speed, self._clipped_duty(force, speed)[1], duration / 2
        )
        duty, reached = self._clipped_duty(force, middle)
        return self._duty_sign * duty, reached

    def _clipped_duty(self, force, speed):
        """Duty at a speed, without the sign of the board, and the force that results."""
        duty, reached = dc_duty(self.parts, force, speed)
        if abs(duty) > self.duty_limit:
            duty = math.copysign(self.duty_limit, duty)
            reached = self.force(self._duty_sign * duty, speed)
        return duty, reached

    def force(self, duty: float, speed: float) -> float:
        """Force [N] on the slide at a duty of the board and a speed [m/s]."""
        voltage = self._duty_sign * duty * self.parts.supply
        return dc_force(self.parts, dc_current(self.parts, voltage, speed), speed)

    def step_rate(self, velocity: float) -> float:
        """Step rate of the board [steps/s] at a velocity of the turn [rad/s]."""
        return velocity * self._steps

    def _rate(self, effort, pulses, duration):
        before = self._velocity
        desired = self.turn.velocity_after(before, effort, duration)
        # pulses lag behind on their ramp, or at a limit of the board: keep the model close
        lead = self.acceleration * self.settings.step_lead
        now = pulses / self._steps
        lowest = max(-self.rate_limit, min(now - lead, self.rate_limit))
        highest = min(self.rate_limit, max(now + lead, -self.rate_limit))
        self._velocity = min(max(desired, lowest), highest)
        self.count_limited(TURN, self._velocity != desired)
        if self._velocity != desired:
            effort = self.turn.effort(before, self._velocity, duration)
        return self.step_rate(self._velocity), effort

    def count_limited(self, joint: int, is_limited: bool) -> None:
        """Count a set point, or a piece of a profile, beyond the limits of a joint's motor."""
        self.clipped[joint] += bool(is_limited)
        self.limited[joint] = bool(is_limited)


def board_limits(read: Callable[[Parameter], float]) -> tuple[float, float, float]:
    """Return the arguments of `set_board_limits`; read: function(Parameter) -> value."""
    return (
        read(Parameter.DUTY_MAX) * 1e-4,
        float(read(Parameter.STEP_RATE_MAX)),
        float(read(Parameter.STEP_ACCELERATION)),
    )
