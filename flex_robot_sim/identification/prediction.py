"""
Model that predicts a log: the arm, its soft servo, and its unknown initial state.

By efforts, the measured efforts drive the arm. A soft servo along the measured motion keeps model
errors from adding up. By motion, the drives follow the measured motion, and need no model. See
docs/identification_method.md, (I1) to (I4).
"""

from collections.abc import Mapping
from collections.abc import Sequence as Rows
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.analysis.jacobians import jacobian
from flex_robot_sim.analysis.joint_space_inertia import joint_space_inertia
from flex_robot_sim.analysis.linear import tip_slopes
from flex_robot_sim.analysis.loop_poses import pose_of_drives
from flex_robot_sim.analysis.natural_modes import modes
from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.description.robot import RobotDescription
from flex_robot_sim.description.robot_parameters import with_parameters
from flex_robot_sim.dynamics.tracking_run import TrackingServo
from flex_robot_sim.identification.bench_parameters import TILTS
from flex_robot_sim.identification.imu import imu_channel
from flex_robot_sim.identification.low_pass import DiscreteFilter, Filter
from flex_robot_sim.identification.sequences import DataSet, Sequence, noise_of
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.assembly import build_arm

MAX_STEP_S = 2e-3  # of the simulation, at the start of a fit
MAX_SERVO_FREQUENCY_HZ = 1.0  # of the soft servo along the measured motion
SERVO_FREQUENCY_RATIO = 0.3  # at most, over the frequency of the first mode
SERVO_DAMPING_RATIO = 0.7
SERVO_LAG_RATIO = 0.1  # lag of the servo, over the inverse of its angular frequency
REST_DURATION_S = 0.15  # without motion, at the beginning of a log
MAX_INITIAL_MODES = 4  # with unknown initial amplitude
DEFAULT_EXTRA_MODES = 1  # bending modes of each segment in addition to those described
ARM_CACHE_SIZE = 64


@dataclass(frozen=True, eq=False)
class Setup:
    """Simulation of a log: robot, data, and settings of the model."""

    description: RobotDescription
    data: DataSet
    coupling: str = 'shortening'
    gravity: tuple[float, ...] | None = None  # None: that of the robot
    filters: Mapping[str, Filter | DiscreteFilter] | None = None  # by channel
    pull: float | None = None  # frequency of the soft servo [Hz]; None: automatic
    time_step: float | None = None  # of the simulation, at most [s]; None: by the log
    finer: int | None = None  # additional bending modes; None: by the log
    segmented: tuple[str, ...] = ()  # links with twice the segments that are described

    @property
    def has_prescribed_motion(self) -> bool:
        """Whether the measured motion of the drives is prescribed."""
        return not self.data.has_efforts

    def arm(self, values: Mapping[str, float] | None = None) -> ArmModel:
        """Return the arm with parameter values, by path."""
        extra_modes = DEFAULT_EXTRA_MODES if self.finer is None else self.finer
        return _build(
            self.description,
            extra_modes,
            self.coupling,
            tuple(self.description.gravity if self.gravity is None else self.gravity),
            tuple((values or {}).items()),
            self.segmented,
        )


@lru_cache(maxsize=ARM_CACHE_SIZE)
def _build(description, extra_modes, coupling, gravity, values, segmented):
    """Return the arm with parameter values; repeated calls return the cached arm."""
    tilts = {path: value for path, value in values if path in TILTS}
    if tilts:
        gravity = tilted(gravity, [tilts.get(path, 0.0) for path in TILTS])
    parameters = {path: value for path, value in values if path not in TILTS}
    description = with_more_segments(with_parameters(description, parameters), segmented)
    return build_arm(with_more_modes(description, extra_modes), coupling, gravity)


def tilted(gravity: tuple[float, ...], angles: Rows[float]) -> tuple[float, ...]:
    """
    Return gravity (3,) in the frame of a tilted base.

    :param angles: roll, pitch and yaw of the base, as in URDF [rad].
    """
    return tuple(Rotation.from_euler('xyz', angles).inv().apply(gravity).tolist())


def with_more_modes(description: RobotDescription, extra_modes: int) -> RobotDescription:
    """
    Return a robot whose links have more bending modes than described.

    Otherwise the excess stiffness of a model with few modes would bias EI.
    """

    def refined(link):
        if link.beam is None or link.beam.elements or not extra_modes:
            return link
        counts = {
            name: count + extra_modes if name.startswith('bending') and count else count
            for name, count in link.beam.coordinates.items()
        }
        return replace(link, beam=replace(link.beam, coordinates=counts))

    return replace(description, links=tuple(refined(link) for link in description.links))


def with_more_segments(description: RobotDescription, names: Rows[str]) -> RobotDescription:
    """Return a robot some of whose flexible links have twice as many segments."""
    if not names:
        return description

    def divided(link):
        if link.name not in names:
            return link
        return replace(link, beam=replace(link.beam, segments=2 * link.beam.segments))

    return replace(description, links=tuple(divided(link) for link in description.links))


class SoftServo(NamedTuple):
    """The soft servo, designed once for the described arm, so that it does not depend on z."""

    stiffness: np.ndarray  # (joints,)                                         [N m/rad, N/m]
    damping: np.ndarray  # (joints,)
    lag: float = 0.0  # time constant of its input; 0: none                           [s]

    def gains(self) -> TrackingServo:
        """Return the gains of `advance_tracking`; with a lag, no velocity is needed."""
        spring, damping, lag_gain, lag = self.stiffness, self.damping, 0.0 * self.stiffness, 1.0
        if self.lag != 0.0:
            spring = self.damping / self.lag
            damping, lag_gain, lag = 0.0 * spring, self.stiffness - spring, self.lag
        return TrackingServo(*map(np.array, (spring, damping, lag_gain, [lag], 0.0 * spring)))


