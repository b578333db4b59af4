"""
Simulated bench: arm, motors and sensors, behind the pins of the controller board.

Time advances only in `advance`, and one seed determines all random numbers. The same calls
therefore give the same results.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.assembly import load
from flex_robot_sim.rig.bench import motors
from flex_robot_sim.rig.bench.parts import SLIDE, TURN, BenchParts
from flex_robot_sim.rig.wire.vocabulary import CONVERSIONS
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.settings import SimulationSettings

TIME_STEP = 1e-3  # of the simulation, in which the motors are implicit [s]
NOISE_BATCH_SIZE = 256  # readings for which noise is drawn at once
JAM_STIFFNESS = 1e7  # of a jammed slide [N/m]
JAM_DAMPING = 1e4  # [N s/m]
HAND_SERVO_GAINS = (1e6, 2e4), (50.0, 1.0)  # (stiffness, damping) of a hand: slide, turn [SI]
HAND_SPEED = 0.3  # [m/s, rad/s]
HAND_RELEASE_TOLERANCE = 1e-4  # of position and speed, for the hand to release a joint [SI]


class Drive(NamedTuple):
    """Outputs of the board to the motor drivers."""

    duty: float = 0.0  # of the bridge, -1 to 1
    bridge: bool = False  # on: motor voltage is duty times supply; off: no current
    steps: float = 0  # microsteps sent since power-up
    step_rate: float = 0.0  # present rate of the microsteps                    [1/s]
    stepper: bool = False  # on: the field holds the rotor


class Pins(NamedTuple):
    """Inputs of the board."""

    encoders: tuple[int, int]  # counts since power-up, of slide and turn
    adc: tuple[int, int]  # sum of CONVERSIONS of each flex sensor          [counts]
    lower_switches: tuple[bool, bool]  # closed, of slide and turn
    upper_switches: tuple[bool, bool]
    stop_button: bool
    current: float  # of the DC motor                                   [A]


@dataclass
class BenchFaults:
    """Hardware faults of the bench; may be changed at any time."""

    open_sensors: set[int] = field(default_factory=set)  # 0, 1: broken wire
    shorted_sensors: set[int] = field(default_factory=set)
    dead_encoders: set[int] = field(default_factory=set)  # SLIDE, TURN: counts do not change
    encoder_jump: list[int] = field(default_factory=lambda: [0, 0])  # counts added
    closed_lower: set[int] = field(default_factory=set)  # SLIDE, TURN: switch closed by hand
    closed_upper: set[int] = field(default_factory=set)
    stop_button: bool = False  # pressed: also cuts the motor supply
    jammed: bool = False  # the slide is blocked
    weak_stepper: float = 1.0  # remaining share of the stepper torque


class Bench:
    """The rig arm with its motors and sensors."""

    def __init__(
        self,
        arm: ArmModel | None = None,
        parts: BenchParts | None = None,
        seed: int = 0,
        start: Sequence[float] = (0.15, 0.0),
        formulation: str = 'recursion',
    ) -> None:
        """
        Start at rest.

        :param arm: ArmModel with a prismatic and a revolute joint and two flex sensors on one
            flexible link; default: the shipped rig.
        :param start: positions of the joints [m, rad].
        :param formulation: equations of motion of the arm.
        """
        self.arm = load('rig') if arm is None else arm
        self.parts = parts or BenchParts()
        self.faults = BenchFaults()
        check_bench_arm(self.arm)
        self._tip = self.arm.description.links[-1].name
        self._curvature = flex_sensors(self.arm).matrix
        self._lengths = np.array(
            [
                sensor.end - sensor.start
                for link in self.arm.segments
                for sensor in self.arm.description.beam(link).sensors
            ]
        )
        settings = SimulationSettings(time_step=TIME_STEP, formulation=formulation)
        Simulation(self.arm, settings).step()  # loads or compiles the machine code
        self.simulation = Simulation(self.arm, settings)
        self.simulation.set_state(start)
        self._random = np.random.default_rng(seed)
        self._noise: list[np.ndarray] = []  # of future readings, (2, CONVERSIONS) each
        self._max_noise, self._ones = 0.0, np.ones(CONVERSIONS)
        joint = next(j for j in self.arm.description.joints if j.name == self.arm.joint_names[0])
        self._switches = (
            joint.lower + self.parts.switch_margin,
            joint.upper - self.parts.switch_margin,
        )
        self._start = [float(place) for place in start]
        self._steps = 0.0
        self._zero_angle = float(start[TURN])  # field angle before the first step [rad]
        self._last_counts = [0, 0]  # counts of failed encoders
        self._servo_input: tuple[list[float], ...] | None = None  # of the simulation, last
        self._jam = None
        self.hands: dict[int, list[float]] = {}  # joint: [now, end] of a hand
        self.current = 0.0

    @property
    def time(self) -> float:
        """Time on the bench [s]."""
        return self.simulation.time

    @property
    def curvatures(self) -> np.ndarray:
        """Mean curvature of each flex sensor, (2,) [1/m]."""
        return self._curvature @ self.simulation.q

    def advance(self, drive: Drive, duration: float = 1e-3) -> None:
        """Simulate `duration` [s], a whole number of steps, with constant outputs of the board."""
        count = round(duration / TIME_STEP)
        if count < 1 or abs(count * TIME_STEP - duration) > 1e-9:
            raise SettingError(f'duration = {duration!r} must be a multiple of {TIME_STEP} s')
        first, moved = self._steps, drive.steps - self._steps
        powered = not self.faults.stop_button
        for k in range(count):
            self._steps = first + moved * (k + 1) / count
            self._set_efforts(drive, powered)
            self.simulation.step()
        self._steps = drive.steps

    def align_stepper(self, steps: float) -> None:
        """Align the stepper field with the rotor, at `steps` microsteps since power-up."""
        self._steps = steps
        self._zero_angle = (
            self.simulation.position[TURN] - steps * 2 * np.pi / self.parts.steps_per_turn
        )

    def copy_state(self, other: Bench, coordinates: np.ndarray, rates: np.ndarray) -> None:
        """Copy the state of another bench; coordinates and rates (n,) are those of this arm."""
        self.simulation.set_state(q=coordinates, v=rates)
        self.simulation.time = other.simulation.time
        self._steps, self._zero_angle = other._steps, other._zero_angle
        self._start, self._last_counts = other._start, list(other._last_counts)
        self.current, self.faults, self.hands = other.current, other.faults, other.hands

    def clear_faults(self) -> None:
        """Remove all faults; encoder counts that have jumped keep their offset."""
        self.faults = BenchFaults(encoder_jump=self.faults.encoder_jump)

    def restore(self, start: Sequence[float]) -> None:
        """Remove all faults and put the arm at rest at `start` [m, rad], like a new bench."""
        self.faults = BenchFaults()
        self.hands.clear()
        self.simulation.reset()
        self.simulation.set_state(start)
        self._servo_input = None
        self._start = [float(place) for place in start]
        self._zero_angle = float(start[TURN]) - self._steps * 2 * np.pi / self.parts.steps_per_turn
        self._last_counts = [0, 0]

    def move_by_hand(self, joint: int, place: float) -> None:
        """Move a joint by hand to `place` [m, rad]; the hand then releases it."""
        self.hands[joint] = [self.simulation.position[joint], place]

    def push_tip(self, force: float) -> None:
        """Push the last link along its local y axis [N]."""
        self.simulation.push(self._tip, force=(0.0, force, 0.0), follows=True)

    def read(self) -> Pins:
        """Return the present Pins."""
        position, faults = self.simulation.position.tolist(), self.faults
        lower, upper = self._switches
        turn_limit = self.parts.turn_switch
        return Pins(
            self._counts(position),
            self._adc(),
            (
                position[SLIDE] <= lower or SLIDE in faults.closed_lower,
                position[TURN] <= -turn_limit or TURN in faults.closed_lower,
            ),
            (
                position[SLIDE] >= upper or SLIDE in faults.closed_upper,
                position[TURN] >= turn_limit or TURN in faults.closed_upper,
            ),
            faults.stop_button,
            self.current,
        )

    def _set_efforts(self, drive, powered):
        # plain floats: for two joints at 1 kHz, numpy would take twice as long
        parts, simulation = self.parts, self.simulation
        position, velocity = simulation.position.tolist(), simulation.velocity.tolist()
        target, effort, stiffness, damping = [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]
        self.current = 0.0
        if drive.bridge and powered:
            voltage, speed = drive.duty * parts.supply, velocity[SLIDE]
            self.current = motors.dc_current(parts, voltage, speed)
            effort[SLIDE] = motors.dc_force(parts, self.current, speed)
            # the slope of the force over the speed becomes damping of the implicit servo
            faster = speed + 1e-6
            ahead = motors.dc_force(parts, motors.dc_current(parts, voltage, faster), faster)
            damping[SLIDE] = max(0.0, (effort[SLIDE] - ahead) / 1e-6)
            effort[SLIDE] += damping[SLIDE] * speed
        if drive.stepper and powered:
            # the implicit servo models the linear part; the effort adds the remainder of the sine
            share = self.faults.weak_stepper
            stiffness[TURN] = share * motors.stepper_stiffness(parts)
            damping[TURN] = parts.stepper_damping
            lag = motors.stepper_lag(parts, position[TURN] - self._zero_angle, self._steps)
            target[TURN] = position[TURN] - lag
            rate = drive.step_rate * 2 * np.pi / parts.steps_per_turn
            effort[TURN] = (
                share * motors.stepper_torque(parts, lag, drive.step_rate)
                + stiffness[TURN] * lag
                + damping[TURN] * rate
            )
        if not self.faults.jammed:
            self._jam = None
        elif self._jam is None:
            self._jam = position[SLIDE]
        if self._jam is not None:
            target[SLIDE], stiffness[SLIDE] = self._jam, JAM_STIFFNESS
            damping[SLIDE] += JAM_DAMPING
        for joint, (now, end) in [*self.hands.items()]:
            speed = HAND_SPEED * TIME_STEP
            now += min(max(end - now, -speed), speed)
            self.hands[joint][0] = now
            target[joint] = now
            stiffness[joint], damping[joint] = HAND_SERVO_GAINS[joint]
            if (
                now == end
                and abs(position[joint] - end) < HAND_RELEASE_TOLERANCE
                and abs(velocity[joint]) < HAND_RELEASE_TOLERANCE
            ):
                del self.hands[joint]
        # usually the motors are off and nothing has changed
        servo_input = effort, target, stiffness, damping
        if servo_input != self._servo_input:
            simulation.hold(target, stiffness, damping)
            simulation.effort, self._servo_input = effort, servo_input

    def _counts(self, position):
        parts, counts = self.parts, []
        for joint, scale in ((SLIDE, parts.counts_per_metre), (TURN, parts.counts_per_radian)):
            if joint not in self.faults.dead_encoders:
                moved = position[joint] - self._start[joint]
                self._last_counts[joint] = math.floor(moved * scale + 0.5)
            counts.append(self._last_counts[joint] + self.faults.encoder_jump[joint])
        return tuple(counts)

    def _adc(self):
        parts, full = self.parts, self.parts.adc_full
        if not self._noise:
            noise = self._random.normal(0.0, parts.adc_noise, (NOISE_BATCH_SIZE, 2, CONVERSIONS))
            self._noise, self._max_noise = list(noise), float(np.abs(noise).max())
        means = []
        for sensor, bend in enumerate((self.curvatures * self._lengths).tolist()):
            resistance = motors.flex_resistance(parts, bend)
            if sensor in self.faults.open_sensors:
                resistance = math.inf
            elif sensor in self.faults.shorted_sensors:
                resistance = 0.0
            means.append(motors.divider_counts(parts, resistance))
        read = np.rint(self._noise.pop() + np.array(means)[:, None])
        if min(means) < self._max_noise or max(means) + self._max_noise > full:
            read = np.minimum(np.maximum(read, 0), full)
        first, second = read.dot(self._ones).tolist()  # `sum` takes longer
        return int(first), int(second)


def check_bench_arm(arm: ArmModel) -> None:
    """Raise SettingError if `arm` does not have the joints and sensors of the bench."""
    kinds = [joint.kind for joint in arm.description.joints if joint.moves]
    sensors = [one for link in arm.segments for one in arm.description.beam(link).sensors]
    if kinds != ['prismatic', 'revolute'] or len(sensors) != 2:
        raise SettingError(
            f'{arm.description.source} is no bench: it needs a prismatic joint, '
            'then a revolute one, and two flex sensors'
        )
    if arm.motor_names:
        raise SettingError(
            f'{arm.description.source} is no bench: joint "{arm.motor_names[0]}" is flexible, and '
            'the one encoder of a joint cannot tell its two sides apart. Leave out its stiffness'
        )
