"""
The log of an experiment: telemetry as it came, raw counts and all, as CSV under one line of JSON.

The first line is a comment with what is needed to read the rest years later: robot description and
calibration. Each row is one TELEMETRY after two times; units are those of docs/rig_protocol.md.
500 rows in a second are 3 MB in a minute.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import numpy as np

from flex_robot_sim.assembly import load
from flex_robot_sim.exceptions import FlexRobotSimError, UsageError
from flex_robot_sim.rig.batches import Batches
from flex_robot_sim.rig.calibration import Calibration, EncoderCalibration, SensorCalibration
from flex_robot_sim.rig.parts import BenchParts
from flex_robot_sim.rig.protocol import Telemetry
from flex_robot_sim.rig.session import Reading
from flex_robot_sim.rig.vocabulary import Fault, Input, State
from flex_robot_sim.share import shipped_robots

FORMAT = 1
FIELDS = Telemetry._fields
COLUMNS = ('stamp', 'arrived', *FIELDS)     # both [s], on a clock that never jumps
FLUSH_PERIOD = 0.25                         # [s]


class ExperimentLog:
    """A log that is written while the experiment runs."""

    def __init__(self, path, robot, calibration):
        """
        Begin the file; UsageError if it cannot be written, or is there already.

        :param robot: file, text or name, as `load` takes it; '' if it is not known.
        """
        self.path, self.rows = Path(path), 0
        about = {'format': FORMAT, 'robot': _text_of(robot), 'calibration': asdict(calibration)}
        try:
            # open until `close`
            self._file = open(self.path, 'x', encoding='utf-8')     # noqa: SIM115
            self._file.write(f'# {json.dumps(about)}\n{",".join(COLUMNS)}\n')
            self._file.flush()
        except OSError as error:
            raise UsageError(f'log file {path}: {error.strerror}. Name a new file in a folder '
                             'that exists.') from error
        self.failure = ''               # why nothing is written any more
        self._batches = Batches('experiment log', FLUSH_PERIOD, self._write)

    def put(self, reading):
        """Add a Reading; it is written soon, by another thread."""
        self._batches.put(reading)

    def close(self):
        """Write what is left; may be called twice."""
        self._batches.close()
        try:
            self._file.close()
        except OSError as error:        # what a full disk has left in the buffer
            self._failed(error)

    def _write(self, readings):
        if self.failure:
            return
        try:
            self._file.writelines(
                f'{reading.stamp:.6f},{reading.arrived:.6f},'
                f'{",".join(_text(value) for value in reading.message)}\n' for reading in readings)
            self._file.flush()
            self.rows += len(readings)
        except OSError as error:
            self._failed(error)

    def _failed(self, error):
        self.failure = self.failure or f'log file {self.path}: {error.strerror}'


class Experiment(NamedTuple):
    """A log that was read."""

    arm: object                 # ArmModel
    calibration: Calibration
    readings: list              # of Reading, in their order


def read_experiment(path, robot='', calibration=None) -> Experiment:
    """
    Return the Experiment in a file; UsageError says which line is wrong.

    :param robot: to be compared with instead of the one in the log; likewise calibration.
    """
    try:
        with open(path, encoding='utf-8') as file:
            about, header = _about(path, file.readline()), file.readline()
            if tuple(header.strip().split(',')) != COLUMNS:
                raise UsageError(f'{path}:2: the columns must be {",".join(COLUMNS)}.')
            lines = list(file)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, 'strerror', None) or 'it is no text'
        raise UsageError(f'{path}: cannot be read: {reason}.') from error
    # a log whose writer was killed may end within a line
    if lines and not lines[-1].endswith('\n'):
        lines.pop()
    readings = [_reading(path, number, line) for number, line in enumerate(lines, 3)]
    if len(readings) < 2:
        raise UsageError(f'{path}: there is no experiment in it: {len(readings)} rows.')
    if not robot and not about.get('robot'):
        raise UsageError(f'{path}:1: the log does not hold the robot. Name it.')
    try:
        arm = load(robot or about['robot'])
        return Experiment(arm, calibration or _calibration(about['calibration']), readings)
    except (KeyError, TypeError) as error:
        raise UsageError(f'{path}:1: the calibration or the robot is not whole.') from error
    except FlexRobotSimError as error:
        raise UsageError(f'{path}:1: {error}') from error


def _about(path, line):
    try:
        about = json.loads(line[1:]) if line.startswith('#') else None
    except ValueError:
        about = None
    if not isinstance(about, dict) or about.get('format') != FORMAT:
        raise UsageError(f'{path}:1: this is no log of an experiment of this version.')
    return about


def _reading(path, number, line):
    try:
        stamp, arrived, *words = line.split(',')
        values = dict(zip(FIELDS, words))
        if len(words) != len(FIELDS):
            raise ValueError
        message = Telemetry(**{
            name: _KINDS[name](int(word)) if name in _KINDS else
            float(word) if Telemetry.__annotations__[name].__origin__ is float else int(word)
            for name, word in values.items()})
        return Reading(message, float(stamp), float(arrived))
    except ValueError as error:
        raise UsageError(f'{path}:{number}: this is no row of telemetry.') from error


_KINDS = {'state': State, 'inputs': Input, 'faults': Fault}


def _text(value):
    return str(int(value)) if isinstance(value, int) else f'{value:.6g}'


def _text_of(robot):
    """Text of a robot; of a xacro file the path, because it may include others."""
    if '<' in robot:
        return robot
    path = Path(shipped_robots().get(robot, robot))
    if not path.is_file() or path.suffix == '.xacro':
        return str(path.resolve()) if path.is_file() else robot
    return path.read_text(encoding='utf-8')


def _calibration(tree):
    return Calibration(
        EncoderCalibration(**tree['slide']), EncoderCalibration(**tree['turn']),
        tree['steps_per_radian'],
        {name: SensorCalibration(**values) for name, values in tree['sensors'].items()},
        BenchParts(**tree['parts']))


def durations(readings):
    """Time since the reading before (k,), by the clock of the board, 0 for the first [s]."""
    ticks = np.array([reading.message.time for reading in readings], np.int64)
    return np.diff(ticks, prepend=ticks[0]) % (1 << 32) * 1e-6
