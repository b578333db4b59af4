"""
Logs of an arm, as signals by name: CSV with a header, or MCAP with messages of ROS 2.

Signal names do not depend on the file format: `position/JOINT` and `velocity/JOINT` on the link
side, `motor/JOINT` on the motor side of the gear, `effort/JOINT`, `LINK/SENSOR` for the curvature
at a flex sensor, `tip/LINK/y` for a deflection, `gyro/LINK/x` and `acceleration/LINK/x` for an
IMU. The option --signal assigns signal names to other columns.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.description.robot_parameters import near
from flex_robot_sim.identification import bench_log
from flex_robot_sim.model.arguments import array_or_nan, expect_kind
from flex_robot_sim.recording.read.columns import Column
from flex_robot_sim.recording.read.reader import read_head, read_recording
from flex_robot_sim.rig.bridge.experiment_log import read_experiment
from flex_robot_sim.rig.calibration.calibration import Calibration
from flex_robot_sim.util.exceptions import SettingError, UsageError, shortened
from flex_robot_sim.util.summary import summarized

UNIT_FACTORS = {'deg': math.pi / 180, 'mrad': 1e-3, 'mm': 1e-3, 'micro': 1e-6}
_SIGNAL = re.compile(r'(?P<signal>[^=]+)=(?P<column>.+?)(\*(?P<factor>[^*]+))?')


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
    if bench_log.sniff(path, read_head(path)):
        recording = bench_log.read(path, calibration)
    else:
        recording = read_recording(path)
    if not recording.has_times:
        raise UsageError(f'{path}: {recording.missing_times}.')
    log = Log(recording.path, recording.columns, recording.notes)
    for words in signals:
        _assign_signal(log, words)
    return log


def calibration_of_logs(paths: Iterable[str | Path]) -> Calibration | None:
    """Calibration that all logs were made with; None if it differs, or one is not of a bench."""
    found = [
        read_experiment(path).calibration
        if bench_log.sniff(Path(path), read_head(Path(path)))
        else None
        for path in paths
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