def soft_servo(setup: Setup) -> SoftServo:
    """Return the SoftServo for the described arm of a Setup."""
    arm = setup.arm()
    joints = len(arm.joint_names)
    if setup.has_prescribed_motion:
        return SoftServo(np.zeros(joints), np.zeros(joints))
    frequency = setup.pull
    if frequency is None:
        pose = pose_of_drives(arm, setup.data.sequences[0].positions[0])
        frequencies = modes(arm, pose).frequencies if arm.size > joints else np.zeros(0)
        frequency = min(
            [MAX_SERVO_FREQUENCY_HZ, *(SERVO_FREQUENCY_RATIO * frequencies[frequencies > 0.0][:1])]
        )
    inertia, rate = joint_space_inertia(arm).largest, 2 * np.pi * frequency
    active = np.array([bool(is_driven) for is_driven in setup.data.sides])
    return SoftServo(
        active * inertia * rate**2,
        active * 2 * SERVO_DAMPING_RATIO * inertia * rate,
        SERVO_LAG_RATIO / rate,
    )


def servo_frequency(servo: SoftServo) -> float:
    """Return the frequency [Hz] of a SoftServo."""
    active = servo.damping > 0.0
    rates = 2 * SERVO_DAMPING_RATIO * servo.stiffness[active] / servo.damping[active]
    return float(rates.max(initial=0.0)) / (2 * np.pi)


def with_frequency(servo: SoftServo, frequency: float) -> SoftServo:
    """Return the SoftServo with another frequency [Hz]."""
    share = frequency / servo_frequency(servo)
    return SoftServo(servo.stiffness * share**2, servo.damping * share, servo.lag / share)


def channel_rows(arm: ArmModel, channels: tuple[str, ...]) -> np.ndarray:
    """Return the matrix (c, n) from coordinates to channels: tips for small bending, no IMUs."""
    sensors, rows = flex_sensors(arm), np.zeros((len(channels), arm.size))
    names, motors = arm.joint_names, arm.motor_q
    for row, channel in zip(rows, channels):
        kind, _, name = channel.partition('/')
        if channel in sensors.names:
            row[:] = sensors.matrix[sensors.names.index(channel)]
        elif kind in ('position', 'motor'):
            j = names.index(name)
            row[j if kind == 'position' else motors[j]] = 1.0
        elif not imu_channel(channel):
            link, _, axis = name.rpartition('/')
            row[:] = tip_slopes(arm, link, np.zeros(arm.size))['xyz'.index(axis)]
    return rows


def starts_at_rest(sequence: Sequence) -> bool:
    """Whether the arm is at rest, in equilibrium, at the beginning of a sequence."""
    count = max(4, round(REST_DURATION_S / sequence.period))
    early, late = sequence.measured[:count], sequence.measured[count:]
    if not len(late):
        return False
    noise = 8 * noise_of(sequence.measured)
    return bool(
        (np.ptp(early, axis=0) <= 0.02 * np.ptp(late, axis=0) + noise).all()
        and (
            np.ptp(sequence.positions[:count], axis=0)
            <= 2e-3 * np.maximum(np.ptp(sequence.positions, axis=0), 0.05)
            + 8 * noise_of(sequence.positions)
        ).all()
    )


def initial_shapes(setup: Setup, sequence: Sequence) -> np.ndarray:
    """Return the modes of an unknown initial state: m shapes and m velocities, (2 n, 2 m)."""
    arm = setup.arm()
    if starts_at_rest(sequence) or not arm.tips:
        return np.zeros((2 * arm.size, 0))
    pose = pose_of_drives(arm, sequence.positions[0])
    locked_modes = modes(arm, pose, joints='locked')
    slow_modes = [
        k
        for k, (frequency, ratio) in enumerate(
            zip(locked_modes.frequencies, locked_modes.damping_ratios)
        )
        if 0.0 < frequency < 0.25 / sequence.period and abs(ratio) < 1.0
    ][:MAX_INITIAL_MODES]
    rows = channel_rows(arm, setup.data.channels)
    columns = []
    for k in slow_modes:
        shape = np.real(
            locked_modes.shapes[:, k]
            * np.exp(
                -1j
                * np.angle(locked_modes.shapes[np.argmax(np.abs(locked_modes.shapes[:, k])), k])
            )
        )
        rate = 2 * np.pi * locked_modes.frequencies[k]
        size = max(np.abs(rows @ shape).max(), _imu_amplitude(setup, arm, pose, shape, rate))
        if size < 1e-12:
            continue
        shape = shape * (sequence.measured.std(axis=0).max() / size)
        columns += [np.concatenate([shape, 0 * shape]), np.concatenate([0 * shape, rate * shape])]
    return np.array(columns).T.reshape(2 * arm.size, -1)


def _imu_amplitude(setup, arm, place, shape, rate):
    """Return the largest IMU reading of a mode of unit amplitude; rate: its frequency [rad/s]."""
    imus = [imu for imu in map(imu_channel, setup.data.channels) if imu]
    q = equilibrium(arm, place).q
    amplitude = 0.0
    for imu in imus:
        J = jacobian(arm, q, link=imu.link)
        angular, linear = np.abs(rate * (J @ shape)[[imu.axis, 3 + imu.axis]])
        amplitude = max(amplitude, angular if imu.kind == 'gyro' else rate * linear)
    return amplitude
