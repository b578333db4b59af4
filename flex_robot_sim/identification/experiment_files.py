"""
Experiment files: messages of type trajectory_msgs/JointTrajectory in YAML, and a log.

The controller subscribes to the trajectory at `joint_trajectory`. The bridge subscribes to the
profile at `~/profile`: efforts, each until its time, which the board plays by its own clock.
"""

import csv
from pathlib import Path

import numpy as np

from flex_robot_sim.identification.excitation_trajectories import ExcitationTrajectory
from flex_robot_sim.identification.log_file import Log
from flex_robot_sim.identification.log_simulation import move
from flex_robot_sim.identification.prediction import Setup, SoftServo
from flex_robot_sim.identification.sequences import DataSet
from flex_robot_sim.identification.simulated_experiment import (
    SimulatedExperiment,
    available_channels,
    limit_usage,
)
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.files import open_atomic

MAX_POINTS = 1000  # of a message that fits on a command line
PROFILE_SEGMENTS = 240  # the board has memory for 256


def trajectory_text(arm: ArmModel, trajectory: ExcitationTrajectory) -> str:
    """Return a trajectory of the motors as a message, without the first point."""
    rows = _motor_rows(arm)
    names = [arm.joint_names[row] for row in rows]
    positions, velocities = trajectory.position[:, rows], trajectory.velocity[:, rows]
    stride = max(1, -(-(len(trajectory.time) - 1) // MAX_POINTS))
    points = [*range(stride, len(trajectory.time) - 1, stride), len(trajectory.time) - 1]
    lines = [f'joint_names: [{", ".join(names)}]', 'points:']
    for k in points:
        velocity = velocities[k] if k != points[-1] else 0 * velocities[k]
        lines.append(
            f'- {{positions: {_list(positions[k])}, velocities: {_list(velocity)}, '
            f'time_from_start: {_time(trajectory.time[k])}}}'
        )
    return '\n'.join(lines) + '\n'


def profile_segments(trial: SimulatedExperiment) -> tuple[np.ndarray, np.ndarray]:
    """Return ends (m,) [s] and mean efforts (m, joints) of the segments of a profile."""
    time, efforts = trial.sequence.time, trial.sequence.efforts
    edges = np.unique(np.linspace(0, len(time) - 1, PROFILE_SEGMENTS + 1).astype(int))
    means = np.array(
        [
            np.mean(0.5 * (efforts[a:b] + efforts[a + 1 : b + 1]), axis=0)
            for a, b in zip(edges[:-1], edges[1:])
        ]
    )
    return time[edges[1:]] - time[0], means


def profile_text(arm: ArmModel, ends: np.ndarray, efforts: np.ndarray) -> str:
    """Return efforts of the motors, each until its end time, as a message."""
    rows = _motor_rows(arm)
    lines = [f'joint_names: [{", ".join(arm.joint_names[row] for row in rows)}]', 'points:']
    lines += [
        f'- {{effort: {_list(row)}, time_from_start: {_time(end)}}}'
        for end, row in zip(ends, efforts[:, rows])
    ]
    return '\n'.join(lines) + '\n'


def _motor_rows(arm):
    """Rows of the joints with a motor; without closed loops, all."""
    return np.flatnonzero(arm.actuated) if arm.closed_loops else np.arange(len(arm.joint_names))


def open_loop(arm: ArmModel, trial: SimulatedExperiment) -> tuple[str, float]:
    """
    Return the most used limit and its usage, for the profile of an experiment without a servo.

    Without feedback, errors of the segments and of friction accumulate.
    """
    channels, sides = trial.channels, available_channels(arm)[1]
    ends, means = profile_segments(trial)
    rows = np.minimum(
        np.searchsorted(ends, trial.sequence.time - trial.sequence.time[0]), len(ends) - 1
    )
    open_loop_sequence = trial.sequence._replace(efforts=means[rows])
    zero_gains = np.zeros(len(arm.joint_names))
    setup = Setup(
        arm.description,
        DataSet([open_loop_sequence], channels, sides, True, []),
        arm.coupling,
        tuple(-arm.arrays.base_acceleration[3:]),
        time_step=2e-3,
        finer=0,
    )
    motion = move(setup, SoftServo(zero_gains, zero_gains), arm, open_loop_sequence)
    if motion.reached < len(motion.coordinates):
        return 'state', float('inf')
    return max(
        limit_usage(
            arm, motion.coordinates, trial.sequence.time, open_loop_sequence.efforts
        ).items(),
        key=lambda item: item[1],
    )


def log_text(log: Log) -> list[list[str]]:
    """Return the rows of a Log for a CSV file."""
    time = next(iter(log.columns.values())).time
    table = np.column_stack([time, *(column.values for column in log.columns.values())])
    return [['time', *log.columns], *([f'{value:.9g}' for value in row] for row in table)]


def write_experiment(
    path: str | Path, content: str | list[list[str]], is_new: bool = True
) -> None:
    """
    Write text, or rows as CSV, to a file; UsageError if that fails.

    :param is_new: whether to refuse an existing file.
    """
    try:
        with open_atomic(path, 'w', is_new=is_new, encoding='utf-8', newline='') as file:
            if isinstance(content, str):
                file.write(content)
            else:
                csv.writer(file).writerows(content)
    except FileExistsError as error:
        raise UsageError(
            f'{path}: exists already. Name another one, or replace it by --force.'
        ) from error
    except OSError as error:
        raise UsageError(f'{path}: cannot be written: {error.strerror}.') from error


def _list(values):
    return (
        '['
        + ', '.join(
            f'{float(value):.6g}' if value % 1 else f'{float(value):.1f}' for value in values
        )
        + ']'
    )


def _time(seconds):
    whole = round(seconds * 1e9)
    return f'{{sec: {whole // 10**9}, nanosec: {whole % 10**9}}}'
