"""Table of `flexsim simulate`: a row of states per output period, its efforts and its CSV file."""

import csv
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from flex_robot_sim.cli.mean_efforts import MeanEfforts
from flex_robot_sim.cli.sensor_readings import SensorReadings
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.files import open_atomic

if TYPE_CHECKING:
    from flex_robot_sim.recording.simulated import SimulationRecording  # needs mcap

Rows = Sequence[np.ndarray]


def simulate_rows(
    simulation: Simulation,
    arguments: Namespace,
    take_steps: Callable[[int], None],
    target: Callable[[], np.ndarray | None],
    recording: 'SimulationRecording | None',
    sensors: SensorReadings | None = None,
) -> tuple[Rows, float]:
    """
    Return the rows of the table and the wall time of the steps [s].

    :param take_steps: advances the simulation by a number of steps.
    :param target: returns the set points for the recording, (2, joints) or None.
    :param sensors: of the arm, which sample during the steps; None: it has none.
    """
    h, duration = arguments.time_step, arguments.seconds
    total, steps_done = max(round(duration / h), 1), 0
    # the period of a tiny rate may be infinite
    block = max(round(min(1 / max(arguments.rate, 1e-9) / h, total)), 1)
    rows, wall_time, shown_at = [_row(simulation)], 0.0, time.monotonic()
    if sensors:
        take_steps = sensors.sampling(take_steps)
    efforts = MeanEfforts(simulation, take_steps, block) if arguments.output else None
    measured = sensors.measured() if sensors else None
    if recording:
        recording.add(simulation, target(), measured)
    while steps_done < total:
        steps = min(block, total - steps_done)
        started = time.perf_counter()
        (efforts.advance if efforts else take_steps)(steps)
        wall_time += time.perf_counter() - started
        steps_done += steps
        if efforts:
            _set_mean_efforts(rows, simulation.arm, recording, efforts.around_last())
        rows.append(_row(simulation))
        measured = sensors.measured() if sensors else None
        if recording:
            recording.add(simulation, target(), measured)
        if sys.stderr.isatty() and time.monotonic() - shown_at > 0.2:
            shown_at = time.monotonic()
            print(f'\r{steps_done / total:4.0%}  {simulation.time:.2f} s', end='', file=sys.stderr)
    if efforts:
        _set_mean_efforts(rows, simulation.arm, recording, efforts.at_end())
    if sys.stderr.isatty():
        print('\r' + ' ' * 30 + '\r', end='', file=sys.stderr)
    return rows, wall_time


def _row(simulation):
    tips = simulation.deflection.values()
    base = [simulation.base_pose] if has_moving_base(simulation.arm) else []
    return np.concatenate(
        [
            [simulation.time],
            simulation.position,
            simulation.velocity,
            simulation.motor_position,
            simulation.applied_effort,
            *tips,
            *base,
            *contact_forces(simulation).values(),
        ]
    )


def contact_forces(simulation: Simulation) -> dict[str, np.ndarray]:
    """Return {contact: force (3,) on its link [N]} of the last step."""
    return {name: simulation.contact(name).force for name in simulation.arm.contacts}


def has_moving_base(arm: ArmModel) -> bool:
    """Whether the base is free, or follows the motion of the description."""
    return arm.has_free_base or arm.description.base_motion is not None


def _set_mean_efforts(rows, arm, recording, efforts):
    """Set the mean efforts of the last row and of the recording."""
    joints = len(arm.joint_names)
    rows[-1][1 + 3 * joints : 1 + 4 * joints] = efforts
    if recording:
        recording.settle(efforts)


def motor_positions(arm: ArmModel, rows: Rows) -> np.ndarray:
    """Return the motor positions (k, joints) of rows of the table [rad, m]."""
    joints = len(arm.joint_names)
    return np.array(rows)[:, 1 + 2 * joints : 1 + 3 * joints]


def largest_deflections(arm: ArmModel, rows: Rows) -> dict[str, float]:
    """Return {link: largest tip deflection [m]} of rows of the table."""
    start = 1 + 4 * len(arm.joint_names)
    tips = np.array(rows)[:, start : start + 6 * len(arm.tips)].reshape(len(rows), -1, 6)
    return dict(zip(arm.tips, np.linalg.norm(tips[..., :3], axis=2).max(axis=0).tolist()))


def write_csv(path: str, arm: ArmModel, rows: Rows, sensors: SensorReadings | None = None) -> None:
    """Write the table, with the readings of sensors; UsageError if it cannot be written."""
    joints = arm.joint_names
    header = [
        'time',
        *(
            f'{kind}/{name}'
            for kind in ('position', 'velocity', 'motor', 'effort')
            for name in joints
        ),
    ]
    header += [
        f'tip/{link}/{part}'
        for link in arm.tips
        for part in ('x', 'y', 'z', 'turn_x', 'turn_y', 'turn_z')
    ]
    if has_moving_base(arm):
        header += [f'base/{part}' for part in ('x', 'y', 'z', 'qx', 'qy', 'qz', 'qw')]
    header += [f'contact/{name}/{axis}' for name in arm.contacts for axis in 'xyz']
    if sensors:
        header += sensors.header()
        rows = _with_readings(rows, 3 * len(joints), sensors)
    try:
        with open_atomic(path, 'w', newline='', encoding='utf-8') as file:
            writer = csv.writer(file)
            writer.writerow(header)
            writer.writerows([f'{value:.9g}' for value in row] for row in rows)
    except OSError as error:
        raise UsageError(f'{path}: cannot be written: {error.strerror}.') from error


def _with_readings(rows, size, sensors):
    """Rows of the table: positions, velocities and motor positions as measured, then IMUs."""
    return [
        np.concatenate([row[:1], readings[:size], row[1 + size :], readings[size:]])
        for row, readings in zip(rows, sensors.rows)
    ]
