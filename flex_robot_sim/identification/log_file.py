"""
What was recorded of an arm, by name: CSV with a header, or MCAP with messages of ROS 2.

Signals have the names of this program, whatever made the file: `position/JOINT` and
`velocity/JOINT` on the link side, `motor/JOINT` behind the gear, `effort/JOINT`, `LINK/SENSOR` for
the curvature that a flex sensor sees, `tip/LINK/y` for a deflection. The user names those that are
called otherwise.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from flex_robot_sim.description.parameters import near
from flex_robot_sim.exceptions import UsageError
from flex_robot_sim.recording.mcap_file import RecordingReader
from flex_robot_sim.recording.tables import Table, read_tables
from flex_robot_sim.rig.bridge.comparison import states_of
from flex_robot_sim.rig.bridge.experiment_log import read_experiment
from flex_robot_sim.rig.bridge.experiment_recording import ABOUT
from flex_robot_sim.rig.estimation.shape_tracker import ShapeTracker
from flex_robot_sim.rig.wire.vocabulary import MOVING

MOST_BYTES = 512 * 2**20
MCAP = b'\x89MCAP'
BENCH = b'# {"format"'      # how the log of a bench begins
UNITS = {'deg': math.pi / 180, 'mrad': 1e-3, 'mm': 1e-3, 'micro': 1e-6}
DRIFT = 1e-3            # by which two clocks of a recording may differ                   [s/s]
_SIGNAL = re.compile(r'(?P<signal>[^=]+)=(?P<column>.+?)(\*(?P<factor>[^*]+))?')


class Column(NamedTuple):
    """A column of numbers."""

    time: np.ndarray        # (k,)                                                          [s]
    values: np.ndarray      # (k,)


class Log(NamedTuple):
    """A recording."""

    path: str
    columns: dict[str, Column]      # by signal, or as the file has it
    notes: list[str]                # lines about the file


def read_log(path: str | Path, signals: Iterable[str] = ()) -> Log:
    """
    Return the Log in a file; UsageError says what is wrong with it.

    :param signals: `SIGNAL=COLUMN`, or `SIGNAL=COLUMN*FACTOR`, a number or one of UNITS.
    """
    path = Path(path)
    try:
        is_mcap = path.is_dir() or path.open('rb').read(5) == MCAP
    except OSError as error:
        raise UsageError(f'{path}: cannot be read: {error.strerror}. Give a CSV or MCAP '
                         'file.') from error
    if is_bench_log(path, is_mcap):
        log = _of_bench(path)
    else:
        log = _of_mcap(path) if is_mcap else _of_csv(path)
    for words in signals:
        _name(log, words)
    return log


def _name(log, words):
    """Give a column the name of a signal."""
    match = _SIGNAL.fullmatch(words)
    if match is None:
        raise UsageError(f'--signal {words}: write SIGNAL=COLUMN or SIGNAL=COLUMN*FACTOR.')
    column, factor = match['column'], match['factor']
    if column not in log.columns:
        raise UsageError(f'{log.path}: has no column "{column}". {near(column, log.columns)}')
    try:
        scale = UNITS.get(factor) or float(factor or 1.0)
    except ValueError as error:
        raise UsageError(f'--signal {words}: "{factor}" is neither a number nor one of '
                         f'{", ".join(UNITS)}.') from error
    if not math.isfinite(scale) or scale == 0.0:
        raise UsageError(f'--signal {words}: the factor must be finite and not 0.')
    time, values = log.columns[column]
    log.columns[match['signal']] = Column(time, scale * values)


def is_bench_log(path: Path, is_mcap: bool) -> bool:
    """Whether a file is what the bridge logs: telemetry, with robot and calibration."""
    if is_mcap:
        return path.is_file() and ABOUT in RecordingReader(path).facts
    with open(path, 'rb') as file:
        return file.read(len(BENCH)) == BENCH


def _of_bench(path):
    """Return the longest run of a bench with its motors on; its drives are led as measured."""
    experiment = read_experiment(path)
    shapes = ShapeTracker(experiment.arm, experiment.calibration)
    joints, time = experiment.arm.joint_names, 0.0
    runs = [[]]
    for state in states_of(experiment):
        time += state.duration
        if state.reading.message.state not in MOVING or state.is_first:
            runs.append([])
            continue
        # velocities of the tracker lag; the fit makes its own of all positions
        runs[-1].append([time, *state.position,
                         *shapes.curvatures(state.reading.message)])
    rows = np.array(max(runs, key=len))
    if len(rows) < 2:
        raise UsageError(f'{path}: the motors were never on in this log. Record a motion.')
    names = [*(f'position/{name}' for name in joints), *shapes.sensors]
    return Log(str(path), {name: Column(rows[:, 0], rows[:, k + 1])
                           for k, name in enumerate(names)}, [])


def _of_csv(path):
    try:
        with open(path, newline='', encoding='utf-8') as file:
            lines = [line for line in file.read(MOST_BYTES).splitlines()
                     if line.strip() and not line.startswith('#')]
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f'{path}: cannot be read: {getattr(error, "strerror", None) or "no text"}'
                         '. Give a CSV or MCAP file.') from error
    rows = list(csv.reader(lines))
    if not rows:
        raise UsageError(f'{path}: is empty. Give a CSV file with a header and rows of numbers.')
    header = [name.strip() for name in rows[0]]
    if _are_numbers(header):        # no header: columns by their place
        header = ['time', *(f'column{k + 1}' for k in range(1, len(header)))]
    else:
        rows = rows[1:]
    table = np.empty((len(rows), len(header)))
    for k, row in enumerate(rows):
        try:
            table[k] = [float(word or 'nan') for word in row] if len(row) == len(header) else ''
        except ValueError as error:
            raise UsageError(f'{path}: row {k + 1} is not {len(header)} numbers. Mend or remove '
                             'it.') from error
    names = [name.lower() for name in header]
    clock = next((names.index(name) for name in ('time', 't', 'stamp') if name in names), None)
    if clock is None:
        raise UsageError(f'{path}: has no column "time". Add one [s].')
    return Log(str(path), {name: Column(table[:, clock], table[:, k])
                           for k, name in enumerate(header) if k != clock}, [])


def _are_numbers(words):
    try:
        return bool([float(word) for word in words])
    except ValueError:
        return False


def _of_mcap(path):
    reader = RecordingReader(path)
    tables, notes = read_tables(reader)
    log = Log(str(path), {}, [*reader.notes, *notes])
    for table in tables:
        time = _stamps(table, log)
        for name, values in table.columns.items():
            if values.dtype.kind != 'f':
                continue
            log.columns[f'{table.topic.name.strip("/")}:{name}'] = Column(time, values)
            signal = _signal_of(table.topic.name, name)
            if signal:
                log.columns[signal] = Column(time, values)
    if not log.columns:
        raise UsageError(f'{path}: there are no messages with numbers in it.')
    return log


def _stamps(table: Table, log: Log) -> np.ndarray:
    """Times at which the messages were sent, where they say so; a note if clocks drift."""
    stamp = table.columns.get('stamp')
    if stamp is None or not (stamp > 0.0).all():
        return table.time
    span = table.time[-1] - table.time[0]
    if span > 1.0:
        drift = (stamp[-1] - stamp[0]) / span - 1.0
        if abs(drift) > DRIFT:
            log.notes.append(f'{log.path}: the clock of {table.topic.name} runs {drift:+.2%} '
                             'against that of the recording; its own is taken')
    return stamp


def _signal_of(topic, column):
    """Name of the signal in a column of one of our topics, or ''."""
    kind, _, name = column.partition('/')
    words = topic.strip('/').split('/')
    if words[-1] == 'joint_states' and kind in ('position', 'velocity', 'effort'):
        return column
    if words[-1] == 'motor_states' and kind in ('position', 'velocity'):
        return f'{"motor" if kind == "position" else "motor_velocity"}/{name}'
    if words[-1] == 'strain' and kind == 'position':
        return name
    if words[-1] == 'tip_deflection' and column.startswith('pose/position/'):
        return f'tip/{words[-2]}/{column[-1]}' if len(words) > 1 else ''
    return ''
