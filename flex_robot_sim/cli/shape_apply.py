"""`flexsim shape --apply`: a trajectory in a file, shaped, and what that costs."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from flex_robot_sim.cli import common
from flex_robot_sim.util.exceptions import UsageError

TYPE_CHECKING = False  # True for static tools, as `typing` has it
if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmModel
    from flex_robot_sim.shaping.shaper_specification import ShaperSpecification
    from flex_robot_sim.shaping.trajectory_file import SampledTrajectory

SUFFIX = '_shaped.csv'  # of the file next to the trajectory
DEFAULT_PATH_ERROR_M = 1e-3
ROUNDING = 1 + 1e-6  # factor on limits


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options about a trajectory."""
    parser.add_argument(
        '--apply',
        metavar='FILE',
        help='shape the joint trajectory in a CSV or MCAP file: a column time [s] and one column '
        f'per joint [rad, m]. Writes NAME{SUFFIX} next to it, or --output',
    )
    parser.add_argument(
        '--path-error',
        type=float,
        default=DEFAULT_PATH_ERROR_M,
        metavar='M',
        help='with --apply: find the speed at which the shaped tool path stays within this '
        'distance of the unshaped one [m] (default: %(default)s)',
    )


def output_path(arguments: Namespace) -> str:
    """Return the path of the shaped trajectory, after checks."""
    source = Path(arguments.apply)
    path = arguments.output or str(source.with_name(source.stem + SUFFIX))
    if Path(path).resolve() == source.resolve():
        raise UsageError(f'--output {path}: is the trajectory itself. Name another file.')
    common.expect_within('--path-error', arguments.path_error)
    common.expect_writable(path)
    if not arguments.force:
        common.refuse_existing_file('--output', path)
    return path


def read(arguments: Namespace, arm: ArmModel | None) -> SampledTrajectory:
    """Return the trajectory of the joints of an arm, or of all columns."""
    from flex_robot_sim.motion.limits import refuse_beyond_stops
    from flex_robot_sim.shaping.trajectory_file import read_trajectory_file

    trajectory = read_trajectory_file(arguments.apply, () if arm is None else arm.joint_names)
    if arm is not None:
        refuse_beyond_stops(arm, np.arange(len(arm.joint_names)), trajectory.positions)
    return trajectory


def apply(
    trajectory: SampledTrajectory,
    specification: ShaperSpecification,
    arm: ArmModel | None,
    bound: float,
    path: str,
) -> dict[str, Any]:
    """Shape a trajectory, write it to a file, and return its figures; arm: None if unknown."""
    from flex_robot_sim.shaping.path_accuracy import path_error
    from flex_robot_sim.shaping.trajectory_file import write_trajectory_file

    names, times, positions, notes = trajectory
    notes = [*notes, *_fast_joints(trajectory, specification.velocity_limits, arm)]
    if specification.added_time == 0.0:
        notes.append('no shaper is recommended: the trajectory is unchanged')
    if (positions == positions[0]).all():
        notes.append('no joint moves in this trajectory')
    shaped = specification.shape(times, positions)
    write_trajectory_file(path, names, shaped.times, np.asarray(shaped.positions))
    rows = _joint_rows(trajectory, np.asarray(shaped.positions), specification, arm)
    notes += _hard_joints(rows)
    figures: dict[str, Any] = {
        'output': path,
        'shaper': specification.name,
        'notes': notes,
        'samples': len(shaped.times),
        'period': trajectory.period,
        'duration': float(times[-1] - times[0]),
        'added_time': float(shaped.times[-1] - times[-1]),
        'path_error': None,
        'path_error_bound': bound,
        'speed_within_bound': None,
        'joints': rows,
    }
    if arm is not None:
        found = path_error(arm, specification, times=times, positions=positions, bound=bound)
        figures['path_error'] = found.error
        figures['speed_within_bound'] = {
            'share': found.share,
            'speed': found.share * found.speed,
            'error': found.error_at_share,
        }
    return figures


