"""`<base motion>`: the prescribed motion of the base, from a table of poses."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from flex_robot_sim.description.document import Document, XmlElement
from flex_robot_sim.description.links import Joint
from flex_robot_sim.description.named_file import find_named_file
from flex_robot_sim.description.orientation import turned_by
from flex_robot_sim.description.values import lone_child, read_attributes
from flex_robot_sim.description.words import FLEXIBILITY
from flex_robot_sim.spatial.turns import continuous_signs, quaternions
from flex_robot_sim.util.exceptions import DescriptionError
from flex_robot_sim.util.files import read_bytes
from flex_robot_sim.util.summary import counted

COLUMNS = ('time', 'x', 'y', 'z', 'roll', 'pitch', 'yaw')
SAMPLES_REMEDY = 'Remove the jump, or give at least ten samples per period of the motion'
TOPIC = 'topic'  # motion of a base that only messages move
MAX_BYTES = 2**28
# of a sample from the cubic curve through its neighbours, over half the range of the motion; a
# sine with ten samples a period is at 0.026
MAX_DEVIATION = 0.03
ROUNDING = 1e-6  # deviations that are never too large                               [m, rad]
_REST = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])


@dataclass(frozen=True, eq=False)
class BaseMotionTable:
    """Poses of the base at ascending times."""

    file: str  # as the description names it
    times: np.ndarray  # (k,)                                                           [s]
    poses: np.ndarray  # (k, 7)  position [m] and quaternion x y z w

    def largest_accelerations(self) -> tuple[float, float]:
        """Return the largest linear [m/s2] and angular acceleration [rad/s2] at the samples."""
        from scipy.interpolate import CubicSpline  # imported late: rarely needed

        p = self.poses[:, 3:] * continuous_signs(self.poses[:, 3:])
        second = CubicSpline(self.times, np.column_stack([self.poses[:, :3], p]))(self.times, 2)
        ddp = second[:, 3:]
        turn = p[:, 3:] * ddp[:, :3] - ddp[:, 3:] * p[:, :3] - np.cross(p[:, :3], ddp[:, :3])
        largest = (np.linalg.norm(rows, axis=1).max() for rows in (second[:, :3], 2.0 * turn))
        return float(next(largest)), float(next(largest))


def read_base_motion(
    document: Document, flexibility: XmlElement | None, joints: Sequence[Joint]
) -> BaseMotionTable | None:
    """Return the motion that <base> of a <flexibility> element names, if any."""
    element = lone_child(document, flexibility, FLEXIBILITY['flexibility'].children, 'base')
    if element is None:
        return None
    name = str(read_attributes(document, element, FLEXIBILITY['base'])['motion'])
    free = next((joint for joint in joints if joint.is_base), None)
    if free is not None:
        raise document.error(
            element,
            f'the base has a motion, and its joint "{free.name}" is {free.kind}',
            'Make the joint fixed, or remove the <base>',
        )
    if name == TOPIC:
        return BaseMotionTable(name, np.array([0.0, 1.0]), np.tile(_REST, (2, 1)))
    try:
        path = find_named_file(document, element, name)
    except DescriptionError as error:
        if document.recorded is None:
            raise
        cause = str(error).rstrip('.')
        document.recorded.notes.append(f'{cause}. A base without recorded odometry is at rest')
        return None
    return BaseMotionTable(name, *read_motion_table(path))


def read_motion_table(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """
    Return times (k,) [s] and poses (k, 7) of a CSV file.

    A DescriptionError names the file and the line.
    """
    rows, lines = _rows(path)
    table = np.empty((len(rows), len(COLUMNS)))
    for k, (row, line) in enumerate(zip(rows, lines)):
        try:
            table[k] = [float(cell) for cell in row]
        except ValueError:
            table[k] = np.nan
        if not np.isfinite(table[k]).all():
            raise DescriptionError(
                path, line, 'this row has no finite number in each column', 'Correct or remove it'
            )
    times = table[:, 0]
    if len(times) < 2:
        raise DescriptionError(
            path, None, f'the motion has {counted(len(times), "row")}', 'Give two rows or more'
        )
    falls = np.flatnonzero(np.diff(times) <= 0.0)
    if falls.size:
        k = int(falls[0]) + 1
        raise DescriptionError(
            path,
            lines[k],
            f'the time {times[k]:.9g} s is not after the one before, {times[k - 1]:.9g} s',
            'Sort the rows, and remove repeated ones',
        )
    R = np.array([turned_by(rpy) for rpy in table[:, 4:]])
    poses = np.column_stack([table[:, 1:4], quaternions(R)])
    _refuse_coarse(path, lines, times, poses, abs(table[:, 4:]).max())
    return times, poses


def _rows(path):
    """Return the cells of COLUMNS in each row of a file, and the lines of the rows."""
    try:
        text = read_bytes(path, MAX_BYTES).decode('utf-8-sig')
    except OSError as error:
        raise DescriptionError(
            path, None, f'the file cannot be read: {error.strerror}', 'Check its permissions'
        ) from error
    except UnicodeDecodeError:
        text = ''
    found = [
        (cells, number)
        for number, cells in enumerate(csv.reader(text.splitlines()), 1)
        if any(cell.strip() for cell in cells)
    ]
    header = [cell.strip().lower() for cell in found[0][0]] if found else []
    missing = [name for name in COLUMNS if name not in header]
    if missing:
        raise DescriptionError(
            path,
            1 if found else None,
            f'the table of a base motion has no column {", ".join(missing)}',
            f'Give a CSV file whose first row is {",".join(COLUMNS)} [s, m, rad]',
        )
    places = [header.index(name) for name in COLUMNS]
    rows = [
        [cells[place] if place < len(cells) else '' for place in places] for cells, _ in found[1:]
    ]
    return rows, [number for _, number in found[1:]]


def _refuse_coarse(path, lines, times, poses, largest_angle):
    """Raise DescriptionError if a sample is far from the cubic curve through its neighbours."""
    found = coarse_sample(times, poses)
    if found is None:
        return
    k, problem = found
    remedy = SAMPLES_REMEDY
    if 'orientation' in problem and largest_angle > 2.0 * np.pi:
        remedy = (
            f'Give roll, pitch and yaw in radians: they reach {largest_angle:.4g}, which '
            'looks like degrees'
        )
    raise DescriptionError(path, lines[k], problem, remedy)


def coarse_sample(times: np.ndarray, poses: np.ndarray) -> tuple[int, str] | None:
    """
    Return the sample that is farthest from the cubic curve through its neighbours, and a text.

    None if all are near. A jump is as far from this curve as a motion with too few samples.
    """
    if len(times) < 5:
        return None
    values = poses.copy()
    values[:, 3:] *= continuous_signs(values[:, 3:])
    values[:, 3:] *= 2.0  # a small turn changes a quaternion by half its angle
    middle, neighbours = np.arange(2, len(times) - 2), (-2, -1, 1, 2)
    curve = np.zeros((len(middle), 7))
    for m in neighbours:
        weight = np.ones(len(middle))
        for n in neighbours:
            if n != m:
                weight *= times[middle] - times[middle + n]
                weight /= times[middle + m] - times[middle + n]
        curve += weight[:, None] * values[middle + m]
    for part, what, unit in ((slice(0, 3), 'position', 'm'), (slice(3, 7), 'orientation', 'rad')):
        error = np.linalg.norm(values[middle, part] - curve[:, part], axis=1)
        k = int(error.argmax())
        half_range = 0.5 * float(np.ptp(values[:, part], axis=0).max())
        if error[k] > MAX_DEVIATION * half_range + ROUNDING:
            return int(middle[k]), (
                f'the {what} jumps or is sampled too coarsely at {times[middle[k]]:.6g} s: it is '
                f'{error[k]:.3g} {unit} from the smooth curve through its neighbours'
            )
    return None
