"""
Log of an experiment: raw telemetry as CSV, below one line of JSON.

The first line is a comment with all that is needed to interpret the log years later: robot
description, active coupling terms, gravity and calibration. Each row is two times and one
TELEMETRY; units are those of docs/rig_protocol.md. At 500 rows per second a log grows by 3 MB per
minute. A file that ends with .mcap is a recording with the same content.
"""

import contextlib
import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from flex_robot_sim.description import read_description, read_text
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.model.described_text import described_text
from flex_robot_sim.rig.bridge.batches import Batches
from flex_robot_sim.rig.bridge.experiment_recording import (
    COLUMNS,
    FIELDS,
    MAGIC,
    ExperimentRecording,
    is_number,
    read_recording,
)
from flex_robot_sim.rig.calibration.calibration import Calibration
from flex_robot_sim.rig.calibration.file import calibration_of_tree
from flex_robot_sim.rig.host.link_session import Reading
from flex_robot_sim.rig.wire.frames import encode
from flex_robot_sim.rig.wire.protocol import NO_SESSION, Telemetry
from flex_robot_sim.rig.wire.ticks import elapsed
from flex_robot_sim.util.exceptions import FlexRobotSimError, UsageError
from flex_robot_sim.util.files import read_bytes

FORMAT = 1
FLUSH_PERIOD = 0.25  # [s]


class ExperimentLog:
    """A log that is written while the experiment runs."""

    def __init__(self, path: str | Path, arm: ArmModel, calibration: Calibration) -> None:
        """
        Begin the file; UsageError if it exists, or cannot be written or contain this arm.

        :param arm: ArmModel of the bench; the log stores its URDF, with xacro expanded.
        """
        self.path, self.rows = Path(path), 0
        about = {
            'format': FORMAT,
            'robot': described_text(arm),
            'coupling': arm.coupling,
            'gravity': (-arm.arrays.base_acceleration[3:]).tolist(),
            'calibration': asdict(calibration),
        }
        self._recording = None
        self.failure = ''  # reason why logging has stopped
        if self.path.suffix == '.mcap':
            self._recording = ExperimentRecording(self.path, about)
            self._batches = Batches('experiment log', FLUSH_PERIOD, self._record)
            return
        try:
            # open until `close`
            self._file = open(self.path, 'x', encoding='utf-8')  # noqa: SIM115
        except OSError as error:
            raise self._creation_error(error) from error
        try:
            self._file.write(f'# {json.dumps(about)}\n{",".join(COLUMNS)}\n')
            self._file.flush()
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.close()
            self.path.unlink(missing_ok=True)
            raise self._creation_error(error) from error
        self._batches = Batches('experiment log', FLUSH_PERIOD, self._write)

    def _creation_error(self, error):
        return UsageError(
            f'log file {self.path}: {error.strerror}. Name a new file in a folder that exists.'
        )

    def put(self, reading: Reading) -> None:
        """Add a Reading; another thread writes it."""
        self._batches.put(reading)

    def put_all(self, readings: Sequence[Reading]) -> None:
        """Write the Readings of another log; not concurrent with `put`."""
        self._write(readings) if self._recording is None else self._record(readings)

    def close(self) -> None:
        """Write the remaining readings; may be called twice."""
        self._batches.close()
        try:
            if self._recording is not None:
                self._recording.close()
                return
            self._file.close()
        except UsageError as error:
            self.failure = self.failure or f'log file {error}'
        except OSError as error:  # buffered bytes on a full disk
            self._record_failure(error)

    def _write(self, readings):
        if self.failure:
            return
        try:
            self._file.writelines(
                f'{reading.stamp:.6f},{reading.arrived:.6f},'
                f'{",".join(_text(value) for value in reading.message)}\n'
                for reading in readings
            )
            self._file.flush()
            self.rows += len(readings)
        except OSError as error:
            self._record_failure(error)

    def _record(self, readings):
        if self.failure:
            return
        assert self._recording is not None
        self._recording.write(readings)
        if self._recording.failure:
            self.failure = f'log file {self._recording.failure}'
        else:
            self.rows += len(readings)

    def _record_failure(self, error):
        self.failure = self.failure or f'log file {self.path}: {error.strerror}'


