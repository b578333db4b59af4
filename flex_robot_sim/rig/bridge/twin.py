"""
Digital twin: a model that runs in parallel with the bench on the same inputs, and its residual.

The twin is the simulated bench without its sensors. Its inputs are the duty and pulses that the
board has applied, not the commands. So the residual depends only on the model and its parameters.
The step rate determines when pulses occur between two readings: evenly spaced pulses would shake
the strip by more than the flex sensors resolve.

An open loop drifts. The twin is therefore corrected towards the estimate of the bench with a time
constant, and the residual accumulates over about that time. With time constant 0 the twin runs
freely from the moment the motors are switched on.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis.deflection import tip_deflection
from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.analysis.state_transfer import refuse_other_structure, state_map
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.rig.bench.bench import TIME_STEP, Bench, Drive, check_bench_arm
from flex_robot_sim.rig.bench.parts import TURN
from flex_robot_sim.rig.bridge.bridge import RigState
from flex_robot_sim.rig.calibration.calibration import Calibration
from flex_robot_sim.rig.estimation.shape_tracker import BentLinkState
from flex_robot_sim.rig.wire.vocabulary import MOVING
from flex_robot_sim.util.exceptions import SimulationError
from flex_robot_sim.util.settings import Settings, setting


@dataclass(frozen=True)
class TwinSettings(Settings):
    """Settings of the digital twin."""

    twin: bool = setting(False, 'run the model in parallel with the bench')
    twin_time_constant: float = setting(
        1.0,
        'time constant of the correction towards the bench; 0: none, the twin runs '
        'freely after each arming',
        's',
        at_least=0.0,
    )
    twin_robot: str = setting(
        '',
        'URDF with new parameters for the running twin, as written by flexsim '
        'identify; empty: the robot',
        live=True,
    )
    twin_rate: float = setting(50.0, 'rate of the residual', 'Hz', above=0.0)


class Residual(NamedTuple):
    """Difference bench minus twin, and the state of the twin."""

    position: np.ndarray  # (2,) [m, rad]
    velocity: np.ndarray  # (2,) [m/s, rad/s]
    curvature: np.ndarray  # (k,) of the flex sensors [1/m]
    tip: float  # across, in the plane of the sensors [m]
    twin_position: np.ndarray  # (2,) [m, rad]
    twin_tip: float  # [m]


class Twin:
    """A simulated bench that follows the real one."""

    def __init__(
        self,
        arm: ArmModel,
        calibration: Calibration,
        link: str,
        settings: TwinSettings | None = None,
        formulation: str = 'recursion',
    ) -> None:
        """
        Prepare for an ArmModel, the Calibration of the bench and the name of its flexible link.

        :param formulation: equations of motion of the twin.
        """
        self.settings = settings or TwinSettings()
        self.restarts = 0  # times that the twin was reset to the state of the bench
        self._arm, self._link = arm, link
        self._bench = Bench(arm, calibration.parts, formulation=formulation)
        self._curvature = flex_sensors(arm).matrix
        self._elastic_count = arm.size - len(arm.joint_names)
        self._scale = calibration.parts.steps_per_turn / (2 * np.pi) / calibration.steps_per_radian
        self._duty_sign = float(np.sign(calibration.slide.scale))
        self._drive, self._time_remainder = Drive(), 0.0
        self._pulses, self._rate = 0, 0.0  # of the last reading, and their rate [steps/s]
        self._step_phase = 0.5  # on the ramp of the board; pulses at whole steps
        self._parts, self._formulation = calibration.parts, formulation
        self._to_twin = np.eye(arm.size)  # coordinates of the estimator -> twin
        self._estimator_arm = arm
        self._offered_bench: Bench | None = None

    def offer(self, arm: ArmModel) -> None:
        """
        Switch to the parameters of another ArmModel before the next state; thread-safe.

        SettingError if its structure differs. Position and velocity of joints and tip are
        continuous.
        """
        check_bench_arm(arm)
        refuse_other_structure(self._estimator_arm, arm)
        self._offered_bench = Bench(arm, self._parts, formulation=self._formulation)

    def take(
        self, state: RigState, shape: BentLinkState, needs_residual: bool = True
    ) -> Residual | None:
        """
        Advance to a RigState and the BentLinkState of the same reading; return the Residual.

        Returns None if a broken sensor leaves the shape unknown, or if `needs_residual` is false:
        the residual takes longer to compute than the step.
        """
        if self._offered_bench is not None:
            new, self._offered_bench = self._offered_bench, None
            self._switch_arm(new)
        message = state.reading.message
        is_on, was_on = message.state in MOVING, self._drive.bridge
        if state.is_first or is_on and not was_on or not shape.is_known:
            self._restart(state, shape)
        else:
            try:
                self._advance(message, state.duration)
            except SimulationError:  # telemetry that no real bench would send
                self._restart(state, shape)
        self._drive = Drive(
            self._duty_sign * message.duty,
            is_on,
            message.step_position * self._scale,
            message.step_rate * self._scale,
            is_on,
        )
        self._pulses, self._rate = message.step_position, message.step_rate
        if not shape.is_known:
            return None
        residual = self._residual(state, shape) if needs_residual else None
        if self.settings.twin_time_constant or not is_on:
            self._correct(state, shape)
        return residual

    @property
    def q(self) -> np.ndarray:
        """Coordinates of the twin, (n,)."""
        return self._bench.simulation.q

    @property
    def v(self) -> np.ndarray:
        """Rates of the coordinates of the twin, (n,)."""
        return self._bench.simulation.v

    @property
    def applied_effort(self) -> np.ndarray:
        """Force of the DC motor [N] and torque of the stepper [N m] on the twin, (2,)."""
        return self._bench.simulation.applied_effort

    def _switch_arm(self, new):
        """Switch to the parameters of another Bench."""
        to_new = state_map(self._arm, new.arm)
        new.copy_state(self._bench, to_new @ self.q, to_new @ self.v)
        self._bench, self._arm = new, new.arm
        self._curvature = flex_sensors(new.arm).matrix
        self._to_twin = state_map(self._estimator_arm, new.arm)

    def _twin_coordinates(self, joints, elastic):
        """Convert estimated joint and elastic coordinates to those of the twin."""
        return self._to_twin @ np.concatenate([joints, elastic])

    def _restart(self, state, shape):
        self.restarts += 1
        message = state.reading.message
        elastic = shape.elastic if shape.is_known else np.zeros(self._elastic_count)
        rates = shape.elastic_rate if shape.is_known else np.zeros(self._elastic_count)
        self._bench.simulation.set_state(
            q=self._twin_coordinates(state.position, elastic),
            v=self._twin_coordinates(state.velocity, rates),
        )
        self._bench.align_stepper(message.step_position * self._scale)
        self._time_remainder, self._step_phase = 0.0, message.step_position + 0.5

    def _advance(self, message, duration):
        self._time_remainder += duration
        steps = round(self._time_remainder / TIME_STEP)
        self._time_remainder -= steps * TIME_STEP
        first, last = sorted((self._pulses, message.step_position))
        for k in range(steps):
            # the rate in a reading is the one at the end of the control step that it starts
            rate = self._rate + (message.step_rate - self._rate) * (k - 0.5) / steps
            self._step_phase += rate * TIME_STEP
            steps_sent = math.floor(min(max(self._step_phase, first), last))
            if k == steps - 1:
                steps_sent = message.step_position
            # the duty is from the last reading
            self._bench.advance(
                self._drive._replace(steps=steps_sent * self._scale, step_rate=rate * self._scale),
                TIME_STEP,
            )
        self._step_phase = min(
            max(self._step_phase, message.step_position), message.step_position + 1
        )

    def _residual(self, state, shape):
        simulation = self._bench.simulation
        q = simulation.q
        tip = tip_deflection(self._arm, self._link, q)[1]
        return Residual(
            state.position - simulation.position,
            state.velocity - simulation.velocity,
            shape.curvature - self._curvature @ q,
            shape.tip[1] - tip,
            simulation.position,
            tip,
        )

    def _correct(self, state, shape):
        """Correct the twin towards the bench."""
        constant = self.settings.twin_time_constant
        share = 1.0 if constant == 0.0 else 1.0 - np.exp(-state.duration / constant)
        simulation = self._bench.simulation
        q, qd = simulation.q, simulation.v
        velocity = np.array(state.velocity)
        if self._drive.stepper:
            # the field holds the rotor; the estimated velocity omits its vibration
            velocity[TURN] = simulation.velocity[TURN]
        simulation.set_state(
            q=q + share * (self._twin_coordinates(state.position, shape.elastic) - q),
            v=qd + share * (self._twin_coordinates(velocity, shape.elastic_rate) - qd),
        )
        if not self._drive.stepper:
            # when switched on, the field aligns at the position of the bench
            self._bench.align_stepper(self._drive.steps)
