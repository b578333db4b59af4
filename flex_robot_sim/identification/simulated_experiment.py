"""
Simulated experiment: an excitation trajectory on the full nonlinear arm, with efforts and bending.

The arm follows the trajectory by a servo like that of the controller. The result has the form of a
log; its efforts are means around each sample.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis.deflection import tip_deflection
from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.control.servo import design_servo
from flex_robot_sim.description.robot_parameters import near
from flex_robot_sim.identification.excitation_trajectories import ExcitationTrajectory
from flex_robot_sim.identification.imu import imu_channel, imu_channels, is_imu_name
from flex_robot_sim.identification.log_file import Column, Log
from flex_robot_sim.identification.log_simulation import channels_of, move
from flex_robot_sim.identification.prediction import Setup, SoftServo, channel_rows
from flex_robot_sim.identification.sequences import DataSet, Sequence, sharpened, tip_channels
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.motion.limits import (
    acceleration_limits,
    deceleration_limits,
    effort_limits,
    jerk_limits,
    rate_limits,
)
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.summary import summarized

TWO_PERIOD_SHARPENING = 1 / 8  # turns means over two periods into means over one: 4/24 - 1/24
LIMIT_MARGIN = 0.9  # usable share of every limit
MAX_DEFLECTION_RATIO = 0.1  # of a tip, over the length of its segment: dynamics/monitors.py
MAX_DEFLECTION_SAMPLES = 400
MAX_SCALING_ROUNDS = 12
SCALING_SAFETY = 0.9  # additional factor on each scaling


@summarized
class SimulatedExperiment(NamedTuple):
    """Result of a simulated experiment."""

    trajectory: ExcitationTrajectory
    log: Log
    channels: tuple[str, ...]  # of the log, without efforts
    sequence: Sequence
    peaks: dict[str, float]  # 'position/JOINT' and so on -> share of its limit
    effort_limits: np.ndarray  # (joints,) 1 where there is none
    limit_usage: np.ndarray  # (k, u)    share of each limit in use, over time

    @property
    def worst(self) -> tuple[str, float]:
        """The limit with the largest usage, and that usage."""
        return max(self.peaks.items(), key=lambda item: item[1], default=('', 0.0))

    @property
    def energy(self) -> float:
        """Integral of squared efforts without gravity, relative to their limits [s]."""
        efforts = (self.sequence.efforts - self.sequence.efforts[0]) / self.effort_limits
        return float(np.sum(efforts**2)) * self.sequence.period


def available_channels(
    arm: ArmModel, signals: Iterable[str] = ()
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """
    Return the channels of a log of this arm, and the measured side of each joint.

    :param signals: additional signals, as in `--signal` of flexsim identify; the column does not
        matter. Joints, flex sensors, and IMUs in links with such names are always included.
    """
    is_driven = arm.actuated if arm.closed_loops else np.ones(len(arm.joint_names), bool)
    sides = tuple(
        ('motor' if name in arm.motor_names else 'position') if driven else ''
        for name, driven in zip(arm.joint_names, is_driven)
    )
    channels = [f'{side}/{name}' for side, name in zip(sides, arm.joint_names) if side]
    channels += flex_sensors(arm).names
    channels += [f'position/{name}' for name in arm.motor_names]
    tips, imus = tip_channels(arm), imu_channels(arm)
    optional = [name for name in imus if is_imu_name(name.split('/')[1])]
    other_signals = [
        f'{side}/{name}'
        for side in ('motor', 'position', 'velocity', 'effort')
        for name in arm.joint_names
    ]
    for assignment in signals:
        name = assignment.partition('=')[0]
        if name in tips or name in imus:
            optional.append(name)
        elif name not in channels and name not in other_signals:
            raise UsageError(
                f'--signal {assignment}: no sensor of this robot. '
                f'{near(name, [*imus, *tips, *channels])}'
            )
    if not flex_sensors(arm).names and not any(map(imu_channel, optional)):
        optional += tips
    return tuple(dict.fromkeys([*channels, *optional])), sides


def simulate_experiment(
    arm: ArmModel,
    trajectory: ExcitationTrajectory,
    time_step: float = 2e-3,
    signals: Iterable[str] = (),
) -> SimulatedExperiment:
    """Simulate an experiment, see `available_channels`; UsageError if the simulation diverges."""
    channels, sides = available_channels(arm, signals)
    fit = design_servo(arm)
    servo = SoftServo(np.asarray(fit.stiffness, float), np.asarray(fit.damping, float))
    # the motion begins in equilibrium; initial sag would bias the estimates
    gravity_effort = np.tile(equilibrium(arm, trajectory.pose).effort, (trajectory.time.size, 1))
    sequence = Sequence(
        'trial',
        trajectory.time,
        trajectory.position,
        trajectory.velocity,
        gravity_effort,
        np.zeros((trajectory.time.size, len(channels))),
    )
    setup = Setup(
        arm.description,
        DataSet([sequence], channels, sides, True, []),
        arm.coupling,
        tuple(-arm.arrays.base_acceleration[3:]),
        time_step=time_step,
        finer=0,
    )
    motion = move(setup, servo, arm, sequence)
    if motion.reached < len(motion.coordinates):
        raise UsageError(
            f'the arm is lost on the way of this {trajectory.kind}. Give --pose, or '
            'fewer --seconds.'
        )
    outputs = channels_of(setup, arm, sequence, motion)
    servo_effort = motion.servo_effort.copy()
    servo_effort[1:-1] = 0.5 * (motion.servo_effort[1:-1] + motion.servo_effort[2:])
    efforts = gravity_effort + sharpened(servo_effort, TWO_PERIOD_SHARPENING)
    positions = motion.coordinates[:, arm.motor_q]
    velocities = np.gradient(positions, trajectory.time, axis=0)
    measured = sequence._replace(
        positions=positions, velocities=velocities, efforts=efforts, measured=outputs
    )
    columns = {name: Column(trajectory.time, outputs[:, k]) for k, name in enumerate(channels)}
    for j, name in enumerate(arm.joint_names):
        if sides[j]:
            columns[f'effort/{name}'] = Column(trajectory.time, efforts[:, j])
    limits = effort_limits(arm)
    limits = np.where(np.isfinite(limits) & (limits > 0.0), limits, 1.0)
    return SimulatedExperiment(
        trajectory,
        Log('trial', columns, []),
        channels,
        measured,
        limit_usage(arm, motion.coordinates, trajectory.time, efforts),
        limits,
        _usage_over_time(arm, motion.coordinates, velocities, efforts / limits),
    )


def _usage_over_time(arm, coordinates, rates, efforts):
    """Return the change of limit usage (k, u) from the start, for small bending."""
    tips = [f'tip/{link}/{axis}' for link in arm.tips for axis in 'yz']
    deflections = coordinates @ channel_rows(arm, tuple(tips)).T
    ranges = [
        np.repeat([_max_deflection(arm, link) for link in arm.tips], 2),
        0.5 * (arm.arrays.upper - arm.arrays.lower),
        rate_limits(arm),
        1.0,
    ]
    displacements = [deflections, coordinates[:, arm.motor_q], rates, efforts]
    return np.hstack(
        [
            (displacement - displacement[0]) / range_
            for displacement, range_ in zip(displacements, ranges)
        ]
    )


def _max_deflection(arm, link):
    """Return the largest permitted tip deflection of a link [m]."""
    return MAX_DEFLECTION_RATIO * len(arm.segments[link]) * arm.length(link)


def limit_usage(
    arm: ArmModel, coordinates: np.ndarray, time: np.ndarray, efforts: np.ndarray
) -> dict[str, float]:
    """
    Return the usage of all limits: largest value over limit, by name.

    :param coordinates: (k, n) at times (k,) [s]; efforts: (k, joints) [N m, N].
    """
    positions, usage = coordinates[:, arm.motor_q], {}
    velocities = np.gradient(positions, time, axis=0)
    lower, upper = arm.arrays.lower, arm.arrays.upper
    accelerations = np.gradient(velocities, time, axis=0)
    max_velocities, max_efforts = rate_limits(arm), effort_limits(arm)
    max_accelerations = np.minimum(acceleration_limits(arm), deceleration_limits(arm))
    for j, name in enumerate(arm.joint_names):
        if np.isfinite(lower[j]) and np.isfinite(upper[j]):
            middle, half = 0.5 * (lower[j] + upper[j]), 0.5 * (upper[j] - lower[j])
            usage[f'position/{name}'] = float(np.abs(positions[:, j] - middle).max() / half)
        if np.isfinite(max_velocities[j]):
            usage[f'velocity/{name}'] = float(np.abs(velocities[:, j]).max() / max_velocities[j])
        if np.isfinite(max_accelerations[j]):
            usage[f'acceleration/{name}'] = float(
                np.abs(accelerations[:, j]).max() / max_accelerations[j]
            )
        if np.isfinite(max_efforts[j]) and max_efforts[j] > 0.0:  # 0: passive
            usage[f'effort/{name}'] = float(np.abs(efforts[:, j]).max() / max_efforts[j])
    stride = max(1, len(coordinates) // MAX_DEFLECTION_SAMPLES)
    for link in arm.tips:
        deflection = max(
            float(np.linalg.norm(tip_deflection(arm, link, q)[:3])) for q in coordinates[::stride]
        )
        usage[f'deflection/{link}'] = deflection / _max_deflection(arm, link)
    return usage


def scaled_to_limits(
    arm: ArmModel, trajectory: ExcitationTrajectory, signals: Iterable[str] = ()
) -> SimulatedExperiment:
    """
    Return the experiment with the largest amplitude within LIMIT_MARGIN of all limits.

    Positions and their rates follow from the trajectory. Efforts and deflections follow from
    simulations, which are repeated until the motion satisfies all limits.
    """
    trajectory = trajectory.scaled(_kinematic_factors(arm, trajectory))
    for _ in range(MAX_SCALING_ROUNDS):
        experiment = simulate_experiment(arm, trajectory, signals=signals)
        name, usage = experiment.worst
        if usage <= LIMIT_MARGIN:
            return experiment
        rest_usage = (
            simulate_experiment(arm, trajectory.scaled(0.0)).peaks[name] if usage > 1.0 else 0.0
        )
        if rest_usage >= LIMIT_MARGIN:
            raise UsageError(
                f'in this pose "{name}" takes {rest_usage:.0%} of its limit at rest. '
                'Give another --pose.'
            )
        factor = max((LIMIT_MARGIN - rest_usage) / (usage - rest_usage), 0.1)
        trajectory = trajectory.scaled(SCALING_SAFETY * factor)
    raise UsageError(
        f'no {trajectory.kind} about this pose keeps the limit of {name}. Give another --pose.'
    )


def _kinematic_factors(arm, trajectory):
    """Return the largest factors (joints,) that keep the limits of positions and their rates."""
    displacements = trajectory.position - trajectory.pose
    max_accelerations = np.minimum(acceleration_limits(arm), deceleration_limits(arm))
    period = trajectory.time[1] - trajectory.time[0]
    accelerations = np.diff(trajectory.velocity, axis=0) / period
    jerks = np.diff(accelerations, axis=0) / period
    factors = np.full(len(trajectory.pose), np.inf)
    lower, upper = arm.arrays.lower, arm.arrays.upper
    with np.errstate(invalid='ignore', divide='ignore'):
        middle, half = 0.5 * (lower + upper), 0.5 * LIMIT_MARGIN * (upper - lower)
        for limit, extent in (
            (middle + half - trajectory.pose, displacements.max(axis=0)),
            (trajectory.pose - middle + half, -displacements.min(axis=0)),
            (LIMIT_MARGIN * rate_limits(arm), np.abs(trajectory.velocity).max(axis=0)),
            (LIMIT_MARGIN * max_accelerations, np.abs(accelerations).max(axis=0)),
            (LIMIT_MARGIN * jerk_limits(arm), np.abs(jerks).max(axis=0)),
        ):
            factor = np.where((extent > 0) & np.isfinite(limit), limit / extent, np.inf)
            factors = np.minimum(factors, factor)
    if (factors <= 0.0).any():
        raise UsageError(
            '--pose is at the end of the range of '
            f'"{arm.joint_names[int(np.argmin(factors))]}". Give one inside it.'
        )
    factors = np.minimum(factors, 1.0)
    return np.full(len(factors), factors.min()) if trajectory.kind == 'fourier' else factors