class Experiment(NamedTuple):
    """Contents of a log."""

    arm: ArmModel
    calibration: Calibration
    readings: list[Reading]  # in their order


def read_experiment(
    path: str | Path, robot: str = '', calibration: Calibration | None = None
) -> Experiment:
    """
    Return the Experiment in a file; UsageError names an invalid line.

    :param robot: replaces the robot in the log; calibration: replaces that in the log.
    """
    try:
        content = read_bytes(path)
        text = '' if content.startswith(MAGIC) else content.decode()
    except (OSError, ValueError) as error:
        reason = getattr(error, 'strerror', None) or 'it is no text'
        raise UsageError(f'{path}: cannot be read: {reason}.') from error
    if content.startswith(MAGIC):
        about, rows = read_recording(path)
        about, begin = _checked_about(path, about), 1
    else:
        # str.splitlines would also split at a dozen other characters
        first, header, *lines = [*text.split('\n'), '']
        about = _about(path, first)
        if tuple(header.strip().split(',')) != COLUMNS:
            raise UsageError(f'{path}:2: the columns must be {",".join(COLUMNS)}.')
        # a log whose writer was killed may end within a line
        rows, begin = [line.split(',') for line in lines[:-2]], 3
    readings = [_reading(path, number, row) for number, row in enumerate(rows, begin)]
    if len(readings) < 2:
        raise UsageError(f'{path}: there is no experiment in it: {len(readings)} rows.')
    if not robot and not about.get('robot'):
        raise UsageError(f'{path}:1: the log does not hold the robot. Name it.')
    try:
        # logs are untrusted: only the user names files; earlier logs hold the robot only
        arm = build_arm(
            read_description(robot) if robot else read_text(about['robot']),
            about.get('coupling', 'shortening'),
            about.get('gravity'),
        )
        return Experiment(
            arm,
            calibration or calibration_of_tree(about.get('calibration'), 'calibration'),
            readings,
        )
    except (TypeError, ValueError) as error:  # a value of the wrong type
        raise UsageError(f'{path}:1: the robot is not whole.') from error
    except FlexRobotSimError as error:
        raise UsageError(f'{path}:1: {error}') from error


def _about(path, line):
    try:
        about = json.loads(line[1:]) if line.startswith('#') else None
    except (ValueError, RecursionError):
        about = None
    return _checked_about(f'{path}:1', about)


def _checked_about(place, about):
    if not isinstance(about, dict) or about.get('format') != FORMAT:
        raise UsageError(f'{place}: this is no log of an experiment of this version.')
    return about


def _reading(path, number, row):
    try:
        stamp, arrived, *words = row
        values = dict(zip(FIELDS, words))
        if len(words) != len(FIELDS):
            raise ValueError
        # as on the wire, an unknown state is a number
        layout: Any = Telemetry
        fields: dict[str, Any] = {
            name: float(word)
            if is_number(name)
            else layout.LAYOUT.fields[name].from_wire(int(word))
            for name, word in values.items()
        }
        message = Telemetry(**fields)
        encode(message, NO_SESSION, 0)  # rejects values that no board can send
        if not (math.isfinite(float(stamp)) and math.isfinite(float(arrived))):
            raise ValueError
        return Reading(message, float(stamp), float(arrived))
    except (ValueError, OverflowError, UsageError) as error:
        raise UsageError(f'{path}:{number}: this is no row of telemetry.') from error


def _text(value):
    return str(int(value)) if isinstance(value, int) else repr(float(value))


def durations(readings: Sequence[Reading]) -> np.ndarray:
    """Time since the previous reading (k,), by the clock of the board; 0 for the first [s]."""
    ticks = np.array([reading.message.time for reading in readings], np.int64)
    return np.append(0.0, elapsed(ticks[1:], ticks[:-1]) * 1e-6)
