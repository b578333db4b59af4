"""
What was recorded of an arm, by name: CSV with a header, or MCAP with messages of ROS 2.

Signals have the names of this program, whatever made the file: `position/JOINT` and
`velocity/JOINT` on the link side, `motor/JOINT` behind the gear, `effort/JOINT`, `LINK/SENSOR` for
the curvature that a flex sensor sees, `tip/LINK/y` for a deflection, `gyro/LINK/x` and
`acceleration/LINK/x` for an IMU. The user names those that are called otherwise.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.signal import butter, sosfilt

from flex_robot_sim.description.parameters import near
from flex_robot_sim.recording.mcap_file import RecordingReader
from flex_robot_sim.recording.tables import Table, read_tables
from flex_robot_sim.rig.bench.parts import TURN
from flex_robot_sim.rig.bridge.comparison import states_of
from flex_robot_sim.rig.bridge.experiment_log import read_experiment
from flex_robot_sim.rig.bridge.experiment_recording import ABOUT
from flex_robot_sim.rig.calibration.calibration import Calibration
from flex_robot_sim.rig.estimation.shape_tracker import ShapeTracker
from flex_robot_sim.rig.wire.vocabulary import MOVING
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.summary import summarized

MOST_BYTES = 512 * 2**20
MCAP = b'\x89MCAP'
BENCH = b'# {"format"'      # how the log of a bench begins
UNITS = {'deg': math.pi / 180, 'mrad': 1e-3, 'mm': 1e-3, 'micro': 1e-6}
GAUGES = 40.0           # low-pass of the gauges of a bench, second order                 [Hz]
SHORTEST_REST = 1.0     # of the stepper, that counts                                       [s]
LEAST_REST = 3.0        # in all, or the whole log is taken                                 [s]
MOST_RESTS = 2          # in which gauges ring most; how each begins is found with the numbers
LOST = 2.0              # full steps by which a rotor leaves its field
IMU = 'sensor_msgs/msg/Imu'
IMU_FIELDS = {'gyro': 'angular_velocity', 'acceleration': 'linear_acceleration'}
DRIFT = 1e-3            # by which two clocks of a recording may differ                   [s/s]
_SIGNAL = re.compile(r'(?P<signal>[^=]+)=(?P<column>.+?)(\*(?P<factor>[^*]+))?')


class Column(NamedTuple):
    """A column of numbers."""

    time: np.ndarray        # (k,)                                                          [s]
    values: np.ndarray      # (k,)


@summarized
class Log(NamedTuple):
    """A recording."""

    path: str
    columns: dict[str, Column]      # by signal, or as the file has it
    notes: list[str]                # lines about the file


def read_log(path: str | Path, signals: Iterable[str] = (),
             calibration: Calibration | None = None) -> Log:
    """
    Return the Log in a file; UsageError says what is wrong with it.

    :param signals: `SIGNAL=COLUMN`, or `SIGNAL=COLUMN*FACTOR`, a number or one of UNITS.
    :param calibration: of the bench, in place of the one in its log; of the log, those times are
        taken then in which its stepper stands, and it has a column `field/JOINT`.
    """
    path = Path(path)
    try:
        is_mcap = path.is_dir() or path.open('rb').read(5) == MCAP
    except OSError as error:
        raise UsageError(f'{path}: cannot be read: {error.strerror}. Give a CSV or MCAP '
                         'file.') from error
    if _is_bench_log(path):
        log = _of_bench(path, calibration)
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


def _is_bench_log(path: Path) -> bool:
    """Whether a file is what the bridge logs: telemetry, with robot and calibration."""
    if not path.is_file():
        return False
    with open(path, 'rb') as file:
        start = file.read(max(len(BENCH), len(MCAP)))
    if start.startswith(MCAP):
        reader = RecordingReader(path)
        next(iter(reader), None)        # what the file says of itself stands before
        return ABOUT in reader.facts
    return start.startswith(BENCH)


def _of_bench(path, calibration):
    """Return the longest run of a bench with its motors on; its drives are led as measured."""
    experiment = read_experiment(path, calibration=calibration)
    shapes = ShapeTracker(experiment.arm, experiment.calibration)
    joints, time = experiment.arm.joint_names, 0.0
    runs = [[]]
    for state in states_of(experiment):
        time += state.duration
        if state.reading.message.state not in MOVING or state.is_first:
            runs.append([])
            continue
        # velocities of the tracker lag; the fit makes its own of all positions
        message = state.reading.message
        runs[-1].append([time, *state.position, *shapes.curvatures(message),
                         message.step_position / experiment.calibration.steps_per_radian,
                         message.step_rate])
    rows = np.array(max(runs, key=len))
    if len(rows) < 2:
        raise UsageError(f'{path}: the motors were never on in this log. Record a motion.')
    names = [*(f'position/{name}' for name in joints), *shapes.sensors]
    rests = None if calibration is None else _at_rest(path, rows[:, :-1], rows[:, -1], calibration)
    if rests is not None:
        rows, names = rests, [*names, f'field/{joints[TURN]}']
    return Log(str(path), {name: Column(rows[:, 0], rows[:, k + 1])
                           for k, name in enumerate(names)}, [])


def _at_rest(path, rows, rates, calibration):
    """
    Rows in which the stepper stands, its field where pulses have put it; None if there are few.

    The rotor rings in its field by less than a count; pulses, which come one by one, shake it.
    """
    turn, pulses = rows[:, 1 + TURN], rows[:, -1]
    behind = turn - pulses
    if np.ptp(behind) > LOST * 2 * math.pi / calibration.parts.full_steps:
        raise UsageError(f'{path}: pulses and encoder of the stepper drift apart by '
                         f'{np.ptp(behind):.3g} rad: steps were lost. Move less fast.')
    rate = (len(rows) - 1) / (rows[-1, 0] - rows[0, 0])
    if rate < 4 * GAUGES:
        return None
    rows = rows.copy()
    rows[:, 1 + TURN] = pulses + np.median(behind)
    by = butter(2, GAUGES, fs=rate, output='sos')
    start = rows[:max(1, round(0.02 * rate)), 3:-1].mean(axis=0)
    rows[:, 3:-1] = start + sosfilt(by, rows[:, 3:-1] - start, axis=0)
    edges = np.flatnonzero(np.diff(np.concatenate([[1], rates != 0, [1]])))
    # as it stops before each of them, and what is left of the pulses is gone soon
    found = [slice(begin + round(2 / GAUGES * rate), end) for begin, end in zip(
        edges[::2], edges[1::2]) if begin > 0]
    size = [one.stop - one.start if one.stop - one.start > SHORTEST_REST * rate else 0
            for one in found]
    # a host that was kept waiting leaves rests that are long, and in which nothing rings
    rings = [float(np.sum((rows[one, 3:-1] - rows[one, 3:-1].mean(axis=0))**2)) if count else 0.0
             for one, count in zip(found, size)]
    loudest = sorted(np.argsort(rings)[::-1][:MOST_RESTS])
    if sum(size[k] for k in loudest) < LEAST_REST * rate:
        return None
    every = max(1, round(rate / (5 * GAUGES)))
    return np.concatenate([rows[found[k]][::every] for k in loudest if size[k]])


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
        if table.topic.kind == IMU:
            _add_imus(log, table, time)
    if not log.columns:
        raise UsageError(f'{path}: there are no messages with numbers in it.')
    return log


def _add_imus(log, table, time):
    """Add what an IMU measures, by the frame that its messages name."""
    frames = np.char.strip(table.columns['frame_id'].astype(str), '/')
    for frame in dict.fromkeys(frames.tolist()):
        rows = frames == frame
        for kind, field in IMU_FIELDS.items():
            # by the convention of the message
            if (table.columns[f'{field}_covariance/0'][rows] == -1.0).any() or not frame:
                continue
            names = {f'{kind}/{frame}/{axis}': f'{field}/{axis}' for axis in 'xyz'}
            if log.columns.keys() & names.keys():
                log.notes.append(f'{log.path}: {table.topic.name} is not the first IMU in frame '
                                 f'"{frame}"; its {kind} is left out')
                continue
            log.columns.update({name: Column(time[rows], table.columns[column][rows])
                                for name, column in names.items()})


def _stamps(table: Table, log: Log) -> np.ndarray:
    """Times at which the messages were sent, where they say so; a note if clocks drift."""
    stamp = table.columns.get('stamp')
    if stamp is None or stamp.dtype.kind != 'f' or not (stamp > 0.0).all():
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