def _fast_joints(trajectory, limits, arm):
    """Yield a note about each joint that the unshaped trajectory moves beyond its limit."""
    for j, limit in enumerate(() if limits is None else limits):
        speed = _largest_rate(trajectory.positions[:, j], trajectory.period, 1)
        if speed > limit * ROUNDING:
            unit = '' if arm is None else f' {arm.units[j]}/s'
            yield (
                f'"{trajectory.names[j]}" moves at {speed:.4g}, above its limit of {limit:.4g}'
                f'{unit}; the shaped trajectory keeps the limit and takes longer'
            )


def _hard_joints(rows):
    """Yield a note about each joint that only shaping accelerates beyond its limit."""
    for row in rows:
        found, before = row['acceleration'], row['unshaped_acceleration']
        limit = row['acceleration_limit']
        if limit is not None and before <= limit * ROUNDING < found:
            unit = row['unit'] and f' {row["unit"]}/s2'
            yield (
                f'shaped, "{row["name"]}" accelerates at {found:.4g}, above its limit of '
                f'{limit:.4g}{unit}: play the trajectory {1 - np.sqrt(limit / found):.0%} slower'
            )


def _joint_rows(trajectory, shaped, specification, arm):
    """Largest velocity and acceleration of each joint, before and after, and its limits."""
    from flex_robot_sim.motion.limits import acceleration_limits

    period, rows = trajectory.period, []
    velocities, accelerations = np.full((2, len(trajectory.names)), np.inf)
    if specification.velocity_limits is not None:
        velocities = specification.velocity_limits
    if arm is not None:
        accelerations = acceleration_limits(arm)
    limits = {'velocity': velocities, 'acceleration': accelerations}
    for j, name in enumerate(trajectory.names):
        row = {'name': name, 'unit': '' if arm is None else arm.units[j]}
        for order, quantity in ((1, 'velocity'), (2, 'acceleration')):
            limit = limits[quantity][j]
            row[quantity] = _largest_rate(shaped[:, j], period, order)
            row[f'unshaped_{quantity}'] = _largest_rate(trajectory.positions[:, j], period, order)
            row[f'{quantity}_limit'] = float(limit) if np.isfinite(limit) else None
        rows.append(row)
    return rows


def _largest_rate(values, period, order):
    """Largest rate of samples that rest before and after."""
    held = np.concatenate([np.repeat(values[0], order), values, np.repeat(values[-1], order)])
    return float(np.abs(np.diff(held, order)).max() / period**order)


def as_text(figures: Mapping[str, Any]) -> Iterator[str]:
    """Lines about a shaped trajectory."""
    yield from (f'  note: {note}' for note in figures['notes'])
    total = figures['duration'] + figures['added_time']
    yield (
        f'{figures["output"]}: shaped by {figures["shaper"]}, {figures["samples"]} samples every '
        f'{figures["period"]:.6g} s'
    )
    yield (
        f'  takes {total:.3f} s instead of {figures["duration"]:.3f} s: '
        f'{figures["added_time"]:.3f} s added'
    )
    yield f'  path error {_path_text(figures)}'
    yield (
        '     joint                  velocity  unshaped     limit   acceleration  unshaped'
        '     limit'
    )
    for row in figures['joints']:
        velocity, acceleration = (
            [row[name], row[f'unshaped_{name}'], row[f'{name}_limit']]
            for name in ('velocity', 'acceleration')
        )
        yield (
            f'     {row["name"]:20s}'
            + ''.join(
                f'{_number(value):>{width}s}'
                for value, width in zip([*velocity, *acceleration], (11, 10, 10, 15, 10, 10))
            )
        )


def _path_text(figures):
    if figures['path_error'] is None:
        return 'unknown without a URDF'
    text = f'{1e3 * figures["path_error"]:.3g} mm'
    speed, bound = figures['speed_within_bound'], 1e3 * figures['path_error_bound']
    if speed['share'] == 1.0:
        return f'{text}, within {bound:g} mm'
    if speed['share'] == 0.0:
        return f'{text}; at 5 % of the speed still {1e3 * speed["error"]:.3g} mm'
    return (
        f'{text}; within {bound:g} mm at {speed["share"]:.0%} of the speed, up to '
        f'{speed["speed"]:.3g} m/s of the tool'
    )


def _number(value):
    return '-' if value is None else f'{value:.4g}'
