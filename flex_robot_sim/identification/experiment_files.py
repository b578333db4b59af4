"""
An experiment as files: messages of the kind trajectory_msgs/JointTrajectory in YAML, and a log.

The trajectory is what the controller takes at `joint_trajectory`; the profile has efforts, each
until its time, as the bridge takes them at `~/profile` and the board plays by its own clock.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from flex_robot_sim.identification.excitation_trajectories import Course
from flex_robot_sim.identification.log_file import Log
from flex_robot_sim.identification.prediction import Setup, SoftServo, respond
from flex_robot_sim.identification.sequences import Measured
from flex_robot_sim.identification.simulated_experiment import Trial, known_to, shares_of_limits
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.files import open_atomic

MOST_POINTS = 1000      # of a message that still fits on a command line
PIECES = 240            # of a profile: the board has room for 256


def trajectory_text(names: tuple[str, ...], course: Course) -> str:
    """Return a Course as a message with positions and velocities, from its first motion on."""
    every = max(1, -(-(len(course.time) - 1) // MOST_POINTS))
    rows = [*range(every, len(course.time) - 1, every), len(course.time) - 1]
    lines = [f'joint_names: [{", ".join(names)}]', 'points:']
    for k in rows:
        rate = course.velocity[k] if k != rows[-1] else 0 * course.velocity[k]
        lines.append(f'- {{positions: {_list(course.position[k])}, velocities: {_list(rate)}, '
                     f'time_from_start: {_time(course.time[k])}}}')
    return '\n'.join(lines) + '\n'


def pieces_of(trial: Trial) -> tuple[np.ndarray, np.ndarray]:
    """Return ends (m,) [s] and mean efforts (m, joints) of the pieces of a profile."""
    time, efforts = trial.sequence.time, trial.sequence.efforts
    edges = np.unique(np.linspace(0, len(time) - 1, PIECES + 1).astype(int))
    means = np.array([np.mean(0.5 * (efforts[a:b] + efforts[a + 1:b + 1]), axis=0)
                      for a, b in zip(edges[:-1], edges[1:])])
    return time[edges[1:]] - time[0], means


def profile_text(names: tuple[str, ...], ends: np.ndarray, efforts: np.ndarray) -> str:
    """Return efforts, each until its end, as a message."""
    lines = [f'joint_names: [{", ".join(names)}]', 'points:']
    lines += [f'- {{effort: {_list(row)}, time_from_start: {_time(end)}}}'
              for end, row in zip(ends, efforts)]
    return '\n'.join(lines) + '\n'


def open_loop(arm: ArmModel, trial: Trial) -> tuple[str, float]:
    """
    Return the limit that the profile of a Trial comes nearest to without a servo, and its share.

    Nobody leads the arm back then: what pieces and friction miss adds up.
    """
    channels, seen = trial.channels, known_to(arm)[1]
    ends, means = pieces_of(trial)
    rows = np.minimum(np.searchsorted(ends, trial.sequence.time - trial.sequence.time[0]),
                      len(ends) - 1)
    free = trial.sequence._replace(efforts=means[rows])
    none = np.zeros(len(arm.joint_names))
    setup = Setup(arm.description, Measured([free], channels, seen, True, []), arm.coupling,
                  tuple(-arm.arrays.base_acceleration[3:]), time_step=2e-3, finer=0)
    found = respond(setup, SoftServo(none, none), arm, free)
    if not np.isfinite(found.channels).all():
        return 'state', float('inf')
    return max(shares_of_limits(arm, found.coordinates, trial.sequence.time, free.efforts).items(),
               key=lambda one: one[1])


def log_text(log: Log) -> list[list[str]]:
    """Return the rows of a Log as CSV has them."""
    time = next(iter(log.columns.values())).time
    table = np.column_stack([time, *(column.values for column in log.columns.values())])
    return [['time', *log.columns], *([f'{value:.9g}' for value in row] for row in table)]


def write_experiment(path: str | Path, content: str | list[list[str]],
                     is_new: bool = True) -> None:
    """
    Write text, or rows as CSV, to a file; UsageError if that fails.

    :param is_new: whether a file that exists is refused.
    """
    try:
        with open_atomic(path, 'w', is_new=is_new, encoding='utf-8', newline='') as file:
            if isinstance(content, str):
                file.write(content)
            else:
                csv.writer(file).writerows(content)
    except FileExistsError as error:
        raise UsageError(f'{path}: exists already. Name another one, or replace it by '
                         '--force.') from error
    except OSError as error:
        raise UsageError(f'{path}: cannot be written: {error.strerror}.') from error


def _list(values):
    return '[' + ', '.join(f'{float(value):.6g}' if value % 1 else f'{float(value):.1f}'
                           for value in values) + ']'


def _time(seconds):
    whole = round(seconds * 1e9)
    return f'{{sec: {whole // 10**9}, nanosec: {whole % 10**9}}}'
