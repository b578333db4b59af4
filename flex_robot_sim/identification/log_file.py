"""
Logs of an arm, as signals by name: CSV with a header, or MCAP with messages of ROS 2.

Signal names do not depend on the file format: `position/JOINT` and `velocity/JOINT` on the link
side, `motor/JOINT` on the motor side of the gear, `effort/JOINT`, `LINK/SENSOR` for the curvature
at a flex sensor, `tip/LINK/y` for a deflection, `gyro/LINK/x` and `acceleration/LINK/x` for an
IMU. The option --signal assigns signal names to other columns.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.signal import butter, sosfilt

from flex_robot_sim.description.robot_parameters import near
from flex_robot_sim.model.arguments import array_or_nan, expect_kind
from flex_robot_sim.recording.mcap_file import RecordingReader
from flex_robot_sim.recording.tables import Table, read_tables
from flex_robot_sim.rig.bench.parts import TURN
from flex_robot_sim.rig.bridge.bench_comparison import states_of
from flex_robot_sim.rig.bridge.experiment_log import read_experiment
from flex_robot_sim.rig.bridge.experiment_recording import ABOUT
from flex_robot_sim.rig.calibration.calibration import Calibration
from flex_robot_sim.rig.estimation.shape_tracker import ShapeTracker
from flex_robot_sim.rig.wire.vocabulary import MOVING
from flex_robot_sim.ros import topics
from flex_robot_sim.util.exceptions import SettingError, UsageError, shortened
from flex_robot_sim.util.summary import summarized

MAX_BYTES = 512 * 2**20
MCAP = b'\x89MCAP'
BENCH_LOG_PREFIX = b'# {"format"'
UNIT_FACTORS = {'deg': math.pi / 180, 'mrad': 1e-3, 'mm': 1e-3, 'micro': 1e-6}
GAUGE_CUTOFF_HZ = 40.0  # second order low-pass filter of the gauges of a bench
MIN_REST_S = 1.0  # rest of the stepper that is used
MIN_TOTAL_REST_S = 3.0  # below it, the fit uses the whole log
MAX_RESTS = 2  # rests with the largest vibration; each adds initial states to the fit
MAX_ROTOR_LAG_STEPS = 2.0  # a larger lag of the rotor means lost full steps
IMU = 'sensor_msgs/msg/Imu'
IMU_FIELDS = {'gyro': 'angular_velocity', 'acceleration': 'linear_acceleration'}
MAX_CLOCK_DRIFT = 1e-3  # of two clocks of a recording [s/s]
_SIGNAL = re.compile(r'(?P<signal>[^=]+)=(?P<column>.+?)(\*(?P<factor>[^*]+))?')


class Column(NamedTuple):
    """Samples of one signal."""

    time: np.ndarray  # (k,)                                                          [s]
    values: np.ndarray  # (k,)


@summarized
class Log(NamedTuple):
    """
    A recording: signals by name.

    Example::

        times = np.arange(0.0, 2.0, 0.01)
        log = frs.identification.make_log(times, {'position/motor': np.sin(times)})
        log.columns['position/motor'].values
    """

    path: str
    columns: dict[str, Column]  # by signal name, and by the name in the file
    notes: list[str]  # remarks about the file


def make_log(times: ArrayLike, signals: Mapping[str, ArrayLike], *, name: str = 'log') -> Log:
    """
    Return the Log of signals that were sampled at the same times.

    :param times: increasing, (k,) [s].
    :param signals: values (k,) by name: 'position/JOINT', 'motor/JOINT' and 'effort/JOINT',
        'LINK/SENSOR' [1/m], 'tip/LINK/y' [m], 'gyro/LINK/x' [rad/s], 'acceleration/LINK/x' [m/s2].
    :param name: of the log, in messages.

    Example::

        times = np.arange(0.0, 2.0, 0.01)
        log = frs.identification.make_log(times, {'position/motor': np.sin(times),
                                                  'effort/motor': np.cos(times)})
    """
    times = array_or_nan(times)
    if (
        times.ndim != 1
        or not times.size
        or not (np.diff(times) > 0.0).all()
        or (not np.isfinite(times).all())
    ):
        raise SettingError('times must be finite and rise, one number per sample [s]')
    if not isinstance(signals, Mapping):
        raise SettingError(
            f'signals = {shortened(repr(signals), 60)} must be values by name: '
            "{'position/elbow': values}"
        )
    columns = {}
    for signal, values in signals.items():
        values = array_or_nan(values)
        if values.shape != times.shape or not np.isfinite(values).all():
            raise SettingError(
                f'signals["{signal}"] must be {times.size} finite numbers, one per time'
            )
        columns[str(signal)] = Column(times, values)
    return Log(name, columns, [])


def read_log(
    path: str | Path, signals: Iterable[str] = (), *, calibration: Calibration | None = None
) -> Log:
    """
    Return the Log in the file at `path`, CSV or MCAP; UsageError if the file is invalid.

    :param signals: `SIGNAL=COLUMN`, or `SIGNAL=COLUMN*FACTOR`, a number or one of UNIT_FACTORS.
    :param calibration: of the bench, replaces the one in the log. The log then contains only times
        at which the stepper rests, and an additional column `field/JOINT`.

    Example::

        # log = frs.identification.read_log('run.csv', ['position/elbow=q2*deg'])
    """
    expect_kind('path', path, (str, Path), 'the path of a CSV or MCAP file')
    path = Path(path)
    try:
        is_mcap = path.is_dir() or path.open('rb').read(5) == MCAP
    except OSError as error:
        raise UsageError(
            f'{path}: cannot be read: {error.strerror}. Give a CSV or MCAP file.'
        ) from error
    if _is_bench_log(path):
        log = _read_bench_log(path, calibration)
    else:
        log = _read_mcap(path) if is_mcap else _read_csv(path)
    for words in signals:
        _assign_signal(log, words)
    return log


def calibration_of_logs(paths: Iterable[str | Path]) -> Calibration | None:
    """Calibration that all logs were made with; None if it differs, or one is not of a bench."""
    found = [
        read_experiment(path).calibration if _is_bench_log(Path(path)) else None for path in paths
    ]
    return found[0] if all(one == found[0] for one in found) else None


def _assign_signal(log, assignment):
    """Assign a signal name to a column."""
    match = _SIGNAL.fullmatch(assignment)
    if match is None:
        raise UsageError(f'--signal {assignment}: write SIGNAL=COLUMN or SIGNAL=COLUMN*FACTOR.')
    column, factor = match['column'], match['factor']
    if column not in log.columns:
        raise UsageError(f'{log.path}: has no column "{column}". {near(column, log.columns)}')
    try:
        scale = UNIT_FACTORS.get(factor) or float(factor or 1.0)
    except ValueError as error:
        raise UsageError(
            f'--signal {assignment}: "{factor}" is neither a number nor one of '
            f'{", ".join(UNIT_FACTORS)}.'
        ) from error
    if not math.isfinite(scale) or scale == 0.0:
        raise UsageError(f'--signal {assignment}: the factor must be finite and not 0.')
    time, values = log.columns[column]
    log.columns[match['signal']] = Column(time, scale * values)


def _is_bench_log(path: Path) -> bool:
    """Whether a file is a log of the bridge: telemetry with robot and calibration."""
    if not path.is_file():
        return False
    with open(path, 'rb') as file:
        start = file.read(max(len(BENCH_LOG_PREFIX), len(MCAP)))
    if start.startswith(MCAP):
        reader = RecordingReader(path)
        next(iter(reader), None)  # the metadata precedes the first message
        return ABOUT in reader.facts
    return start.startswith(BENCH_LOG_PREFIX)


def _read_bench_log(path, calibration):
    """Return the longest run of a bench with its motors on, as a log with prescribed motion."""
    experiment = read_experiment(path, calibration=calibration)
    shapes = ShapeTracker(experiment.arm, experiment.calibration)
    joints, time = experiment.arm.joint_names, 0.0
    runs: list[list[list[float]]] = [[]]
    for state in states_of(experiment):
        time += state.duration
        if state.reading.message.state not in MOVING or state.is_first:
            runs.append([])
            continue
        # velocities of the tracker lag; the fit differentiates positions instead
        message = state.reading.message
        runs[-1].append(
            [
                time,
                *state.position,
                *shapes.curvatures(message),
                message.step_position / experiment.calibration.steps_per_radian,
                message.step_rate,
            ]
        )
    rows = np.array(max(runs, key=len))
    if len(rows) < 2:
        raise UsageError(f'{path}: the motors were never on in this log. Record a motion.')
    names = [*(f'position/{name}' for name in joints), *shapes.sensors]
    resting = None
    if calibration is not None:
        resting = _resting_rows(path, rows[:, :-1], rows[:, -1], calibration)
    if resting is not None:
        rows, names = resting, [*names, f'field/{joints[TURN]}']
    return Log(
        str(path), {name: Column(rows[:, 0], rows[:, k + 1]) for k, name in enumerate(names)}, []
    )


def _resting_rows(path, rows, rates, calibration):
    """
    Return the rows at rests of the stepper, with its field at the pulse count; None if too few.

    The rotor vibrates in its field by less than an encoder count; single pulses excite it.
    """
    turntable, field = rows[:, 1 + TURN], rows[:, -1]
    rotor_lag = turntable - field
    if np.ptp(rotor_lag) > MAX_ROTOR_LAG_STEPS * 2 * math.pi / calibration.parts.full_steps:
        raise UsageError(
            f'{path}: pulses and encoder of the stepper drift apart by '
            f'{np.ptp(rotor_lag):.3g} rad: steps were lost. Move less fast.'
        )
    rate = (len(rows) - 1) / (rows[-1, 0] - rows[0, 0])
    if rate < 4 * GAUGE_CUTOFF_HZ:
        return None
    rows = rows.copy()
    rows[:, 1 + TURN] = field + np.median(rotor_lag)
    sections = butter(2, GAUGE_CUTOFF_HZ, fs=rate, output='sos')
    initial = rows[: max(1, round(0.02 * rate)), 3:-1].mean(axis=0)
    rows[:, 3:-1] = initial + sosfilt(sections, rows[:, 3:-1] - initial, axis=0)
    edges = np.flatnonzero(np.diff(np.concatenate([[1], rates != 0, [1]])))
    # rests after a motion, without the transient of the filter after the last pulse
    rests = [
        slice(begin + round(2 / GAUGE_CUTOFF_HZ * rate), end)
        for begin, end in zip(edges[::2], edges[1::2])
        if begin > 0
    ]
    rest_samples = [
        rest.stop - rest.start if rest.stop - rest.start > MIN_REST_S * rate else 0
        for rest in rests
    ]
    # delays of the host cause long rests without vibration
    vibration_energy = [
        float(np.sum((rows[rest, 3:-1] - rows[rest, 3:-1].mean(axis=0)) ** 2)) if count else 0.0
        for rest, count in zip(rests, rest_samples)
    ]
    loudest = sorted(np.argsort(vibration_energy)[::-1][:MAX_RESTS])
    if sum(rest_samples[k] for k in loudest) < MIN_TOTAL_REST_S * rate:
        return None
    stride = max(1, round(rate / (5 * GAUGE_CUTOFF_HZ)))
    return np.concatenate([rows[rests[k]][::stride] for k in loudest if rest_samples[k]])


def _read_csv(path):
    try:
        with open(path, encoding='utf-8') as file:
            # str.splitlines would also split at a dozen other characters
            lines = io.StringIO(file.read(MAX_BYTES))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f'{path}: cannot be read: {getattr(error, "strerror", None) or "no text"}'
            '. Give a CSV or MCAP file.'
        ) from error
    try:
        rows = list(csv.reader(line for line in lines if line.strip() and line[0] != '#'))
    except csv.Error as error:
        raise UsageError(f'{path}: is no CSV file: {error}. Mend it.') from error
    if not rows:
        raise UsageError(f'{path}: is empty. Give a CSV file with a header and rows of numbers.')
    header = [name.strip() for name in rows[0]]
    if _are_numbers(header):  # no header: columns by position
        header = ['time', *(f'column{k + 1}' for k in range(1, len(header)))]
    else:
        rows = rows[1:]
    table = np.empty((len(rows), len(header)))
    for k, row in enumerate(rows):
        try:
            table[k] = [float(word or 'nan') for word in row] if len(row) == len(header) else ''
        except ValueError as error:
            raise UsageError(
                f'{path}: row {k + 1} is not {len(header)} numbers. Mend or remove it.'
            ) from error
    names = [name.lower() for name in header]
    clock = next((names.index(name) for name in ('time', 't', 'stamp') if name in names), None)
    if clock is None:
        raise UsageError(f'{path}: has no column "time". Add one [s].')
    return Log(
        str(path),
        {
            name: Column(table[:, clock], table[:, k])
            for k, name in enumerate(header)
            if k != clock
        },
        [],
    )


def _are_numbers(words):
    try:
        return bool([float(word) for word in words])
    except ValueError:
        return False


def _read_mcap(path):
    reader = RecordingReader(path)
    tables, notes = read_tables(reader)
    log = Log(str(path), {}, [*reader.notes, *notes])
    for table in tables:
        time = _stamp_times(table, log)
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
    """Add the signals of IMUs, by the frame in their messages."""
    frames = np.char.strip(table.columns['frame_id'].astype(str), '/')
    for frame in dict.fromkeys(frames.tolist()):
        rows = frames == frame
        for kind, field in IMU_FIELDS.items():
            # sensor_msgs/Imu marks missing data by a covariance of -1
            if (table.columns[f'{field}_covariance/0'][rows] == -1.0).any() or not frame:
                continue
            names = {f'{kind}/{frame}/{axis}': f'{field}/{axis}' for axis in 'xyz'}
            if log.columns.keys() & names.keys():
                log.notes.append(
                    f'{log.path}: {table.topic.name} is not the first IMU in frame '
                    f'"{frame}"; its {kind} is left out'
                )
                continue
            log.columns.update(
                {
                    name: Column(time[rows], table.columns[column][rows])
                    for name, column in names.items()
                }
            )


def _stamp_times(table: Table, log: Log) -> np.ndarray:
    """Return the header stamps of messages, else their log times; add a note if clocks drift."""
    stamp = table.columns.get('stamp')
    if stamp is None or stamp.dtype.kind != 'f' or not (stamp > 0.0).all():
        return table.time
    span = table.time[-1] - table.time[0]
    if span > 1.0:
        drift = (stamp[-1] - stamp[0]) / span - 1.0
        if abs(drift) > MAX_CLOCK_DRIFT:
            log.notes.append(
                f'{log.path}: the clock of {table.topic.name} runs {drift:+.2%} '
                'against that of the recording; its own is taken'
            )
    return stamp


def _signal_of(topic, column):
    """Return the signal name of a column of a flex_robot_sim topic, or ''."""
    kind, _, name = column.partition('/')
    words = topic.strip('/').split('/')
    if words[-1] == topics.JOINT_STATES.name and kind in ('position', 'velocity', 'effort'):
        return column
    if words[-1] == topics.MOTOR_STATES.name and kind in ('position', 'velocity'):
        return f'{"motor" if kind == "position" else "motor_velocity"}/{name}'
    if words[-1] == topics.STRAIN.name and kind == 'position':
        return name
    if words[-1] == topics.TIP_DEFLECTION.last_word and column.startswith('pose/position/'):
        return f'tip/{words[-2]}/{column[-1]}' if len(words) > 1 else ''
    return ''
